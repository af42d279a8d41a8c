import { PortolanError } from "../errors.ts";
import { describe } from "./check-address.ts";
import type { Answer, Carrier, CarrierRequest } from "./fetch-adapter.ts";

/** Sends by a `fetch`, which resolves hosts by itself. Default: the global one at the time of each request. */
export function createCarrier(
  fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init),
): Carrier {
  return {
    addressesOf: async () => undefined,
    send: (request) => send(fetch, request),
  };
}

async function send(fetch: typeof globalThis.fetch, request: CarrierRequest): Promise<Answer> {
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
    body: read(stream),
    drop() {
      stream?.cancel().catch(() => {});
    },
  };
}

async function* read(stream: ReadableStreamDefaultReader<Uint8Array> | undefined): AsyncGenerator<Uint8Array> {
  if (!stream) return;
  for (let piece = await stream.read(); !piece.done; piece = await stream.read()) yield piece.value;
}
