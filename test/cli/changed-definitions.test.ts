import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, root, runPortolan } from "./kit.ts";

const node = process.execPath;
const broken = join(root, "test/cli/fixtures/broken.mjs");

/** A home with a server whose tool has the description in a file. */
function makeServer() {
  const cwd = makeHome();
  const text = join(cwd, "description.txt");
  writeFileSync(text, "Says it again");
  const args = [broken, "described", text];
  return { cwd, args, change: () => writeFileSync(text, "Says something else") };
}

test("a server that was typed may change its definitions between commands", async () => {
  const { cwd, args, change } = makeServer();
  const target = ["--", node, ...args];
  const run = (...words: readonly string[]) => runPortolan([...words, ...target], { cwd });
  expect(await run("call", "echo")).toMatchObject({ code: 0 });
  expect(await run("run", "echo word=a", "--model", "demo", "--allow", "*")).toMatchObject({ code: 0 });
  change();
  expect(await run("call", "echo")).toMatchObject({ code: 0 });
  const listed = await run("ls");
  expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining("Says something else") });
  expect(listed.stdout).not.toContain("isChanged");
  expect((await run("doctor")).stdout).not.toContain("changed-definitions");
  const used = await run("run", "echo word=a", "--model", "demo", "--allow", "*");
  expect(used).toMatchObject({ code: 0, stdout: expect.stringContaining('"tool":"echo"') });
  expect(used.stdout).not.toContain("left out");
});

test("names the command that shows what changed, for a configured server", async () => {
  const { cwd, args, change } = makeServer();
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { notes: { command: node, args } } }));
  expect((await runPortolan(["trust", "notes", "--yes"], { cwd })).code).toBe(0);
  expect((await runPortolan(["call", "notes.echo"], { cwd })).code).toBe(0);
  change();
  const refused = await runPortolan(["call", "notes.echo"], { cwd });
  const next = "portolan trust notes --changes";
  expect(refused.code).toBe(6);
  expect(JSON.parse(refused.stderr).error).toEqual({
    kind: "denied",
    message: "notes.echo is blocked: its definition changed since you accepted it",
    next,
  });
  const used = await runPortolan(["run", "echo word=a", "--model", "demo", "--server", "notes", "--text"], { cwd });
  expect(used.stderr).toContain("notes.echo is left out: its definition changed since you accepted it");
  expect(used.stderr).toContain(next);
  expect((await runPortolan(["trust", "notes", "--changes", "--yes"], { cwd })).code).toBe(0);
  expect((await runPortolan(["call", "notes.echo"], { cwd })).code).toBe(0);
});
