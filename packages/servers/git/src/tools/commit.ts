import { type FullResult, type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, boolean, object, string, textResult } from "portolan-server-kit";
import { type Commit, commitSchema, readCommit, titleOf } from "../objects/commits.ts";
import { unmergedFiles } from "../objects/conflicts.ts";
import { type ChangedFile, changedFileSchema, lineOf } from "../objects/patch.ts";
import { joined, refuseFiltered } from "../objects/staging-area.ts";
import { operationOf, readState } from "../objects/status.ts";
import { quote } from "../repository/names.ts";
import type { Git } from "../repository/repositories.ts";
import type { Repository } from "../repository/repository.ts";
import { input, path } from "../tool-parts.ts";
import { showChange } from "./show.ts";

interface PathsArguments {
  repository?: string;
  paths: string[];
}

const maxStaged = 20_000;
const allDone = boolean("It was done for more than are listed");
const paths = {
  type: "array",
  items: path,
  minItems: 1,
  maxItems: 1_000,
  description: "Files and folders, relative to the repository's folder; . is everything",
};

/** Puts files into the next commit. */
export function stageTool(
  git: Git,
): ToolDefinition<PathsArguments, { staged: string[]; skipped: string[]; isCut: boolean }, undefined> {
  return {
    title: "Stage",
    description: "Puts files as they are now into the next commit: changed, new and deleted ones, but not ignored ones",
    input: input(git, { paths }, ["paths"]),
    output: object({
      staged: array(path, "What was staged; empty if nothing had changed"),
      skipped: array(path, "Repositories inside this one, which are left alone"),
      isCut: allDone,
    }),
    annotations: annotations.sets,
    run: ({ repository, paths }, ctx) =>
      git.change(repository, ctx.signal, async (repository) => {
        const { files, skipped } = await changedBelow(repository, paths);
        await refuseFiltered(repository, files);
        if (files.length > 0) {
          await repository.read(["update-index", "--add", "--remove", "-z", "--stdin"], { input: joined(files) });
        }
        const staged = files.slice(0, repository.limits.maxEntries);
        const text = files.length === 0 ? "Nothing had changed there" : `Staged ${files.length}:\n${staged.join("\n")}`;
        return textResult(text, { staged, skipped, isCut: files.length > staged.length });
      }),
  };
}

/** Takes files out of the next commit. */
export function unstageTool(
  git: Git,
): ToolDefinition<PathsArguments, { unstaged: string[]; isCut: boolean }, undefined> {
  return {
    title: "Unstage",
    description: "Takes files out of the next commit; the files themselves stay as they are",
    input: input(git, { paths }, ["paths"]),
    output: object({ unstaged: array(path, "What is no longer staged"), isCut: allDone }),
    annotations: annotations.sets,
    run: ({ repository, paths }, ctx) =>
      git.change(repository, ctx.signal, async (repository) => {
        const given = await checked(repository, paths);
        const flags = ["--cached", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames"];
        const names = async () => new Set(await repository.parts(["diff", ...flags, "--", ...given]));
        const before = await names();
        await refuseConflicts(repository, before);
        if (before.size > 0) await repository.read(["reset", "--quiet", "--", ...given]);
        const after = await names();
        const all = [...before].filter((file) => !after.has(file));
        const unstaged = all.slice(0, repository.limits.maxEntries);
        const text = unstaged.length === 0 ? "Nothing was staged there" : `Unstaged:\n${unstaged.join("\n")}`;
        return textResult(text, { unstaged, isCut: all.length > unstaged.length });
      }),
  };
}

async function checked(repository: Repository, paths: readonly string[]): Promise<string[]> {
  await repository.expectWorkTree();
  return paths.map((path) => repository.path(path));
}

/** The files that differ from what is staged, at or below the paths. */
async function changedBelow(repository: Repository, paths: readonly string[]) {
  const given = await checked(repository, paths);
  const flags = ["-z", "--modified", "--deleted", "--others", "--exclude-standard"];
  const found = new Set(await repository.parts(["ls-files", ...flags, "--", ...given]));
  if (found.size > maxStaged)
    throw new ToolError(`More than ${maxStaged} files have changed there; stage folder by folder`);
  await refuseConflicts(repository, found);
  // A repository inside this one ends with a slash.
  const skipped = [...found].filter((file) => file.endsWith("/"));
  const files = [...found].filter((file) => !file.endsWith("/"));
  if (files.length === 0 && skipped.length === 0) await refuseUnknown(repository, given);
  return { files, skipped };
}

/** A conflicting file is settled by a decision, not by staging whatever stands in it. */
async function refuseConflicts(repository: Repository, files: ReadonlySet<string>): Promise<void> {
  const conflicting = [...(await unmergedFiles(repository)).keys()].filter((file) => files.has(file));
  if (conflicting.length === 0) return;
  throw new ToolError(`Still in conflict: ${conflicting.slice(0, 20).map(quote).join(", ")}; settle each with resolve`);
}

async function refuseUnknown(repository: Repository, given: readonly string[]): Promise<void> {
  for (const path of given) {
    const known = await repository.parts(["ls-files", "-z", "--", path]);
    if (known.length > 0 || path === ".") continue;
    throw new ToolError(`Nothing to stage at ${quote(path)}: there is no such file, or it is ignored`);
  }
}

/** A commit that was made. */
export interface Committed {
  commit: Commit;
  files: ChangedFile[];
  isCut: boolean;
}

/** The argument for a message. */
export const message: { [keyword: string]: unknown } = string("A short first line, an empty one, then details", {
  minLength: 1,
  maxLength: 64_000,
});
/** What is told of a commit that was made. */
export const committedSchema: { [keyword: string]: unknown } = object({
  commit: commitSchema,
  files: array(changedFileSchema, "What it changed"),
  isCut: boolean("It changed more than is listed"),
});

/** Commits what is staged. */
export function commitTool(git: Git): ToolDefinition<{ repository?: string; message: string }, Committed, undefined> {
  return {
    title: "Commit",
    description: "Commits what is staged. Hooks of the repository are not run, and the commit is not signed",
    input: input(git, { message }, ["message"]),
    output: committedSchema,
    annotations: annotations.adds,
    run: ({ repository, message }, ctx) =>
      git.move(repository, ctx.signal, async (repository) => {
        const operation = await operationOf(repository);
        if (operation === "merge") throw new ToolError("A merge is going on; merge_continue commits it");
        if (operation !== undefined && operation !== "bisect") {
          throw new ToolError(`A ${operation} is going on; ask the user to finish it first`);
        }
        const { staged, conflicts } = await readState(repository);
        if (conflicts.length > 0) throw new ToolError("There are conflicts; settle each with resolve first");
        if (staged.length === 0)
          throw new ToolError("Nothing is staged; stage files first, status shows what has changed");
        return commitStaged(repository, message);
      }),
  };
}

/** Commits what is staged; without a message with the one that a merge has prepared. */
export async function commitStaged(
  repository: Repository,
  message: string | undefined,
): Promise<FullResult<Committed>> {
  if (message !== undefined && (message.trim() === "" || message.includes("\0"))) {
    throw new ToolError("message: expected a text that says what the commit does");
  }
  const env = await repository.committer();
  const flags = ["--quiet", "--no-verify", "--no-gpg-sign", "--no-status"];
  const source = message === undefined ? ["--no-edit", "--cleanup=strip"] : ["--file=-", "--cleanup=whitespace"];
  await repository.read(["commit", ...flags, ...source], { env, ...(message !== undefined && { input: message }) });
  const commit = await readCommit(repository, await repository.commit("HEAD"));
  const { files = [], isCut } = await showChange(repository, commit, true);
  return textResult([titleOf(commit), ...files.map(lineOf)].join("\n"), { commit, files, isCut });
}
