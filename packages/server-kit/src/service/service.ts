/** A service on the web, as data: what a `ServiceClient` needs to know of it. */
export interface Service {
  /** The name that people see, such as "GitHub". */
  readonly name: string;
  /** The address of the API, without a slash at its end. */
  readonly api: string;
  /** Other origins that the service gives addresses of, such as those of files. Its token may be sent there too. */
  readonly otherOrigins?: readonly string[];
  /** Headers of every request. */
  readonly headers?: { readonly [name: string]: string };
  /** Another address that the API can have, for `--help`. */
  readonly apiExample?: string;
  /** The environment variable with the address of the API, such as "GITHUB_API_URL". */
  readonly apiVariable: string;
  /** The environment variable with the person's token, such as "GITHUB_TOKEN". */
  readonly tokenVariable: string;
  /** Whose token it is: "your account". */
  readonly tokenOwner: string;
  /** The page where a person makes such a token. */
  readonly tokenPage: string;
  /** Returns the failure that a response tells of. Default: `failureOfStatus`. */
  readonly failureOf?: (response: ServiceResponse) => ServiceFailure | undefined;
}

/** A response of a service, read whole. */
export interface ServiceResponse {
  /** The address that was requested. */
  readonly url: URL;
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
}

/** The failure that a response tells of. `says` is the service's own sentence, if it has one. */
export type ServiceFailure = { readonly says?: string } & (
  | { readonly kind: "signed-out" }
  | { readonly kind: "scope-missing"; readonly scopes: readonly string[] }
  | { readonly kind: "rate-limited"; readonly waitMs?: number }
  | { readonly kind: "not-found" | "conflict" | "invalid" | "forbidden" | "too-large" | "unavailable" }
);

/** Reads a failure from the status and `Retry-After` alone. */
export function failureOfStatus({
  status,
  headers,
}: Pick<ServiceResponse, "status" | "headers">): ServiceFailure | undefined {
  if (status < 400) return undefined;
  if (status === 401) return { kind: "signed-out" };
  if (status === 403) return { kind: "forbidden" };
  if (status === 404 || status === 410) return { kind: "not-found" };
  if (status === 409 || status === 412) return { kind: "conflict" };
  if (status === 429) {
    const waitMs = retryAfter(headers);
    return { kind: "rate-limited", ...(waitMs !== undefined && { waitMs }) };
  }
  return { kind: status >= 500 ? "unavailable" : "invalid" };
}

/** Returns the time that `Retry-After` names, in milliseconds from now. */
export function retryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  const text = headers.get("retry-after")?.trim();
  if (!text) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** The address and the token of a service, as a person has set them in the environment. */
export interface ServiceSettings {
  readonly api: string;
  readonly token?: string;
}

/** Reads the address and the token of a service from the environment. Throws an error that does not quote the token. */
export function settingsFrom(service: Service, env: NodeJS.ProcessEnv = process.env): ServiceSettings {
  const token = env[service.tokenVariable]?.trim();
  if (token && !/^[\x21-\x7e]+$/.test(token)) {
    throw new Error(`${service.tokenVariable}: expected one token, got a text with spaces or other characters`);
  }
  const api = env[service.apiVariable]?.trim();
  return { api: api ? toApi(api, service.apiVariable) : service.api, ...(token && { token }) };
}

/**
 * Checks the address of an API, and removes slashes at its end. `source` names in errors where it comes from. A token must
 * not cross a network without encryption.
 */
export function toApi(address: string, source: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isLocal = url !== undefined && /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(url.hostname);
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLocal);
  if (!url || !isSafe || url.username || url.password || url.search || url.hash) {
    throw new Error(`${source}: expected an https address, or http on this machine, without a password and a query`);
  }
  return url.href.replace(/\/+$/, "");
}
