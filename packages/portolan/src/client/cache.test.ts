import { describe, expect, test } from "vitest";
import { createResponseCache } from "./cache.ts";

const key = { server: "s", principal: "p", method: "tools/list", params: {} };
const read = (uri: string) => ({ ...key, method: "resources/read", params: { uri } });

describe("the key of a result", () => {
  const cache = createResponseCache();
  cache.set({ ...key, params: { a: 1, b: 2, _meta: { x: 1 } } }, { found: true }, 100);

  test("does not depend on `_meta` or the order of params", () => {
    expect(cache.get({ ...key, params: { b: 2, a: 1, _meta: { x: 2 } } }, 0)).toEqual({ found: true });
  });

  test.each([
    { server: "other" },
    { principal: "other" },
    { method: "prompts/list" },
    { params: { a: 1 } },
    { params: { a: "1", b: 2 } },
  ])("depends on %j", (difference) => {
    expect(cache.get({ ...key, params: { a: 1, b: 2 }, ...difference }, 0)).toBeUndefined();
  });
});

describe("a cache in memory", () => {
  test("returns a copy, so that callers do not share changes", () => {
    const cache = createResponseCache();
    const result = { tools: [1] };
    cache.set(key, result, 100);
    result.tools.push(2);
    const first = cache.get(key, 0) as typeof result;
    first.tools.push(3);
    expect(cache.get(key, 0)).toEqual({ tools: [1] });
  });

  test("returns nothing after the time of a result", () => {
    const cache = createResponseCache();
    cache.set(key, {}, 100);
    expect(cache.get(key, 99)).toEqual({});
    expect(cache.get(key, 100)).toBeUndefined();
  });

  test("removes the least recently used result first", () => {
    const cache = createResponseCache({ maxEntries: 2 });
    for (const uri of ["a", "b"]) cache.set(read(uri), { uri }, 100);
    cache.get(read("a"), 0);
    cache.set(read("c"), { uri: "c" }, 100);
    expect(["a", "b", "c"].filter((uri) => cache.get(read(uri), 0))).toEqual(["a", "c"]);
  });

  test("counts characters, and does not keep a result that is too large by itself", () => {
    const cache = createResponseCache({ maxChars: 20 });
    cache.set(read("a"), { text: "12345" }, 100);
    cache.set(read("b"), { text: "x".repeat(20) }, 100);
    expect([cache.get(read("a"), 0), cache.get(read("b"), 0)]).toEqual([{ text: "12345" }, undefined]);
    cache.set(read("c"), { text: "12345" }, 100);
    expect([cache.get(read("a"), 0), cache.get(read("c"), 0)]).toEqual([undefined, { text: "12345" }]);
  });

  test("replaces a result without counting it twice", () => {
    const cache = createResponseCache({ maxChars: 30 });
    for (let time = 0; time < 5; time++) cache.set(read("a"), { text: "12345" }, 100);
    cache.set(read("b"), {}, 100);
    expect(cache.get(read("a"), 0)).toEqual({ text: "12345" });
  });

  test("drops a resource with its parents and children, for one owner", () => {
    const cache = createResponseCache();
    const uris = ["file:///a", "file:///a/b", "file:///a/b/c", "file:///ab", "file:///x"];
    for (const uri of uris) cache.set(read(uri), {}, 100);
    const other = { ...read("file:///a/b"), principal: "other" };
    cache.set(other, {}, 100);
    cache.drop(key, ["resources/read"], "file:///a/b");
    expect(uris.filter((uri) => cache.get(read(uri), 0))).toEqual(["file:///ab", "file:///x"]);
    expect(cache.get(other, 0)).toEqual({});
  });

  test("refuses unknown options", () => {
    expect(() => createResponseCache({ maxEntrys: 1 } as object)).toThrow(
      "createResponseCache: unknown option `maxEntrys`; did you mean `maxEntries`?",
    );
  });
});
