import { fork } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { readConfigs, writeServer } from "../../../packages/host/src/node/config/index.ts";
import type { ServerEntry } from "../../../packages/host/src/options.ts";

function emptyFolder(): string {
  const root = mkdtempSync(join(tmpdir(), "portolan-write-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

const entry = (command: string): ServerEntry => ({
  name: "s",
  target: { command },
  configured: { command },
  settings: {},
  source: { kind: "code" },
});
const namesIn = async (file: string) => (await readConfigs(file)).entries.map(({ name }) => name);

test("a new file has the common format, is readable by its owner only, and its folder is created", async () => {
  const file = join(emptyFolder(), "a/b/.mcp.json");
  await writeServer(file, "s", entry("x"));
  expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ mcpServers: { s: { type: "stdio", command: "x" } } });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(file, ".."))).toEqual([".mcp.json"]);
});

test("each product's file is written in its own format and read back unchanged", async () => {
  const root = emptyFolder();
  const files = [".mcp.json", ".vscode/mcp.json", ".vscode/settings.json", ".cursor/mcp.json", ".codex/config.toml"];
  const more = [
    ".gemini/settings.json",
    ".zed/settings.json",
    "opencode.json",
    ".kiro/settings/mcp.json",
    "librechat.yaml",
    ".mcphost.yml",
  ];
  const written = { command: "npx", args: ["-y", "a b", "#", "\u00FC"], env: { KEY: "value: 1" } };
  for (const file of [
    ...files,
    ...more,
    "goose/config.yaml",
    ".continue/config.yaml",
    ".codeium/windsurf/mcp_config.json",
  ]) {
    const path = join(root, file);
    await writeServer(path, "s.1", { ...entry("x"), configured: written, settings: { disabled: true, idleMs: 5_000 } });
    const { entries, errors } = await readConfigs(path);
    expect({ file, errors, entries }).toMatchObject({
      errors: [],
      entries: [{ name: "s.1", configured: written, settings: { disabled: true, idleMs: 5_000 } }],
    });
    expect(entries[0]).not.toHaveProperty("problem");
    await writeServer(path, "s.1", undefined);
    expect({ file, names: await namesIn(path) }).toEqual({ file, names: [] });
  }
});

test("writing keeps the mode of a file and a symbolic link to it", async () => {
  const root = emptyFolder();
  mkdirSync(join(root, "dotfiles"));
  const target = join(root, "dotfiles/mcp.json");
  const link = join(root, ".mcp.json");
  writeFileSync(target, "{}\n");
  chmodSync(target, 0o664);
  symlinkSync("dotfiles/mcp.json", link);
  await writeServer(link, "s", entry("x"));
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(await namesIn(target)).toEqual(["s"]);
  expect(statSync(target).mode & 0o777).toBe(0o664);
  expect(readdirSync(join(root, "dotfiles"))).toEqual(["mcp.json"]);
});

test("writing through a dangling link creates the file and keeps the link", async () => {
  const root = emptyFolder();
  symlinkSync("real.json", join(root, ".mcp.json"));
  await writeServer(join(root, ".mcp.json"), "s", entry("x"));
  expect(lstatSync(join(root, ".mcp.json")).isSymbolicLink()).toBe(true);
  expect(existsSync(join(root, "real.json"))).toBe(true);
});

test("a file that cannot be edited stays unchanged, and no temporary file remains", async () => {
  const root = emptyFolder();
  const broken = join(root, ".mcp.json");
  writeFileSync(broken, '{ "mcpServers": {');
  await expect(writeServer(broken, "s", entry("x"))).rejects.toThrow(".mcp.json:1:18");
  expect(readFileSync(broken, "utf8")).toBe('{ "mcpServers": {');
  const latin = join(root, "mcp-config.json");
  writeFileSync(latin, Buffer.from('{"a":"\xe9"}', "latin1"));
  await expect(writeServer(latin, "s", entry("x"))).rejects.toThrow("expected UTF-8");
  expect(readFileSync(latin)).toEqual(Buffer.from('{"a":"\xe9"}', "latin1"));
  expect(readdirSync(root).sort()).toEqual([".mcp.json", "mcp-config.json"]);
});

test("removing a server from a missing file creates no file", async () => {
  const file = join(emptyFolder(), "a/.mcp.json");
  await writeServer(file, "s", undefined);
  expect(existsSync(join(file, ".."))).toBe(false);
});

test("an edit without effect does not write the file", async () => {
  const file = join(emptyFolder(), ".mcp.json");
  writeFileSync(file, '{"mcpServers":{"s":{"type":"stdio","command":"x"}}}');
  const { ino } = statSync(file);
  await writeServer(file, "s", entry("x"));
  await writeServer(file, "nobody", undefined);
  expect(statSync(file).ino).toBe(ino);
});

test("the value of a variable is never written to a file", async () => {
  const root = emptyFolder();
  const from = join(root, ".mcp.json");
  writeFileSync(from, '{"mcpServers":{"s":{"url":"https://x","headers":{"Authorization":"Bearer ${TOKEN}"}}}}');
  const { entries } = await readConfigs(from, { env: { TOKEN: "hunter2" } });
  expect(entries[0]?.target).toMatchObject({ headers: { Authorization: "Bearer hunter2" } });
  for (const to of [".cursor/mcp.json", ".codex/config.toml"]) {
    const product = to.startsWith(".codex") ? "codex" : "cursor";
    await writeServer(join(root, to), "s", entries[0]);
    const text = readFileSync(join(root, to), "utf8");
    expect(text).not.toContain("hunter2");
    expect(text).toContain(product === "codex" ? 'bearer_token_env_var = "TOKEN"' : "Bearer ${env:TOKEN}");
  }
});

/** Writes a program that adds a number of servers to a file, one after another. */
function writerProgram(): string {
  const library = pathToFileURL(join(import.meta.dirname, "../../../packages/host/dist/node/index.js")).href;
  const program = `
    import { writeServer } from "${library}";
    const [file, who, count] = process.argv.slice(2);
    const entry = { name: "s", target: {}, configured: { command: who }, settings: {}, source: { kind: "code" } };
    for (let n = 0; n < Number(count); n++) await writeServer(file, who + n, entry);
    process.disconnect();
  `;
  const file = join(emptyFolder(), "writer.mjs");
  writeFileSync(file, program);
  return file;
}

test("concurrent writers in several processes lose no server, and a reader sees only complete files", async () => {
  const root = emptyFolder();
  const file = join(root, ".mcp.json");
  writeFileSync(file, '{\n  // kept\n  "mcpServers": {}\n}\n');
  const writer = writerProgram();
  const children = ["a", "b"].map((name) =>
    fork(writer, [file, name, "10"], { stdio: ["ignore", "ignore", "inherit", "ipc"] }),
  );
  const ended = Promise.all(children.map((child) => once(child, "exit")));
  const own = Promise.all(Array.from({ length: 10 }, (_, n) => writeServer(file, `own${n}`, entry("x"))));
  let isOver = false;
  const both = Promise.all([ended, own]).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    expect(readFileSync(file, "utf8")).toMatch(/^\{\n {2}\/\/ kept\n[\s\S]*\}\n$/);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const [codes] = await both;
  expect(codes.map(([code]) => code)).toEqual([0, 0]);
  const names = ["a", "b", "own"].flatMap((who) => Array.from({ length: 10 }, (_, n) => `${who}${n}`));
  expect((await namesIn(file)).sort()).toEqual(names.sort());
  expect(readdirSync(root)).toEqual([".mcp.json"]);
});
