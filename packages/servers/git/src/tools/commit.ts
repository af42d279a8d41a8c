import { type FullResult, type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, boolean, object, string, textResult } from "portolan-server-kit";
import { type Commit, commitSchema, readCommit, titleOf } from "../commits.ts";
import type { Git } from "../git.ts";
import { type ChangedFile, changedFileSchema, lineOf } from "../patch.ts";
import type { Repository } from "../repository.ts";
import { input } from "../schema.ts";
import { operationOf, readState } from "../state.ts";
import { showChange } from "./show.ts";

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
