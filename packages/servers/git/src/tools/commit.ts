import { type FullResult, type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, boolean, object, string, textResult } from "portolan-server-kit";
import { type Commit, commitSchema, readCommit, titleOf } from "../objects/commits.ts";
import { unmergedFiles } from "../objects/conflicts.ts";
import { type ChangedFile, changedFileSchema, lineOf } from "../objects/patch.ts";
import { nulTerminated, refuseFiltered } from "../objects/staging-area.ts";
import { operationOf, readStatus } from "../objects/status.ts";
import { quote } from "../repository/names.ts";
import type { Repositories } from "../repository/repositories.ts";
import type { Repository } from "../repository/repository.ts";
import { input, path } from "../tool-parts.ts";
import { showChange } from "./show.ts";

interface PathsArguments {
  repository?: string;
  paths: string[];
}

const maxStaged = 20_000;
const isListCut = boolean("True if more files were changed than are listed");
const paths = {
  type: "array",
  items: path,
  minItems: 1,
  maxItems: 1_000,
  description: "Files and folders, relative to the repository's folder; . means everything",
};

/** The tool `stage`: adds files to the next commit. */
export function stageTool(
  git: Repositories,
): ToolDefinition<PathsArguments, { staged: string[]; skipped: string[]; isCut: boolean }, undefined> {
  return {
    title: "Stage",
    description:
      "Adds files in their current state to the next commit: changed, new and deleted files, but no ignored ones",
    input: input(git, { paths }, ["paths"]),
    output: object({
      staged: array(path, "The staged files; empty if nothing had changed"),
      skipped: array(path, "Nested repositories, which are not staged"),
      isCut: isListCut,
    }),
    annotations: annotations.sets,
    run: ({ repository, paths }, ctx) =>
      git.change(repository, ctx.signal, async (repository) => {
        const { files, skipped } = await changedBelow(repository, paths);
        await refuseFiltered(repository, files);
        if (files.length > 0) {
          await repository.read(["update-index", "--add", "--remove", "-z", "--stdin"], {
            input: nulTerminated(files),
          });
        }
        const staged = files.slice(0, repository.limits.maxEntries);
        const text = files.length === 0 ? "No changes to stage there" : `Staged ${files.length}:\n${staged.join("\n")}`;
        return textResult(text, { staged, skipped, isCut: files.length > staged.length });
      }),
  };
}

/** The tool `unstage`: removes files from the next commit. */
export function unstageTool(
  git: Repositories,
): ToolDefinition<PathsArguments, { unstaged: string[]; isCut: boolean }, undefined> {
  return {
    title: "Unstage",
    description: "Removes files from the next commit; the files themselves do not change",
    input: input(git, { paths }, ["paths"]),
    output: object({ unstaged: array(path, "Files that are no longer staged"), isCut: isListCut }),
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

/** Returns the files at or below the paths that differ from the index. */
async function changedBelow(repository: Repository, paths: readonly string[]) {
  const given = await checked(repository, paths);
  const flags = ["-z", "--modified", "--deleted", "--others", "--exclude-standard"];
  const found = new Set(await repository.parts(["ls-files", ...flags, "--", ...given]));
  if (found.size > maxStaged)
    throw new ToolError(`More than ${maxStaged} files have changed there; stage one folder at a time`);
  await refuseConflicts(repository, found);
  // A nested repository ends with a slash.
  const skipped = [...found].filter((file) => file.endsWith("/"));
  const files = [...found].filter((file) => !file.endsWith("/"));
  if (files.length === 0 && skipped.length === 0) await refuseUnknown(repository, given);
  return { files, skipped };
}

/** Throws for conflicting files: they need a decision with resolve, not just staging. */
async function refuseConflicts(repository: Repository, files: ReadonlySet<string>): Promise<void> {
  const conflicting = [...(await unmergedFiles(repository)).keys()].filter((file) => files.has(file));
  if (conflicting.length === 0) return;
  throw new ToolError(`Still in conflict: ${conflicting.slice(0, 20).map(quote).join(", ")}; settle each with resolve`);
}

async function refuseUnknown(repository: Repository, given: readonly string[]): Promise<void> {
  for (const path of given) {
    const known = await repository.parts(["ls-files", "-z", "--", path]);
    if (known.length > 0 || path === ".") continue;
    throw new ToolError(`Nothing to stage at ${quote(path)}: no such file, or it is ignored`);
  }
}

/** A new commit. */
export interface Committed {
  commit: Commit;
  files: ChangedFile[];
  isCut: boolean;
}

export const message: { [keyword: string]: unknown } = string("A short first line, an empty line, then details", {
  minLength: 1,
  maxLength: 64_000,
});
export const committedSchema: { [keyword: string]: unknown } = object({
  commit: commitSchema,
  files: array(changedFileSchema, "The changed files"),
  isCut: boolean("True if more files were changed than are listed"),
});

/** The tool `commit`: commits the staged changes. */
export function commitTool(
  git: Repositories,
): ToolDefinition<{ repository?: string; message: string }, Committed, undefined> {
  return {
    title: "Commit",
    description: "Commits the staged changes. Hooks of the repository are not run, and the commit is not signed",
    input: input(git, { message }, ["message"]),
    output: committedSchema,
    annotations: annotations.adds,
    run: ({ repository, message }, ctx) =>
      git.changeHead(repository, ctx.signal, async (repository) => {
        const operation = await operationOf(repository);
        if (operation === "merge") throw new ToolError("A merge is in progress; merge_continue commits it");
        if (operation !== undefined && operation !== "bisect") {
          throw new ToolError(`A ${operation} is in progress; ask the user to finish it first`);
        }
        const { staged, conflicts } = await readStatus(repository);
        if (conflicts.length > 0) throw new ToolError("There are conflicts; settle each with resolve first");
        if (staged.length === 0) throw new ToolError("Nothing is staged; stage files first, status shows the changes");
        return commitStaged(repository, message);
      }),
  };
}

/** Commits the staged changes. Default message: the one that a merge has prepared. */
export async function commitStaged(
  repository: Repository,
  message: string | undefined,
): Promise<FullResult<Committed>> {
  if (message !== undefined && (message.trim() === "" || message.includes("\0"))) {
    throw new ToolError("message: expected a description of the commit");
  }
  const env = await repository.committer();
  const flags = ["--quiet", "--no-verify", "--no-gpg-sign", "--no-status"];
  const source = message === undefined ? ["--no-edit", "--cleanup=strip"] : ["--file=-", "--cleanup=whitespace"];
  await repository.read(["commit", ...flags, ...source], { env, ...(message !== undefined && { input: message }) });
  const commit = await readCommit(repository, await repository.commit("HEAD"));
  const { files = [], isCut } = await showChange(repository, commit, true);
  return textResult([titleOf(commit), ...files.map(lineOf)].join("\n"), { commit, files, isCut });
}
