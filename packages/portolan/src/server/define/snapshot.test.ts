import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import { type Principal, ServedExchange } from "../call/exchange.ts";
import { type Feature, FeatureList, type PageOptions } from "./snapshot.ts";

const revision = revisions[0]!;

function request(params: JsonObject = {}, principal: Principal = { key: "a" }): ServedExchange {
  const peer = { revision, capabilities: {} };
  return new ServedExchange({ jsonrpc: "2.0", id: 1, method: "tools/list", params }, peer, principal, { notify() {} });
}

function listOf(features: Feature[], options: Partial<PageOptions> = {}): FeatureList<Feature> {
  return new FeatureList("tools", features, {
    pageSize: 2,
    cache: undefined,
    viewOf: ({ principal }) => principal.key,
    decorationFor: () => undefined,
    encode: (_, result) => JSON.stringify(result),
    ...options,
  });
}

function page(list: FeatureList<Feature>, exchange: ServedExchange): { names: string[]; nextCursor?: string } {
  const outcome = list.page(exchange);
  if (outcome.kind !== "prepared") throw new Error(outcome.kind);
  const { tools, nextCursor } = JSON.parse(outcome.resultText);
  return { names: tools.map(({ name }: { name: string }) => name), nextCursor };
}

const named = (...names: string[]) => names.map((key) => ({ key, entry: { name: key } }));

describe("the pages of a list", () => {
  test("are sorted by name, and the cursor of one leads to the next", () => {
    const list = listOf(named("c", "a", "b"));
    const first = page(list, request());
    expect(first.names).toEqual(["a", "b"]);
    expect(page(list, request({ cursor: first.nextCursor }))).toEqual({ names: ["c"], nextCursor: undefined });
  });

  test("continue after the cursor although its feature was removed", () => {
    const { nextCursor } = page(listOf(named("a", "b", "c")), request());
    expect(page(listOf(named("a", "c", "d")), request({ cursor: nextCursor })).names).toEqual(["c", "d"]);
  });

  test.each(["", "nonsense", "[]", '["tools","a"]', '["prompts","a","b"]', '["tools", "a", "b"]'])(
    "are refused for the cursor %j, which the list did not give",
    (cursor) => {
      expect(() => page(listOf(named("a")), request({ cursor }))).toThrow(/cursor: expected a nextCursor of this list/);
    },
  );

  test("are refused for the cursor of another view", () => {
    const list = listOf(named("a", "b", "c"));
    const { nextCursor } = page(list, request());
    expect(() => page(list, request({ cursor: nextCursor }, { key: "other" }))).toThrow(/cursor/);
  });

  test("show only the features that the view may see", () => {
    const list = listOf([{ key: "secret", entry: { name: "secret" }, visibleTo: (view) => view === "admin" }]);
    expect(page(list, request()).names).toEqual([]);
    expect(page(list, request({}, { key: "admin" })).names).toEqual(["secret"]);
    expect(list.find("secret", request())).toBeUndefined();
  });

  test("are encoded once for all callers of one view", () => {
    let encoded = 0;
    const encode = (_: ServedExchange, result: JsonObject) => {
      encoded += 1;
      return JSON.stringify(result);
    };
    const list = listOf(named("a"), { encode });
    page(list, request());
    page(list, request());
    expect(encoded).toBe(1);
    page(list, request({}, { key: "other" }));
    expect(encoded).toBe(2);
  });
});
