import type { CredentialStore } from "portolan/auth/client";
import { expect, test } from "vitest";
import { patient } from "./kit.ts";

/** A new store, and a second view of the same data as another process has it. */
export interface StoresUnderTest {
  readonly store: CredentialStore;
  readonly other: CredentialStore;
}

/** Tests every promise of `CredentialStore`. */
export function testStore(make: () => Promise<StoresUnderTest>): void {
  test("returns a value to everyone who shares the store, until it is deleted", async () => {
    const { store, other } = await make();
    expect(await store.get("a")).toBe(undefined);
    await store.set("a", "1");
    await store.set("b", "2");
    expect([await other.get("a"), await other.get("b")]).toEqual(["1", "2"]);
    await other.set("a", "3");
    expect(await store.get("a")).toBe("3");
    await store.set("a", undefined);
    await store.set("never", undefined);
    expect([await other.get("a"), await other.get("b")]).toEqual([undefined, "2"]);
  });

  test("accepts any text as key and value", async () => {
    const { store, other } = await make();
    const texts = ["", " ", "__proto__", "constructor", "../../a/b", "naïve ☂ 🗺\n\0", '{"a":"', "x".repeat(50_000)];
    for (const text of texts) await store.set(text, `value of ${text}`);
    for (const text of texts) expect(await other.get(text)).toBe(`value of ${text}`);
    await store.set("empty", "");
    expect(await other.get("empty")).toBe("");
  });

  test("deletes a value when it expires, unless it was written again", async () => {
    const { store, other } = await make();
    await store.set("short", "1", { ttlMs: 20 });
    await store.set("long", "1", { ttlMs: 600_000 });
    await store.set("again", "1", { ttlMs: 20 });
    await store.set("again", "2");
    await expect.poll(() => store.get("short"), patient).toBe(undefined);
    await store.set("next", "1");
    expect([await other.get("short"), await other.get("long")]).toEqual([undefined, "1"]);
    await expect.poll(() => other.get("again"), patient).toBe("2");
  });

  test("refuses an invalid time to live and changes nothing", async () => {
    const { store } = await make();
    await store.set("a", "1");
    for (const ttlMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(store.set("a", "2", { ttlMs })).rejects.toMatchObject({ code: "invalid-argument" });
    }
    expect(await store.get("a")).toBe("1");
  });

  test("keeps all parallel writes", async () => {
    const { store, other } = await make();
    const names = Array.from({ length: 20 }, (_, index) => `key ${index}`);
    await Promise.all(names.map((name, index) => (index % 2 ? store : other).set(name, name)));
    for (const name of names) expect(await store.get(name)).toBe(name);
  });

  test("never runs exclusive work twice at a time", async () => {
    const { store, other } = await make();
    let inside = 0;
    const increment = async (by: CredentialStore) => {
      inside += 1;
      expect(inside).toBe(1);
      await by.set("count", String(Number((await by.get("count")) ?? 0) + 1));
      inside -= 1;
    };
    const everybody = Array.from({ length: 30 }, (_, index) => (index % 3 ? store : other));
    await Promise.all(everybody.map((by) => by.exclusive("count", () => increment(by))));
    expect(await store.get("count")).toBe("30");
  });

  test("returns the result or the error of exclusive work, and continues either way", async () => {
    const { store, other } = await make();
    const reason = new Error("no");
    expect(await store.exclusive("a", async () => "result")).toBe("result");
    await expect(store.exclusive("a", () => Promise.reject(reason))).rejects.toBe(reason);
    const thrower = () => {
      throw reason;
    };
    await expect(store.exclusive("a", thrower)).rejects.toBe(reason);
    expect(await other.exclusive("a", async () => "next")).toBe("next");
  });

  test("runs the work of one store in order of arrival", async () => {
    const { store } = await make();
    const order: number[] = [];
    const ask = (turn: number) => store.exclusive("a", async () => void order.push(turn));
    await Promise.all([1, 2, 3, 4, 5].map(ask));
    expect(order).toEqual([1, 2, 3, 4, 5]);
  });

  test("does not make work under another key wait", async () => {
    const { store, other } = await make();
    const result = await store.exclusive("a", () => other.exclusive("b", () => store.exclusive("A", async () => "c")));
    expect(result).toBe("c");
  });
}
