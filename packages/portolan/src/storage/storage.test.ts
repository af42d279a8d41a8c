import { describe, expect, test } from "vitest";
import { storageContract } from "../testing/storage-contract.ts";
import { createMemoryStorage } from "./memory.ts";
import { partOf } from "./storage.ts";

describe("fulfils the storage contract", () => {
  const make = async () => {
    let now = 0;
    const whole = createMemoryStorage({ now: () => now });
    await whole.kv.set("a", "of another owner");
    const storage = { ...whole, kv: partOf(whole.kv, "ada"), log: whole.log, bus: whole.bus };
    const passTime = async (ms: number) => {
      now += ms;
    };
    return { storage, other: storage, passTime };
  };
  for (const { name, run } of storageContract(make)) if (name.startsWith("kv:")) test(name, run);
});

test("keeps the keys of different owners apart", async () => {
  const { kv } = createMemoryStorage();
  const owners = ["", "a", "a/", "a/b", "ab", "1/a", "of/1/a/"];
  for (const owner of owners) await partOf(kv, owner).set("b/key", owner);
  for (const owner of owners) {
    const part = partOf(kv, owner);
    expect(await part.get("b/key")).toBe(owner);
    expect(await part.list("")).toEqual([{ key: "b/key", value: owner }]);
    expect(await part.list("", { after: "b/key" })).toEqual([]);
  }
});
