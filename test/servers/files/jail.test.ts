import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { ask, makeFolder, refused, serve, snapshot } from "./kit.ts";

/** A served folder with links into folders beside it, which must stay out of reach. */
async function makePrison() {
  const base = await makeFolder();
  const [inside, outside, evil] = ["inside", "outside", "inside-evil"].map((name) => join(base, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [join(inside, "sub"), join(inside, ".git"), outside, evil])
    await mkdir(folder, { recursive: true });
  await writeFile(join(inside, "a.txt"), "inside");
  await writeFile(join(inside, ".secret"), "hidden");
  await writeFile(join(inside, ".git", "config"), "hidden");
  await writeFile(join(outside, "secret.txt"), "outside");
  await writeFile(join(evil, "secret.txt"), "outside");
  await symlink(outside, join(inside, "door"));
  await symlink(join(outside, "secret.txt"), join(inside, "hole.txt"));
  await symlink(join(outside, "not-there.txt"), join(inside, "dangling.txt"));
  await symlink("/proc/self", join(inside, "self"));
  return { base, inside, outside, evil };
}

function pathsOutside({ inside, outside, evil }: { inside: string; outside: string; evil: string }): string[] {
  return [
    "..",
    "../outside/secret.txt",
    "../inside-evil/secret.txt",
    "sub/../../outside/secret.txt",
    "..//outside//secret.txt",
    "./../outside/secret.txt",
    "sub/../../inside-evil/secret.txt",
    join(outside, "secret.txt"),
    join(evil, "secret.txt"),
    `${inside}-evil/secret.txt`,
    `${inside}/../outside/secret.txt`,
    "/etc/passwd",
    "//etc/passwd",
    "file:///etc/passwd",
    `${pathToFileURL(inside)}/%2e%2e/outside/secret.txt`,
    "door/secret.txt",
    "door/new.txt",
    "door/sub/new.txt",
    "hole.txt",
    "dangling.txt",
    "self/environ",
    "self/root/etc/passwd",
  ];
}

describe.each(revisions)("on %s", (revision) => {
  test("no path leads outside, with any tool", async () => {
    const prison = await makePrison();
    const client = await serve({ folders: [prison.inside], ask: false }, { revision });
    const before = await snapshot(prison.base);
    for (const path of pathsOutside(prison)) {
      for (const [tool, args] of [
        ["read", { path }],
        ["list", { path }],
        ["tree", { path }],
        ["find", { pattern: "*", path }],
        ["search", { pattern: "o", path }],
        ["write", { path, text: "escaped", overwrite: true }],
        ["edit", { path, edits: [{ old: "o", new: "x", all: true }] }],
        ["move", { from: "a.txt", to: path, overwrite: true }],
        ["copy", { from: "a.txt", to: path, overwrite: true }],
        ["copy", { from: path, to: "stolen.txt" }],
        ["make", { path: `${path}/made` }],
      ] as const) {
        // Moving something onto a link replaces the link itself.
        if (tool === "move" && ["hole.txt", "dangling.txt"].includes(path)) continue;
        const said = await refused(client, tool, args);
        expect(said, `${tool} ${path}`).toMatch(
          /outside|no file URI|expected a path|part of the path|no such|does not exist/,
        );
        expect(said).not.toContain("root:");
      }
    }
    expect(await snapshot(prison.base)).toEqual(before);
  });
});

test("treats a similar prefix, an encoded dot and a trailing space as plain names", async () => {
  const prison = await makePrison();
  const client = await serve({ folders: [prison.inside] });
  for (const name of ["%2e%2e", "a. ", "a.txt ", "~", "C:", "a\\..\\..\\outside"]) {
    await ask(client, "write", { path: name, text: name });
    expect(await readFile(join(prison.inside, name), "utf8")).toBe(name);
    expect(await ask(client, "read", { path: name })).toMatchObject({ text: name });
  }
  expect(await readdir(prison.outside)).toEqual(["secret.txt"]);
});

test("hides names that start with a dot unless hidden is set", async () => {
  const { inside } = await makePrison();
  const client = await serve({ folders: [inside], ask: false });
  for (const path of [".secret", ".git/config", "sub/../.git/config", ".new"]) {
    expect(await refused(client, "read", { path })).toContain("hidden");
    expect(await refused(client, "write", { path, text: "x", overwrite: true })).toContain("hidden");
    expect(await refused(client, "move", { from: "a.txt", to: path })).toContain("hidden");
  }
  await symlink(".git", join(inside, "visible"));
  expect(await refused(client, "read", { path: "visible/config" })).toContain("hidden");
  expect(JSON.stringify(await ask(client, "list"))).not.toContain("secret");
  expect(await ask(client, "search", { pattern: "hidden" })).toMatchObject({ matches: [] });
  const open = await serve({ folders: [inside], hidden: true });
  expect(await ask(open, "read", { path: ".git/config" })).toMatchObject({ text: "hidden" });
});

test("does not remove a folder with hidden files", async () => {
  const { inside } = await makePrison();
  await mkdir(join(inside, "project", ".git"), { recursive: true });
  const client = await serve({ folders: [inside], ask: false });
  expect(await refused(client, "remove", { path: "project", recursive: true })).toContain("hidden files");
  expect(await readdir(join(inside, "project"))).toEqual([".git"]);
});

test("moves and removes a link itself, not its target", async () => {
  const { inside, outside } = await makePrison();
  const client = await serve({ folders: [inside] });
  expect(await ask(client, "info", { path: "door" })).toMatchObject({ kind: "link" });
  await ask(client, "move", { from: "door", to: "sub/gate" });
  await ask(client, "remove", { path: "sub/gate" });
  await ask(client, "remove", { path: "hole.txt" });
  expect(await readdir(outside)).toEqual(["secret.txt"]);
  expect(await readdir(join(inside, "sub"))).toEqual([]);
});

test("the served folder itself cannot be moved or removed", async () => {
  const { inside } = await makePrison();
  const client = await serve({ folders: [inside], ask: false });
  for (const path of [".", "", inside, "sub/.."]) {
    expect(await refused(client, "remove", { path, recursive: true })).toContain("the served folder itself");
    expect(await refused(client, "move", { from: path, to: "x" })).toContain("the served folder itself");
  }
  expect(await readdir(dirname(inside))).toContain(basename(inside));
});

test("lists pipes, sockets and devices, but does not open them", { timeout: 20_000 }, async () => {
  const folder = await makeFolder();
  execFileSync("mkfifo", [join(folder, "pipe")]);
  const listener = createServer().listen(join(folder, "socket"));
  onTestFinished(() => void listener.close());
  const client = await serve({ folders: [folder] });
  const { entries } = await ask<{ entries: { name: string; kind: string }[] }>(client, "list");
  expect(entries.map(({ name, kind }) => [name, kind])).toEqual([
    ["pipe", "other"],
    ["socket", "other"],
  ]);
  for (const path of ["pipe", "socket"]) {
    expect(await refused(client, "read", { path })).toContain("pipe, socket or device");
    expect(await refused(client, "copy", { from: path, to: "x" })).toContain("pipe, socket or device");
    expect(await refused(client, "edit", { path, edits: [{ old: "a", new: "b" }] })).toContain(
      "pipe, socket or device",
    );
    expect(await refused(client, "write", { path, text: "x", overwrite: true })).toContain("not a file");
  }
  expect(await ask(client, "search", { pattern: "x" })).toMatchObject({ matches: [], files: 0 });
});

test("does not serve system folders", async () => {
  for (const folder of ["/proc", "/dev", "/proc/self/fd"]) await expect(serve({ folders: [folder] })).rejects.toThrow();
});
