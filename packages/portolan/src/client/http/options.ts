import type { MaybePromise } from "../../async.ts";
import type { HttpHeaders } from "../../http/headers.ts";
import type { Link } from "../channel-link.ts";
import type { Clock } from "../deadlines.ts";

export type { HttpHeaders };

/** A link over Streamable HTTP of either era, or over HTTP+SSE if the server supports nothing newer. */
export interface HttpLink extends Link {
  /** The address of the server. */
  readonly url: URL;
  /** The id of the server's session; undefined without a session, as with stateless servers. */
  readonly sessionId: string | undefined;
}

/** A request before it is sent, as `headers` and `auth` receive it. */
export interface OutgoingRequest {
  readonly url: URL;
  readonly method: "POST" | "GET" | "DELETE";
  readonly body: string | undefined;
}

/** A request that needs authorization. */
export interface AuthRequest extends OutgoingRequest {
  /** The server's address as given to `http` or `connect`; `url` may differ after a redirect. */
  readonly server: URL;
}

/** An HTTP response with status 401 or 403. */
export interface Challenge {
  readonly request: AuthRequest;
  /** The headers that `authorize` returned for the request. */
  readonly sent: HttpHeaders;
  readonly status: 401 | 403;
  /** Returns the value of a header. The name is case-insensitive. */
  header(name: string): string | undefined;
  /** The beginning of the body. */
  readonly body: string;
  /** Identifies the request: the same object for all attempts to send it. */
  readonly operation: object;
  /** Aborts when the request is cancelled or the link closes. */
  readonly signal: AbortSignal;
}

/** Authorizes the requests of a link. `oauth` of `portolan/auth/client` creates one. */
export interface HttpAuth {
  /** Returns the headers that authorize a request. Called for each attempt to send it. */
  authorize(request: AuthRequest): MaybePromise<HttpHeaders>;
  /** Handles a 401 or 403. `"retry"` sends the request again. If it throws, the request fails with that error. */
  challenged?(challenge: Challenge): Promise<"retry" | "fail">;
}

/** Options of `http`. */
export interface HttpLinkOptions {
  /** Headers for every request. Headers of the protocol take precedence. Never sent to another host. */
  readonly headers?: HttpHeaders | ((request: OutgoingRequest) => MaybePromise<HttpHeaders>);
  /** Authorizes every request. See `oauth` of `portolan/auth/client`. Default: none. */
  readonly auth?: HttpAuth;
  /** Sends the requests. Default: `node:http` on Node, otherwise the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
  /** The longest response that is read. Default: 64 MiB. */
  readonly maxResponseBytes?: number;
  /** The longest event of a stream. Default: the number of `maxResponseBytes`. */
  readonly maxEventChars?: number;
  /** A stream fails if it is silent for this long after its server has sent keep-alives. Default: 45 seconds. */
  readonly idleStreamMs?: number;
  /** `true` uses HTTP+SSE, `false` never does, `"auto"` does if the server supports nothing newer. Default: `"auto"`. */
  readonly legacySse?: "auto" | boolean;
  /** The time, for tests. Default: the clock of the system. */
  readonly clock?: Clock;
}

/** A request with all its headers. */
export interface TransportRequest extends OutgoingRequest {
  readonly headers: HttpHeaders;
}

/** Status and headers of a response. */
export interface Head {
  readonly status: number;
  /** All headers, for a tap. */
  readonly headers?: Headers | { readonly [name: string]: string | string[] | undefined };
  /** Returns the value of a header. The name is in lower case. */
  header(name: string): string | undefined;
}

/** The receiver of a response: first its head, then its text in pieces, then `end`; or `failed` at any moment. */
export interface Receiver {
  head(head: Head): void;
  /** The next piece of the body, and its length in bytes. */
  text(text: string, bytes: number): void;
  end(): void;
  /** `wasStale`: the server closed an idle connection just when it was used again, and did not see the request. */
  failed(reason: Error, wasStale?: boolean): void;
}

/** Sends HTTP requests with `node:http` or fetch. Does not follow redirects. */
export interface Transport {
  /** True in browsers, where a refusal that CORS hides looks like a network failure. */
  readonly hidesRefusals: boolean;
  /** Sends a request. Returns a function that cancels it, after which the receiver is not called. Never throws. */
  send(request: TransportRequest, receiver: Receiver): () => void;
  /** Keeps the process alive until the returned function is called: a pause between two connections has no socket. */
  hold(): () => void;
  /** Closes all connections, also idle ones. */
  close(): void;
}
