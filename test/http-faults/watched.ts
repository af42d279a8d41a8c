import type { Change, ChangeStream } from "portolan/client";
import { expect } from "vitest";
import { until } from "../http-client/kit.ts";

/** What a watch tells, read as it comes. */
export class Watched {
  readonly told: Change[] = [];
  /** Why it ended; undefined while it goes on. */
  failure: Error | undefined;

  constructor(watch: ChangeStream) {
    this.#read(watch).catch((reason) => {
      this.failure = reason;
    });
  }

  /** Has a change told again and again until it is heard: what is said while nobody listens is lost. */
  async hears(change: Change, publish: () => Promise<unknown> | unknown): Promise<void> {
    const before = this.told.length;
    await until(async () => {
      await publish();
      return this.failure ?? this.told.slice(before).some((told) => JSON.stringify(told) === JSON.stringify(change));
    });
    expect(this.failure).toBeUndefined();
  }

  async #read(watch: ChangeStream): Promise<void> {
    for await (const change of watch) this.told.push(change);
  }
}
