import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import { type CompiledFeature, FeatureList } from "../define/snapshot.ts";
import { ListPages, type PageOptions } from "./describe.ts";
import { type Principal, ServedExchange } from "./exchange.ts";

const revision = revisions[0]!;

function request(params: JsonObject = {}, principal: Principal = { key: "a" }): ServedExchange {
  const peer = { revision, capabilities: {} };
  return new ServedExchange({ jsonrpc: "2.0", id: 1, method: "tools/list", params }, peer, principal, { notify() {} });
}

function pagesOf(features: CompiledFeature[], options: Partial<PageOptions> = {}): ListPages {
  return new ListPages(new FeatureList(features, ({ principal }) => principal.key), {
    member: "tools",
    pageSize: 2,
    cache: undefined,
    decorationFor: () => undefined,
    encode: (_, result) => JSON.stringify(result),
    ...options,
  });
}

function page(pages: ListPages, exchange: ServedExchange): { names: string[]; nextCursor?: string } {
  const outcome = pages.page(exchange);
  if (outcome.kind !== "prepared") throw new Error(outcome.kind);
  const { tools, nextCursor } = JSON.parse(outcome.resultText);
  return { names: tools.map(({ name }: { name: string }) => name), nextCursor };
}

const feature = (key: string) => ({ key, entry: { name: key }, definition: {}, makeApp: undefined, around: [] });
const named = (...names: string[]) => names.map(feature);

describe("the pages of a list", () => {
  test("are sorted by name, and the cursor of one leads to the next", () => {
    const pages = pagesOf(named("c", "a", "b"));
    const first = page(pages, request());
    expect(first.names).toEqual(["a", "b"]);
    expect(page(pages, request({ cursor: first.nextCursor }))).toEqual({ names: ["c"], nextCursor: undefined });
  });

  test("continue after the cursor although its feature was removed", () => {
    const { nextCursor } = page(pagesOf(named("a", "b", "c")), request());
    expect(page(pagesOf(named("a", "c", "d")), request({ cursor: nextCursor })).names).toEqual(["c", "d"]);
  });

  test.each(["", "nonsense", "[]", '["tools","a"]', '["prompts","a","b"]', '["tools", "a", "b"]'])(
    "are refused for the cursor %j, which the list did not give",
    (cursor) => {
      expect(() => page(pagesOf(named("a")), request({ cursor }))).toThrow(
        /cursor: expected a nextCursor of this list/,
      );
    },
  );

  test("are refused for the cursor of another view", () => {
    const pages = pagesOf(named("a", "b", "c"));
    const { nextCursor } = page(pages, request());
    expect(() => page(pages, request({ cursor: nextCursor }, { key: "other" }))).toThrow(/cursor/);
  });

  test("show only the features that the view may see", () => {
    const pages = pagesOf([{ ...feature("secret"), visibleTo: (view) => view === "admin" }]);
    expect(page(pages, request()).names).toEqual([]);
    expect(page(pages, request({}, { key: "admin" })).names).toEqual(["secret"]);
  });

  test("are encoded once for all callers of one view", () => {
    let encoded = 0;
    const encode = (_: ServedExchange, result: JsonObject) => {
      encoded += 1;
      return JSON.stringify(result);
    };
    const pages = pagesOf(named("a"), { encode });
    page(pages, request());
    page(pages, request());
    expect(encoded).toBe(1);
    page(pages, request({}, { key: "other" }));
    expect(encoded).toBe(2);
  });
});
