import { expect, test } from "vitest";
import { createClock } from "../../testing/clock.ts";
import { refused } from "./failure.ts";
import type { HttpRequests } from "./requests.ts";
import { Backoff } from "./session.ts";

/** Returns the pause in milliseconds that a back-off makes, and the number of holds that keep the process alive. */
async function pauseOf(failures: number, retryMs?: number, reason?: Error): Promise<number> {
  const clock = createClock();
  let holds = 0;
  const hold = () => {
    holds += 1;
    return () => {
      holds -= 1;
    };
  };
  const requests = { clock, sender: { transport: { hold } } } as unknown as HttpRequests;
  const backoff = new Backoff(requests, failures, retryMs);
  let calledAt: number | undefined;
  backoff.wait(reason, () => {
    calledAt = clock.now();
  });
  expect([holds, backoff.isWaiting]).toEqual([1, true]);
  await clock.advance(1_000_000);
  expect([holds, backoff.isWaiting]).toEqual([0, false]);
  return calledAt as number;
}

test.each([
  ["the first attempt", 0, undefined, 1_000],
  ["the second failure", 2, undefined, 2_560],
  ["many failures", 50, undefined, 60_000],
  ["a server that asks for 5 s", 0, 5_000, 5_000],
  ["a server that asks for no pause", 0, 0, 500],
  ["a server that asks for 2 min", 3, 120_000, 120_000],
])("the pause after %s has at most ten percent jitter", async (_, failures, retryMs, ms) => {
  const pause = await pauseOf(failures, retryMs);
  expect(pause).toBeGreaterThanOrEqual(ms);
  expect(pause).toBeLessThanOrEqual(ms * 1.1);
});

test("the pause is at least the Retry-After of the last failure", async () => {
  const request = { method: "GET", url: new URL("http://host/mcp"), body: undefined } as const;
  const header = (name: string) => (name === "retry-after" ? "30" : undefined);
  expect(await pauseOf(0, undefined, refused(request, { status: 503, header }, ""))).toBeGreaterThanOrEqual(30_000);
});
