// Repositories that make git run programs: each trap writes a marker file when it runs, and none may appear.
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeConflict, makeRepository, type Work } from "./repository.ts";
import { everyFile, makeTrap, type Trap, useEverything } from "./traps.ts";

const hooks = [
  "pre-commit",
  "prepare-commit-msg",
  "commit-msg",
  "post-commit",
  "pre-merge-commit",
  "post-merge",
  "post-checkout",
  "post-index-change",
  "reference-transaction",
  "pre-auto-gc",
];

interface Case {
  readonly name: string;
  readonly config?: (trap: Trap) => { [key: string]: string };
  readonly prepare?: (work: Work, trap: Trap) => void;
  /** A git command that triggers the trap, to prove that it works. */
  readonly springs: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "hooks in the repository",
    prepare: (work, { program }) => {
      for (const hook of hooks) symlinkSync(program, join(work.root, ".git/hooks", hook));
    },
    springs: ["commit", "--allow-empty", "-m", "x"],
  },
  {
    name: "a folder of hooks elsewhere",
    config: ({ program }) => ({ "core.hooksPath": join(program, "../hooks") }),
    prepare: (_, { program }) => {
      mkdirSync(join(program, "../hooks"));
      for (const hook of hooks) symlinkSync(program, join(program, "../hooks", hook));
    },
    springs: ["commit", "--allow-empty", "-m", "x"],
  },
  {
    name: "a file system monitor",
    config: ({ program }) => ({ "core.fsmonitor": program }),
    springs: ["status"],
  },
  {
    name: "a clean and smudge filter",
    config: ({ program }) => ({ "filter.trap.clean": program, "filter.trap.smudge": program }),
    prepare: everyFile("filter=trap"),
    springs: ["diff"],
  },
  {
    name: "a filter that must not fail",
    config: ({ program }) => ({ "filter.trap.clean": program, "filter.trap.required": "true" }),
    prepare: everyFile("filter=trap"),
    springs: ["diff"],
  },
  {
    name: "a filter process",
    config: ({ program }) => ({ "filter.trap.process": program }),
    prepare: everyFile("filter=trap"),
    springs: ["diff"],
  },
  {
    name: "a filter with an odd name",
    config: ({ program }) => ({ "filter.a=b.c.clean": program, "filter.a=b.c.smudge": program }),
    prepare: everyFile("filter=a=b.c"),
    springs: ["diff"],
  },
  {
    name: "a filter from an included file",
    prepare: (work, { program }) => {
      writeFileSync(join(work.root, "more"), `[filter "trap"]\n\tclean = ${program}\n\tsmudge = ${program}\n`);
      appendFileSync(join(work.root, ".git/config"), "[include]\n\tpath = ../more\n");
      everyFile("filter=trap")(work);
    },
    springs: ["diff"],
  },
  {
    name: "a filter for one work tree",
    config: () => ({ "extensions.worktreeConfig": "true" }),
    prepare: (work, { program }) => {
      work.git("config", "--worktree", "filter.trap.clean", program);
      everyFile("filter=trap")(work);
    },
    springs: ["diff"],
  },
  {
    name: "a filter for one branch",
    prepare: (work, { program }) => {
      writeFileSync(join(work.root, "more"), `[filter "trap"]\n\tclean = ${program}\n\tsmudge = ${program}\n`);
      for (const branch of ["fresh", "main"]) {
        appendFileSync(join(work.root, ".git/config"), `[includeIf "onbranch:${branch}"]\n\tpath = ../more\n`);
      }
      everyFile("filter=trap")(work);
    },
    springs: ["diff"],
  },
  {
    name: "an external diff",
    config: ({ program }) => ({ "diff.external": program }),
    springs: ["diff"],
  },
  {
    name: "an external diff by attribute",
    config: ({ program }) => ({ "diff.trap.command": program }),
    prepare: everyFile("diff=trap"),
    springs: ["diff"],
  },
  {
    name: "a text conversion",
    config: ({ program }) => ({ "diff.trap.textconv": program }),
    prepare: everyFile("diff=trap"),
    springs: ["diff"],
  },
  {
    name: "a merge driver",
    config: ({ program }) => ({ "merge.trap.driver": `${program} %A` }),
    prepare: everyFile("merge=trap"),
    springs: ["merge", "other"],
  },
  {
    name: "a default merge driver",
    config: ({ program }) => ({ "merge.trap.driver": `${program} %A`, "merge.default": "trap" }),
    springs: ["merge", "other"],
  },
  {
    name: "a signature program for logs",
    config: ({ program }) => ({ "gpg.program": program, "log.showSignature": "true" }),
    prepare: sign,
    springs: ["log"],
  },
  {
    name: "a signature program for commits",
    config: ({ program }) => ({ "gpg.program": program, "commit.gpgSign": "true", "merge.verifySignatures": "true" }),
    prepare: sign,
    springs: ["commit", "--allow-empty", "-m", "x"],
  },
  {
    name: "a signature key command",
    config: ({ program }) => ({ "gpg.format": "ssh", "gpg.ssh.defaultKeyCommand": program, "commit.gpgSign": "true" }),
    springs: ["commit", "--allow-empty", "-m", "x"],
  },
  {
    name: "editors and pagers",
    config: ({ program }) => ({
      "core.editor": program,
      "sequence.editor": program,
      "core.pager": program,
      "pager.log": program,
      "pager.status": program,
      "merge.ff": "false",
      "commit.verbose": "true",
    }),
    springs: ["commit", "--allow-empty"],
  },
  {
    name: "objects that would be fetched",
    config: ({ program }) => ({
      "remote.origin.url": `ext::${program}`,
      "remote.origin.promisor": "true",
      "remote.origin.partialclonefilter": "blob:none",
      "extensions.partialClone": "origin",
      "protocol.ext.allow": "always",
      "core.repositoryFormatVersion": "1",
    }),
    prepare: (work) => loseObject(work, "HEAD:a.txt"),
    springs: ["show", "HEAD:a.txt"],
  },
  {
    name: "ssh and credentials",
    config: ({ program }) => ({
      "remote.origin.url": "ssh://127.0.0.1:1/none",
      "remote.origin.promisor": "true",
      "extensions.partialClone": "origin",
      "protocol.ssh.allow": "always",
      "core.repositoryFormatVersion": "1",
      "core.sshCommand": program,
      "credential.helper": program,
      "core.askPass": program,
    }),
    prepare: (work) => loseObject(work, "HEAD:a.txt"),
    springs: ["show", "HEAD:a.txt"],
  },
  {
    name: "a submodule with its own traps",
    config: () => ({ "submodule.recurse": "true", "diff.submodule": "log", "status.submoduleSummary": "true" }),
    prepare(work, { program }) {
      const inner = makeRepository(join(work.root, "inner"));
      inner.commit("inner", { "i.txt": "i\n" });
      inner.git("config", "core.fsmonitor", program);
      inner.git("config", "filter.trap.clean", program);
      writeFileSync(join(inner.root, ".git/info/attributes"), "* filter=trap\n");
      writeFileSync(
        join(work.root, ".gitmodules"),
        `[submodule "inner"]\n\tpath = inner\n\turl = ./inner\n\tignore = none\n`,
      );
      work.git("-c", "core.fsmonitor=false", "add", "inner", ".gitmodules");
      work.git("-c", "submodule.recurse=false", "-c", "diff.ignoreSubmodules=all", "commit", "--quiet", "-m", "inner");
      work.git("config", "submodule.inner.active", "true");
      inner.write("i.txt", "changed\n");
      rmSync(join(program, "../marker"), { force: true });
    },
    springs: ["status"],
  },
];

/** Adds a forged signature to the last commit. */
function sign(work: Work): void {
  const [head = "", ...rest] = work.git("cat-file", "commit", "HEAD").split("\n\n");
  const signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
  const object = `${head}\n${signature}\n\n${rest.join("\n\n")}\n`;
  const hash = execFileSync("git", ["hash-object", "-t", "commit", "-w", "--stdin"], { cwd: work.root, input: object });
  work.git("update-ref", "refs/heads/main", hash.toString().trim());
}

function loseObject(work: Work, name: string): void {
  const hash = work.git("rev-parse", name);
  rmSync(join(work.root, ".git/objects", hash.slice(0, 2), hash.slice(2)));
}

describe.each(cases)("$name", ({ config, prepare, springs }) => {
  const arm = (): { work: Work; trap: Trap } => {
    const work = makeConflict();
    const trap = makeTrap();
    for (const [key, value] of Object.entries(config?.(trap) ?? {})) work.git("config", key, value);
    prepare?.(work, trap);
    return { work, trap };
  };

  test("is run by git", () => {
    const { work, trap } = arm();
    work.write("b.txt", "changed\n");
    try {
      work.git(...springs);
    } catch {
      // Some traps make git fail after they have run.
    }
    expect(existsSync(trap.marker)).toBe(true);
  });

  test("is not run by the server", async () => {
    const { work, trap } = arm();
    await useEverything(work);
    expect(existsSync(trap.marker)).toBe(false);
  });
});
