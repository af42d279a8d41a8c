import { toError } from "../failures.ts";
import type { Receiver, Transport, TransportRequest } from "./options.ts";

/** Creates a transport over a fetch function. Default: the global `fetch` at the time of each request. */
export function createTransport(
  fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init),
): Transport {
  const pending = new Set<FetchExchange>();
  return {
    hidesRefusals: "document" in globalThis || "importScripts" in globalThis,
    send(request, receiver) {
      const exchange = new FetchExchange(receiver);
      pending.add(exchange);
      exchange.run(fetch, request).then(() => pending.delete(exchange));
      return () => exchange.cancel();
    },
    hold: () => () => {},
    close() {
      for (const exchange of pending) exchange.cancel();
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
      // The receiver is not called before `send` has returned, even if fetch throws.
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
      throw new Error("the server redirects, and a browser does not show where to; connect to the final address");
    }
    const { status, headers } = response;
    this.#receiver.head({ status, headers, header: (name) => headers.get(name) ?? undefined });
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
