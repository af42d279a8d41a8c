import { PortolanError } from "../errors.ts";
import { describe } from "./check-address.ts";

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

/** Sends by a `fetch`, which resolves hosts by itself. */
export function createFetchCarrier(fetch: typeof globalThis.fetch): Carrier {
  return {
    addressesOf: async () => undefined,
    send: (request) => sendByFetch(fetch, request),
  };
}

async function sendByFetch(fetch: typeof globalThis.fetch, request: CarrierRequest): Promise<Answer> {
  const { url, method, headers, body, signal } = request;
  const response = await fetch(url.href, {
    ...{ method, headers, signal, redirect: "manual", credentials: "omit", cache: "no-store" },
    ...(body !== undefined && { body }),
  });
  if (response.type === "opaqueredirect") {
    throw new PortolanError("address-refused", `${describe(url)} redirects, and a browser does not tell where to`);
  }
  const stream = response.body?.getReader();
  const answered = new Headers(response.headers);
  // A fetch may have decoded the body already; then these tell of bytes that nobody sees.
  for (const name of ["content-encoding", "content-length"]) answered.delete(name);
  return {
    status: response.status,
    headers: answered,
    body: readBody(stream),
    drop() {
      stream?.cancel().catch(() => {});
    },
  };
}

async function* readBody(stream: ReadableStreamDefaultReader<Uint8Array> | undefined): AsyncGenerator<Uint8Array> {
  if (!stream) return;
  for (let piece = await stream.read(); !piece.done; piece = await stream.read()) yield piece.value;
}
