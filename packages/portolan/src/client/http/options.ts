import type { MaybePromise } from "../../async.ts";
import type { HttpHeaders } from "../../transport/headers.ts";
import type { Link } from "../channel-link.ts";
import type { Clock } from "../deadlines.ts";

export type { HttpHeaders };

/** A link over Streamable HTTP of either era, or over HTTP+SSE where that is all a server speaks. */
export interface HttpLink extends Link {
  /** The session that the server opened; undefined while there is none, and where there are none. */
  readonly sessionId: string | undefined;
}

/** A request before it is sent, as the hooks see it. */
export interface OutgoingRequest {
  readonly url: URL;
  readonly method: "POST" | "GET" | "DELETE";
  readonly body: string | undefined;
}

/** A request that is to be authorized. */
export interface AuthRequest extends OutgoingRequest {
  /** The server as the user has named it, wherever this request goes. */
  readonly server: URL;
}

/** An answer that asks who is there, or says that this is not allowed. */
export interface Challenge {
  readonly request: AuthRequest;
  /** What `authorize` gave for the request. */
  readonly sent: HttpHeaders;
  readonly status: 401 | 403;
  /** The value of a header, whatever its capitals. */
  header(name: string): string | undefined;
  /** The beginning of the body. */
  readonly body: string;
  /** The same for every attempt to send one request, and for no other. */
  readonly operation: object;
  /** Aborts when nobody waits for the request any more. */
  readonly signal: AbortSignal;
}

/** Authorizes what a link sends: `oauth` of `portolan/auth/client` makes one. */
export interface HttpAuth {
  /** The headers that authorize a request; asked again when the request is sent again. */
  authorize(request: AuthRequest): MaybePromise<HttpHeaders>;
  /** Hears of a 401 or 403; `"retry"` sends the request again, and what it throws is why the request fails. */
  challenged?(challenge: Challenge): Promise<"retry" | "fail">;
}

export interface HttpLinkOptions {
  /** Sent with every request, though not in place of the protocol's own headers, and never to another host. */
  readonly headers?: HttpHeaders | ((request: OutgoingRequest) => MaybePromise<HttpHeaders>);
  readonly auth?: HttpAuth;
  /** Sends the requests; on Node they go through `node:http` unless this is given. */
  readonly fetch?: typeof globalThis.fetch;
  /** The longest answer that is read; 64 MiB unless said otherwise. */
  readonly maxResponseBytes?: number;
  /** The longest event of a stream that is read; as many characters as an answer may have bytes unless said otherwise. */
  readonly maxEventChars?: number;
  /** How long a stream may be silent once its server has shown that it sends keep-alives; 45 s unless said otherwise. */
  readonly idleStreamMs?: number;
  /** Whether HTTP+SSE is spoken: `"auto"`, which is the default, where the server knows nothing newer; `true` from the start. */
  readonly legacySse?: "auto" | boolean;
  readonly clock?: Clock;
}

/** A request with everything that is sent. */
export interface TransportRequest extends OutgoingRequest {
  readonly headers: HttpHeaders;
}

/** The beginning of an answer. */
export interface Head {
  readonly status: number;
  /** The value of a header by its name in small letters. */
  header(name: string): string | undefined;
}

/** Hears an answer: its head, its text in pieces, and then `end`; or `failed` at any moment before that. */
export interface Receiver {
  head(head: Head): void;
  /** The next piece of the body, which had so many bytes. */
  text(text: string, bytes: number): void;
  end(): void;
  /** `wasStale`: the server closed an idle connection at the moment it was used again, and has seen nothing. */
  failed(reason: Error, wasStale?: boolean): void;
}

/** Carries HTTP requests: `node:http`, or fetch. Redirects are not followed. */
export interface Transport {
  /** Whether a server's refusal may look like a network failure, as in browsers, which hide what CORS does not allow. */
  readonly hidesRefusals: boolean;
  /** Sends a request; returns how to give it up, after which its receiver hears nothing more. Never throws. */
  send(request: TransportRequest, receiver: Receiver): () => void;
  /** Keeps the process alive until it is called back: a pause between two connections has no socket that would. */
  hold(): () => void;
  /** Ends every connection, in use or kept for later. */
  close(): void;
}
