/** Sends requests, whichever runtime this is. */
export interface Carrier {
  /** The addresses of a host; undefined where nobody here can tell. */
  addressesOf(host: string): Promise<readonly string[] | undefined>;
  /** Sends one request and follows no redirect; `addresses` are the only ones it may connect to. */
  send(request: CarrierRequest, addresses: readonly string[]): Promise<Answer>;
  /** The content encodings that `decode` undoes, where bodies come as they were sent. */
  readonly encodings?: readonly string[];
  /** Undoes one of them while the body comes: whoever stops reading stops the work. */
  decode?(encoding: string, body: Answer["body"]): Answer["body"];
}

/** One request, as it goes out. */
export interface CarrierRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly signal: AbortSignal;
}

/** The head of an answer, and its body while it comes. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
  /** Reads no more of it and lets the connection go. */
  drop(): void;
}
