/** Hears what a server says, in order. */
export interface Sink {
  received(value: unknown): void;
  /** Hears what is no JSON. */
  noise(text: string): void;
  /** Hears once that nothing more will come. */
  closed(why: string): void;
  /** Hears what goes to the server, a line or a body, where somebody listens. */
  readonly sent?: ((text: string) => void) | undefined;
}

export type Headers = { readonly [name: string]: string | undefined };

/** How a server took what was sent to it. */
export interface Posted {
  /** Undefined where there is no such thing; 0 when the connection broke before there was one. */
  readonly status: number | undefined;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  /** What came, unless it came as messages. */
  readonly body: string;
}

/** Something that was sent. Nothing here ever rejects. */
export interface Post {
  /** Resolves when the server has begun to react. */
  readonly begun: Promise<Posted>;
  /** Resolves when nothing more will come for it. */
  readonly finished: Promise<Posted>;
  /** Goes away without hearing the rest. */
  drop(): void;
}

/** A way to a server. */
export interface Wire {
  /** Sends one body: a line, or a request. */
  post(body: string | Uint8Array, headers?: Headers): Post;
  /** Ends it and all that belongs to it. */
  close(): Promise<void>;
}

/** A body as text. */
export function toText(body: string | Uint8Array): string {
  return typeof body === "string" ? body : Buffer.from(body).toString();
}

/** More than this from one server is a flood. */
export const maxReceivedBytes: number = 16 * 1024 * 1024;

/** What a wire may still receive. */
export class Allowance {
  #left: number = maxReceivedBytes;

  /** False when it was too much. */
  take(bytes: number): boolean {
    this.#left -= bytes;
    return this.#left >= 0;
  }
}
