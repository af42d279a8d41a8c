import { type Context, type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, object, string, textResult } from "portolan-server-kit";
import { short } from "../objects/commits.ts";
import {
  type Conflicts,
  conflictsSchema,
  describeConflicts,
  mergeLines,
  type Piece,
  reportConflicts,
  type Side,
  type Sides,
  unmergedFiles,
} from "../objects/conflicts.ts";
import { refuseFiltered } from "../objects/staging-area.ts";
import { operationOf } from "../objects/status.ts";
import { quote } from "../repository/names.ts";
import type { Git } from "../repository/repositories.ts";
import type { Repository } from "../repository/repository.ts";
import { commit, input, mayLose, path, revision } from "../tool-parts.ts";
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
  ask: boolean,
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
      if (!(await mayLose(ctx, ask, question))) return ctx.cancelled("The merge goes on.");
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

type Choice = "ours" | "theirs" | "base" | "both";

interface ResolveArguments {
  repository?: string;
  path: string;
  take: "ours" | "theirs" | "text" | "hunks" | "file" | "nothing";
  text?: string;
  hunks?: { take?: Choice; text?: string }[];
}

interface Resolved {
  path: string;
  left: string[];
}

const hunk = {
  type: "object",
  properties: {
    take: string("Which side; both is ours and then theirs", { enum: ["ours", "theirs", "base", "both"] }),
    text: string("What stands there instead, with its line ends"),
  },
  additionalProperties: false,
};

/** Settles one conflicting file. */
export function resolveTool(git: Git): ToolDefinition<ResolveArguments, Resolved, undefined> {
  return {
    title: "Resolve a conflict",
    description: "Settles one conflicting file, writes it to the work tree and stages it",
    input: input(
      git,
      {
        path,
        take: string(
          "ours or theirs: the file of that side, or none if that side deleted it; text: the whole file, given in text; hunks: a choice for each hunk; file: as it stands in the work tree now; nothing: delete it",
          { enum: ["ours", "theirs", "text", "hunks", "file", "nothing"] },
        ),
        text: string("With take text: the whole file", { maxLength: 4_000_000 }),
        hunks: {
          type: "array",
          items: hunk,
          maxItems: 10_000,
          description: "With take hunks: one for each hunk of conflicts, in order, with either take or text",
        },
      },
      ["path", "take"],
    ),
    output: object({ path, left: array(path, "The files still in conflict; none: merge_continue") }),
    // What stood in the work tree is gone, perhaps with edits of the user.
    annotations: annotations.destroys,
    run: (args, ctx) =>
      git.change(args.repository, ctx.signal, async (repository) => {
        await repository.expectWorkTree();
        const file = repository.path(args.path);
        const sides = (await unmergedFiles(repository)).get(file);
        if (sides === undefined) throw new ToolError(`${quote(file)} is not in conflict; conflicts lists what is`);
        await settle(repository, file, sides, args);
        const left = [...(await unmergedFiles(repository)).keys()].slice(0, repository.limits.maxEntries);
        const next = left.length === 0 ? "No conflicts left: merge_continue" : `Left: ${left.join(", ")}`;
        return textResult(`Settled ${file}. ${next}`, { path: file, left });
      }),
  };
}

async function settle(repository: Repository, file: string, sides: Sides, args: ResolveArguments): Promise<void> {
  if (args.take === "nothing") return remove(repository, file, sides);
  if (args.take === "file") {
    await refuseFiltered(repository, [file]);
    await repository.read(["update-index", "--add", "--remove", "-z", "--stdin"], { input: `${file}\0` });
    return;
  }
  if (args.take === "ours" || args.take === "theirs") {
    const side = sides[args.take];
    return side === undefined ? remove(repository, file, sides) : put(repository, file, side);
  }
  const content = args.take === "text" ? args.text : await chosen(repository, file, sides, args.hunks);
  if (content === undefined) throw new ToolError("text: expected the whole file");
  const mode = (sides.ours ?? sides.theirs ?? sides.base)?.mode ?? "100644";
  if (!mode.startsWith("100"))
    throw new ToolError(`${quote(file)} is no file with lines; take ours, theirs or nothing`);
  const hash = (await repository.text(["hash-object", "-w", "--stdin"], { input: content })).trim();
  await put(repository, file, { mode, hash });
}

/** Stages a version of a file and has git write it, which does not write through links. */
async function put(repository: Repository, file: string, side: Side): Promise<void> {
  const { mode, hash } = side;
  const none = "0".repeat(hash.length);
  const input = `0 ${none}\t${file}\0${mode} ${hash} 0\t${file}\0`;
  await repository.read(["update-index", "-z", "--index-info"], { input });
  if (isLinkToCommit(side)) return;
  await repository.read(["checkout-index", "-f", "-u", "-z", "--stdin"], { input: `${file}\0` });
}

async function remove(repository: Repository, file: string, sides: Sides): Promise<void> {
  // git would look into a submodule before it removes it; that stays where it is.
  const isSubmodule = Object.values(sides).some((side: Side) => isLinkToCommit(side));
  if (isSubmodule) await repository.read(["update-index", "--force-remove", "-z", "--stdin"], { input: `${file}\0` });
  else await repository.read(["rm", "--quiet", "--force", "--", file]);
}

function isLinkToCommit({ mode }: Side): boolean {
  return mode === "160000";
}

async function chosen(
  repository: Repository,
  file: string,
  sides: Sides,
  hunks: ResolveArguments["hunks"],
): Promise<string> {
  const pieces = await mergeLines(repository, sides);
  if (pieces === undefined) throw new ToolError(`${quote(file)} has no hunks; take ours, theirs, text or nothing`);
  const open = pieces.filter(({ kind }) => kind === "conflict").length;
  if (hunks?.length !== open) {
    throw new ToolError(`hunks: expected ${open}, one for each of ${quote(file)}, got ${hunks?.length ?? "none"}`);
  }
  const choices = hunks[Symbol.iterator]();
  return pieces.map((piece) => (piece.kind === "agreed" ? piece.text : decide(piece, choices.next().value))).join("");
}

function decide(piece: Piece & { kind: "conflict" }, choice: { take?: Choice; text?: string } = {}): string {
  if (choice.text !== undefined) return choice.text;
  if (choice.take === undefined) throw new ToolError("hunks: expected take or text in each");
  return choice.take === "both" ? piece.ours + piece.theirs : piece[choice.take];
}
