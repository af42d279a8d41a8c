import type { ToolDefinition } from "portolan/server";
import { annotations, textResult } from "portolan-server-kit";
import { short } from "../objects/commits.ts";
import { readStatus, type Status, type StatusEntry, statusSchema } from "../objects/status.ts";
import type { Repositories } from "../repository/repositories.ts";
import { input } from "../tool-parts.ts";

/** The tool `status`. */
export function statusTool(git: Repositories): ToolDefinition<{ repository?: string }, Status, undefined> {
  return {
    title: "Status",
    description:
      "Shows the current branch, staged, changed, untracked and conflicting files, and whether a merge is in progress",
    input: input(git, {}),
    output: statusSchema,
    annotations: annotations.reads,
    async run({ repository }, ctx) {
      const state = await readStatus(await git.open(repository, ctx.signal));
      return textResult(describe(state), state);
    },
  };
}

function describe(state: Status): string {
  const { branch, commit, upstream, ahead = 0, behind = 0, operation } = state;
  const at = commit === undefined ? "nothing committed yet" : `at ${short(commit)}`;
  const follows = upstream === undefined ? "" : `, ${ahead} ahead of and ${behind} behind ${upstream}`;
  return [
    `${branch === undefined ? "No branch" : `Branch ${branch}`}, ${at}${follows}`,
    ...(operation === undefined ? [] : [`A ${operation} is in progress`]),
    ...section("Staged", state.staged.map(entryLine)),
    ...section("Changed, not staged", state.unstaged.map(entryLine)),
    ...section(
      "Conflicts",
      state.conflicts.map(({ path, kind }) => `${path} (${kind})`),
    ),
    ...section("Untracked", state.untracked),
    ...(state.isClean ? ["Nothing to commit"] : []),
    ...(state.isCut ? ["… and more"] : []),
  ].join("\n");
}

function entryLine({ path, from, change }: StatusEntry): string {
  return `${change} ${from === undefined ? path : `${from} → ${path}`}`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map((line) => `  ${line}`)];
}
