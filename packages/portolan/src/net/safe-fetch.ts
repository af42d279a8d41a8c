import { PortolanError } from "../errors.ts";
import { checkOptions, type OptionNames } from "../options.ts";
import { isPrivateNetworkAddress, isPublicAddress } from "./address.ts";
import { checkAddresses, checkWebAddress, describe, literalAddress, refused } from "./check-address.ts";
import { type AdapterRequest, type AdapterResponse, createAdapter, type FetchAdapter } from "./fetch-adapter.ts";
import { defaultMaxBytes, defaultMaxRedirects, defaultTimeoutMs, longestTimerMs } from "./limits.ts";
import type { FetchPolicy, SafeFetch, SafeFetchInit } from "./policy.ts";

const redirectStatus: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const bodilessStatus: ReadonlySet<number> = new Set([204, 205, 304]);
/** Headers of the connection: a caller who set them could reach another host than the checked one. */
const connectionHeaders: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization", "te", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);
/** The only headers that are sent on to another origin after a redirect: any other one may be a credential. */
const harmlessHeaders: ReadonlySet<string> = new Set(["accept", "accept-encoding", "accept-language", "user-agent"]);

const policyNames: OptionNames<FetchPolicy> = {
  ...{ privateHosts: 1, neighbourOf: 1, redirects: 1, maxRedirects: 1, allow: 1, lookup: 1, fetch: 1, via: 1 },
  ...{ decode: 1, maxBytes: 1, timeoutMs: 1 },
};

/**
 * Creates a fetch for URLs that another party has named. It reaches public addresses over https only; the policy can
 * allow more. On Node each host is resolved once, checked, and connected to at the checked address. On other runtimes,
 * and with `policy.fetch` or `policy.via`, the runtime resolves hosts, so only the URL itself is checked.
 */
export function createSafeFetch(policy: FetchPolicy = {}): SafeFetch {
  let adapter: Promise<FetchAdapter> | undefined;
  // Checked at once, so that a mistake in the policy throws here.
  checkOptions(policy, policyNames, "createSafeFetch");
  checkWebAddress("https://example.com", policy);
  return async (url, init = {}) => {
    const first = checkWebAddress(url, policy);
    adapter ??= loadAdapter(policy);
    const method = (init.method ?? "GET").toUpperCase();
    return withTimeout(`${method} ${describe(first)}`, policy, init.signal ?? undefined, async (signal) => {
      return new SafeRequest(await (adapter as Promise<FetchAdapter>), policy, signal, method, init).start(first);
    });
  };
}

/** Checks a URL like `checkWebAddress`, and also the IP addresses of its host, where they can be resolved. */
export async function checkResolvedAddress(url: string | URL, policy: FetchPolicy = {}): Promise<URL> {
  const address = checkWebAddress(url, policy);
  const request = new SafeRequest(await loadAdapter(policy), policy, new AbortController().signal, "GET", {});
  await request.check(address);
  return address;
}

/** Loads the adapter of this runtime, by the `imports` of the package; a `fetch` of the policy replaces it. */
async function loadAdapter({ fetch }: FetchPolicy): Promise<FetchAdapter> {
  if (fetch) return createAdapter(fetch);
  return (await import("#net-adapter")).createAdapter();
}

/** Runs work until it has a result, the caller's signal aborts, or the policy's time is over. */
async function withTimeout<T>(
  what: string,
  { timeoutMs = defaultTimeoutMs }: FetchPolicy,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  caller?.throwIfAborted();
  const ended = new AbortController();
  const timer = setTimeout(
    () => {
      ended.abort(new PortolanError("timeout", `${what}: expected the whole response within ${timeoutMs} ms`));
    },
    Math.min(timeoutMs, longestTimerMs),
  );
  const leave = () => ended.abort(caller?.reason);
  caller?.addEventListener("abort", leave, { once: true });
  const over = new Promise<never>((_, reject) => {
    ended.signal.addEventListener("abort", () => reject(ended.signal.reason), { once: true });
  });
  try {
    return await Promise.race([work(ended.signal), over]);
  } catch (cause) {
    ended.signal.throwIfAborted();
    if (cause instanceof PortolanError) throw cause;
    throw new PortolanError("connection-closed", `${what} failed: ${reasonOf(cause)}`, { cause });
  } finally {
    clearTimeout(timer);
    caller?.removeEventListener("abort", leave);
  }
}

/** Returns the reason of a failure. After several addresses have failed, the error has a code and no message. */
function reasonOf(cause: unknown): string {
  const { message, code } = (cause ?? {}) as { readonly message?: unknown; readonly code?: unknown };
  return String(message || code || "no reason given");
}

function toHeaders({ headers: given = {} }: SafeFetchInit, encodings: readonly string[]): Headers {
  let headers: Headers;
  try {
    headers = new Headers(given);
  } catch {
    // Without the cause, which quotes the value.
    throw new PortolanError("invalid-argument", "headers: expected names and values that can be sent");
  }
  for (const name of connectionHeaders) headers.delete(name);
  headers.set("accept-encoding", encodings.join(", ") || "identity");
  return headers;
}

/** One call of a safe fetch, through all its redirects. */
class SafeRequest {
  readonly #adapter: FetchAdapter;
  readonly #policy: FetchPolicy;
  readonly #signal: AbortSignal;
  readonly #method: string;
  readonly #body: AdapterRequest["body"];
  /** Content encodings that the response may have. */
  readonly #encodings: readonly string[];
  #headers: Headers;

  constructor(adapter: FetchAdapter, policy: FetchPolicy, signal: AbortSignal, method: string, init: SafeFetchInit) {
    this.#adapter = adapter;
    this.#policy = policy;
    this.#signal = signal;
    this.#method = method;
    this.#body = init.body instanceof Uint8Array ? init.body : init.body?.toString();
    // A redirect may lead to a `via` fetch, whose decoded bytes cannot be counted; that is known too late.
    this.#encodings = policy.decode && !policy.via ? (adapter.encodings ?? []) : [];
    this.#headers = toHeaders(init, this.#encodings);
  }

  async start(first: URL): Promise<Response> {
    const { maxRedirects = defaultMaxRedirects } = this.#policy;
    let url = first;
    for (let redirects = 0; ; redirects += 1) {
      const response = await this.#send(url);
      const target = response.headers.get("location");
      if (target === null || !redirectStatus.has(response.status)) return this.#finish(url, response);
      response.drop();
      if (redirects === maxRedirects) {
        throw new PortolanError("limit-reached", `${describe(first)}: expected at most ${maxRedirects} redirects`);
      }
      url = this.#redirect(url, target);
    }
  }

  /** Returns the checked addresses of a host; `undefined` where they cannot be resolved. */
  async check(url: URL): Promise<readonly string[] | undefined> {
    const addresses = await this.#resolve(url);
    if (addresses) {
      const isPlain = addresses.every(isPublicAddress);
      checkAddresses(url, addresses, this.#policy, !isPlain && (await this.#isIntranet()));
    }
    return addresses;
  }

  async #send(url: URL): Promise<AdapterResponse> {
    const addresses = await this.check(url);
    const isAllowed = await this.#policy.allow?.(new URL(url), addresses ?? []);
    if (isAllowed === false) throw refused(describe(url), "`allow` returned false");
    // Not sent if the caller has left while the host was resolved.
    this.#signal.throwIfAborted();
    const request: AdapterRequest = {
      ...{ url, method: this.#method, headers: this.#headers, body: this.#body, signal: this.#signal },
    };
    return this.#adapterFor(url).send(request, addresses ?? []);
  }

  async #resolve(url: URL): Promise<readonly string[] | undefined> {
    const literal = literalAddress(url);
    if (literal !== undefined) return [literal];
    // A custom fetch resolves the host itself, so a result from here would prove nothing.
    const { lookup, fetch, via } = this.#policy;
    if (lookup && !fetch && !via?.(url)) return [...(await lookup(url.hostname))];
    return this.#adapterFor(url).resolve(url.hostname);
  }

  #adapterFor(url: URL): FetchAdapter {
    const fetch = this.#policy.via?.(url);
    return fetch ? createAdapter(fetch) : this.#adapter;
  }

  /** Resolves to true if the host that the user has named is in a private network. */
  async #isIntranet(): Promise<boolean> {
    const { neighbourOf } = this.#policy;
    if (neighbourOf === undefined || !URL.canParse(`https://${neighbourOf}`)) return false;
    const found = await this.#resolve(new URL(`https://${neighbourOf}`)).catch(() => undefined);
    return found?.some(isPrivateNetworkAddress) === true;
  }

  #redirect(from: URL, location: string): URL {
    const place = describe(from);
    if (!URL.canParse(location, from)) throw refused(place, "it redirects to an invalid URL");
    const to = new URL(location, from);
    const target = /^https?:$/.test(to.protocol) ? describe(to) : `a ${to.protocol} URL`;
    if (this.#method !== "GET" && this.#method !== "HEAD") {
      throw new PortolanError("http-status", `${place} redirects a ${this.#method} to ${target}; use that URL`);
    }
    const { redirects = "same-origin" } = this.#policy;
    if (redirects === "never" || (redirects === "same-origin" && to.origin !== from.origin)) {
      throw refused(target, `${place} redirects there, and \`redirects\` is "${redirects}"`);
    }
    const checked = checkWebAddress(to, this.#policy);
    if (checked.origin !== from.origin) {
      this.#headers = new Headers([...this.#headers].filter(([name]) => harmlessHeaders.has(name)));
    }
    return checked;
  }

  async #finish(url: URL, response: AdapterResponse): Promise<Response> {
    const place = `${this.#method} ${describe(url)}`;
    const { status, headers } = response;
    try {
      if (status < 200 || status > 599) {
        throw new PortolanError("http-status", `${place}: expected a status from 200 to 599, got ${status}`);
      }
      const body = await this.#read(place, this.#decoded(place, response));
      const result = new Response(bodilessStatus.has(status) ? null : body, { status, headers });
      // A constructed Response has no url of its own.
      return Object.defineProperty(result, "url", { value: url.href });
    } catch (reason) {
      response.drop();
      throw reason;
    }
  }

  /** Returns the response with its body decoded. */
  #decoded(place: string, response: AdapterResponse): AdapterResponse {
    const { headers } = response;
    const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
    if (encoding === "" || encoding === "identity") return response;
    if (!this.#adapter.decode || !this.#encodings.includes(encoding)) {
      const offered = this.#encodings.join(" or ") || "no content encoding";
      throw new PortolanError("answer-invalid", `${place}: expected ${offered} as in accept-encoding`);
    }
    const hasBody = this.#method !== "HEAD" && !bodilessStatus.has(response.status);
    // They describe the encoded bytes, which are gone.
    for (const name of ["content-encoding", "content-length"]) headers.delete(name);
    return hasBody ? { ...response, body: this.#adapter.decode(encoding, response.body) } : response;
  }

  /** Reads the body up to the limit. It counts the received bytes, because content-length may be wrong. */
  async #read(place: string, { headers, body }: AdapterResponse): Promise<Uint8Array<ArrayBuffer>> {
    const { maxBytes = defaultMaxBytes } = this.#policy;
    const tooLarge = () => {
      const hint = "`maxBytes` raises the limit";
      return new PortolanError("message-too-large", `${place}: expected at most ${maxBytes} bytes; ${hint}`);
    };
    if (this.#method !== "HEAD" && Number(headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
    const pieces: Uint8Array[] = [];
    let length = 0;
    for await (const piece of body) {
      length += piece.length;
      if (length > maxBytes) throw tooLarge();
      pieces.push(piece);
    }
    const whole = new Uint8Array(length);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }
}
