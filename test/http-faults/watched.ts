import type { Change, ChangeStream } from "portolan/client";
import { expect } from "vitest";
import { until } from "../http-client/kit.ts";

/** Collects the changes of a watch. */
export class Watched {
  readonly received: Change[] = [];
  /** The reason of its end; undefined while it is open. */
  failure: Error | undefined;

  constructor(watch: ChangeStream) {
    this.#read(watch).catch((reason) => {
      this.failure = reason;
    });
  }

  /** Publishes a change repeatedly until it arrives, because changes published while no client listens are lost. */
  async receives(change: Change, publish: () => Promise<unknown> | unknown): Promise<void> {
    const before = this.received.length;
    await until(async () => {
      await publish();
      return (
        this.failure ??
        this.received.slice(before).some((received) => JSON.stringify(received) === JSON.stringify(change))
      );
    });
    expect(this.failure).toBeUndefined();
  }

  async #read(watch: ChangeStream): Promise<void> {
    for await (const change of watch) this.received.push(change);
  }
}
