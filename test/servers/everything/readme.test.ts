import { readdirSync, readFileSync } from "node:fs";
import { connectInMemory } from "portolan/testing";
import { createEverything } from "portolan-everything";
import { expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { connectTo, entryOf } from "../kit/programs.ts";

const folder = new URL("../../../packages/servers/everything/", import.meta.url);
const readme = readFileSync(new URL("README.md", folder), "utf8");

/** The rows of the table: feature, revisions, and files. */
const rows = readme
  .split("\n")
  .filter((line) => /[●◐○] +\|/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, feature, ...cells]) => ({ feature, marks: cells.slice(0, 5), where: cells[5]! }));

test("the host configuration in the README works", async () => {
  const client = await connectTo(entryOf("examples/servers/everything.json"));
  expect((await client.callTool("echo", { text: "hello" })).structuredContent).toEqual({ text: "hello" });
});

test("each row of the table names existing files and features", () => {
  expect(rows.length).toBeGreaterThan(40);
  for (const { feature, where, marks } of rows) {
    expect(marks, feature).toHaveLength(revisions.length);
    for (const [, file, names] of where.matchAll(/`(\w+\.ts)`(?:: ((?:`[\w-]+`(?:, )?)+))?/g)) {
      const source = readFileSync(new URL(`src/${file}`, folder), "utf8");
      for (const [, name] of (names ?? "").matchAll(/`([\w-]+)`/g)) {
        expect(source.includes(`"${name}"`), `${feature}: ${file} has no ${name}`).toBe(true);
      }
    }
  }
});

test("the table lists every feature and file of the server", async () => {
  const client = await connectInMemory(createEverything());
  const all = rows.map(({ where }) => where).join(" ");
  const features = await Promise.all([client.listTools(), client.listPrompts(), client.listTemplates()]);
  const resources = (await client.listResources()).filter(({ name }) => !name.startsWith("square-"));
  for (const { name } of [...features.flat(), ...resources]) expect(all).toContain(`\`${name}\``);
  const files = readdirSync(new URL("src", folder)).filter((file) => !/^(index|main)\.ts$/.test(file));
  for (const file of files) expect(all).toContain(`\`${file}\``);
  await client.close();
});
