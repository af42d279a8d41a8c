import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Settings } from "./settings.ts";

/** One browser, known by a cookie that only it has. */
export interface Browser {
  readonly id: string;
  /** What a form of one page carries, so that no other page can send it. */
  tokenFor(page: string): string;
  isTokenFor(page: string, token: string | undefined): boolean;
}

const form = /^[A-Za-z0-9_-]{43}$/;

/** The browser of a request; a new one gets its cookie with the answer. */
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
    tokenFor: (page) => tokenBy(settings.formKeys[0] ?? "", page),
    isTokenFor: (page, token) => settings.formKeys.some((key) => isEqual(tokenBy(key, page), token ?? "")),
  };
}

function isEqual(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function cookieIn(request: IncomingMessage, name: string): string | undefined {
  for (const pair of (request.headers.cookie ?? "").split(";")) {
    const [key, value] = pair.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}
