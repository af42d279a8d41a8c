import type { ServedExchange } from "../call/exchange.ts";
import type { Runtime } from "../subscribe/runtime.ts";
import type { ServeHttpOptions } from "./options.ts";
import { Streams } from "./streams.ts";

const defaultKeepAliveMs = 15_000;
const defaultQuietMs = 5_000;

/** What all requests of an endpoint share. */
export class Serving {
  readonly runtime: Runtime;
  readonly streams: Streams;
  readonly keepAliveMs: number;
  readonly quietMs: number;
  readonly #running = new Set<ServedExchange>();
  #whenIdle: (() => void)[] = [];

  constructor(runtime: Runtime, options: ServeHttpOptions) {
    this.runtime = runtime;
    this.quietMs = options.quietMs ?? defaultQuietMs;
    this.keepAliveMs = options.keepAliveMs ?? defaultKeepAliveMs;
    this.streams = new Streams({ limits: options.limits ?? {}, keepAliveMs: this.keepAliveMs });
  }

  /** Keeps an exchange that takes time until it is over. */
  track(exchange: ServedExchange, running: Promise<void>): void {
    this.#running.add(exchange);
    running.then(() => {
      this.#running.delete(exchange);
      if (this.#running.size === 0) for (const resolve of this.#whenIdle.splice(0)) resolve();
    });
  }

  /** Tells the operator if something fails that nobody waits for. */
  watch(work: Promise<void>): void {
    work.catch((cause) => this.runtime.report(cause));
  }

  /** Ends what waits for changes with its result, and resolves when nothing runs any more. */
  drain(): Promise<void> {
    for (const exchange of this.#running) exchange.endGracefully();
    if (this.#running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Gives up what still runs. */
  cancelAll(reason: Error): void {
    for (const exchange of this.#running) exchange.cancel(reason);
    this.streams.closeAll();
  }
}
