import type { ToolDefinition } from "portolan/server";
import { annotations, textResult } from "portolan-server-kit";
import { short } from "../objects/commits.ts";
import { readState, type State, type StatusEntry, stateSchema } from "../objects/status.ts";
import type { Git } from "../repository/repositories.ts";
import { input } from "../tool-parts.ts";

/** Tells the state of the work tree. */
export function statusTool(git: Git): ToolDefinition<{ repository?: string }, State, undefined> {
  return {
    title: "Status",
    description:
      "The current branch, what is staged, changed, untracked or conflicting, and whether a merge is going on",
    input: input(git, {}),
    output: stateSchema,
    annotations: annotations.reads,
    async run({ repository }, ctx) {
      const state = await readState(await git.open(repository, ctx.signal));
      return textResult(describe(state), state);
    },
  };
}

function describe(state: State): string {
  const { branch, commit, upstream, ahead = 0, behind = 0, operation } = state;
  const at = commit === undefined ? "nothing committed yet" : `at ${short(commit)}`;
  const follows = upstream === undefined ? "" : `, ${ahead} ahead of and ${behind} behind ${upstream}`;
  return [
    `${branch === undefined ? "No branch" : `Branch ${branch}`}, ${at}${follows}`,
    ...(operation === undefined ? [] : [`A ${operation} is going on`]),
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
