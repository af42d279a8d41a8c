import { setTimeout as sleep } from "node:timers/promises";
import { PortolanError } from "portolan";
import { createSafeFetch, type SafeFetch } from "portolan/net";
import { ToolError } from "portolan/server";
import { callerOf, Gate, GateFullError } from "../kit.ts";
import { defaultServiceLimits, maxSaidChars, type ServiceLimits } from "./limits.ts";
import { failureOfStatus, type Service, type ServiceFailure, type ServiceResponse } from "./service.ts";
import type { CallerContext, TokenSource } from "./tokens.ts";

/** Values of a query or a form; undefined leaves a value out. */
export interface ServiceValues {
  readonly [name: string]: string | number | boolean | undefined;
}

/** A request to a service. */
export interface ServiceCall {
  /** Default: GET, or POST with a body. */
  readonly method?: string;
  /** Below the address of the API, made by `path`; or a whole address that the service has given. */
  readonly path: string | URL;
  readonly query?: ServiceValues;
  readonly json?: unknown;
  readonly form?: ServiceValues;
  /** A body of any other kind. */
  readonly content?: { readonly mediaType: string; readonly body: string | Uint8Array<ArrayBuffer> };
  /** Leaves out the token, where the address itself is the permission. Default: false. */
  readonly isPublic?: boolean;
  readonly headers?: { readonly [name: string]: string };
  /** Values in the request that no error may repeat. The token is always one of them. */
  readonly secrets?: readonly string[];
  /** Changes nothing. Default: true for GET. A client that only reads refuses all other requests. */
  readonly isReading?: boolean;
  /** Sending it twice does no more than sending it once. Default: the value of `isReading`. */
  readonly isRepeatable?: boolean;
}

/** A failed request to a service, in words for a model. `failure` tells programs what kind of failure it is. */
export class ServiceError extends ToolError {
  readonly failure: ServiceFailure;

  constructor(message: string, failure: ServiceFailure, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** Options of a `ServiceClient`. */
export interface ServiceClientOptions {
  readonly tokens: TokenSource;
  /** Default: the service's own. */
  readonly api?: string;
  /** Refuses requests that change anything, before they are sent. Default: false. */
  readonly isReadOnly?: boolean;
  /** Reaches public addresses only. Default: false, because a person has named the host of the API. */
  readonly isPublicOnly?: boolean;
  readonly limits?: Partial<ServiceLimits>;
}

/** One try of a request: its response, and why it failed if it did. */
interface Attempt {
  readonly response?: ServiceResponse;
  readonly failure?: ServiceFailure | undefined;
  readonly token: string;
}

/**
 * Sends requests to a service: with the token of the caller, within limits, and again where that is safe. All failures are
 * `ToolError`s without a token, most of them `ServiceError`s.
 */
export class ServiceClient {
  readonly service: Service;
  readonly tokens: TokenSource;
  readonly #api: string;
  readonly #isReadOnly: boolean;
  readonly #limits: ServiceLimits;
  readonly #gate: Gate;
  readonly #fetch: SafeFetch;

  constructor(service: Service, options: ServiceClientOptions) {
    const { tokens, api = service.api, isReadOnly = false, isPublicOnly = false, limits } = options;
    this.service = service;
    this.tokens = tokens;
    this.#api = api;
    this.#isReadOnly = isReadOnly;
    this.#limits = { ...defaultServiceLimits, ...limits };
    this.#gate = new Gate(this.#limits.atOnce, this.#limits.maxWaiting);
    const { maxBytes, timeoutMs } = this.#limits;
    // A host that the person has named may be on this machine or in a private network.
    const privateHosts = isPublicOnly ? [] : [new URL(api).hostname];
    this.#fetch = createSafeFetch({ maxBytes, timeoutMs, privateHosts, decode: true });
  }

  /** Sends a request. Rejects with a `ToolError` if it failed. */
  async request(call: ServiceCall, context: CallerContext): Promise<ServiceResponse> {
    if (this.#isReadOnly && !isReading(call)) throw new ToolError("This server only reads. Nothing was changed");
    try {
      return await this.#gate.run(callerOf(context), () => this.#send(call, context));
    } catch (reason) {
      if (!(reason instanceof GateFullError)) throw reason;
      const message = `Too many requests to ${this.service.name} wait already. Try again later`;
      throw new ServiceError(message, { kind: "rate-limited" }, { cause: reason });
    }
  }

  async #send(call: ServiceCall, context: CallerContext): Promise<ServiceResponse> {
    const { maxRetries, maxWaitMs } = this.#limits;
    let waitedMs = 0;
    let isRenewed = false;
    for (let attempt = 0; ; attempt += 1) {
      const { response, failure = { kind: "unavailable" }, token } = await this.#try(call, context);
      if (response) return response;
      if (failure.kind === "signed-out" && !isRenewed) {
        isRenewed = await this.tokens.refused(context, token);
        if (isRenewed) continue;
      }
      const waitMs = this.#waitBefore(call, failure, attempt);
      if (waitMs === undefined || attempt >= maxRetries || waitedMs + waitMs > maxWaitMs) {
        throw this.#errorOf(call, failure, token);
      }
      waitedMs += waitMs;
      const why = failure.kind === "rate-limited" ? "limits requests" : "does not answer";
      context.status(`${this.service.name} ${why}; trying again in ${Math.ceil(waitMs / 1000)} s`);
      await sleep(waitMs, undefined, { signal: context.signal });
    }
  }

  /** Returns how long to wait before another try; undefined if there must be none. */
  #waitBefore(call: ServiceCall, failure: ServiceFailure, attempt: number): number | undefined {
    const backOffMs = this.#limits.firstWaitMs * 2 ** attempt * (0.75 + Math.random() / 2);
    // A request that was refused because of a limit has done nothing.
    if (failure.kind === "rate-limited") return failure.waitMs ?? backOffMs;
    const { isRepeatable = isReading(call) } = call;
    return failure.kind === "unavailable" && isRepeatable ? backOffMs : undefined;
  }

  async #try(call: ServiceCall, context: CallerContext): Promise<Attempt> {
    const token = await this.tokens.tokenFor(context);
    const { headers, body } = this.#contentOf(call, token);
    const url = this.#addressOf(call);
    try {
      const answer = await this.#fetch(url, { method: methodOf(call), headers, body, signal: context.signal });
      const response = await readResponse(url, answer);
      const failure = (this.service.failureOf ?? failureOfStatus)(response);
      return failure ? { failure, token } : { response, token };
    } catch (reason) {
      context.signal.throwIfAborted();
      // The message of an unknown error may quote headers.
      if (!(reason instanceof PortolanError)) return { failure: { kind: "unavailable" }, token };
      return { failure: failureOfError(reason), token };
    }
  }

  #addressOf({ path, query = {} }: ServiceCall): URL {
    const url = new URL(typeof path === "string" ? `${this.#api}${path}` : path.href);
    const { name, otherOrigins = [] } = this.service;
    if (![new URL(this.#api).origin, ...otherOrigins].includes(url.origin)) {
      throw new ToolError(`${name} named an address at ${url.host}, which is not its own. Nothing was sent there`);
    }
    for (const [name, value] of given(query)) url.searchParams.set(name, value);
    return url;
  }

  #contentOf({ json, form, content, isPublic = false, headers: more }: ServiceCall, token: string) {
    const headers: { [name: string]: string } = { "user-agent": "portolan", ...this.service.headers, ...more };
    if (token !== "" && !isPublic) headers["authorization"] = `Bearer ${token}`;
    if (content) {
      headers["content-type"] = content.mediaType;
      return { headers, body: content.body };
    }
    if (json !== undefined) {
      headers["content-type"] = "application/json; charset=utf-8";
      return { headers, body: JSON.stringify(json) };
    }
    if (!form) return { headers, body: undefined };
    headers["content-type"] = "application/x-www-form-urlencoded; charset=utf-8";
    return { headers, body: new URLSearchParams(given(form)).toString() };
  }

  #errorOf(call: ServiceCall, failure: ServiceFailure, token: string): ServiceError {
    // A service might repeat the token in its own sentence.
    const secrets = [token, ...(call.secrets ?? [])].filter((secret) => secret !== "");
    const says = secrets
      .reduce((text, secret) => text?.replaceAll(secret, "[token]"), failure.says)
      ?.slice(0, maxSaidChars)
      .replace(/[.\s]+$/, "");
    return new ServiceError(this.#describe(call, failure, says ? `: ${says}` : ""), failure);
  }

  #describe(call: ServiceCall, failure: ServiceFailure, detail: string): string {
    const { name } = this.service;
    const { wayBack } = this.tokens;
    switch (failure.kind) {
      case "signed-out":
        return `${name} does not accept the sign-in${detail}. ${wayBack}`;
      case "scope-missing":
        return `The sign-in at ${name} lacks the permission ${failure.scopes.join(" or ")}${detail}. ${wayBack}`;
      case "rate-limited": {
        const when = failure.waitMs === undefined ? "later" : `in ${Math.ceil(failure.waitMs / 1000)} s`;
        return `${name} limits requests${detail}. Try again ${when}`;
      }
      case "not-found":
        return `${name} has nothing there, or does not show it to this account${detail}. Check the names`;
      case "conflict":
        return `${name} reports a conflict${detail}. Read the present state, then decide`;
      case "forbidden":
        return `${name} does not allow this to this account${detail}`;
      case "too-large":
        return `The response of ${name} is larger than ${this.#limits.maxBytes} bytes. Ask for less`;
      case "invalid":
        return `${name} refused the request${detail}`;
      case "unavailable":
        return isReading(call)
          ? `${name} did not answer properly${detail}. Try again later`
          : `${name} did not answer properly${detail}. The change may have been made: look before you try again`;
    }
  }
}

/** Returns the failure of a request that got no response, or one that must not be used. */
function failureOfError({ code, message }: PortolanError): ServiceFailure {
  switch (code) {
    case "message-too-large":
      return { kind: "too-large" };
    // Another try would meet these again: a refused address, too many redirects, a redirected change.
    case "address-refused":
    case "limit-reached":
    case "invalid-argument":
    case "http-status":
      return { kind: "invalid", says: message };
    default:
      return { kind: "unavailable", says: message };
  }
}

function methodOf({ method, json, form, content }: ServiceCall): string {
  return method ?? (json !== undefined || form || content ? "POST" : "GET");
}

function isReading(call: ServiceCall): boolean {
  return call.isReading ?? methodOf(call) === "GET";
}

function given(values: ServiceValues): [string, string][] {
  return Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
}

async function readResponse(url: URL, response: Response): Promise<ServiceResponse> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { status, headers } = response;
  let text: string | undefined;
  let parsed: { readonly json: unknown } | undefined;
  const read: ServiceResponse = {
    url,
    status,
    headers,
    bytes,
    get text() {
      text ??= new TextDecoder().decode(bytes);
      return text;
    },
    get json() {
      parsed ??= { json: parseJson(read.text) };
      return parsed.json;
    },
  };
  return read;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
