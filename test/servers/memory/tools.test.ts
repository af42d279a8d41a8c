import { appendFileSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { connectInMemory } from "portolan/testing";
import { createMemory, type MemoryOptions } from "portolan-memory";
import { describe, expect, onTestFinished, test } from "vitest";
import { type RevisionDate, revisions } from "../../kit/revisions.ts";
import { call, expectDescribed, failureOf } from "../kit/tools.ts";
import { add, freshFile, openTestStore } from "./kit.ts";

async function open(options: MemoryOptions & { file?: string; revision?: RevisionDate } = {}) {
  const { file = freshFile(), revision = "2026-07-28", ...rest } = options;
  const client = await connectInMemory(createMemory({ store: openTestStore(file), ...rest }), { revision });
  onTestFinished(() => client.close());
  return client;
}

const entity = (name: string, entityType = "person", ...observations: string[]) => ({ name, entityType, observations });
const names = (result: { entities: { name: string }[] }) => result.entities.map(({ name }) => name);

async function withFamily(options: MemoryOptions = {}) {
  const client = await open(options);
  const entities = [
    entity("Ada Lovelace", "person", "wrote the first program", "born in London"),
    entity("Charles Babbage", "person", "designed the analytical engine"),
    entity("Analytical Engine", "machine", "was never finished"),
  ];
  await call(client, "create_entities", { entities });
  const relations = [
    { from: "Ada Lovelace", to: "Analytical Engine", relationType: "programmed" },
    { from: "Charles Babbage", to: "Analytical Engine", relationType: "designed" },
  ];
  await call(client, "create_relations", { relations });
  return client;
}

test.each(revisions)("creates and finds entities on %s", async (revision) => {
  const client = await open({ revision });
  if (revision === "2026-07-28") await expectDescribed(client);
  await client.callTool("create_entities", { entities: [entity("Ada", "person", "likes engines")] });
  const { content } = await client.callTool("search_nodes", { query: "engines" });
  expect(content).toMatchObject([{ type: "text", text: expect.stringContaining("Ada (person)\n- likes engines") }]);
});

describe("tool annotations are correct", () => {
  test("tools with readOnlyHint do not change the file, and the others do", async () => {
    const file = freshFile();
    const client = await open({ file });
    const change: { [tool: string]: object } = {
      create_entities: { entities: [entity("a", "t", "x", "y"), entity("b", "t")] },
      create_relations: { relations: [{ from: "a", to: "b", relationType: "r" }] },
      add_observations: { observations: [{ entityName: "a", contents: ["z"] }] },
      update_entities: { entities: [{ name: "a", newName: "c", entityType: "u" }] },
      delete_observations: { deletions: [{ entityName: "c", observations: ["z"] }] },
      delete_relations: { relations: [{ from: "c", to: "b", relationType: "r" }] },
      delete_entities: { entityNames: ["b"] },
      import_graph: { lines: '{"type":"entity","name":"d","entityType":"t","observations":[]}' },
    };
    const read: { [tool: string]: object } = {
      read_graph: {},
      search_nodes: { query: "a" },
      open_nodes: { names: ["a"] },
      export_graph: {},
      describe_memory: {},
    };
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([...Object.keys(change), ...Object.keys(read)].sort());
    const bytes = async () => (await call(client, "describe_memory")).bytes;
    for (const [tool, args] of Object.entries(change)) {
      const before = await bytes();
      await call(client, tool, args);
      const after = await bytes();
      expect(after, tool).toBeGreaterThan(before);
      // Idempotent: a second call changes nothing.
      if (tool !== "update_entities") await call(client, tool, args);
      expect(await bytes(), tool).toBe(after);
      expect(tools.find(({ name }) => name === tool)?.annotations?.readOnlyHint).toBe(false);
    }
    const before = await bytes();
    for (const [tool, args] of Object.entries(read)) {
      await call(client, tool, args);
      expect(tools.find(({ name }) => name === tool)?.annotations?.readOnlyHint).toBe(true);
    }
    expect(await bytes()).toBe(before);
  });
});

describe("changing", () => {
  test("an existing entity keeps its type and gets the new observations", async () => {
    const client = await withFamily();
    const again = [entity("Ada Lovelace", "poet", "born in London", "daughter of Byron")];
    expect(await call(client, "create_entities", { entities: again })).toEqual({
      entities: [],
      existing: ["Ada Lovelace"],
    });
    const { entities } = await call(client, "open_nodes", { names: ["Ada Lovelace"] });
    expect(entities).toEqual([
      entity("Ada Lovelace", "person", "wrote the first program", "born in London", "daughter of Byron"),
    ]);
  });

  test("relations and observations need their entities, and a call is applied completely or not at all", async () => {
    const client = await withFamily();
    const contents = ["new"];
    const observations = [
      { entityName: "Ada Lovelace", contents },
      { entityName: "Nobody", contents },
    ];
    expect(await failureOf(client, "add_observations", { observations })).toMatch(
      /No entity named "Nobody".*create_entities/,
    );
    const relations = [{ from: "Ada Lovelace", to: "Nobody", relationType: "knows" }];
    expect(await failureOf(client, "create_relations", { relations })).toContain("nothing was changed");
    const { entities } = await call(client, "open_nodes", { names: ["Ada Lovelace"] });
    expect(entities[0].observations).not.toContain("new");
  });

  test("a renamed entity keeps its observations and relations, and an existing name is refused", async () => {
    const client = await withFamily();
    await call(client, "update_entities", { entities: [{ name: "Analytical Engine", newName: "Engine" }] });
    const { entities, relations, missing } = await call(client, "open_nodes", {
      names: ["Engine", "Analytical Engine"],
    });
    expect({ entities, missing }).toEqual({
      entities: [entity("Engine", "machine", "was never finished")],
      missing: ["Analytical Engine"],
    });
    expect(relations.map(({ to }: { to: string }) => to)).toEqual(["Engine", "Engine"]);
    const taken = { entities: [{ name: "Engine", newName: "Ada Lovelace" }] };
    expect(await failureOf(client, "update_entities", taken)).toContain("already");
  });

  test("deletes the relations of a deleted entity", async () => {
    const client = await withFamily();
    const gone = await call(client, "delete_entities", { entityNames: ["Analytical Engine", "Nobody"] });
    expect(gone).toEqual({ deleted: ["Analytical Engine"], missing: ["Nobody"] });
    const { relations, total } = await call(client, "read_graph");
    expect({ relations, total }).toEqual({ relations: [], total: 2 });
  });

  test("refuses too many items, blank names and names that a URI cannot contain", async () => {
    const client = await open({ maxItems: 2, maxTextLength: 5 });
    const three = ["a", "b", "c"].map((name) => entity(name));
    expect(await failureOf(client, "create_entities", { entities: three })).toContain("entities");
    expect(await failureOf(client, "create_entities", { entities: [entity("a", "t", "123456")] })).toContain(
      "observations",
    );
    for (const name of ["  ", "a\nb", "\ud800"]) {
      expect(await failureOf(client, "create_entities", { entities: [entity(name)] })).toContain("name: expected");
    }
  });
});

describe("finding", () => {
  test("ranks names before observations and all words before some, and matches prefixes", async () => {
    const client = await withFamily();
    expect(names(await call(client, "search_nodes", { query: "analytical engine" }))).toEqual([
      ...["Analytical Engine", "Charles Babbage"],
    ]);
    expect(names(await call(client, "search_nodes", { query: "LOVE" }))).toEqual(["Ada Lovelace"]);
    expect(names(await call(client, "search_nodes", { query: "london engine" }))[0]).toBe("Analytical Engine");
    expect(names(await call(client, "search_nodes", { query: "engine", entityType: "person" }))).toEqual([
      "Charles Babbage",
    ]);
    expect((await call(client, "search_nodes", { query: "zebra" })).total).toBe(0);
    await call(client, "create_entities", { entities: [entity("東京都", "city", "日本の首都です")] });
    expect(names(await call(client, "search_nodes", { query: "首都" }))).toEqual(["東京都"]);
  });

  test("updates the search index after a change", async () => {
    const client = await withFamily();
    const total = async (query: string) => (await call(client, "search_nodes", { query })).total;
    expect(await total("countess")).toBe(0);
    await call(client, "add_observations", { observations: [{ entityName: "Ada Lovelace", contents: ["Countess"] }] });
    expect(await total("countess")).toBe(1);
    await call(client, "delete_observations", {
      deletions: [{ entityName: "Ada Lovelace", observations: ["Countess"] }],
    });
    expect(await total("countess")).toBe(0);
  });

  test("returns a large graph in pages, each entity once, while others are added", async () => {
    const client = await open();
    const many = Array.from({ length: 500 }, (_, index) => entity(`e${String(index).padStart(3, "0")}`, "t", "a fact"));
    await call(client, "create_entities", { entities: many });
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page: { entities: { name: string }[]; next?: string } = await call(client, "read_graph", {
        ...(after !== undefined && { after }),
        limit: 150,
      });
      seen.push(...names(page));
      after = page.next;
      await call(client, "create_entities", { entities: [entity(`a-early-${seen.length}`)] });
    } while (after !== undefined);
    expect(seen).toEqual(many.map(({ name }) => name));
  });

  test("keeps results within the limit, and everything can still be read", async () => {
    const client = await open({ maxResultLength: 5_000 });
    const facts = Array.from({ length: 200 }, (_, index) => `fact ${index} ${"x".repeat(50)}`);
    await call(client, "create_entities", { entities: [entity("big", "t", ...facts), entity("small")] });
    const { entities } = await call(client, "read_graph");
    expect(JSON.stringify(entities).length).toBeLessThan(6_000);
    const seen: string[] = [];
    for (let more = 1; more > 0; ) {
      const page = await call(client, "open_nodes", { names: ["big"], observationsFrom: seen.length });
      seen.push(...page.entities[0].observations);
      more = page.entities[0].moreObservations ?? 0;
    }
    expect(seen).toEqual(facts);
  });
});

test("reports how many relations of an entity were left out", async () => {
  const client = await open({ maxResultLength: 2_000 });
  const leaves = Array.from({ length: 100 }, (_, index) => entity(`leaf ${index}`));
  await call(client, "create_entities", { entities: [entity("hub"), ...leaves] });
  const relations = leaves.map(({ name }) => ({ from: "hub", to: name, relationType: "has" }));
  await call(client, "create_relations", { relations });
  const shown = await call(client, "open_nodes", { names: ["hub"] });
  expect(shown.relations.length + shown.moreRelations).toBe(100);
  expect(JSON.stringify(shown).length).toBeLessThan(2_500);
});

test("namespaces are separate, and their names are not paths", async () => {
  const file = freshFile();
  const client = await open({ file });
  await call(client, "create_entities", { entities: [entity("Ada")], namespace: "work" });
  expect((await call(client, "read_graph")).total).toBe(0);
  expect((await call(client, "read_graph", { namespace: "work" })).total).toBe(1);
  expect((await call(client, "describe_memory")).namespaces).toEqual([{ name: "work", entities: 1, relations: 0 }]);
  for (const namespace of ["../escape", "/tmp/x", "a/b", "", "UPPER"]) {
    expect(await failureOf(client, "create_entities", { entities: [entity("Eve")], namespace })).toContain("namespace");
  }
  expect(readdirSync(dirname(file))).toEqual(["memory.log"]);
});

test("no tool takes a file name", async () => {
  const client = await open();
  const argumentNames = (await client.listTools()).flatMap(({ inputSchema }) =>
    Object.keys(inputSchema.properties ?? {}),
  );
  expect(argumentNames.filter((name) => /path|file|folder|dir|url|uri/i.test(name))).toEqual([]);
  expect(argumentNames).toContain("lines");
});

test("an export in pages can be imported without loss", async () => {
  const client = await withFamily({ maxResultLength: 150 });
  let lines = "";
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page: { lines: string; next?: number } = await call(client, "export_graph", { from });
    lines += `${page.lines}\n`;
    from = page.next;
  }
  const other = await open();
  const counts = { entities: 3, observations: 4, relations: 2 };
  expect(await call(other, "import_graph", { lines })).toEqual(counts);
  expect(await call(other, "import_graph", { lines })).toEqual({ entities: 0, observations: 0, relations: 0 });
  expect(`${(await call(other, "export_graph")).lines}\n`).toBe(lines);
  expect(await failureOf(other, "import_graph", { lines: `${lines}{"type":"secret"}` })).toMatch(/^Line 6: expected/);
});

test("tools that read warn about a damaged file", async () => {
  const file = freshFile();
  await call(await open({ file }), "create_entities", { entities: [entity("one"), entity("two")] });
  appendFileSync(file, "5 00000000 {}\n");
  const client = await open({ file });
  const { content, structuredContent } = await client.callTool("read_graph");
  expect(structuredContent).toMatchObject({ damaged: 1, total: 2 });
  expect(content).toMatchObject([{ text: expect.stringContaining("tell the user") }]);
  expect((await call(client, "describe_memory")).damage).toMatchObject([{ line: 4 }]);
});

describe("resources", () => {
  const template = { type: "ref/resource", uri: "memory://{namespace}/{entity}" } as const;

  test("lists, reads and completes entities", async () => {
    const client = await withFamily();
    const listed = await client.listResources();
    expect(listed.map(({ uri }) => uri)).toContain("memory://default/Ada%20Lovelace");
    const { contents } = await client.readResource("memory://default/Ada%20Lovelace");
    const [first] = contents as { text: string }[];
    expect(JSON.parse(first!.text)).toMatchObject({
      entityType: "person",
      relations: [{ relationType: "programmed" }],
    });
    await expect(client.readResource("memory://default/Nobody")).rejects.toThrow("Nobody");
    const { values } = await client.complete(
      template,
      { name: "entity", value: "a" },
      { known: { namespace: "default" } },
    );
    expect(values.slice(0, 2)).toEqual(["Ada Lovelace", "Analytical Engine"]);
    expect((await client.complete(template, { name: "namespace", value: "d" })).values).toEqual(["default"]);
  });

  test.each(["odd/name?#%", "naïve café", "🦊 fox", "a:b@c"])("an entity named %s has a URI", async (name) => {
    const client = await open();
    await call(client, "create_entities", { entities: [entity(name)] });
    const [{ uri } = { uri: "" }] = (await client.listResources()) as { uri: string }[];
    const { contents } = await client.readResource(uri);
    expect(JSON.parse((contents[0] as { text: string }).text).name).toBe(name);
  });

  test.each(revisions)(
    "a subscription to an entity reports changes of this and other processes, on %s",
    async (revision) => {
      const file = freshFile();
      const client = await open({ file, revision });
      await call(client, "create_entities", { entities: [entity("Ada"), entity("Grace")] });
      const watch = await client.watch({ uris: ["memory://default/Ada"], resources: true });
      const changes = watch[Symbol.asyncIterator]();
      const heard = async (wanted: object) => {
        let change: unknown;
        while (JSON.stringify(change) !== JSON.stringify(wanted)) change = (await changes.next()).value;
      };
      const updated = { kind: "resource", uri: "memory://default/Ada" };
      await call(client, "add_observations", { observations: [{ entityName: "Ada", contents: ["counts"] }] });
      await heard(updated);
      const other = openTestStore(file);
      await other.change("default", () => ({
        ops: [{ do: "observe", name: "Ada", texts: ["sings"] }],
        result: undefined,
      }));
      await heard(updated);
      await add(other, "Mary");
      await heard({ kind: "resources" });
      await watch.close();
    },
  );

  test("a subscription to a namespace also covers its entities", async () => {
    const client = await open();
    await call(client, "create_entities", { entities: [entity("Ada")] });
    const watch = await client.watch({ uris: ["memory://default"] });
    await call(client, "add_observations", { observations: [{ entityName: "Ada", contents: ["counts"] }] });
    for await (const change of watch) {
      expect(change).toEqual({ kind: "resource", uri: "memory://default/Ada" });
      break;
    }
    const { contents } = await client.readResource("memory://default");
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ entities: 1, types: { person: 1 } });
    await watch.close();
  });
});
