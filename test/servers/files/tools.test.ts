import { chmod, mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { ask, makeFolder, refused, serve, snapshot, textOf } from "./kit.ts";

const names = ["copy", "edit", "find", "info", "list", "make", "move", "read", "remove", "search", "tree", "write"];

/** Creates a small project. */
async function makeProject(): Promise<string> {
  const folder = await makeFolder();
  await mkdir(join(folder, "src", "deep"), { recursive: true });
  await mkdir(join(folder, "node_modules", "left"), { recursive: true });
  await writeFile(join(folder, "README.md"), "# Title\n\nhello world\n");
  await writeFile(join(folder, "src", "index.ts"), "export const hello = 1;\nexport const other = 2;\n");
  await writeFile(join(folder, "src", "deep", "util.ts"), "// Hello again\n");
  await writeFile(join(folder, "node_modules", "left", "index.js"), "hello\n");
  await writeFile(join(folder, "logo.png"), Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3));
  return folder;
}

describe.each(revisions)("on %s", (revision) => {
  test("lists, finds, searches, reads, writes, edits, moves and removes files", async () => {
    const folder = await makeProject();
    const client = await serve({ folders: [folder] }, { revision });
    const say = async (tool: string, args: Record<string, unknown>) => textOf(await client.callTool(tool, args));
    expect(await say("list", {})).toBe("README.md (21 bytes)\nlogo.png (8 bytes)\nnode_modules/\nsrc/");
    expect(await say("tree", { path: "src" })).toBe("index.ts\ndeep/\n  util.ts");
    expect(await say("find", { pattern: "*.ts" })).toBe("src/index.ts\nsrc/deep/util.ts");
    expect(await say("search", { pattern: "hello" })).toBe(
      "README.md:3: hello world\nsrc/index.ts:1: export const hello = 1;",
    );
    expect(await say("read", { path: "README.md" })).toBe("# Title\n\nhello world\n");
    expect(await say("write", { path: "new/note.txt", text: "one\n" })).toBe("Wrote new/note.txt (4 bytes)");
    expect(await say("edit", { path: "new/note.txt", edits: [{ old: "one", new: "two" }] })).toContain("-one\n+two");
    expect(await say("move", { from: "new/note.txt", to: "note.txt" })).toBe("Moved new/note.txt to note.txt");
    expect(await say("copy", { from: "note.txt", to: "copy.txt" })).toBe("Copied note.txt to copy.txt (4 bytes)");
    expect(await say("make", { path: "a/b" })).toBe("Created a/b");
    expect(await say("remove", { path: "a/b" })).toBe("Removed a/b");
    expect(await readFile(join(folder, "copy.txt"), "utf8")).toBe("two\n");
    expect(await readdir(folder)).toEqual([
      "README.md",
      "a",
      "copy.txt",
      "logo.png",
      "new",
      "node_modules",
      "note.txt",
      "src",
    ]);
  });
});

test("describes input, output and effects of every tool", async () => {
  const client = await serve({ folders: [await makeFolder()] });
  const tools = await client.listTools();
  expect(tools.map(({ name }) => name).sort()).toEqual(names);
  for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
    expect({ name, title, description }).toEqual({ name, title: expect.any(String), description: expect.any(String) });
    expect(Object.keys(annotations ?? {}).sort()).toEqual([
      "destructiveHint",
      "idempotentHint",
      "openWorldHint",
      "readOnlyHint",
    ]);
    for (const schema of [inputSchema, outputSchema]) {
      const properties = Object.entries(
        (schema as { properties: Record<string, { description?: string }> }).properties,
      );
      expect(properties.length).toBeGreaterThan(0);
      for (const [property, { description }] of properties)
        expect({ name, property, description }).toEqual({ name, property, description: expect.any(String) });
    }
  }
});

/** For each tool, calls that would change something if they could. */
const calls: Record<string, Record<string, unknown>[]> = {
  list: [{}, { path: "src" }],
  tree: [{ all: true }],
  find: [{ pattern: "*", all: true }],
  search: [
    { pattern: "e", all: true },
    { pattern: "h.*o", regex: true },
  ],
  read: [{ path: "README.md" }, { path: "logo.png" }, { path: "README.md", from: -1 }],
  info: [{}, { path: "README.md" }],
  write: [{ path: "README.md", text: "x", overwrite: true }],
  edit: [{ path: "README.md", edits: [{ old: "hello", new: "bye" }] }],
  move: [{ from: "README.md", to: "moved.md" }],
  copy: [{ from: "README.md", to: "copied.md" }],
  make: [{ path: "made" }],
  remove: [{ path: "README.md" }],
};

test("a tool changes something if and only if its annotations say so", async () => {
  const tools = await (await serve({ folders: [await makeFolder()] })).listTools();
  for (const { name, annotations } of tools) {
    const folder = await makeProject();
    const client = await serve({ folders: [folder] });
    const before = await snapshot(folder);
    for (const args of calls[name] ?? []) await ask(client, name, args);
    const hasChanged = JSON.stringify(await snapshot(folder)) !== JSON.stringify(before);
    expect({ name, hasChanged }).toEqual({ name, hasChanged: annotations?.readOnlyHint === false });
  }
});

test("a read-only server has no tool that writes, and says so", async () => {
  const client = await serve({ folders: [await makeFolder()], readOnly: true });
  const tools = await client.listTools();
  expect(tools.map(({ name }) => name).sort()).toEqual(["find", "info", "list", "read", "search", "tree"]);
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true);
  await expect(client.callTool("write", { path: "x", text: "x" })).rejects.toThrow(/write/);
  expect(await ask(client, "info")).toMatchObject({ readOnly: true });
});

test("lists a large folder completely, in pages", async () => {
  const folder = await makeFolder();
  const all = Array.from({ length: 25 }, (_, at) => `file-${String(at).padStart(2, "0")}`);
  for (const name of all) await writeFile(join(folder, name), "");
  const client = await serve({ folders: [folder] });
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const page = await ask<{ entries: { name: string }[]; total: number; next?: string }>(client, "list", {
      limit: 10,
      ...(after && { after }),
    });
    expect(page.total).toBe(25);
    seen.push(...page.entries.map(({ name }) => name));
    after = page.next;
  } while (after !== undefined);
  expect(seen).toEqual(all);
});

test("lists, reads, writes and finds files with unusual names", async () => {
  const folder = await makeFolder();
  const odd = [
    "new\nline.txt",
    "emoji 🎈.txt",
    "-rf",
    'it\'s "quoted".txt',
    "tab\there",
    "ünï.txt",
    "$(x)`y`",
    "a%2fb",
    "#?&=",
    " lead",
  ];
  const client = await serve({ folders: [folder] });
  for (const name of odd) await ask(client, "write", { path: name, text: name });
  expect((await readdir(folder)).sort()).toEqual([...odd].sort());
  const { entries } = await ask<{ entries: { path: string }[] }>(client, "list");
  for (const { path } of entries) expect(await ask(client, "read", { path })).toMatchObject({ text: path });
  expect(textOf(await client.callTool("find", { pattern: "new*" }))).toBe('"new\\nline.txt"');
  for (const { uri } of await client.listResources()) {
    if (uri.endsWith(encodeURIComponent(folder))) continue;
    expect((await client.readResource(uri)).contents).toHaveLength(1);
  }
});

describe("read", () => {
  test("returns lines from the start, the middle and the end, and how to continue", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "lines"), Array.from({ length: 3_000 }, (_, at) => `line ${at + 1}\n`).join(""));
    const client = await serve({ folders: [folder] });
    const first = await ask<{ text: string; nextFrom: number; nextOffset: number }>(client, "read", { path: "lines" });
    expect(first).toMatchObject({ from: 1, lines: 1_000, nextFrom: 1_001 });
    const second = await ask(client, "read", { path: "lines", offset: first.nextOffset, lines: 1 });
    expect(second).toMatchObject({ text: "line 1001\n" });
    expect(await ask(client, "read", { path: "lines", from: 2_999 })).toMatchObject({
      text: "line 2999\nline 3000\n",
      from: 2_999,
    });
    expect(await ask(client, "read", { path: "lines", from: -2 })).toMatchObject({ text: "line 2999\nline 3000\n" });
    expect(await refused(client, "read", { path: "lines", from: 9_999 })).toContain("ends before line 9999");
  });

  test("returns images, audio and other bytes by their type", async () => {
    const folder = await makeProject();
    await writeFile(join(folder, "beep.mp3"), Uint8Array.of(0, 1));
    await writeFile(join(folder, "data.bin"), Uint8Array.of(0, 1, 2, 3));
    const client = await serve({ folders: [folder] });
    const { content } = await client.callTool("read", { path: "logo.png" });
    expect(content[1]).toEqual({ type: "image", mimeType: "image/png", data: "iVBORwABAgM=" });
    expect((await client.callTool("read", { path: "beep.mp3" })).content[1]).toMatchObject({
      type: "audio",
      data: "AAE=",
    });
    const part = await client.callTool("read", { path: "data.bin", offset: 1, bytes: 2 });
    expect(part.content[1]).toMatchObject({ type: "resource", resource: { blob: "AQI=" } });
    expect(part.structuredContent).toMatchObject({ size: 4, offset: 1, bytes: 2, nextOffset: 3 });
    expect(await refused(client, "read", { path: "data.bin", from: 2 })).toContain("is not text");
  });

  test("reads windows-1252 and UTF-16", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "old.txt"), Buffer.from("Grüße\n", "latin1"));
    await writeFile(join(folder, "wide.txt"), Buffer.from("\ufeffone\ntwo\n", "utf16le"));
    const client = await serve({ folders: [folder] });
    expect(await ask(client, "read", { path: "old.txt" })).toMatchObject({ text: "Grüße\n", encoding: "windows-1252" });
    expect(await ask(client, "read", { path: "wide.txt", from: 2 })).toMatchObject({
      text: "two\n",
      encoding: "utf-16le",
    });
  });
});

describe("search", () => {
  test("shows context lines, filters by name, and supports regular expressions", async () => {
    const folder = await makeProject();
    const client = await serve({ folders: [folder] });
    expect(await ask(client, "search", { pattern: "other", context: 1 })).toMatchObject({
      matches: [{ path: "src/index.ts", line: 2, before: ["export const hello = 1;"], after: [] }],
    });
    expect(await ask(client, "search", { pattern: "hello", ignoreCase: true, name: "src/**/*.ts" })).toMatchObject({
      matches: [{ path: "src/index.ts" }, { path: "src/deep/util.ts" }],
    });
    expect(await ask(client, "search", { pattern: "^#\\s\\w+$", regex: true })).toMatchObject({
      matches: [{ line: 1 }],
    });
    expect(await ask(client, "search", { pattern: "hello", path: "README.md" })).toMatchObject({
      matches: [{ line: 3 }],
      files: 1,
    });
    expect(await ask(client, "search", { pattern: "hello", all: true })).toMatchObject({
      matches: { length: 3 },
      skipped: 1,
    });
    expect(await refused(client, "search", { pattern: "(", regex: true })).toContain("not a regular expression");
  });

  test("stops and reports a regular expression that never ends", { timeout: 20_000 }, async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "long.txt"), `${"a".repeat(5_000)}!\n`);
    const client = await serve({ folders: [folder] });
    const said = await refused(client, "search", { pattern: "^(a+)+$", regex: true });
    expect(said).toContain("takes too long");
    expect(await ask(client, "search", { pattern: "a+!", regex: true })).toMatchObject({ matches: { length: 1 } });
  });

  test("stops at its limits and says so", async () => {
    const folder = await makeFolder();
    for (let number = 0; number < 20; number += 1) await writeFile(join(folder, `${number}.txt`), "x\nx\n");
    const client = await serve({ folders: [folder], limits: { searchMs: 0 } });
    expect(await ask(client, "search", { pattern: "x" })).toMatchObject({
      isCut: true,
      why: expect.stringContaining("0 ms"),
    });
    const patient = await serve({ folders: [folder] });
    expect(await ask(patient, "search", { pattern: "x", limit: 3 })).toMatchObject({
      matches: { length: 3 },
      isCut: true,
    });
    expect(await ask(patient, "search", { pattern: "x", limit: 40 })).toMatchObject({
      matches: { length: 40 },
      isCut: false,
    });
  });

  test("returns correct line numbers for long lines and across pieces of a large file", async () => {
    const folder = await makeFolder();
    const filler = "y".repeat(99);
    const lines = Array.from({ length: 10_000 }, (_, at) => (at % 3_000 === 2_999 ? `needle ${at + 1}` : filler));
    await writeFile(
      join(folder, "large.txt"),
      `${lines.join("\n")}\n${"z".repeat(50_000)}needle${"z".repeat(50_000)}\n`,
    );
    const client = await serve({ folders: [folder] });
    for (const args of [{ pattern: "needle" }, { pattern: "NEEDLE", ignoreCase: true }]) {
      const { matches } = await ask<{ matches: { line: number; text: string }[] }>(client, "search", {
        ...args,
        context: 2,
      });
      expect(matches.map(({ line }) => line)).toEqual([3_000, 6_000, 9_000, 10_001]);
      expect(matches[0]).toMatchObject({ before: [filler, filler], after: [filler, filler] });
      expect(matches[3]!.text).toMatch(/^…z+needlez+…$/);
    }
  });
});

describe("write", () => {
  test("replaces only with overwrite, keeps permissions, and leaves no other files", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "run.sh"), "old");
    await chmod(join(folder, "run.sh"), 0o750);
    const client = await serve({ folders: [folder] });
    expect(await refused(client, "write", { path: "run.sh", text: "new" })).toContain("overwrite: true");
    expect(await ask(client, "write", { path: "run.sh", text: "new", overwrite: true })).toMatchObject({
      replaced: true,
    });
    expect((await stat(join(folder, "run.sh"))).mode & 0o777).toBe(0o750);
    expect(await ask(client, "write", { path: "b.bin", base64: "AP8=" })).toMatchObject({ bytes: 2 });
    expect([...(await readFile(join(folder, "b.bin")))]).toEqual([0, 255]);
    expect(await refused(client, "write", { path: "c.bin", base64: "not base64!" })).toContain("expected base64");
    expect(await refused(client, "write", { path: "c.bin" })).toContain("expected either text or base64");
    expect(await readdir(folder)).toEqual(["b.bin", "run.sh"]);
  });

  test("only one of many servers that create the same file at once succeeds", async () => {
    const folder = await makeFolder();
    const clients = await Promise.all(Array.from({ length: 8 }, () => serve({ folders: [folder] })));
    for (let round = 0; round < 20; round += 1) {
      const results = await Promise.all(
        clients.map((client, at) => client.callTool("write", { path: `${round}.txt`, text: `by ${at}` })),
      );
      const winners = results.flatMap(({ isError }, at) => (isError ? [] : [`by ${at}`]));
      expect(winners).toEqual([await readFile(join(folder, `${round}.txt`), "utf8")]);
    }
    expect(await readdir(folder)).toHaveLength(20);
  });

  test("refuses content above the limit", async () => {
    const client = await serve({ folders: [await makeFolder()], limits: { writeBytes: 10 } });
    expect(await refused(client, "write", { path: "x", text: "x".repeat(11) })).toContain("at most 10 bytes");
  });
});

describe("edit", () => {
  test("keeps Windows line endings, shows a diff, and writes nothing in a dry run", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "a.txt"), "one\r\ntwo\r\n");
    const client = await serve({ folders: [folder] });
    const edits = [{ old: "one\ntwo", new: "1\n2" }];
    expect(await ask(client, "edit", { path: "a.txt", edits, dryRun: true })).toMatchObject({
      written: false,
      diff: expect.stringContaining("-one\n-two\n+1\n+2"),
    });
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\r\ntwo\r\n");
    expect(await ask(client, "edit", { path: "a.txt", edits })).toMatchObject({ written: true, replaced: 1 });
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("1\r\n2\r\n");
  });

  test("applies all edits or none", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "a.txt"), "one\ntwo\n");
    const client = await serve({ folders: [folder] });
    const said = await refused(client, "edit", {
      path: "a.txt",
      edits: [
        { old: "one", new: "1" },
        { old: "twoo", new: "2" },
      ],
    });
    expect(said).toContain("edit 2: old is not in the file. Closest:\nline 2");
    expect(await readFile(join(folder, "a.txt"), "utf8")).toBe("one\ntwo\n");
  });

  test("keeps all of several concurrent edits", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "a.txt"), Array.from({ length: 30 }, (_, at) => `<${at}>\n`).join(""));
    const client = await serve({ folders: [folder] });
    await Promise.all(
      Array.from({ length: 30 }, (_, at) =>
        ask(client, "edit", { path: "a.txt", edits: [{ old: `<${at}>`, new: `[${at}]` }] }),
      ),
    );
    expect(await readFile(join(folder, "a.txt"), "utf8")).not.toContain("<");
  });

  test("refuses files that are not UTF-8, with advice", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "old.txt"), Uint8Array.of(0xfc, 0x0a));
    const client = await serve({ folders: [folder] });
    expect(await refused(client, "edit", { path: "old.txt", edits: [{ old: "a", new: "b" }] })).toContain(
      "not UTF-8 text",
    );
  });
});

describe("move, copy, make and remove", () => {
  test("does not replace anything by accident", async () => {
    const folder = await makeProject();
    const client = await serve({ folders: [folder] });
    expect(await refused(client, "move", { from: "README.md", to: "src/index.ts" })).toContain("already exists");
    expect(await refused(client, "move", { from: "README.md", to: "src" })).toContain("pass the complete new path");
    expect(await refused(client, "copy", { from: "README.md", to: "logo.png" })).toContain("already exists");
    expect(await refused(client, "copy", { from: "README.md", to: "README.md", overwrite: true })).toContain(
      "the same file",
    );
    expect(await refused(client, "move", { from: "src", to: "src/deep/src" })).toContain("cannot be moved into itself");
    expect(await refused(client, "make", { path: "README.md" })).toContain("is not a folder");
    expect(await refused(client, "remove", { path: "src" })).toContain("recursive: true");
    expect(await ask(client, "make", { path: "src" })).toMatchObject({ made: false });
    expect(await ask(client, "move", { from: "README.md", to: "src/index.ts", overwrite: true })).toMatchObject({
      replaced: true,
    });
    expect(await ask(client, "move", { from: "src", to: "lib/inner" })).toMatchObject({ to: "lib/inner" });
    expect(await readFile(join(folder, "lib/inner/index.ts"), "utf8")).toContain("# Title");
  });

  test("removes a folder with its content if questions are off", async () => {
    const folder = await makeProject();
    const client = await serve({ folders: [folder], ask: false });
    expect(await ask(client, "remove", { path: "src", recursive: true })).toMatchObject({ removed: 4 });
    expect(await readdir(folder)).toEqual(["README.md", "logo.png", "node_modules"]);
    const careful = await serve({ folders: [folder], ask: false, limits: { removed: 1 } });
    expect(await refused(careful, "remove", { path: "node_modules", recursive: true })).toContain(
      "more than 1 entries",
    );
  });
});

test("with several folders, paths start with the name of one", async () => {
  const [one, two] = [await makeProject(), await makeFolder()];
  await writeFile(join(two, "b.txt"), "hello two\n");
  const client = await serve({ folders: [one, two] });
  const [first, second] = [basename(one), basename(two)];
  const say = async (tool: string, args: Record<string, unknown>) => textOf(await client.callTool(tool, args));
  expect(await say("list", {})).toBe(`${first}/\n${second}/`);
  expect(await say("tree", { depth: 1 })).toBe(
    `${first}/\n  README.md\n  logo.png\n  node_modules/\n  src/\n${second}/\n  b.txt`,
  );
  expect(await say("find", { pattern: "*.{md,txt}" })).toBe(`${first}/README.md\n${second}/b.txt`);
  expect(await ask(client, "search", { pattern: "hello" })).toMatchObject({ matches: { length: 3 } });
  expect(await ask(client, "move", { from: `${first}/README.md`, to: `${second}/c.md` })).toMatchObject({
    to: `${second}/c.md`,
  });
  expect(await refused(client, "read", { path: "b.txt" })).toContain("paths start with one of the folders");
});

test("error messages suggest what to do next", async () => {
  const folder = await makeProject();
  const client = await serve({ folders: [folder] });
  expect(await refused(client, "read", { path: "nope.txt" })).toBe(
    "nope.txt does not exist; list or find shows the files",
  );
  expect(await refused(client, "read", { path: "src" })).toBe("src is a folder; list shows its entries");
  expect(await refused(client, "list", { path: "README.md" })).toContain("expected a folder, found a file");
  expect(await refused(client, "read", { path: "README.md/x" })).toContain("is a file, not a folder");
  expect(await refused(client, "read", { path: "a\0b" })).toContain("zero byte");
  expect(await refused(client, "read", { path: "README.md", form: 3 })).toContain("form");
});

test("info returns times and kind", async () => {
  const folder = await makeProject();
  const client = await serve({ folders: [folder] });
  await utimes(join(folder, "README.md"), new Date(0), new Date("2020-01-02T03:04:05Z"));
  expect(await ask(client, "info", { path: "README.md" })).toMatchObject({
    kind: "file",
    size: 21,
    mimeType: "text/markdown",
    modified: "2020-01-02T03:04:05.000Z",
  });
});
