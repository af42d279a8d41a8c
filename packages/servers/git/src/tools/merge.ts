import { type Context, type ToolDefinition, ToolError } from "portolan/server";
import { annotations, object, string, textResult } from "portolan-server-kit";
import { mayLose } from "../ask.ts";
import { short } from "../commits.ts";
import { type Conflicts, conflictsSchema, describeConflicts, reportConflicts } from "../conflict-report.ts";
import type { Git } from "../git.ts";
import { quote } from "../names.ts";
import type { Repository } from "../repository.ts";
import { commit, input, path, revision } from "../schema.ts";
import { operationOf } from "../state.ts";
import { type Committed, commitStaged, committedSchema, message } from "./commit.ts";

interface MergeArguments {
  repository?: string;
  ref: string;
  message?: string;
  fast_forward?: "allowed" | "never" | "only";
}

interface Merged extends Conflicts {
  outcome: "up to date" | "fast-forward" | "merged" | "conflicts";
  commit?: string;
}

const fastForward = { allowed: "--ff", never: "--no-ff", only: "--ff-only" } as const;

/** Merges, and tells what is in conflict. */
export function mergeTool(git: Git): ToolDefinition<MergeArguments, Merged, undefined> {
  return {
    title: "Merge",
    description:
      "Merges a branch or commit into the current branch. Where both changed the same lines, the conflicts are told: settle each file with resolve, then merge_continue; merge_abort goes back",
    input: input(
      git,
      {
        ref: revision,
        message: { ...message, description: "The message of the merge commit, if one is made" },
        fast_forward: string(
          "Whether the branch may simply move on where it has no commits of its own; allowed unless said",
          {
            enum: Object.keys(fastForward),
          },
        ),
      },
      ["ref"],
    ),
    output: object(
      {
        outcome: string("What happened", { enum: ["up to date", "fast-forward", "merged", "conflicts"] }),
        commit,
        ...conflictsSchema,
      },
      ["commit"],
    ),
    annotations: annotations.adds,
    run: ({ repository, ref, message, fast_forward = "allowed" }, ctx) =>
      git.move(repository, ctx.signal, async (repository) => {
        const merged = await merge(repository, ref, message ?? `Merge ${ref}`, fastForward[fast_forward]);
        return textResult(describe(merged, ref), merged);
      }),
  };
}

async function merge(repository: Repository, ref: string, message: string, fastForward: string): Promise<Merged> {
  await repository.expectWorkTree();
  const operation = await operationOf(repository);
  if (operation !== undefined)
    throw new ToolError(`A ${operation} is going on; status shows it, and it has to end first`);
  if (message.includes("\0")) throw new ToolError("message: expected text");
  const before = await repository.commit("HEAD");
  const other = await repository.commit(ref);
  const flags = ["--no-edit", "--no-stat", "--quiet", "--no-verify", "--no-gpg-sign", "--no-verify-signatures"];
  const plain = ["--commit", "--no-squash", "--no-autostash", "--no-rerere-autoupdate", "--no-log", "--no-signoff"];
  const args = ["merge", ...flags, ...plain, "--strategy=ort", fastForward, `--message=${message}`, other];
  const ran = await repository.run(args, { env: await repository.committer() });
  if (ran.code !== 0) {
    if ((await operationOf(repository)) === "merge")
      return { outcome: "conflicts", ...(await reportConflicts(repository)) };
    throw new ToolError(`Nothing was merged. git says: ${`${ran.stderr}${ran.stdout}`.trim().slice(0, 2_000)}`);
  }
  const after = await repository.commit("HEAD");
  const outcome = after === before ? "up to date" : after === other ? "fast-forward" : "merged";
  return { outcome, commit: after, conflicts: [], isCut: false };
}

function describe(merged: Merged, ref: string): string {
  if (merged.outcome !== "conflicts") return `${ref}: ${merged.outcome}, now at ${short(merged.commit ?? "")}`;
  return `${describeConflicts(merged)}\n\nSettle each file with resolve, then call merge_continue; merge_abort goes back.`;
}

/** Lists conflicts with their hunks. */
export function conflictsTool(git: Git): ToolDefinition<{ repository?: string; path?: string }, Conflicts, undefined> {
  return {
    title: "Conflicts",
    description: "The files that are in conflict, and for each hunk what both sides have and what they began with",
    input: input(git, { path: { ...path, description: "Only this file" } }),
    output: object(conflictsSchema),
    annotations: annotations.reads,
    async run({ repository: name, path }, ctx) {
      const repository = await git.open(name, ctx.signal);
      const found = await reportConflicts(repository, path === undefined ? undefined : repository.path(path));
      if (path !== undefined && found.conflicts.length === 0) throw new ToolError(`${quote(path)} is not in conflict`);
      return textResult(describeConflicts(found) || "No conflicts", found);
    },
  };
}

/** Commits a merge whose conflicts are settled. */
export function continueMergeTool(
  git: Git,
): ToolDefinition<{ repository?: string; message?: string }, Committed, undefined> {
  return {
    title: "Finish a merge",
    description: "Commits a merge whose conflicts are all settled",
    input: input(git, {
      message: { ...message, description: "The message; the one of the merge unless said otherwise" },
    }),
    output: committedSchema,
    annotations: annotations.adds,
    run: ({ repository, message }, ctx) =>
      git.move(repository, ctx.signal, async (repository) => {
        await expectMerge(repository);
        const { conflicts } = await reportConflicts(repository);
        if (conflicts.length > 0) {
          const left = conflicts.slice(0, 20).map(({ path }) => quote(path));
          throw new ToolError(`Still in conflict: ${left.join(", ")}; settle each with resolve`);
        }
        return commitStaged(repository, message);
      }),
  };
}

/** Goes back to before a merge, after a yes. */
export function abortMergeTool(
  git: Git,
  asks: boolean,
): ToolDefinition<{ repository?: string }, { commit: string }, undefined> {
  return {
    title: "Give a merge up",
    description: "Goes back to before the merge, after the user has said yes; what was resolved is lost",
    input: input(git, {}),
    output: object({ commit }),
    annotations: annotations.destroys,
    async run({ repository: name }, ctx: Context) {
      const looked = await git.open(name, ctx.signal);
      await expectMerge(looked);
      const question = `Give up the merge in ${looked.name}? What was resolved so far is lost.`;
      if (!(await mayLose(ctx, asks, question))) return ctx.cancelled("The merge goes on.");
      return git.move(name, ctx.signal, async (repository) => {
        await expectMerge(repository);
        await repository.read(["merge", "--abort"]);
        const commit = await repository.commit("HEAD");
        return textResult(`Back at ${short(commit)}`, { commit });
      });
    },
  };
}

async function expectMerge(repository: Repository): Promise<void> {
  await repository.expectWorkTree();
  if ((await operationOf(repository)) !== "merge") throw new ToolError("No merge is going on; merge begins one");
}
