import { decodeJwt, decodeProtectedHeader } from "jose";
import type { SafeFetch, SafeFetchInit } from "../../net/policy.ts";
import { resourceMetadataPath } from "../well-known.ts";
import type { AuthChallenge } from "./account.ts";
import { maxStepChars } from "./limits.ts";

/** One step on the way to a token, with what was sent and received. Secrets are masked to their first characters. */
export interface OAuthStep {
  /** Counts from 1. A step is told when it begins, and again when it ends. */
  readonly id: number;
  readonly title: string;
  /** The document that describes the step, such as "RFC 9728". */
  readonly standard: string;
  readonly state: "running" | "done" | "failed";
  readonly request?: string;
  readonly response?: string;
  readonly reason?: string;
  /**
   * Sends the same request once more, and tells the step again. Only for requests that change nothing: metadata, and the
   * request without a token. Never rejects.
   */
  readonly again?: () => Promise<void>;
}

/** A step that has begun. */
export interface BegunStep {
  done(response?: string, reason?: string): void;
  failed(reason: unknown, response?: string): void;
}

/** Tells `onStep` the steps of one client. Loaded only with that option. */
export class Steps {
  readonly #tell: (step: OAuthStep) => void;
  #last = 0;

  constructor(tell: (step: OAuthStep) => void) {
    this.#tell = tell;
  }

  /** Sends a request and tells it as a step. */
  fetch(fetch: SafeFetch, server: URL, url: string | URL, init: SafeFetchInit = {}): Promise<Response> {
    const address = new URL(url);
    const isProbe = address.href === server.href;
    const kind = { id: this.#newId(), ...kindOf(address, init, server) };
    const changesNothing = isProbe || (init.method ?? "GET") === "GET";
    const send = async (sent: SafeFetchInit): Promise<Response> => {
      const secrets = new Set<string>();
      const request = showRequest(address, sent, secrets);
      const step = this.#begin({ ...kind, request, ...(changesNothing && { again }) });
      let response: Response;
      try {
        response = await fetch(url, sent);
      } catch (reason) {
        step.failed(reason);
        throw reason;
      }
      const shown = await showResponse(response.clone(), sent.method === "POST", secrets);
      if (response.ok || (response.status === 401 && isProbe)) step.done(shown);
      else if (response.status === 404 && (sent.method ?? "GET") === "GET") step.done(shown, "there is nothing here");
      else step.failed(`it answered with status ${response.status}`, shown);
      return response;
    };
    const again = async (): Promise<void> => {
      // The login that the signal belongs to may have ended.
      const { signal: _, ...rest } = init;
      const response = await send(rest).catch(() => undefined);
      await response?.body?.cancel();
    };
    return send(init);
  }

  /** Tells that a request of the client was refused. */
  refused({ status, sent, header }: Pick<AuthChallenge, "status" | "sent" | "header">): void {
    const step = this.#begin({ id: this.#newId(), title: "The server refuses a request", standard: "RFC 6750" });
    let challenge = inOneLine(header("www-authenticate") ?? "(none)");
    for (const secret of Object.values(sent).flatMap((value) => value.split(" "))) {
      if (secret.length >= minMaskedChars) challenge = challenge.replaceAll(secret, mask(secret));
    }
    step.done(`${status}\nwww-authenticate: ${challenge}`);
  }

  /** Tells that a person is sent to a page. `done` gets the address to which they came back. */
  visit(page: URL): { done(callback: URL): void; failed(reason: unknown): void } {
    const kind = {
      id: this.#newId(),
      title: "A person signs in",
      standard: "RFC 6749 section 4.1, RFC 7636, RFC 8707",
    };
    const step = this.#begin({ ...kind, request: `GET ${showUrl(page)}` });
    return { done: (callback) => step.done(showUrl(callback)), failed: (reason) => step.failed(reason) };
  }

  #newId(): number {
    this.#last += 1;
    return this.#last;
  }

  #begin(begun: Pick<OAuthStep, "id" | "title" | "standard" | "request" | "again">): BegunStep {
    const tell = (state: OAuthStep["state"], response?: string, reason?: string) => {
      try {
        this.#tell({
          ...begun,
          state,
          ...(response !== undefined && { response }),
          ...(reason !== undefined && { reason }),
        });
      } catch {
        // A listener that throws does not break the login.
      }
    };
    tell("running");
    return {
      done: (response, reason) => tell("done", response, reason),
      failed: (reason, response) =>
        tell("failed", response, inOneLine(reason instanceof Error ? reason.message : String(reason))),
    };
  }
}

/** Titles and documents of grants. */
const grants: { readonly [grant: string]: readonly [title: string, standard: string] } = {
  authorization_code: ["The code is exchanged for a token", "RFC 6749 section 4.1.3, RFC 7636"],
  refresh_token: ["The token is renewed", "RFC 6749 section 6"],
  client_credentials: ["A token for the program itself", "RFC 6749 section 4.4"],
  "urn:ietf:params:oauth:grant-type:jwt-bearer": ["An assertion is exchanged for a token", "RFC 7523"],
  "urn:ietf:params:oauth:grant-type:token-exchange": ["A token is exchanged for another", "RFC 8693"],
};

function kindOf(url: URL, { method = "GET", body }: SafeFetchInit, server: URL): { title: string; standard: string } {
  if (url.href === server.href) return { title: "A request without a token", standard: "RFC 6750" };
  if (url.pathname.includes(resourceMetadataPath)) return { title: "Metadata of the server", standard: "RFC 9728" };
  if (/\/\.well-known\/openid-configuration/.test(url.pathname)) {
    return { title: "Metadata of the authorization server", standard: "OpenID Connect Discovery 1.0" };
  }
  if (method === "GET") {
    const isNamed = url.pathname.includes("/.well-known/oauth-authorization-server");
    return isNamed
      ? { title: "Metadata of the authorization server", standard: "RFC 8414" }
      : { title: "Metadata of the server", standard: "RFC 9728" };
  }
  if (!(body instanceof URLSearchParams)) return { title: "This client is registered", standard: "RFC 7591" };
  const [title, standard] = grants[body.get("grant_type") ?? ""] ?? [];
  if (title !== undefined && standard !== undefined) return { title, standard };
  return body.has("token")
    ? { title: "The token is revoked", standard: "RFC 7009" }
    : { title: "A token is requested", standard: "OAuth 2.1" };
}

/** Parameters of requests and callbacks whose values are no secrets. All others are masked. */
const openParameters = new Set([
  ...["response_type", "response_mode", "client_id", "redirect_uri", "code_challenge_method", "resource", "scope"],
  ...["prompt", "grant_type", "audience", "token_type_hint", "subject_token_type", "requested_token_type"],
  ...["actor_token_type", "client_assertion_type", "iss", "error"],
]);

/** Members of the answers to POST requests whose values are no secrets. All other texts are masked. */
const openMembers = new Set([
  ...[
    "token_type",
    "scope",
    "error",
    "error_description",
    "error_uri",
    "issued_token_type",
    "client_id",
    "client_name",
  ],
  ...["redirect_uris", "grant_types", "response_types", "token_endpoint_auth_method", "application_type", "client_uri"],
  ...["logo_uri", "policy_uri", "tos_uri", "jwks_uri", "software_id", "software_version", "contacts"],
]);

const shownHeaders = ["content-type", "accept", "www-authenticate", "cache-control", "retry-after"];
/** A shorter secret would be shown for the most part. */
const minMaskedChars = 12;

function mask(secret: string): string {
  return secret.length < minMaskedChars ? "…" : `${secret.slice(0, 4)}…`;
}

function showUrl(url: URL): string {
  const start = url.origin + url.pathname;
  const parameters = [...url.searchParams].map(
    ([name, value]) => `\n  ${name}=${inOneLine(openParameters.has(name) ? value : mask(value))}`,
  );
  // A fragment can have tokens.
  return `${start}${parameters.join("")}${url.hash === "" ? "" : "\n  #…"}`;
}

function showRequest(url: URL, { method = "GET", headers, body }: SafeFetchInit, secrets: Set<string>): string {
  const lines = [`${method} ${showUrl(url)}`];
  for (const [name, value] of new Headers(headers as HeadersInit)) {
    if (shownHeaders.includes(name)) lines.push(`${name}: ${value}`);
    else if (name === "authorization" || name === "dpop") {
      const [scheme = "", credentials = ""] = name === "dpop" ? ["", value] : value.split(" ");
      lines.push(`${name}: ${scheme} ${mask(credentials)}`.replace(":  ", ": "));
      secrets.add(credentials);
    }
  }
  if (body instanceof URLSearchParams) {
    lines.push("");
    for (const [name, value] of body) {
      if (!openParameters.has(name) && value !== "") secrets.add(value);
      lines.push(`${name}=${inOneLine(openParameters.has(name) ? value : mask(value))}`);
    }
  } else if (typeof body === "string") lines.push("", showJson(body, openMembers, secrets) ?? "");
  return cut(lines.join("\n"));
}

/** Shows a response. What a POST request gets can be a secret under any name; metadata are public. */
async function showResponse(response: Response, isPost: boolean, secrets: Set<string>): Promise<string> {
  const lines = [`${response.status} ${response.statusText}`.trim()];
  for (const name of shownHeaders) {
    const value = response.headers.get(name);
    if (value !== null) lines.push(`${name}: ${inOneLine(value)}`);
  }
  const text = await response.text().catch(() => "");
  if (text !== "") {
    const json = showJson(text, isPost ? openMembers : undefined, secrets);
    lines.push("", json ?? `(${text.length} characters that are not JSON)`);
    if (isPost) lines.push(...decodedTokens(text));
  }
  let shown = lines.join("\n");
  // An authorization server may quote the secret that it refuses.
  for (const secret of secrets) if (secret !== "") shown = shown.replaceAll(secret, mask(secret));
  return cut(shown);
}

function showJson(
  text: string,
  shownMembers: ReadonlySet<string> | undefined,
  secrets: Set<string>,
): string | undefined {
  try {
    const value: unknown = JSON.parse(text, function (this: unknown, name, member: unknown) {
      const isOpen = shownMembers === undefined || Array.isArray(this) || shownMembers.has(name);
      if (typeof member !== "string" || isOpen) return member;
      secrets.add(member);
      return mask(member);
    });
    return JSON.stringify(value, undefined, 2);
  } catch {
    return undefined;
  }
}

/** Shows what is in tokens that are JWTs. Without its signature a token opens nothing. */
function decodedTokens(text: string): string[] {
  try {
    return Object.entries(JSON.parse(text) as object).flatMap(([name, token]) => {
      if (typeof token !== "string" || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return [];
      const decoded = { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
      return ["", `${name}, decoded:`, JSON.stringify(decoded, undefined, 2)];
    });
  } catch {
    return [];
  }
}

/**
 * Returns another party's text without line breaks and invisible characters. This file has its own function: a bundler
 * would export that of errors.ts from the public entry, because a late part uses it.
 */
function inOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
}

function cut(text: string): string {
  return text.length > maxStepChars ? `${text.slice(0, maxStepChars)}…` : text;
}
