// Real repositories in temporary folders, created with git.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** Creates a folder that is removed after the test. */
export function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "portolan-git-test-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs git without the configuration of the user who runs the tests. */
export function git(cwd: string, ...args: string[]): string {
  const env = {
    PATH: process.env["PATH"]!,
    HOME: cwd,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_AUTHOR_DATE: "2026-02-03T04:05:06Z",
    GIT_COMMITTER_DATE: "2026-02-03T04:05:06Z",
  };
  return execFileSync("git", args, {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 10_000,
  }).trimEnd();
}

export interface Work {
  readonly root: string;
  git(...args: string[]): string;
  write(path: string, text: string | Uint8Array): string;
  commit(message: string, files: { readonly [path: string]: string | Uint8Array }): string;
}

/** Creates an empty repository with a branch main and an author. */
export function makeRepository(root: string = join(makeFolder(), "work")): Work {
  mkdirSync(root, { recursive: true });
  git(root, "init", "--quiet", "--initial-branch=main");
  git(root, "config", "user.name", "Ada Lovelace");
  git(root, "config", "user.email", "ada@example.com");
  return workIn(root);
}

export function workIn(root: string): Work {
  const write = (path: string, text: string | Uint8Array) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    return join(root, path);
  };
  return {
    root,
    git: (...args) => git(root, ...args),
    write,
    commit(message, files) {
      for (const [path, text] of Object.entries(files)) write(path, text);
      git(root, "add", "--all");
      git(root, "commit", "--quiet", "--allow-empty", "-m", message);
      return git(root, "rev-parse", "HEAD");
    },
  };
}

/** Creates two branches that changed the same lines of a.txt; main is checked out. */
export function makeConflict(): Work {
  const work = makeRepository();
  work.commit("begin", { "a.txt": "one\ntwo\nthree\nfour\nfive\nsix\nseven\n", "b.txt": "b\n" });
  work.git("switch", "--quiet", "-c", "other");
  work.commit("theirs", { "a.txt": "one\nTWO of other\nthree\nfour\nfive\nsix\nSEVEN of other\n", "c.txt": "c\n" });
  work.git("switch", "--quiet", "main");
  work.commit("ours", { "a.txt": "one\nTWO of main\nthree\nfour\nfive\nsix\nSEVEN of main\n" });
  return work;
}
