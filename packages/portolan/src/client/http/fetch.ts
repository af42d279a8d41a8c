import { toError } from "../failures.ts";
import type { Receiver, Transport, TransportRequest } from "./options.ts";

/** HTTP over a fetch function, for every runtime that has one. Default: the global one at the time of each request. */
export function createTransport(
  fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init),
): Transport {
  const underWay = new Set<FetchExchange>();
  return {
    hidesRefusals: "document" in globalThis || "importScripts" in globalThis,
    send(request, receiver) {
      const exchange = new FetchExchange(receiver);
      underWay.add(exchange);
      exchange.run(fetch, request).then(() => underWay.delete(exchange));
      return () => exchange.cancel();
    },
    hold: () => () => {},
    close() {
      for (const exchange of underWay) exchange.cancel();
    },
  };
}

class FetchExchange {
  readonly #receiver: Receiver;
  readonly #abort = new AbortController();
  #isOver = false;

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  async run(fetch: typeof globalThis.fetch, { url, method, headers, body }: TransportRequest): Promise<void> {
    try {
      // Nothing is told before `send` has returned, even by a function that throws.
      await undefined;
      if (this.#isOver) return;
      const response = await fetch(url, {
        method,
        headers: { ...headers, "accept-encoding": "identity" },
        redirect: "manual",
        cache: "no-store",
        signal: this.#abort.signal,
        ...(body !== undefined && { body }),
      });
      await this.#read(response);
    } catch (reason) {
      this.#fail(toError(reason));
    }
  }

  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#abort.abort();
  }

  async #read(response: Response): Promise<void> {
    if (this.#isOver) return;
    if (response.type === "opaqueredirect") {
      throw new Error("it is redirected to where a browser does not say; use the address it leads to");
    }
    this.#receiver.head({ status: response.status, header: (name) => response.headers.get(name) ?? undefined });
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    const reader = response.body?.getReader();
    while (reader && !this.#isOver) {
      const { done, value } = await reader.read();
      if (this.#isOver) return;
      if (done) break;
      this.#receiver.text(decoder.decode(value, { stream: true }), value.length);
    }
    decoder.decode();
    if (this.#isOver) return;
    this.#isOver = true;
    this.#receiver.end();
  }

  #fail(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#abort.abort();
    this.#receiver.failed(reason);
  }
}
