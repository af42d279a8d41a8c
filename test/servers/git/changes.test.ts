import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scriptedAnswers } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { revisions } from "../../kit/revisions.ts";
import { call, connectTo, refusal } from "./client.ts";
import { makeConflict, makeFolder, makeRepository } from "./repository.ts";

const yes = { action: "accept", content: {} } as const;
const no = { action: "decline" } as const;

describe("staging and committing", () => {
  test("stages changed, new and deleted files, but no ignored ones", async () => {
    const work = makeRepository();
    work.commit("begin", { "a.txt": "a", "gone.txt": "g", "same.txt": "s", ".gitignore": "*.log\n" });
    work.git("rm", "--cached", "--quiet", "gone.txt");
    work.git("reset", "--quiet");
    work.write("a.txt", "A");
    work.git("rm", "--quiet", "gone.txt");
    work.git("reset", "--quiet");
    work.write("new dir/-odd\n🌱", "new");
    work.write("noise.log", "noise");
    const client = await connectTo(work.root);
    const { staged } = await call(client, "stage", { paths: ["."] });
    expect(staged.sort()).toEqual(["a.txt", "gone.txt", "new dir/-odd\n🌱"]);
    expect(await call(client, "stage", { paths: ["same.txt"] })).toEqual({ staged: [], skipped: [], isCut: false });
    expect(await refusal(client, "stage", { paths: ["noise.log"] })).toContain("ignored");
    expect(await call(client, "unstage", { paths: ["a.txt", "new dir"] })).toEqual({
      unstaged: ["a.txt", "new dir/-odd\n🌱"],
      isCut: false,
    });
    const { commit, files } = await call(client, "commit", {
      message: "take gone away\n\nIt was old.\n# not a comment",
    });
    expect(files).toEqual([{ path: "gone.txt", change: "deleted", added: 0, removed: 1, isBinary: false }]);
    expect(commit).toMatchObject({
      author: { name: "Ada Lovelace", email: "ada@example.com" },
      subject: "take gone away",
      body: "It was old.\n# not a comment",
    });
    expect(work.git("rev-parse", "HEAD")).toBe(commit.commit);
  });

  test("works before the first commit", async () => {
    const work = makeRepository();
    work.write("a.txt", "a");
    work.write("b.txt", "b");
    const client = await connectTo(work.root);
    await call(client, "stage", { paths: ["."] });
    expect(await call(client, "unstage", { paths: ["b.txt"] })).toMatchObject({ unstaged: ["b.txt"] });
    expect((await call(client, "commit", { message: "begin" })).files).toMatchObject([
      { path: "a.txt", change: "added" },
    ]);
  });

  test("refuses to commit without staged files and tells the model what to do", async () => {
    const work = makeRepository();
    work.commit("begin", { a: "a" });
    work.write("a", "A");
    const client = await connectTo(work.root);
    expect(await refusal(client, "commit", { message: "empty" })).toContain("stage files first");
    work.git("add", "a");
    expect(await refusal(client, "commit", { message: " \n " })).toContain("message");
    expect(work.git("log", "--format=%s")).toBe("begin");
  });

  test("takes the author from the user's configuration if the repository has none", async () => {
    const work = makeRepository();
    work.git("config", "--unset", "user.name");
    work.git("config", "--unset", "user.email");
    const home = makeFolder();
    const before = { HOME: process.env["HOME"], GIT_CONFIG_GLOBAL: process.env["GIT_CONFIG_GLOBAL"] };
    try {
      process.env["HOME"] = home;
      delete process.env["GIT_CONFIG_GLOBAL"];
      const client = await connectTo(work.root);
      work.write("a", "a");
      await call(client, "stage", { paths: ["a"] });
      expect(await refusal(client, "commit", { message: "begin" })).toContain("user.name");
      writeFileSync(
        join(home, ".gitconfig"),
        "[user]\n\tname = Grace\n[include]\n\tpath = more\n[core]\n\tfsmonitor = false\n",
      );
      writeFileSync(join(home, "more"), "[user]\n\temail = grace@example.com\n");
      const { commit } = await call(client, "commit", { message: "begin" });
      expect(commit.author).toMatchObject({ name: "Grace", email: "grace@example.com" });
      const named = await connectTo(work.root, { identity: { name: "Bot", email: "bot@example.com" } });
      work.write("b", "b");
      await call(named, "stage", { paths: ["b"] });
      expect((await call(named, "commit", { message: "more" })).commit.author).toMatchObject({ name: "Bot" });
    } finally {
      for (const [name, value] of Object.entries(before)) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  });

  test("concurrent calls do not interfere", async () => {
    const work = makeRepository();
    const names = Array.from({ length: 12 }, (_, number) => `file-${number}`);
    for (const name of names) work.write(name, name);
    const client = await connectTo(work.root);
    await Promise.all(names.map((name) => call(client, "stage", { paths: [name] })));
    expect((await call(client, "status")).staged).toHaveLength(names.length);
  });

  test("reports a stale lock", async () => {
    const work = makeRepository();
    work.write("a", "a");
    work.write(".git/index.lock", "");
    const client = await connectTo(work.root);
    expect(await refusal(client, "stage", { paths: ["a"] })).toContain("Another git process is using this repository");
  });
});

describe("branches", () => {
  test("can be created, switched to, and deleted after the user agrees", async () => {
    const work = makeRepository();
    const first = work.commit("begin", { a: "a" });
    const second = work.commit("more", { a: "b" });
    const answers = scriptedAnswers(no, yes);
    const client = await connectTo(work.root, { answers });
    expect(await call(client, "branch_create", { name: "fix/typo", from: "HEAD~1", switch: true })).toEqual({
      branch: "fix/typo",
      commit: first,
      isCurrent: true,
    });
    expect(work.git("branch", "--show-current")).toBe("fix/typo");
    expect(await refusal(client, "branch_create", { name: "fix/typo" })).toContain("already");
    expect(await refusal(client, "branch_delete", { name: "fix/typo" })).toContain("checked out");
    expect(await call(client, "branch_switch", { name: "main" })).toMatchObject({ commit: second });
    expect(await refusal(client, "branch_delete", { name: "fix/typo" })).toContain("not deleted");
    expect(work.git("branch", "--list", "fix/typo")).toContain("fix/typo");
    expect(await call(client, "branch_delete", { name: "fix/typo" })).toMatchObject({ commit: first, wasMerged: true });
    expect(work.git("branch", "--list", "fix/typo")).toBe("");
    answers.done();
  });

  test.each(["2025-06-18", "2025-11-25", "2026-07-28"] as const)(
    "warn about unmerged commits before deletion, on %s",
    async (revision) => {
      const work = makeConflict();
      const answers = scriptedAnswers(yes);
      const client = await connectTo(work.root, { revision, answers });
      await call(client, "branch_delete", { name: "other" });
      expect(JSON.stringify(answers.asked)).toContain("commits that the current branch does not have");
      expect(work.git("branch", "--list", "other")).toBe("");
    },
  );

  test.each(revisions)(
    "are not deleted if the client cannot ask, unless questions are off, on %s",
    async (revision) => {
      const work = makeConflict();
      const client = await connectTo(work.root, { revision });
      expect(await refusal(client, "branch_delete", { name: "other" })).toContain("--no-questions");
      expect(work.git("branch", "--list", "other")).not.toBe("");
      const unasked = await connectTo(work.root, { revision, ask: false });
      await call(unasked, "branch_delete", { name: "other" });
      expect(work.git("branch", "--list", "other")).toBe("");
    },
  );

  test("are not switched to if changes would be lost", async () => {
    const work = makeConflict();
    work.write("a.txt", "unsaved\n");
    const client = await connectTo(work.root);
    expect(await refusal(client, "branch_switch", { name: "other" })).toContain("a.txt");
    expect(readFileSync(join(work.root, "a.txt"), "utf8")).toBe("unsaved\n");
  });
});

describe("merging", () => {
  const hunks = [
    { line: 2, ours: "TWO of main\n", base: "two\n", theirs: "TWO of other\n" },
    { line: 7, ours: "SEVEN of main\n", base: "seven\n", theirs: "SEVEN of other\n" },
  ];

  test("reports a fast-forward, a merge commit, or nothing to do", async () => {
    const work = makeRepository();
    work.commit("begin", { a: "a" });
    work.git("switch", "--quiet", "-c", "topic");
    const topic = work.commit("topic", { t: "t" });
    work.git("switch", "--quiet", "main");
    const client = await connectTo(work.root);
    expect(await call(client, "merge", { ref: "topic" })).toMatchObject({ outcome: "fast-forward", commit: topic });
    expect(await call(client, "merge", { ref: "topic" })).toMatchObject({ outcome: "up to date" });
    work.git("reset", "--quiet", "--hard", "HEAD~1");
    const merged = await call(client, "merge", { ref: "topic", fast_forward: "never", message: "-m topic" });
    expect(merged.outcome).toBe("merged");
    expect(work.git("log", "-1", "--format=%s")).toBe("-m topic");
    expect(await refusal(client, "merge", { ref: "nothing" })).toContain("no commit");
  });

  test("refuses if changes of the work tree are in the way, and keeps them", async () => {
    const work = makeConflict();
    work.write("a.txt", "unsaved\n");
    const client = await connectTo(work.root);
    expect(await refusal(client, "merge", { ref: "other" })).toContain("a.txt");
    expect(readFileSync(join(work.root, "a.txt"), "utf8")).toBe("unsaved\n");
    expect(await call(client, "status")).not.toHaveProperty("operation");
  });

  test("reports conflicts by hunk, settles them by choices, and continues", async () => {
    const work = makeConflict();
    const client = await connectTo(work.root);
    const merged = await call(client, "merge", { ref: "other" });
    expect(merged).toEqual({
      outcome: "conflicts",
      conflicts: [{ path: "a.txt", kind: "both modified", hunks }],
      isCut: false,
    });
    expect(await call(client, "status")).toMatchObject({
      operation: "merge",
      conflicts: [{ path: "a.txt", kind: "both modified" }],
    });
    expect((await call(client, "conflicts", { path: "a.txt" })).conflicts).toEqual(merged.conflicts);
    expect(await refusal(client, "commit", { message: "too early" })).toContain("merge_continue");
    expect(await refusal(client, "merge_continue")).toContain("a.txt");
    expect(await refusal(client, "stage", { paths: ["a.txt"] })).toContain("resolve");
    expect(await refusal(client, "merge", { ref: "other" })).toContain("merge is in progress");
    const tooFew = { path: "a.txt", take: "hunks", hunks: [{ take: "ours" }] };
    expect(await refusal(client, "resolve", tooFew)).toContain("expected 2");
    const choices = { path: "a.txt", take: "hunks", hunks: [{ take: "both" }, { text: "settled\n" }] };
    expect(await call(client, "resolve", choices)).toEqual({ path: "a.txt", left: [] });
    const settled = "one\nTWO of main\nTWO of other\nthree\nfour\nfive\nsix\nsettled\n";
    expect(readFileSync(join(work.root, "a.txt"), "utf8")).toBe(settled);
    const { commit } = await call(client, "merge_continue");
    expect(commit).toMatchObject({ subject: "Merge other", body: "" });
    expect(commit.parents).toHaveLength(2);
    expect(await call(client, "status")).toMatchObject({ isClean: true });
    expect(`${work.git("show", "HEAD:a.txt")}\n`).toBe(settled);
  });

  test.each([
    ["ours", "TWO of main"],
    ["theirs", "TWO of other"],
  ])("takes a whole version: %s", async (take, line) => {
    const work = makeConflict();
    const client = await connectTo(work.root);
    await call(client, "merge", { ref: "other" });
    await call(client, "resolve", { path: "a.txt", take });
    expect(readFileSync(join(work.root, "a.txt"), "utf8")).toContain(line);
    expect((await call(client, "merge_continue", { message: "done" })).commit.subject).toBe("done");
  });

  test("handles deleted, added and binary files", async () => {
    const work = makeRepository();
    work.commit("begin", { "gone.txt": "1\n", "image.bin": Buffer.from([0, 1]) });
    work.git("switch", "--quiet", "-c", "other");
    work.commit("theirs", { "gone.txt": "2\n", "new.txt": "theirs\n", "image.bin": Buffer.from([0, 2]) });
    work.git("switch", "--quiet", "main");
    work.git("rm", "--quiet", "gone.txt");
    work.commit("ours", { "new.txt": "ours\n", "image.bin": Buffer.from([0, 3]) });
    const client = await connectTo(work.root);
    const { conflicts } = await call(client, "merge", { ref: "other" });
    expect(conflicts).toEqual([
      { path: "gone.txt", kind: "deleted by us" },
      { path: "image.bin", kind: "both modified" },
      { path: "new.txt", kind: "both added", hunks: [{ line: 1, ours: "ours\n", base: "", theirs: "theirs\n" }] },
    ]);
    await call(client, "resolve", { path: "gone.txt", take: "ours" });
    expect(existsSync(join(work.root, "gone.txt"))).toBe(false);
    expect(await refusal(client, "resolve", { path: "image.bin", take: "hunks", hunks: [] })).toContain("no hunks");
    await call(client, "resolve", { path: "image.bin", take: "theirs" });
    expect(readFileSync(join(work.root, "image.bin"))).toEqual(Buffer.from([0, 2]));
    work.write("new.txt", "by hand\n");
    expect(await call(client, "resolve", { path: "new.txt", take: "file" })).toMatchObject({ left: [] });
    await call(client, "merge_continue");
    expect(work.git("show", "HEAD:new.txt")).toBe("by hand");
    expect(await refusal(client, "resolve", { path: "new.txt", take: "ours" })).toContain("not in conflict");
  });

  test("is not confused by lines that look like markers", async () => {
    const markers = "<<<<<<< ours\n=======\n>>>>>>> theirs\n";
    const work = makeRepository();
    work.commit("begin", { a: `${markers}x\n` });
    work.git("switch", "--quiet", "-c", "other");
    work.commit("theirs", { a: `${markers}${"=".repeat(70)}\ntheirs\n` });
    work.git("switch", "--quiet", "main");
    work.commit("ours", { a: `${markers}ours\n` });
    const client = await connectTo(work.root);
    const { conflicts } = await call(client, "merge", { ref: "other" });
    expect(conflicts[0].hunks).toEqual([
      { line: 4, ours: "ours\n", base: "x\n", theirs: `${"=".repeat(70)}\ntheirs\n` },
    ]);
  });

  test("keeps Windows line endings, and a missing one at the end", async () => {
    const work = makeRepository();
    work.git("config", "core.autocrlf", "false");
    work.commit("begin", { a: "1\r\n2\r\n3" });
    work.git("switch", "--quiet", "-c", "other");
    work.commit("theirs", { a: "1\r\ntheirs\r\n3" });
    work.git("switch", "--quiet", "main");
    work.commit("ours", { a: "1\r\nours\r\n3" });
    const client = await connectTo(work.root);
    const { conflicts } = await call(client, "merge", { ref: "other" });
    expect(conflicts[0].hunks).toEqual([{ line: 2, ours: "ours\r\n", base: "2\r\n", theirs: "theirs\r\n" }]);
    await call(client, "resolve", { path: "a", take: "hunks", hunks: [{ take: "theirs" }] });
    expect(readFileSync(join(work.root, "a"), "utf8")).toBe("1\r\ntheirs\r\n3");
  });

  test.each(["2025-06-18", "2025-11-25", "2026-07-28"] as const)(
    "aborts after the user agrees, on %s",
    async (revision) => {
      const work = makeConflict();
      const before = work.git("rev-parse", "HEAD");
      const answers = scriptedAnswers(no, yes);
      const client = await connectTo(work.root, { revision, answers });
      await call(client, "merge", { ref: "other" });
      expect(await refusal(client, "merge_abort")).toContain("not aborted");
      expect(await call(client, "status")).toMatchObject({ operation: "merge" });
      expect(await call(client, "merge_abort")).toEqual({ commit: before });
      expect(await call(client, "status")).toMatchObject({ isClean: true });
      expect(await refusal(client, "merge_abort")).toContain("No merge");
      answers.done();
    },
  );
});

test("a read-only server offers only tools that read, and changes nothing", async () => {
  const work = makeConflict();
  const client = await connectTo(work.root, { readOnly: true });
  const tools = await client.listTools();
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
  await expect(client.callTool("commit", { message: "x" })).rejects.toThrow("commit");
});
