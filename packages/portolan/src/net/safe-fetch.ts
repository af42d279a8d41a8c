import { PortolanError } from "../errors.ts";
import { isPrivateNetworkAddress, isPublicAddress } from "./address.ts";
import { checkAddresses, checkWebAddress, describe, literalOf, refused } from "./check-address.ts";
import type { Answer, Carrier, CarrierRequest } from "./fetch-adapter.ts";
import { createFetchCarrier } from "./fetch-adapter.ts";
import type { FetchPolicy, SafeFetch, SafeFetchInit } from "./policy.ts";

const defaultMaxBytes = 256 * 1024;
const defaultTimeoutMs = 5_000;
const longestTimerMs = 2 ** 31 - 1;
const defaultMaxRedirects = 3;
const redirectStatus: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const bodilessStatus: ReadonlySet<number> = new Set([204, 205, 304]);
/** They belong to the connection: a caller who set them could reach another host than the one that was checked. */
const connectionHeaders: ReadonlySet<string> = new Set([
  ...["connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization", "te", "trailer"],
  ...["transfer-encoding", "upgrade"],
]);
/** All that another origin gets to see after a redirect: any other header may be a credential. */
const harmlessHeaders: ReadonlySet<string> = new Set(["accept", "accept-encoding", "accept-language", "user-agent"]);

/**
 * A fetch for addresses that somebody else has named: https to public addresses only, unless the policy says more.
 * On Node the host is resolved once, checked, and connected to at the checked address. On other runtimes, and with
 * `policy.fetch` or `policy.via`, hosts are resolved out of sight: there only what the address itself says is checked.
 */
export function createSafeFetch(policy: FetchPolicy = {}): SafeFetch {
  let carrier: Promise<Carrier> | undefined;
  // A mistake in the policy shows where it was made.
  checkWebAddress("https://example.com", policy);
  return async (url, init = {}) => {
    const first = checkWebAddress(url, policy);
    carrier ??= createCarrier(policy);
    const method = (init.method ?? "GET").toUpperCase();
    return withinTime(`${method} ${describe(first)}`, policy, init.signal ?? undefined, async (signal) => {
      return new Visit(await (carrier as Promise<Carrier>), policy, signal, method, init).start(first);
    });
  };
}

/** As `checkWebAddress`, and checks what the host resolves to as well, where there is a resolver to ask. */
export async function checkResolvedAddress(url: string | URL, policy: FetchPolicy = {}): Promise<URL> {
  const address = checkWebAddress(url, policy);
  const visit = new Visit(await createCarrier(policy), policy, new AbortController().signal, "GET", {});
  await visit.check(address);
  return address;
}

async function createCarrier({ fetch }: FetchPolicy): Promise<Carrier> {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (!fetch && process?.versions?.node !== undefined)
    return (await import("./node/fetch-adapter.ts")).createNodeCarrier();
  return createFetchCarrier(fetch ?? ((input, init) => globalThis.fetch(input, init)));
}

/** Runs work that ends with its result, the caller's signal or the policy's time, whatever the work still waits for. */
async function withinTime<T>(
  what: string,
  { timeoutMs = defaultTimeoutMs }: FetchPolicy,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  caller?.throwIfAborted();
  const ended = new AbortController();
  const timer = setTimeout(
    () => {
      ended.abort(new PortolanError("timeout", `${what}: expected the whole answer within ${timeoutMs} ms`));
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

/** When several addresses were tried in vain the error has a code and no message. */
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
class Visit {
  readonly #carrier: Carrier;
  readonly #policy: FetchPolicy;
  readonly #signal: AbortSignal;
  readonly #method: string;
  readonly #body: string | undefined;
  /** Which content encodings may come. */
  readonly #encodings: readonly string[];
  #headers: Headers;

  constructor(carrier: Carrier, policy: FetchPolicy, signal: AbortSignal, method: string, init: SafeFetchInit) {
    this.#carrier = carrier;
    this.#policy = policy;
    this.#signal = signal;
    this.#method = method;
    this.#body = init.body?.toString();
    // Whether a redirect leads to a fetch, which undoes no encoding we could count, shows too late.
    this.#encodings = policy.decode && !policy.via ? (carrier.encodings ?? []) : [];
    this.#headers = toHeaders(init, this.#encodings);
  }

  async start(first: URL): Promise<Response> {
    const { maxRedirects = defaultMaxRedirects } = this.#policy;
    let url = first;
    for (let redirects = 0; ; redirects += 1) {
      const answer = await this.#send(url);
      const target = answer.headers.get("location");
      if (target === null || !redirectStatus.has(answer.status)) return this.#finish(url, answer);
      answer.drop();
      if (redirects === maxRedirects) {
        throw new PortolanError("limit-reached", `${describe(first)}: expected at most ${maxRedirects} redirects`);
      }
      url = this.#redirect(url, target);
    }
  }

  /** The addresses that a host may be connected to at; undefined where nobody here can tell. */
  async check(url: URL): Promise<readonly string[] | undefined> {
    const addresses = await this.#resolve(url);
    if (addresses) {
      const isPlain = addresses.every(isPublicAddress);
      checkAddresses(url, addresses, this.#policy, !isPlain && (await this.#isIntranet()));
    }
    return addresses;
  }

  async #send(url: URL): Promise<Answer> {
    const addresses = await this.check(url);
    const isAllowed = await this.#policy.allow?.(new URL(url), addresses ?? []);
    if (isAllowed === false) throw refused(describe(url), "`allow` said no");
    // What was asked for in vain while the host was looked up must not go out any more.
    this.#signal.throwIfAborted();
    const request: CarrierRequest = {
      ...{ url, method: this.#method, headers: this.#headers, body: this.#body, signal: this.#signal },
    };
    return this.#carrierTo(url).send(request, addresses ?? []);
  }

  async #resolve(url: URL): Promise<readonly string[] | undefined> {
    const literal = literalOf(url);
    if (literal !== undefined) return [literal];
    // Who sends by a fetch of his own resolves there, so what is found here would prove nothing.
    const { lookup, fetch, via } = this.#policy;
    if (lookup && !fetch && !via?.(url)) return [...(await lookup(url.hostname))];
    return this.#carrierTo(url).addressesOf(url.hostname);
  }

  #carrierTo(url: URL): Carrier {
    const fetch = this.#policy.via?.(url);
    return fetch ? createFetchCarrier(fetch) : this.#carrier;
  }

  /** Whether the host that a person has named belongs to a private network. */
  async #isIntranet(): Promise<boolean> {
    const { neighbourOf } = this.#policy;
    if (neighbourOf === undefined || !URL.canParse(`https://${neighbourOf}`)) return false;
    const found = await this.#resolve(new URL(`https://${neighbourOf}`)).catch(() => undefined);
    return found?.some(isPrivateNetworkAddress) === true;
  }

  #redirect(from: URL, location: string): URL {
    const place = describe(from);
    if (!URL.canParse(location, from)) throw refused(place, "it redirects to something that is no URL");
    const to = new URL(location, from);
    const target = /^https?:$/.test(to.protocol) ? describe(to) : `a ${to.protocol} address`;
    if (this.#method !== "GET" && this.#method !== "HEAD") {
      throw new PortolanError("http-status", `${place} redirects a ${this.#method} to ${target}; use that address`);
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

  async #finish(url: URL, answer: Answer): Promise<Response> {
    const place = `${this.#method} ${describe(url)}`;
    const { status, headers } = answer;
    try {
      if (status < 200 || status > 599) {
        throw new PortolanError("http-status", `${place}: expected a status from 200 to 599, got ${status}`);
      }
      const body = await this.#read(place, this.#decoded(place, answer));
      const response = new Response(bodilessStatus.has(status) ? null : body, { status, headers });
      // A response of one's own making has no address, and this one came from somewhere.
      return Object.defineProperty(response, "url", { value: url.href });
    } catch (reason) {
      answer.drop();
      throw reason;
    }
  }

  /** The answer as it was before it was encoded, if it was. */
  #decoded(place: string, answer: Answer): Answer {
    const { headers } = answer;
    const encoding = headers.get("content-encoding")?.trim().toLowerCase() ?? "";
    if (encoding === "" || encoding === "identity") return answer;
    if (!this.#carrier.decode || !this.#encodings.includes(encoding)) {
      const offered = this.#encodings.join(" or ") || "no content encoding";
      throw new PortolanError("answer-invalid", `${place}: expected ${offered}, as was asked for`);
    }
    const hasBody = this.#method !== "HEAD" && !bodilessStatus.has(answer.status);
    // They tell of bytes that nobody sees.
    for (const name of ["content-encoding", "content-length"]) headers.delete(name);
    return hasBody ? { ...answer, body: this.#carrier.decode(encoding, answer.body) } : answer;
  }

  /** Counts what really comes: a content-length can lie. */
  async #read(place: string, { headers, body }: Answer): Promise<Uint8Array<ArrayBuffer>> {
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
