import { expect, test } from "vitest";
import { type JsonObject, RpcError } from "../jsonrpc/message.ts";
import { collect, walk } from "./lists.ts";

type Page = { items: number[]; nextCursor?: string };

/** A server whose pages are given by cursor; the first one has none. */
function serve(pages: { [cursor: string]: Page | Error }) {
  const requests: string[] = [];
  const requestPage = async ({ cursor = "first" }: JsonObject, isFresh = false) => {
    requests.push(`${String(cursor)}${isFresh ? " fresh" : ""}`);
    const page = pages[cursor as string];
    if (page instanceof Error || page === undefined) throw page ?? new Error("no such page");
    return { ...page };
  };
  return { requests, requestPage };
}

test("collect returns the items of all pages, also behind an empty cursor", async () => {
  const { requestPage } = serve({ first: { items: [1], nextCursor: "" }, "": { items: [2, 3] } });
  expect(await collect(requestPage, "x/list", "items", {})).toEqual([1, 2, 3]);
});

test("walk requests a page only when its items are read", async () => {
  const { requests, requestPage } = serve({ first: { items: [1, 2], nextCursor: "b" }, b: { items: [3] } });
  for await (const item of walk<number>(requestPage, "x/list", "items", {})) if (item === 2) break;
  expect(requests).toEqual(["first"]);
});

test.each([
  [{ first: { items: [], nextCursor: "a" }, a: { items: [], nextCursor: "a" } }, {}, 'the cursor "a" a second time'],
  [{ first: { items: [1, 2, 3] } }, { maxItems: 2 }, "more than 2 items; raise maxItems"],
  [
    { first: { items: [], nextCursor: "a" }, a: { items: [], nextCursor: "b" } },
    { maxPages: 2 },
    "more than 2 pages; raise maxPages",
  ],
])("collect gives up the endless list %j with %j", async (pages, options, why) => {
  const { requestPage } = serve(pages);
  const reading = collect(requestPage, "x/list", "items", options);
  await expect(reading).rejects.toMatchObject({ code: "limit-reached" });
  await expect(reading).rejects.toThrow(`x/list: the server sent ${why}`);
});

test("collect reads a list once more from the server if a cursor has become invalid", async () => {
  const pages: { [cursor: string]: Page | Error } = {
    first: { items: [1], nextCursor: "old" },
    old: new RpcError(-32602, "unknown cursor"),
  };
  const { requests, requestPage } = serve(pages);
  const reading = collect(
    (params, isFresh) => {
      if (isFresh) pages["first"] = { items: [1, 2] };
      return requestPage(params, isFresh);
    },
    "x/list",
    "items",
    {},
  );
  expect(await reading).toEqual([1, 2]);
  expect(requests).toEqual(["first", "old", "first fresh"]);
});

test("collect does not repeat a list whose first page is refused", async () => {
  const { requests, requestPage } = serve({ first: new RpcError(-32602, "no lists here") });
  await expect(collect(requestPage, "x/list", "items", {})).rejects.toThrow("no lists here");
  expect(requests).toEqual(["first"]);
});

test("collect refuses unknown options before it requests a page", async () => {
  const { requests, requestPage } = serve({ first: { items: [] } });
  await expect(collect(requestPage, "x/list", "items", { maxItem: 1 } as object)).rejects.toThrow(
    "x/list: unknown option `maxItem`; did you mean `maxItems`?",
  );
  expect(requests).toEqual([]);
});

test("collect leaves out invalid items for a caller that takes them, and fails for others", async () => {
  const tool = { name: "echo", inputSchema: {} };
  const pages: { [cursor: string]: JsonObject } = {
    first: { tools: [{ name: "crooked" }, tool, null], nextCursor: "b" },
    b: { tools: [5, { ...tool, name: "last" }] },
  };
  const requestPage = async ({ cursor = "first" }: JsonObject) => pages[String(cursor)] ?? {};
  const problems: string[] = [];
  const onInvalid = (problem: string) => void problems.push(problem);
  const tools = await collect<{ name: string }>(requestPage, "tools/list", "tools", { onInvalid });
  expect(tools.map(({ name }) => name)).toEqual(["echo", "last"]);
  expect(problems).toEqual([
    '"crooked".inputSchema: expected an object, got nothing',
    "item 3: expected an object, got null",
    "item 4: expected an object, got number 5",
  ]);
  await expect(collect(requestPage, "tools/list", "tools", {})).rejects.toMatchObject({
    code: "answer-invalid",
    message: expect.stringContaining('"crooked".inputSchema: expected an object'),
  });
});

test.each([
  ["text", "x".repeat(16 * 1024 * 1024), 8],
  ["empty objects", Array.from({ length: 100_000 }, () => ({})), 20],
  ["a value nested deeper than the stack", JSON.parse("[".repeat(100_000) + "]".repeat(100_000)), 20],
])(
  "collect gives up a list that takes too much memory, such as %s, and walk still reads it",
  async (_, large, most) => {
    let pages = 0;
    const requestPage = async ({ cursor = "0" }: JsonObject) => {
      pages += 1;
      return { items: [large], nextCursor: `${Number(cursor) + 1}` };
    };
    const reading = collect(requestPage, "x/list", "items", {});
    await expect(reading).rejects.toMatchObject({ code: "limit-reached" });
    await expect(reading).rejects.toThrow(
      "x/list: the server sent a list that takes more than 134217728 bytes of memory",
    );
    expect(pages).toBeLessThanOrEqual(most);
    let count = 0;
    for await (const item of walk<unknown>(requestPage, "x/list", "items", {})) {
      count += item === large ? 1 : 0;
      if (count === 10) break;
    }
    expect(count).toBe(10);
  },
);

test("collect returns a single page of any size", async () => {
  const text = "x".repeat(70 * 1024 * 1024);
  expect(await collect(async () => ({ items: [text] }), "x/list", "items", {})).toHaveLength(1);
});
