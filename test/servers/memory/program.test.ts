import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { forOfficialClients } from "../kit/official.ts";
import { call, start } from "../kit/tools.ts";
import { freshFile, openTestStore } from "./kit.ts";

const script = fileURLToPath(new URL("../../../packages/servers/memory/dist/main.js", import.meta.url));
const peers = new URL("../../peers/node_modules/", import.meta.url);
const official = fileURLToPath(new URL(["@modelcontextprotocol", "server-memory/dist/index.js"].join("/"), peers));
const ada = { name: "Ada", entityType: "person", observations: ["wrote the first program"] };

test("keeps the memory across processes, and two processes see each other's changes", async () => {
  const file = freshFile();
  const first = await start(script, ["--file", file]);
  await call(first, "create_entities", { entities: [ada] });
  const second = await start(script, ["--file", file]);
  expect((await call(second, "read_graph")).entities).toEqual([ada]);
  await call(second, "delete_entities", { entityNames: ["Ada"] });
  expect((await call(first, "read_graph")).total).toBe(0);
});

test("takes the path from the environment, or uses the user's data folder", async () => {
  const file = freshFile();
  const named = await start(script, [], { PORTOLAN_MEMORY_FILE: file });
  await call(named, "create_entities", { entities: [ada] });
  expect(openTestStore(file).read("default").names).toEqual(["Ada"]);
  const folder = join(dirname(file), "data");
  mkdirSync(folder);
  const unnamed = await start(script, [], { XDG_DATA_HOME: folder });
  await call(unnamed, "create_entities", { entities: [ada] });
  expect(readdirSync(join(folder, "portolan"))).toEqual(["memory.log"]);
});

test("imports a file of the official server, and importing it again adds nothing", async () => {
  const file = freshFile();
  const theirs = join(dirname(file), "memory.jsonl");
  const writer = await start(official, [], { MEMORY_FILE_PATH: theirs });
  await writer.callTool("create_entities", {
    entities: [ada, { name: "Engine", entityType: "machine", observations: [] }],
  });
  await writer.callTool("create_relations", { relations: [{ from: "Ada", to: "Engine", relationType: "programmed" }] });
  await writer.close();
  const before = readFileSync(theirs);
  for (let round = 0; round < 2; round += 1) {
    const client = await start(script, ["--file", file, "--import", theirs]);
    const { entities, relations, total } = await call(client, "read_graph");
    expect({ total, ada: entities[0], relations }).toEqual({
      total: 2,
      ada,
      relations: [{ from: "Ada", to: "Engine", relationType: "programmed" }],
    });
    const { lines } = await call(client, "export_graph");
    expect(lines.split("\n").map((line: string) => JSON.parse(line))).toEqual(
      expect.arrayContaining(
        before
          .toString()
          .trim()
          .split("\n")
          .map((line) => expect.objectContaining(JSON.parse(line))),
      ),
    );
    await client.close();
  }
  expect(readFileSync(theirs)).toEqual(before);
});

test("exits with the reason for a foreign file, a wrong line and a wrong namespace", () => {
  const file = freshFile();
  const run = (...args: string[]) => spawnSync(process.execPath, [script, ...args], { encoding: "utf8", input: "" });
  writeFileSync(file, "a letter\n");
  expect(run("--file", file)).toMatchObject({ status: 1, stderr: expect.stringContaining("is not a memory file") });
  expect(readFileSync(file, "utf8")).toBe("a letter\n");
  expect(run("--file", `${file}2`, "--import", file)).toMatchObject({
    stderr: expect.stringContaining("Line 1: expected"),
  });
  expect(run("--file", `${file}2`, "--namespace", "../x")).toMatchObject({ status: 2 });
});

test("reports a damaged file on standard error, and repairs it with --repair", async () => {
  const file = freshFile();
  const first = await start(script, ["--file", file]);
  await call(first, "create_entities", { entities: [ada] });
  await call(first, "create_entities", { entities: [{ ...ada, name: "Grace" }] });
  await call(first, "create_entities", { entities: [{ ...ada, name: "Mary" }] });
  await first.close();
  writeFileSync(file, readFileSync(file, "utf8").replace('"Grace"', '"Grxce"'));
  const told = spawnSync(process.execPath, [script, "--file", file], { encoding: "utf8", input: "" });
  expect(told.stderr).toContain("damaged: line 4");
  const repaired = await start(script, ["--file", file, "--repair"]);
  expect(await call(repaired, "describe_memory")).toMatchObject({ damage: [], namespaces: [{ entities: 2 }] });
});

let file = "";
forOfficialClients(
  script,
  "creates, searches and gets notifications",
  async (client) => {
    const { all } = await client.listTools();
    expect(all.map(({ name }) => name)).toContain("create_entities");
    await client.callTool("create_entities", { entities: [ada] });
    const found = await client.callTool("search_nodes", { query: "program" });
    expect(found.structuredContent.entities).toEqual([ada]);
    await client.follow("memory://default/Ada");
    const other = openTestStore(file);
    await other.change("default", () => ({
      ops: [{ do: "observe", name: "Ada", texts: ["sings"] }],
      result: undefined,
    }));
    expect(await client.hears("notifications/resources/updated")).toMatchObject({ uri: "memory://default/Ada" });
    const { contents } = await client.readResource("memory://default/Ada");
    expect(JSON.parse(contents[0].text).observations).toContain("sings");
  },
  () => {
    file = freshFile();
    return { PORTOLAN_MEMORY_FILE: file };
  },
);
