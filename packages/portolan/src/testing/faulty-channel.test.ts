import { describe, expect, test } from "vitest";
import type { Channel } from "../jsonrpc/channel.ts";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import type { Message } from "../jsonrpc/message.ts";
import { createClock, turn } from "./clock.ts";
import { type ChannelFaults, faulty } from "./faulty-channel.ts";

const note = (step: number): Message => ({ jsonrpc: "2.0", method: "note", params: { step } });

/** What a channel tells, in short: the steps of its notes, and words for the rest. */
function listen(channel: Channel): unknown[] {
  const heard: unknown[] = [];
  channel.open({
    message: (message) => heard.push((message as { params?: { step?: number } }).params?.step),
    batch: () => heard.push("batch"),
    unreadable: ({ why }) => heard.push(`unreadable: ${why}`),
    closed: (reason) => heard.push(`closed${reason ? `: ${reason.message}` : ""}`),
  });
  return heard;
}

function createFaultyPair(faults: Omit<ChannelFaults, "seed"> & { seed?: number }) {
  const [channel, far] = createMemoryPair({ serialize: true });
  const clock = createClock();
  const near = faulty(channel, { seed: 1, clock, ...faults });
  return { near, far, clock, atNear: listen(near), atFar: listen(far) };
}

function sendSteps(channel: Channel, count: number): void {
  for (let step = 0; step < count; step += 1) channel.send(note(step));
}

const range = (count: number) => Array.from({ length: count }, (_, step) => step);

test("without faults everything passes, and nothing was done", async () => {
  const { near, far, atNear, atFar } = createFaultyPair({});
  sendSteps(near, 10);
  sendSteps(far, 10);
  await turn();
  expect([atNear, atFar, near.injected]).toEqual([range(10), range(10), []]);
});

test("the same seed does the same, and another seed something else", async () => {
  const run = async (seed: number) => {
    const faults = { drop: 0.2, duplicate: 0.2, reorder: 0.2, delay: 0.2, truncate: 0.2, garbage: 0.2 };
    const { near, far, clock, atNear, atFar } = createFaultyPair({ seed, ...faults });
    sendSteps(near, 30);
    sendSteps(far, 30);
    await clock.advance(60_000);
    return { atNear, atFar, injected: near.injected };
  };
  expect(await run(5)).toEqual(await run(5));
  expect((await run(5)).atFar).not.toEqual((await run(6)).atFar);
});

describe("each fault happens both ways and is written down:", () => {
  test("drop loses some", async () => {
    const { near, far, atNear, atFar } = createFaultyPair({ drop: 0.3 });
    sendSteps(near, 50);
    sendSteps(far, 50);
    await turn();
    const dropped = (arrow: string) => near.injected.filter((line) => line.startsWith(`${arrow} drop {`)).length;
    for (const [heard, arrow] of [[atNear, "←"] as const, [atFar, "→"] as const]) {
      expect(dropped(arrow)).toBeGreaterThan(0);
      expect(heard).toHaveLength(50 - dropped(arrow));
      expect(heard).toEqual(heard.toSorted((a, b) => Number(a) - Number(b)));
    }
  });

  test("duplicate repeats each", async () => {
    const { near, far, atNear, atFar } = createFaultyPair({ duplicate: 1 });
    sendSteps(near, 2);
    sendSteps(far, 2);
    await turn();
    expect([atNear, atFar]).toEqual([
      [0, 0, 1, 1],
      [0, 0, 1, 1],
    ]);
  });

  test("reorder lets the next one pass, and the last one is not lost", async () => {
    const { near, far, clock, atNear, atFar } = createFaultyPair({ reorder: 1, maxDelayMs: 100 });
    sendSteps(near, 3);
    sendSteps(far, 3);
    await turn();
    expect([atNear, atFar]).toEqual([
      [1, 0],
      [1, 0],
    ]);
    await clock.advance(100);
    expect([atNear, atFar]).toEqual([
      [1, 0, 2],
      [1, 0, 2],
    ]);
  });

  test("delay holds up, keeps the order, and ends in time", async () => {
    const { near, far, clock, atNear, atFar } = createFaultyPair({ delay: 0.5, maxDelayMs: 100 });
    sendSteps(near, 50);
    sendSteps(far, 50);
    await turn();
    expect(atFar.length).toBeLessThan(50);
    expect(atNear.length).toBeLessThan(50);
    await clock.advance(100);
    expect([atNear, atFar]).toEqual([range(50), range(50)]);
  });
});

test("a truncated message cannot be read", async () => {
  const { near, far, atNear } = createFaultyPair({ truncate: 1 });
  sendSteps(far, 1);
  await turn();
  expect(atNear).toEqual(["unreadable: the text is not valid JSON"]);
  expect(near.injected).toEqual([expect.stringMatching(/^← truncate \{/)]);
});

test("garbage comes before a message, which still arrives", async () => {
  const { far, atNear } = createFaultyPair({ garbage: 1 });
  sendSteps(far, 1);
  await turn();
  expect(atNear).toEqual([expect.stringContaining("unreadable: expected a JSON object"), 0]);
});

test("the wire is cut after so many messages, and each side hears the end once", async () => {
  const { near, far, atNear, atFar } = createFaultyPair({ cutAfter: 3 });
  sendSteps(near, 2);
  sendSteps(far, 5);
  await turn();
  near.send(note(9));
  await Promise.all([near.close(), far.close()]);
  expect(atFar).toEqual([0, 1, "closed"]);
  expect(atNear).toEqual([0, "closed: The wire was cut after 3 messages"]);
  expect(near.injected).toEqual(["cut: The wire was cut after 3 messages"]);
});

test("a cut loses what is held up", async () => {
  const { near, clock, atFar } = createFaultyPair({ delay: 1 });
  sendSteps(near, 2);
  near.cut();
  await clock.advance(10_000);
  expect(atFar).toEqual(["closed"]);
  expect(clock.pending).toBe(0);
});

test("half-closed, one way is silent and the other goes on", async () => {
  const { near, far, atNear, atFar } = createFaultyPair({ stopReceivingAfter: 1 });
  sendSteps(near, 3);
  sendSteps(far, 3);
  await turn();
  expect([atNear, atFar]).toEqual([[0], [0, 1, 2]]);
  near.stop("sending");
  sendSteps(near, 1);
  await near.close();
  expect([atNear, atFar]).toEqual([
    [0, "closed"],
    [0, 1, 2, "closed"],
  ]);
});

test("what has no JSON form is refused also where the message would be lost", () => {
  const { near } = createFaultyPair({ drop: 1 });
  expect(() => near.send({ jsonrpc: "2.0", method: "note", params: { big: 1n } })).toThrow("BigInt");
});
