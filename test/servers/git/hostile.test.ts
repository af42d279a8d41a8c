// Attacks by a hostile repository or environment other than running programs.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { call, connectTo, refusal } from "./client.ts";
import { makeConflict, makeFolder, makeRepository } from "./repository.ts";
import { everyFile, makeTrap, useEverything } from "./traps.ts";

test("the walk through all tools works without a trap", async () => {
  const work = makeConflict();
  await useEverything(work);
  expect(work.git("log", "-1", "--format=%s %P").split(" ")).toHaveLength(4);
  expect(work.git("show", "HEAD:a.txt")).toBe("settled");
  expect(work.git("branch", "--format=%(refname:short)").split("\n")).toEqual(["main", "other"]);
});

test("leaves a conflict open if the merge driver is not run", async () => {
  const work = makeConflict();
  work.git("config", "merge.trap.driver", "true");
  everyFile("merge=trap")(work);
  const client = await connectTo(work.root);
  const { outcome, conflicts } = await call(client, "merge", { ref: "other" });
  expect(outcome).toBe("conflicts");
  expect(conflicts[0].hunks).toHaveLength(2);
  expect(readFileSync(join(work.root, "a.txt"), "utf8")).toContain("<<<<<<<");
});

test("does not stage a file that needs a filter", async () => {
  const work = makeRepository();
  work.commit("begin", { ".gitattributes": "*.psd filter=lfs\n" });
  work.write("image.psd", "large");
  const client = await connectTo(work.root);
  expect(await refusal(client, "stage", { paths: ["image.psd"] })).toContain("lfs");
  expect(work.git("status", "--porcelain")).toBe("?? image.psd");
});

test("does not take a conflicting file that needs a filter", async () => {
  const work = makeConflict();
  everyFile("filter=lfs")(work);
  const client = await connectTo(work.root);
  await call(client, "merge", { ref: "other" });
  expect(await refusal(client, "resolve", { path: "a.txt", take: "file" })).toContain("lfs");
});

test.each(["ours", "theirs", "nothing"])("settles a submodule conflict without running its traps: %s", async (take) => {
  const { marker, program } = makeTrap();
  const work = makeRepository();
  const inner = makeRepository(join(work.root, "inner"));
  inner.commit("1", { i: "1" });
  work.commit("begin", { ".gitmodules": '[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n' });
  work.git("switch", "--quiet", "-c", "other");
  inner.git("switch", "--quiet", "-c", "side");
  inner.commit("2", { i: "2" });
  work.commit("theirs", {});
  inner.git("switch", "--quiet", "main");
  inner.commit("3", { i: "3" });
  work.git("switch", "--quiet", "main");
  work.commit("ours", {});
  inner.git("config", "core.fsmonitor", program);
  inner.git("config", "filter.trap.clean", program);
  everyFile("filter=trap")(inner);
  inner.write("i", "changed");
  const client = await connectTo(work.root);
  expect((await call(client, "merge", { ref: "other" })).conflicts).toEqual([{ path: "inner", kind: "both modified" }]);
  expect(await call(client, "resolve", { path: "inner", take })).toEqual({ path: "inner", left: [] });
  await call(client, "merge_continue");
  expect(existsSync(marker)).toBe(false);
  expect(readFileSync(join(inner.root, "i"), "utf8")).toBe("changed");
});

test("never runs a program in the repository as git", async () => {
  const work = makeConflict();
  const { marker, program } = makeTrap();
  mkdirSync(join(work.root, "node_modules/.bin"), { recursive: true });
  for (const place of ["git", "node_modules/.bin/git"]) symlinkSync(program, join(work.root, place));
  const before = process.env["PATH"];
  onTestFinished(() => {
    process.env["PATH"] = before;
  });
  process.env["PATH"] = [".", "", "node_modules/.bin", join(work.root, "node_modules/.bin"), before].join(delimiter);
  await useEverything(work);
  expect(existsSync(marker)).toBe(false);
});

test("does not pass the server's environment to git", async () => {
  const work = makeConflict();
  const { marker, program } = makeTrap();
  const set = { GIT_EXTERNAL_DIFF: program, GIT_CONFIG_PARAMETERS: `'core.fsmonitor=${program}'`, GIT_EDITOR: program };
  onTestFinished(() => {
    for (const name of Object.keys(set)) delete process.env[name];
  });
  Object.assign(process.env, set);
  await useEverything(work);
  expect(existsSync(marker)).toBe(false);
});

test("ignores configured merge options of a branch", async () => {
  const work = makeConflict();
  work.git("config", "branch.main.mergeOptions", "-X ours");
  const client = await connectTo(work.root);
  expect(await call(client, "merge", { ref: "other" })).toMatchObject({ outcome: "conflicts" });
});

test("does not run garbage collection after a commit", async () => {
  const work = makeRepository();
  work.commit("begin", Object.fromEntries(Array.from({ length: 300 }, (_, number) => [`${number}`, `${number}`])));
  work.git("config", "gc.auto", "1");
  work.git("config", "gc.autoDetach", "false");
  work.write("a", "a");
  const client = await connectTo(work.root);
  await call(client, "stage", { paths: ["a"] });
  await call(client, "commit", { message: "more" });
  expect(readdirSync(join(work.root, ".git/objects/pack"))).toEqual([]);
});

test("does not reveal files that a configuration names", async () => {
  const work = makeRepository();
  work.commit("begin", { "a.txt": "a\n" });
  const secret = join(makeFolder(), "secret");
  writeFileSync(secret, "the secret\n");
  for (const key of [
    "blame.ignoreRevsFile",
    "commit.template",
    "mailmap.file",
    "core.attributesFile",
    "diff.orderFile",
  ]) {
    work.git("config", key, secret);
  }
  work.write("a.txt", "b\n");
  const client = await connectTo(work.root);
  const said = JSON.stringify([
    await client.callTool("blame", { path: "a.txt" }),
    await client.callTool("stage", { paths: ["a.txt"] }),
    await client.callTool("commit", { message: "change" }),
    await client.callTool("log"),
  ]);
  expect(said).not.toContain("the secret");
  expect(work.git("log", "-1", "--format=%B")).toBe("change");
});

test("refuses a git that ignores settings in its environment", async () => {
  const work = makeConflict();
  const folder = makeFolder();
  const real = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((entry) => join(entry, "git"))
    .find(existsSync);
  writeFileSync(join(folder, "git"), `#!/bin/sh\nunset GIT_CONFIG_COUNT\nexec '${real}' "$@"\n`);
  chmodSync(join(folder, "git"), 0o755);
  const before = process.env["PATH"];
  onTestFinished(() => {
    process.env["PATH"] = before;
  });
  process.env["PATH"] = [folder, before].join(delimiter);
  const client = await connectTo(work.root);
  expect(await refusal(client, "status")).toContain("too old");
});
