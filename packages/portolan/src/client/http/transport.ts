import type { HttpHeaders, OutgoingRequest } from "./options.ts";

/** A request with everything that is sent. */
export interface HttpRequest extends OutgoingRequest {
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
  send(request: HttpRequest, receiver: Receiver): () => void;
  /** Keeps the process alive until it is called back: a pause between two connections has no socket that would. */
  hold(): () => void;
  /** Ends every connection, in use or kept for later. */
  close(): void;
}
