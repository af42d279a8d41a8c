import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { serveHttp } from "portolan/server/http";
import { connectInMemory } from "portolan/testing";
import { createMemory } from "portolan-memory";
import { expect, onTestFinished, test } from "vitest";
import { call, failureOf } from "../kit/tools.ts";
import { freshFile, openTestStore } from "./kit.ts";

async function connectByHttp(options: Parameters<typeof createMemory>[0]) {
  const endpoint = serveHttp(createMemory(options));
  onTestFinished(() => endpoint.close());
  const { url } = await endpoint.listen(0);
  const client = await connect(http(url));
  onTestFinished(() => client.close());
  return client;
}

async function connectLocally(options: Parameters<typeof createMemory>[0]) {
  const client = await connectInMemory(createMemory(options), { serve: { principal: { key: "local" } } });
  onTestFinished(() => client.close());
  return client;
}

/** Returns an import of one entity with observations. */
function linesWith(observations: number): string {
  const texts = Array.from({ length: observations }, (_, number) => `${number}`);
  return JSON.stringify({ type: "entity", name: "x", entityType: "t", observations: texts });
}

test("an import over HTTP is shorter than a local one", async () => {
  const store = openTestStore(freshFile());
  const lines = linesWith(500);
  const limits = { store, maxHttpImportLength: lines.length - 1 };
  expect(await failureOf(await connectByHttp(limits), "import_graph", { lines })).toContain(
    `lines: expected at most ${lines.length - 1} characters over HTTP, got ${lines.length}. Nothing was changed`,
  );
  expect(store.read("default").isEmpty).toBe(true);
  expect(await call(await connectLocally(limits), "import_graph", { lines })).toMatchObject({ observations: 500 });
});

test("an import of 500,000 characters is the longest over HTTP, and 20,000 items the most", async () => {
  const client = await connectByHttp({ store: openTestStore(freshFile()) });
  expect(await failureOf(client, "import_graph", { lines: " ".repeat(500_001) })).toContain(
    "at most 500000 characters",
  );
  expect(await failureOf(client, "import_graph", { lines: linesWith(20_000) })).toContain(
    "at most 20000 entities, relations and observations in one call over HTTP, got 20001",
  );
  expect(await call(client, "import_graph", { lines: linesWith(19_999) })).toMatchObject({ observations: 19_999 });
});

const observations = ["a", "b", "c"];

test.each([
  ["create_entities", { entities: [{ name: "y", entityType: "t", observations }] }],
  ["add_observations", { observations: [{ entityName: "x", contents: observations }] }],
  ["delete_observations", { deletions: [{ entityName: "x", observations }] }],
])("%s counts all observations of a call over HTTP", async (tool, args) => {
  const store = openTestStore(freshFile());
  const local = await connectLocally({ store, maxHttpItems: 3 });
  await call(local, "create_entities", { entities: [{ name: "x", entityType: "t" }] });
  const remote = await connectByHttp({ store, maxHttpItems: 3 });
  expect(await failureOf(remote, tool, args)).toContain("at most 3 entities, relations and observations in one call");
  await call(local, tool, args);
});

test("large changes that wait together are written in several turns", async () => {
  const store = openTestStore(freshFile());
  let turns = 0;
  store.onChange(() => {
    turns += 1;
  });
  const texts = ["x".repeat(200_000)];
  const changes = Array.from({ length: 9 }, (_, number) =>
    store.change("default", () => ({
      ops: [
        { do: "entity", name: `${number}`, type: "t" },
        { do: "observe", name: `${number}`, texts },
      ],
      result: number,
    })),
  );
  expect(await Promise.all(changes)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
  // Three of them are more than 512 KiB together.
  expect(turns).toBe(3);
  expect(store.read("default").names).toHaveLength(9);
});

test("a file that is compacted is not read again, and another process reads the same", async () => {
  const file = freshFile();
  const store = openTestStore(file);
  for (const name of ["a", "b"]) {
    await store.change("default", () => ({
      ops: [
        { do: "entity", name, type: "t" },
        { do: "observe", name, texts: ["one", "two"] },
        { do: "unobserve", name, texts: ["two"] },
      ],
      result: undefined,
    }));
  }
  const graph = store.read("default");
  const { bytes } = store.state();
  await store.compact();
  expect(store.read("default")).toBe(graph);
  expect(store.state().bytes).toBeLessThan(bytes);
  const other = openTestStore(file);
  expect(other.state()).toEqual(store.state());
  await store.change("default", () => ({ ops: [{ do: "entity", name: "c", type: "t" }], result: undefined }));
  expect(other.read("default").names).toEqual(["a", "b", "c"]);
  expect([...(other.read("default").entities.get("a")?.observations ?? [])]).toEqual(["one"]);
  expect([store.problems, other.problems]).toEqual([[], []]);
});
