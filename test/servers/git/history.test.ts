import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { call, connectTo, refusal } from "./client.ts";
import { makeFolder, makeRepository } from "./repository.ts";

describe("status", () => {
  test.each(revisions)("shows staged, changed and untracked files, on %s", async (revision) => {
    const work = makeRepository();
    const head = work.commit("begin", { "a.txt": "a\n", "b.txt": "b\n", "old name.txt": "some lines\nof a file\n" });
    work.write("a.txt", "A\n");
    work.git("mv", "old name.txt", "new name.txt");
    work.write("fresh\nline 🌱.txt", "new");
    const client = await connectTo(work.root, { revision });
    const { content } = await client.callTool("status");
    expect(content).toMatchObject([{ text: expect.stringContaining("renamed old name.txt → new name.txt") }]);
    // Before 2025-06-18 results have only text.
    if (revision < "2025-06-18") return;
    expect(await call(client, "status")).toEqual({
      branch: "main",
      commit: head,
      isClean: false,
      staged: [{ path: "new name.txt", from: "old name.txt", change: "renamed" }],
      unstaged: [{ path: "a.txt", change: "modified" }],
      conflicts: [],
      untracked: ["fresh\nline 🌱.txt"],
      isCut: false,
    });
  });

  test("handles a repository without commits, and a detached HEAD", async () => {
    const work = makeRepository();
    const client = await connectTo(work.root);
    expect(await call(client, "status")).toMatchObject({ branch: "main", isClean: true });
    const head = work.commit("begin", { "a.txt": "a" });
    work.git("checkout", "--quiet", "--detach");
    const state = await call(client, "status");
    expect(state).toMatchObject({ commit: head, isClean: true });
    expect(state).not.toHaveProperty("branch");
  });

  test("says when the result is cut", async () => {
    const work = makeRepository();
    for (let number = 0; number < 30; number += 1) work.write(`file-${number}`, "");
    const client = await connectTo(work.root, { limits: { maxEntries: 10 } });
    const state = await call(client, "status");
    expect(state.untracked).toHaveLength(10);
    expect(state.isCut).toBe(true);
  });
});

describe("log", () => {
  test("returns the history in pages, and new commits do not shift them", async () => {
    const work = makeRepository();
    const hashes = Array.from({ length: 7 }, (_, number) => work.commit(`commit ${number}`, {})).reverse();
    const client = await connectTo(work.root);
    const first = await call(client, "log", { limit: 3 });
    work.commit("later", {});
    const second = await call(client, "log", { limit: 3, cursor: first.cursor });
    const third = await call(client, "log", { limit: 3, cursor: second.cursor });
    const seen = [first, second, third].flatMap(({ commits }) =>
      commits.map((found: { commit: string }) => found.commit),
    );
    expect(seen).toEqual(hashes);
    expect(third).not.toHaveProperty("cursor");
  });

  test("filters by path, author, date and message, all literally", async () => {
    const work = makeRepository();
    work.commit("fix: a [b]*", { "src/a.ts": "1" });
    work.git("config", "user.name", "Grace (Hopper)");
    const second = work.commit("add b\n\nwith a body", { "b*.ts": "1" });
    const client = await connectTo(work.root);
    const subjects = async (args: object) =>
      (await call(client, "log", args)).commits.map(({ subject }: { subject: string }) => subject);
    expect(await subjects({ path: "src" })).toEqual(["fix: a [b]*"]);
    expect(await subjects({ path: "b*.ts" })).toEqual(["add b"]);
    expect(await subjects({ path: "*.ts" })).toEqual([]);
    expect(await subjects({ author: "grace (h" })).toEqual(["add b"]);
    expect(await subjects({ grep: "[b]*" })).toEqual(["fix: a [b]*"]);
    expect(await subjects({ grep: "." })).toEqual([]);
    expect(await subjects({ since: "2026-02-04" })).toEqual([]);
    expect(await subjects({ until: "2026-02-04", limit: 1 })).toEqual(["add b"]);
    const [found] = (await call(client, "log", { ref: "main", limit: 1 })).commits;
    expect(found).toEqual({
      commit: second,
      parents: [expect.stringMatching(/^[0-9a-f]{40}$/)],
      author: { name: "Grace (Hopper)", email: "ada@example.com", date: "2026-02-03T04:05:06+00:00" },
      committed: "2026-02-03T04:05:06+00:00",
      subject: "add b",
      body: "with a body",
      refs: ["HEAD -> main"],
    });
  });

  test("is empty before the first commit", async () => {
    const client = await connectTo(makeRepository().root);
    expect(await call(client, "log")).toEqual({ commits: [] });
    expect(await refusal(client, "log", { ref: "main" })).toContain("no commit");
  });
});

describe("diff", () => {
  const files = (diff: { files: { path: string }[] }) => diff.files.map(({ path }) => path);

  test("compares the work tree, the index and commits", async () => {
    const work = makeRepository();
    const first = work.commit("begin", { "a.txt": "a\n", "b.txt": "b\n" });
    work.write("a.txt", "staged\n");
    work.git("add", "a.txt");
    work.write("b.txt", "changed\n");
    const client = await connectTo(work.root);
    expect(files(await call(client, "diff"))).toEqual(["b.txt"]);
    const staged = await call(client, "diff", { staged: true });
    expect(staged.files).toEqual([{ path: "a.txt", change: "modified", added: 1, removed: 1, isBinary: false }]);
    expect(staged.patch).toContain("-a\n+staged\n");
    expect(files(await call(client, "diff", { from: first }))).toEqual(["a.txt", "b.txt"]);
    expect(files(await call(client, "diff", { from: "HEAD", paths: ["b.txt"] }))).toEqual(["b.txt"]);
    const second = work.commit("more", {});
    const stat = await call(client, "diff", { from: first, to: second, stat: true });
    expect(files(stat)).toEqual(["a.txt", "b.txt"]);
    expect(stat).not.toHaveProperty("patch");
  });

  test("handles renames, unusual names and binary files", async () => {
    const work = makeRepository();
    const text = "some\nlines\nthat\nstay\n";
    work.commit("begin", { "old\tname": text, "image.bin": Buffer.from([0, 1, 2]) });
    work.git("mv", "old\tname", "new\nname");
    work.write("image.bin", Buffer.from([0, 3]));
    work.git("add", "--all");
    const client = await connectTo(work.root);
    const diff = await call(client, "diff", { staged: true });
    expect(diff.files).toEqual(
      expect.arrayContaining([
        { path: "new\nname", from: "old\tname", change: "renamed", added: 0, removed: 0, isBinary: false },
        { path: "image.bin", change: "modified", isBinary: true },
      ]),
    );
  });

  test("shows what a branch has added since its merge base", async () => {
    const work = makeRepository();
    work.commit("begin", { "a.txt": "a\n" });
    work.git("switch", "--quiet", "-c", "topic");
    work.commit("topic", { "t.txt": "t\n" });
    work.git("switch", "--quiet", "main");
    work.commit("main", { "m.txt": "m\n" });
    const client = await connectTo(work.root);
    expect(files(await call(client, "diff", { from: "main", to: "topic" }))).toEqual(["m.txt", "t.txt"]);
    expect(files(await call(client, "diff", { from: "main", to: "topic", since_fork: true }))).toEqual(["t.txt"]);
  });

  test("is cut at the byte limit, after a whole line", async () => {
    const work = makeRepository();
    work.commit("begin", { "a.txt": "" });
    work.write("a.txt", "a line\n".repeat(100_000));
    const client = await connectTo(work.root, { limits: { maxBytes: 10_000 } });
    const diff = await call(client, "diff");
    expect(diff.isCut).toBe(true);
    expect(diff.patch.length).toBeLessThanOrEqual(10_000);
    expect(diff.patch.endsWith("+a line\n")).toBe(true);
    expect(diff.files).toHaveLength(1);
  });
});

describe("show", () => {
  test("shows a commit and its changes, also for the first commit and for a merge", async () => {
    const work = makeRepository();
    const first = work.commit("begin\n\nThe reason.", { "a.txt": "a\n" });
    work.git("switch", "--quiet", "-c", "topic");
    work.commit("topic", { "t.txt": "t\n" });
    work.git("switch", "--quiet", "main");
    work.git("merge", "--quiet", "--no-ff", "-m", "merge topic", "topic");
    const client = await connectTo(work.root);
    const shown = await call(client, "show", { ref: first });
    expect(shown).toMatchObject({ commit: { subject: "begin", body: "The reason." }, isCut: false });
    expect(shown.patch).toContain("+a\n");
    const merge = await call(client, "show", { ref: "HEAD", stat: true });
    expect(merge.files).toEqual([{ path: "t.txt", change: "added", added: 1, removed: 0, isBinary: false }]);
    expect(merge.commit.parents).toHaveLength(2);
  });

  test("shows a file and a folder at a commit", async () => {
    const work = makeRepository();
    work.commit("begin", { "src/a.ts": "first\n", "src/deep/b.ts": "b\n", "image.bin": Buffer.from([0, 1]) });
    work.commit("change", { "src/a.ts": "second\n" });
    const client = await connectTo(work.root);
    expect((await call(client, "show", { ref: "HEAD~1", path: "src/a.ts" })).text).toBe("first\n");
    const { entries } = await call(client, "show", { ref: "HEAD", path: "src" });
    expect(entries).toMatchObject([
      { path: "a.ts", type: "blob", size: 7 },
      { path: "deep", type: "tree" },
    ]);
    expect(await refusal(client, "show", { ref: "HEAD", path: "nothing" })).toContain('No "nothing"');
    expect(await refusal(client, "show", { ref: "HEAD", path: "image.bin" })).toContain("binary");
  });
});

test("blame returns the commit of each line in a range", async () => {
  const work = makeRepository();
  const first = work.commit("begin", { "a.txt": "1\n2\n3\n4\n5\n" });
  const second = work.commit("middle", { "a.txt": "1\n2\nthree\n4\n5\n" });
  const client = await connectTo(work.root);
  const about = { author: "Ada Lovelace", date: "2026-02-03T04:05:06.000Z" };
  expect(await call(client, "blame", { path: "a.txt", from: 2, to: 4 })).toEqual({
    sections: [
      { commit: first, ...about, subject: "begin", from: 2, lines: ["2"] },
      { commit: second, ...about, subject: "middle", from: 3, lines: ["three"] },
      { commit: first, ...about, subject: "begin", from: 4, lines: ["4"] },
    ],
    isCut: true,
  });
  expect(await call(client, "blame", { path: "a.txt" })).toMatchObject({ isCut: false });
  expect(await refusal(client, "blame", { path: "none.txt" })).toContain("none.txt");
});

test("lists branches and tags with their commits", async () => {
  const work = makeRepository();
  const first = work.commit("begin", { "a.txt": "a" });
  work.git("branch", "feature/x");
  work.git("tag", "-a", "v1", "-m", "The first one");
  work.git("tag", "light");
  const client = await connectTo(work.root);
  const { branches } = await call(client, "branches");
  expect(branches).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ name: "main", commit: first, isCurrent: true, isRemote: false }),
      expect.objectContaining({ name: "feature/x", commit: first, isCurrent: false }),
    ]),
  );
  const { tags } = await call(client, "tags");
  expect(tags.map(({ name, commit }: { name: string; commit: string }) => [name, commit]).sort()).toEqual([
    ["light", first],
    ["v1", first],
  ]);
});

test("needs the repository in each call if there are several", async () => {
  const folder = makeFolder();
  const one = makeRepository(`${folder}/one/project`);
  const two = makeRepository(`${folder}/two/project`);
  one.commit("in one", { a: "a" });
  two.commit("in two", { a: "a" });
  const client = await connectTo([one.root, two.root]);
  expect((await call(client, "log", { repository: "project" })).commits).toMatchObject([{ subject: "in one" }]);
  expect((await call(client, "log", { repository: "project-2" })).commits).toMatchObject([{ subject: "in two" }]);
  expect(await refusal(client, "log", {})).toContain("repository");
  expect(await refusal(client, "log", { repository: "../one/project" })).toContain("repository");
});

test("reads a bare repository, and explains what it cannot do", async () => {
  const work = makeRepository();
  work.commit("begin", { "a.txt": "a\n" });
  const bare = `${makeFolder()}/bare.git`;
  work.git("clone", "--quiet", "--bare", ".", bare);
  const client = await connectTo(bare);
  expect((await call(client, "log")).commits).toMatchObject([{ subject: "begin" }]);
  expect((await call(client, "show", { ref: "main", path: "a.txt" })).text).toBe("a\n");
  for (const tool of ["status", "diff"]) expect(await refusal(client, tool)).toContain("bare");
  expect(await refusal(client, "stage", { paths: ["."] })).toContain("bare");
});
