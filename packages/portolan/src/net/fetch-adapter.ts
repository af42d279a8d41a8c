import { PortolanError } from "../errors.ts";
import { describe } from "./check-address.ts";

/** Sends requests on one runtime. */
export interface FetchAdapter {
  /** Returns the IP addresses of a host; `undefined` where the runtime does not reveal them. */
  resolve(host: string): Promise<readonly string[] | undefined>;
  /** Sends one request without following redirects, and connects to one of `addresses` only. */
  send(request: AdapterRequest, addresses: readonly string[]): Promise<AdapterResponse>;
  /** Content encodings that `decode` can decode, where the runtime delivers bodies as they were sent. */
  readonly encodings?: readonly string[];
  /** Decodes a body as a stream; it stops when the reader stops. */
  decode?(encoding: string, body: AdapterResponse["body"]): AdapterResponse["body"];
}

/** One request to send. */
export interface AdapterRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer> | undefined;
  readonly signal: AbortSignal;
}

/** The head of a response, and its body as a stream. */
export interface AdapterResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;
  /** Stops reading and closes the connection. */
  drop(): void;
}

/** Creates an adapter for a `fetch`, which resolves hosts itself. Default: the global one at the time of each request. */
export function createAdapter(
  fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init),
): FetchAdapter {
  return {
    resolve: async () => undefined,
    send: (request) => sendByFetch(fetch, request),
  };
}

async function sendByFetch(fetch: typeof globalThis.fetch, request: AdapterRequest): Promise<AdapterResponse> {
  const { url, method, headers, body, signal } = request;
  const response = await fetch(url.href, {
    ...{ method, headers, signal, redirect: "manual", credentials: "omit", cache: "no-store" },
    ...(body !== undefined && { body }),
  });
  if (response.type === "opaqueredirect") {
    throw new PortolanError(
      "address-refused",
      `${describe(url)} redirects, and the browser does not reveal the target`,
    );
  }
  const stream = response.body?.getReader();
  const received = new Headers(response.headers);
  // The fetch may have decoded the body; then these headers describe bytes that no longer exist.
  for (const name of ["content-encoding", "content-length"]) received.delete(name);
  return {
    status: response.status,
    headers: received,
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
