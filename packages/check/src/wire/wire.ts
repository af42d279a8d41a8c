/** Receives everything that a server sends, in order. */
export interface Sink {
  received(value: unknown): void;
  /** Called with data that is not JSON. */
  noise(text: string): void;
  /** Called once when nothing more will arrive. */
  closed(why: string): void;
  /** Called with each line or body that is sent to the server; undefined if nothing listens. */
  readonly sent?: ((text: string) => void) | undefined;
}

export type Headers = { readonly [name: string]: string | undefined };

/** The HTTP response to a body. */
export interface PostResult {
  /** Undefined over stdio; 0 if the connection broke before the status. */
  readonly status: number | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  /** The body, if it is not a stream of messages. */
  readonly body: string;
}

/** A body that was sent. Its promises never reject. */
export interface Post {
  /** Resolves when the response has begun. */
  readonly begun: Promise<PostResult>;
  /** Resolves when the response is complete. */
  readonly finished: Promise<PostResult>;
  /** Closes the connection without reading the rest. */
  drop(): void;
}

/** The raw connection to a server. */
export interface Wire {
  /** Sends one body: a line, or a request. */
  post(body: string | Uint8Array, headers?: Headers): Post;
  /** Closes the connection and everything that belongs to it. */
  close(): Promise<void>;
}

/** Returns a body as text. */
export function toText(body: string | Uint8Array): string {
  return typeof body === "string" ? body : Buffer.from(body).toString();
}

/** A server that sends more bytes than this is stopped. */
export const maxReceivedBytes: number = 16 * 1024 * 1024;

/** The number of bytes that a connection may still receive. */
export class ByteBudget {
  #left: number = maxReceivedBytes;

  /** Returns false if the budget is exceeded. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }
}
