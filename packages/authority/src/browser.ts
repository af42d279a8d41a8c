import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { maxFormBytes } from "./limits.ts";
import { pageHeaders } from "./pages/layout.ts";
import type { Settings } from "./settings.ts";

/** A browser, identified by a cookie. */
export interface Browser {
  readonly id: string;
  /** Returns the token that forms of one page carry against cross-site request forgery. */
  tokenFor(page: string): string;
  /** Rejects with an `UnknownSecretError` if another process made the token with a newer secret. */
  isTokenFor(page: string, token: string | undefined): Promise<boolean>;
}

const form = /^[A-Za-z0-9_-]{43}$/;
const keyIdForm = /^[A-Za-z0-9_-]{8}$/;

/** Returns the browser of a request; a new one gets its cookie with the response. */
export function browserOf(request: IncomingMessage, response: ServerResponse, settings: Settings): Browser {
  const name = settings.cookieName("browser");
  const known = cookieIn(request, name);
  const id = known !== undefined && form.test(known) ? known : randomBytes(32).toString("base64url");
  if (id !== known) {
    const secure = settings.isHttps ? "; Secure" : "";
    response.appendHeader("set-cookie", `${name}=${id}; Path=/; HttpOnly; SameSite=Lax${secure}`);
  }
  const tokenBy = (key: string, page: string) => createHmac("sha256", key).update(`${id} ${page}`).digest("base64url");
  return {
    id,
    tokenFor: (page) => `${settings.rows.keyId}.${tokenBy(settings.formKeys[0] ?? "", page)}`,
    async isTokenFor(page, token = "") {
      const [keyId = "", digest = ""] = token.split(".", 2);
      if (settings.formKeys.some((key) => isEqual(tokenBy(key, page), digest))) return true;
      if (keyIdForm.test(keyId) && keyId !== settings.rows.keyId) await settings.rows.checkKey(keyId);
      return false;
    },
  };
}

function isEqual(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

export function cookieIn(request: IncomingMessage, name: string): string | undefined {
  for (const pair of (request.headers.cookie ?? "").split(";")) {
    const [key, value] = pair.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

export function sendPage(
  response: ServerResponse,
  status: number,
  page: string,
  headers: { readonly [name: string]: string } = {},
): void {
  response.writeHead(status, { ...pageHeaders, ...headers, "content-type": "text/html; charset=utf-8" }).end(page);
}

/** Redirects a browser that came by a link or a redirect. */
export function redirect(response: ServerResponse, address: string): void {
  response.writeHead(303, { ...pageHeaders, location: address }).end();
}

/** Returns the fields of a form; `undefined` if it is too long or not a form. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers["content-type"] ?? "")) return undefined;
  // A framework may have parsed the body already.
  const { body } = request as { body?: unknown };
  if (typeof body === "object" && body !== null) return new URLSearchParams(body as Record<string, string>);
  const chunks: Buffer[] = [];
  let length = 0;
  // Not destroyed if it is too long: the response uses the same socket.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length;
    if (length > maxFormBytes) return undefined;
    chunks.push(chunk as Buffer);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString("utf8"));
}
