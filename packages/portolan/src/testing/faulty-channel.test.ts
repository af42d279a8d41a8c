import { describe, expect, test } from "vitest";
import type { Channel } from "../jsonrpc/channel.ts";
import { createMemoryPair } from "../jsonrpc/memory.ts";
import type { Message } from "../jsonrpc/message.ts";
import { createClock, macrotask } from "./clock.ts";
import { type ChannelFaults, faultyChannel } from "./faulty-channel.ts";

const note = (step: number): Message => ({ jsonrpc: "2.0", method: "note", params: { step } });

/** Collects the events of a channel in short: the steps of its notes, and text for the rest. */
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
  const near = faultyChannel(channel, { seed: 1, clock, ...faults });
  return { near, far, clock, atNear: listen(near), atFar: listen(far) };
}

function sendSteps(channel: Channel, count: number): void {
  for (let step = 0; step < count; step += 1) channel.send(note(step));
}

const range = (count: number) => Array.from({ length: count }, (_, step) => step);

test("passes everything without faults", async () => {
  const { near, far, atNear, atFar } = createFaultyPair({});
  sendSteps(near, 10);
  sendSteps(far, 10);
  await macrotask();
  expect([atNear, atFar, near.injected]).toEqual([range(10), range(10), []]);
});

test("injects the same faults for the same seed, and others for another", async () => {
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

describe("injects each fault in both directions and records it:", () => {
  test("drop loses some messages", async () => {
    const { near, far, atNear, atFar } = createFaultyPair({ drop: 0.3 });
    sendSteps(near, 50);
    sendSteps(far, 50);
    await macrotask();
    const dropped = (arrow: string) => near.injected.filter((line) => line.startsWith(`${arrow} drop {`)).length;
    for (const [heard, arrow] of [[atNear, "←"] as const, [atFar, "→"] as const]) {
      expect(dropped(arrow)).toBeGreaterThan(0);
      expect(heard).toHaveLength(50 - dropped(arrow));
      expect(heard).toEqual(heard.toSorted((a, b) => Number(a) - Number(b)));
    }
  });

  test("duplicate repeats messages", async () => {
    const { near, far, atNear, atFar } = createFaultyPair({ duplicate: 1 });
    sendSteps(near, 2);
    sendSteps(far, 2);
    await macrotask();
    expect([atNear, atFar]).toEqual([
      [0, 0, 1, 1],
      [0, 0, 1, 1],
    ]);
  });

  test("reorder swaps messages, and does not lose the last one", async () => {
    const { near, far, clock, atNear, atFar } = createFaultyPair({ reorder: 1, maxDelayMs: 100 });
    sendSteps(near, 3);
    sendSteps(far, 3);
    await macrotask();
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

  test("delay keeps the order and ends in time", async () => {
    const { near, far, clock, atNear, atFar } = createFaultyPair({ delay: 0.5, maxDelayMs: 100 });
    sendSteps(near, 50);
    sendSteps(far, 50);
    await macrotask();
    expect(atFar.length).toBeLessThan(50);
    expect(atNear.length).toBeLessThan(50);
    await clock.advance(100);
    expect([atNear, atFar]).toEqual([range(50), range(50)]);
  });
});

test("makes truncated messages unreadable", async () => {
  const { near, far, atNear } = createFaultyPair({ truncate: 1 });
  sendSteps(far, 1);
  await macrotask();
  expect(atNear).toEqual(["unreadable: the text is not valid JSON"]);
  expect(near.injected).toEqual([expect.stringMatching(/^← truncate \{/)]);
});

test("inserts garbage before a message, which still arrives", async () => {
  const { far, atNear } = createFaultyPair({ garbage: 1 });
  sendSteps(far, 1);
  await macrotask();
  expect(atNear).toEqual([expect.stringContaining("unreadable: expected a JSON object"), 0]);
});

test("cuts the connection after a number of messages, and reports the end once to each side", async () => {
  const { near, far, atNear, atFar } = createFaultyPair({ cutAfter: 3 });
  sendSteps(near, 2);
  sendSteps(far, 5);
  await macrotask();
  near.send(note(9));
  await Promise.all([near.close(), far.close()]);
  expect(atFar).toEqual([0, 1, "closed"]);
  expect(atNear).toEqual([0, "closed: The connection was cut after 3 messages"]);
  expect(near.injected).toEqual(["cut: The connection was cut after 3 messages"]);
});

test("loses delayed messages when it is cut", async () => {
  const { near, clock, atFar } = createFaultyPair({ delay: 1 });
  sendSteps(near, 2);
  near.cut();
  await clock.advance(10_000);
  expect(atFar).toEqual(["closed"]);
  expect(clock.pending).toBe(0);
});

test("drops messages in one direction only after stop", async () => {
  const { near, far, atNear, atFar } = createFaultyPair({ stopReceivingAfter: 1 });
  sendSteps(near, 3);
  sendSteps(far, 3);
  await macrotask();
  expect([atNear, atFar]).toEqual([[0], [0, 1, 2]]);
  near.stop("sending");
  sendSteps(near, 1);
  await near.close();
  expect([atNear, atFar]).toEqual([
    [0, "closed"],
    [0, 1, 2, "closed"],
  ]);
});

test("refuses a value without a JSON form even if the message would be lost", () => {
  const { near } = createFaultyPair({ drop: 1 });
  expect(() => near.send({ jsonrpc: "2.0", method: "note", params: { big: 1n } })).toThrow("BigInt");
});
