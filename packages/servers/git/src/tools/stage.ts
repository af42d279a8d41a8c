import { type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, boolean, object, textResult } from "portolan-server-kit";
import { unmergedFiles } from "../conflicts.ts";
import { joined, refuseFiltered } from "../filters.ts";
import type { Git } from "../git.ts";
import { quote } from "../names.ts";
import type { Repository } from "../repository.ts";
import { input, path } from "../schema.ts";

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
