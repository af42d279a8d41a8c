import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import { createServer, runtimeOf, type Servable } from "../define/server.ts";
import { description, serveExchange } from "./dispatch.ts";
import { ServedExchange } from "./exchange.ts";

const rows = revisions.flatMap((revision) =>
  [...revision.requests].map(([method, row]) => ({ version: revision.version, method, row, revision })),
);

async function send(server: Servable, revision: (typeof revisions)[number], method: string, params: JsonObject) {
  const request = { jsonrpc: "2.0", id: 1, method, params } as const;
  const exchange = new ServedExchange(request, { revision, capabilities: {} }, { key: "a" }, { notify() {} });
  const response = await new Promise((resolve) => {
    serveExchange(runtimeOf(server), exchange, resolve);
  });
  return response as { result?: JsonObject; error?: { code: number; message: string } };
}

describe("a server without features", () => {
  const empty = createServer({ name: "empty", version: "1" });

  test.each(rows.filter(({ row }) => row.capability))(
    "answers $method of $version with method not found",
    async ({ revision, method }) => {
      expect((await send(empty, revision, method, {})).error).toMatchObject({ code: -32601 });
    },
  );
});

test("a method depends on the same capability in every revision", () => {
  const capabilities = new Map<string, Set<string | undefined>>();
  for (const { method, row } of rows) {
    capabilities.set(method, (capabilities.get(method) ?? new Set()).add(row.capability));
  }
  expect([...capabilities].filter(([, different]) => different.size > 1)).toEqual([]);
});

test("an immediate method is answered while features are loading, and others wait", async () => {
  const revision = revisions[0]!;
  // Otherwise the code that describes a server may take longer to load than its features.
  await description.get();
  const server = createServer({ name: "loading", version: "1" }).template("x:{a}", { read: () => "text" });
  const loading = runtimeOf(server).snapshot.loading;
  expect(loading).toBeDefined();
  const discovered = send(server, revision, "server/discover", {});
  const turns: string[] = [];
  await Promise.all([
    discovered.then(() => turns.push("discover")),
    send(server, revision, "resources/read", { uri: "x:1" }).then(() => turns.push("read")),
    loading?.then(() => turns.push("loaded")),
  ]);
  expect(turns).toEqual(["discover", "loaded", "read"]);
  expect(await discovered).toHaveProperty("result");
  expect(await send(server, revision, "resources/read", { uri: "x:1" })).toHaveProperty("result");
  expect(runtimeOf(server).snapshot.loading).toBeUndefined();
});

test("params that do not fit the row are refused before the handler runs", async () => {
  const server = createServer({ name: "a", version: "1" }).tool("x", {
    run: () => {
      throw new Error("not reached");
    },
  });
  for (const revision of revisions) {
    expect((await send(server, revision, "tools/call", { name: 5 })).error).toMatchObject({ code: -32602 });
  }
});

describe("a result that is written as text equals the same result as an object", () => {
  class Shown {
    readonly type = "text";
    readonly text = "own";
    toJSON() {
      return { type: "text", text: "converted" };
    }
  }
  const returned: { readonly [name: string]: unknown } = {
    "a string": 'line\n\u2028 \ud800 "quoted"',
    "one text": { content: [{ type: "text", text: "one" }] },
    "members in another order": { content: [{ text: "one", type: "text" }] },
    "a further member of the content": { content: [{ type: "text", text: "one", annotations: { priority: 1 } }] },
    "a further member of the result": { content: [{ type: "text", text: "one" }], _meta: { a: 1 } },
    "an error": { content: [{ type: "text", text: "one" }], isError: true },
    "two texts": { content: ["one", "two"].map((text) => ({ type: "text", text })) },
    "content with a JSON form of its own": { content: [new Shown()] },
    "a value": { sum: 42 },
    "no content": { content: [] },
  };
  const server = createServer({ name: "texts", version: "1" }).tool("say", {
    run: (args) => returned[String(args["what"])] as never,
  });
  const cases = Object.keys(returned).flatMap((what) => revisions.map((revision) => ({ what, revision })));

  test.each(cases)("$what, $revision.version", async ({ what, revision }) => {
    const params = { name: "say", arguments: { what } };
    const request = { jsonrpc: "2.0", id: 1, method: "tools/call", params } as const;
    const path = { notify() {}, writesText: true };
    const exchange = new ServedExchange(request, { revision, capabilities: {} }, { key: "a" }, path);
    const { resultText } = await new Promise<{ resultText: string }>((resolve) => {
      serveExchange(runtimeOf(server), exchange, resolve as never);
    });
    const { result } = await send(server, revision, "tools/call", params);
    expect(JSON.parse(resultText)).toEqual(JSON.parse(JSON.stringify(result)));
  });
});
