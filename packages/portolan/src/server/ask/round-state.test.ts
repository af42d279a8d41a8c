import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { weigh } from "../../jsonrpc/weigh.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import { createSealer } from "../../storage/crypto.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import { ServedExchange } from "../call/exchange.ts";
import { maxKeptBytes, maxKeptBytesPerCaller, maxStateCharacters, parkedHandlerBytes } from "../limits.ts";
import type { Conversation } from "./conversation.ts";
import { emptyState, KeptBytes, openState, Parking, type StateSealer, sealState } from "./round-state.ts";

const secret = "0123456789abcdef0123456789abcdef";

function call(params: JsonObject, { method = "tools/call", principal = "a" } = {}): ServedExchange {
  const peer = { revision: revisions[0]!, capabilities: {} };
  return new ServedExchange({ jsonrpc: "2.0", id: 1, method, params }, peer, { key: principal }, { notify() {} });
}

function sealerOf(secrets: string[] = [secret], storage = createMemoryStorage()): StateSealer {
  const reportUnknownKey = () => {};
  const budget = new KeptBytes();
  return {
    sealer: createSealer({ secrets }),
    storage,
    ttlMs: 1_000,
    budget,
    reportUnknownKey,
    stored: new Map(),
    isShared: false,
  };
}

describe("a sealed state", () => {
  const state = {
    ...emptyState(),
    answers: new Map([["sure", { digest: "d", answer: { action: "accept" } }]]),
    once: new Map([["mail", "5"]]),
    rounds: 2,
  };

  test("opens for the retry of the same call, whatever its answers and _meta are", async () => {
    const sealed = await sealState(sealerOf(), call({ name: "x" }), state);
    const retry = call({ name: "x", _meta: { a: 1 }, inputResponses: {}, requestState: sealed });
    expect(await openState(sealerOf(), retry, sealed)).toEqual(state);
  });

  test.each([
    ["another principal", call({ name: "x" }, { principal: "b" })],
    ["another method", call({ name: "x" }, { method: "prompts/get" })],
    ["other arguments", call({ name: "x", arguments: { a: 1 } })],
  ])("does not open for %s", async (_, other) => {
    const sealed = await sealState(sealerOf(), call({ name: "x" }), state);
    await expect(openState(sealerOf(), other, sealed)).rejects.toThrow("Invalid or expired requestState");
  });

  test("does not open with another secret", async () => {
    const sealed = await sealState(sealerOf(), call({}), state);
    const other = sealerOf(["fedcba9876543210fedcba9876543210"]);
    await expect(openState(other, call({}), sealed)).rejects.toThrow("Invalid or expired requestState");
  });

  test("that is too long stays in the storage, and its handle opens it", async () => {
    const long = { ...state, userState: JSON.stringify("x".repeat(maxStateCharacters)) };
    const sealer = sealerOf();
    const handle = await sealState(sealer, call({}), long);
    expect(handle.length).toBeLessThan(100);
    expect((await openState(sealer, call({}), handle)).userState).toBe(long.userState);
    await expect(openState(sealerOf(), call({}), handle)).rejects.toThrow("Invalid or expired requestState");
  });
});

describe("a parked handler", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const conversation = (abandon: (reason: Error) => void = () => {}) => ({ abandon }) as unknown as Conversation;

  test("is found by its handle until it is released", () => {
    const parking = new Parking(new KeptBytes(), 1_000);
    const parked = conversation();
    const handle = parking.park(parked, call({}));
    expect(parking.find(handle)).toBe(parked);
    parking.release(handle);
    expect(parking.find(handle)).toBeUndefined();
  });

  test("is abandoned with a timeout when no answer comes in time", () => {
    const parking = new Parking(new KeptBytes(), 1_000);
    const reasons: Error[] = [];
    const handle = parking.park(
      conversation((reason) => reasons.push(reason)),
      call({}),
    );
    vi.advanceTimersByTime(999);
    expect(reasons).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(reasons).toMatchObject([{ code: "timeout" }]);
    expect(parking.find(handle)).toBeUndefined();
  });

  test("is refused when the others of its caller hold too many bytes, and fits again when one is released", () => {
    const parking = new Parking(new KeptBytes(), 1_000);
    const mine = call({ text: "x".repeat(parkedHandlerBytes) });
    const most = Math.floor(maxKeptBytesPerCaller / (2 * parkedHandlerBytes + weigh(call({ text: "" }).request)));
    const handles = Array.from({ length: most }, () => parking.park(conversation(), mine));
    expect(() => parking.park(conversation(), mine)).toThrow("Too much is kept for this caller");
    // Every exchange of this test has a return path of its own, and so is another caller.
    parking.park(conversation(), call({}));
    parking.release(handles[0] ?? "");
    parking.release(handles[0] ?? "");
    parking.park(conversation(), mine);
    expect(() => parking.park(conversation(), mine)).toThrow("Too much is kept for this caller");
    vi.advanceTimersByTime(1_000);
    expect(Array.from({ length: most }, () => parking.park(conversation(), mine))).toHaveLength(most);
  });

  test("is refused when those of all callers together hold too many bytes", () => {
    const parking = new Parking(new KeptBytes(), 1_000);
    const text = "x".repeat(maxKeptBytesPerCaller / 4);
    // Each exchange has a return path of its own, and so is another caller.
    const park = () => parking.park(conversation(), call({ text }));
    const most = Math.floor(maxKeptBytes / (text.length + parkedHandlerBytes));
    for (let count = 0; count < most; count += 1) park();
    expect(park).toThrow("Too much is kept for all callers");
  });
});
