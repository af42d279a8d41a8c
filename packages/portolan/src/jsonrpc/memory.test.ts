import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Channel, ChannelEvents } from "./channel.ts";
import { createMemoryPair } from "./memory.ts";
import type { Message } from "./message.ts";

const ping: Message = { jsonrpc: "2.0", id: 1, method: "ping" };
const note = (step: number): Message => ({ jsonrpc: "2.0", method: "note", params: { step } });

function listen(channel: Channel, onMessage: (message: Message) => void = () => {}): unknown[] {
  const heard: unknown[] = [];
  const incoming: ChannelEvents = {
    message: (message) => {
      heard.push(message);
      onMessage(message);
    },
    batch: (messages) => heard.push({ batch: messages }),
    unreadable: (problem) => heard.push({ problem }),
    closed: () => heard.push("closed"),
  };
  channel.open(incoming);
  return heard;
}

describe.each([{ serialize: false }, { serialize: true }])("a pair with %o", (options) => {
  test("delivers in order, both ways", async () => {
    const [left, right] = createMemoryPair(options);
    const heardLeft = listen(left);
    const heardRight = listen(right);
    for (let step = 0; step < 5; step++) {
      left.send(note(step));
      right.send(note(10 + step));
    }
    await left.close();
    expect(heardRight).toEqual([0, 1, 2, 3, 4].map(note).concat("closed" as never));
    expect(heardLeft).toEqual([10, 11, 12, 13, 14].map(note).concat("closed" as never));
  });

  test("never delivers inside send or open", async () => {
    const [left, right] = createMemoryPair(options);
    left.send(ping);
    const heard = listen(right);
    left.send(note(1));
    expect(heard).toEqual([]);
    await left.close();
    expect(heard).toEqual([ping, note(1), "closed"]);
  });

  test("does not call a listener again before it returns", async () => {
    const [left, right] = createMemoryPair(options);
    const order: string[] = [];
    listen(left, () => order.push("left"));
    listen(right, (message) => {
      order.push("right begins");
      if ("id" in message) {
        right.send(note(0));
        left.send(note(1));
      }
      order.push("right ends");
    });
    left.send(ping);
    await vi.waitFor(() => expect(order).toHaveLength(5));
    expect(order).toEqual(["right begins", "right ends", "right begins", "right ends", "left"]);
  });

  test("closes after all messages are delivered", async () => {
    const [left, right] = createMemoryPair(options);
    const heard = listen(right);
    left.send(ping);
    await vi.waitFor(() => expect(heard).toEqual([ping]));
    await right.close();
    expect(heard).toEqual([ping, "closed"]);
  });

  test("delivers messages that were sent before open, even after close", async () => {
    const [left, right] = createMemoryPair(options);
    listen(left);
    left.send(ping);
    await left.close();
    const heard = listen(right);
    await right.close();
    expect(heard).toEqual([ping, "closed"]);
  });

  test("delivers a prepared response and a batch", async () => {
    const [left, right] = createMemoryPair(options);
    const heard = listen(right);
    left.send({ id: 3, resultText: '{"tools":[]}' });
    left.send([{ jsonrpc: "2.0", id: 4, result: {} }]);
    await left.close();
    expect(heard).toEqual([
      { jsonrpc: "2.0", id: 3, result: { tools: [] } },
      { batch: [{ jsonrpc: "2.0", id: 4, result: {} }] },
      "closed",
    ]);
  });

  test("closes both sides once, whichever side closes", async () => {
    const [left, right] = createMemoryPair(options);
    const heardLeft = listen(left);
    const heardRight = listen(right);
    await Promise.all([left.close(), right.close(), left.close()]);
    left.send(ping);
    right.send(ping);
    await right.close();
    expect(heardLeft).toEqual(["closed"]);
    expect(heardRight).toEqual(["closed"]);
  });

  test("refuses to be opened twice", () => {
    const [left] = createMemoryPair(options);
    listen(left);
    expect(() => listen(left)).toThrow("already open");
  });
});

test("messages are passed by reference by default", async () => {
  const [left, right] = createMemoryPair();
  const heard = listen(right);
  left.send(ping);
  await left.close();
  expect(heard[0]).toBe(ping);
});

test("with serialize, messages arrive as JSON carries them", async () => {
  const [left, right] = createMemoryPair({ serialize: true });
  const heard = listen(right);
  const message = { ...ping, params: { gone: undefined, when: new Date(0) } };
  left.send(message);
  left.send({ jsonrpc: "1.0", id: 2, method: "a" } as unknown as Message);
  expect(() => left.send({ ...ping, params: { big: 1n } })).toThrow("params.big: a BigInt");
  await left.close();
  expect(heard).toEqual([
    { ...ping, params: { when: "1970-01-01T00:00:00.000Z" } },
    { problem: { code: -32600, id: 2, answerable: true, why: 'jsonrpc: expected "2.0", got "1.0"' } },
    "closed",
  ]);
});

describe("a listener that throws", () => {
  const failure = new Error("listener failed");
  const reported: unknown[] = [];
  const report = (reason: unknown): void => {
    reported.push(reason);
  };
  let others: NodeJS.UnhandledRejectionListener[] = [];

  // The runner would take the rejections this is about for its own failures.
  beforeEach(() => {
    others = process.listeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", report);
  });

  afterEach(() => {
    process.removeListener("unhandledRejection", report);
    for (const other of others) process.on("unhandledRejection", other);
    reported.length = 0;
  });

  test("is reported and does not affect other messages", async () => {
    const [left, right] = createMemoryPair();
    const heard = listen(right, (message) => {
      if (message === ping) throw failure;
    });
    for (const message of [note(1), ping, note(2)]) left.send(message);
    await vi.waitFor(() => expect(heard).toEqual([note(1), ping, note(2)]));
    await vi.waitFor(() => expect(reported).toEqual([failure]));
  });

  test("does not make close resolve before all is delivered", async () => {
    const [left, right] = createMemoryPair();
    const steps = Array.from({ length: 20 }, (_, step) => note(step));
    const heard = listen(right, () => {
      throw failure;
    });
    for (const message of steps) left.send(message);
    await left.close();
    expect(heard).toEqual([...steps, "closed"]);
    await vi.waitFor(() => expect(reported).toHaveLength(20));
  });
});
