import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import { createSealer } from "../../storage/crypto.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import { ServedExchange } from "../call/exchange.ts";
import { maxParkedHandlers, maxStateCharacters } from "../limits.ts";
import type { Conversation } from "./conversation.ts";
import { emptyState, openState, Parking, type StateSealer, sealState } from "./round-state.ts";

const secret = "0123456789abcdef0123456789abcdef";

function call(params: JsonObject, { method = "tools/call", principal = "a" } = {}): ServedExchange {
  const peer = { revision: revisions[0]!, capabilities: {} };
  return new ServedExchange({ jsonrpc: "2.0", id: 1, method, params }, peer, { key: principal }, { notify() {} });
}

function sealerOf(secrets: string[] = [secret], storage = createMemoryStorage()): StateSealer {
  return { sealer: createSealer({ secrets }), storage, ttlMs: 1_000 };
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
    const parking = new Parking(1_000);
    const parked = conversation();
    const handle = parking.park(parked);
    expect(parking.find(handle)).toBe(parked);
    parking.release(handle);
    expect(parking.find(handle)).toBeUndefined();
  });

  test("is abandoned with a timeout when no answer comes in time", () => {
    const parking = new Parking(1_000);
    const reasons: Error[] = [];
    const handle = parking.park(conversation((reason) => reasons.push(reason)));
    vi.advanceTimersByTime(999);
    expect(reasons).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(reasons).toMatchObject([{ code: "timeout" }]);
    expect(parking.find(handle)).toBeUndefined();
  });

  test("is refused when too many wait", () => {
    const parking = new Parking(1_000);
    for (let count = 0; count < maxParkedHandlers; count += 1) parking.park(conversation());
    expect(() => parking.park(conversation())).toThrow(`${maxParkedHandlers} handlers wait for answers`);
  });
});
