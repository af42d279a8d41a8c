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
import type { Repositories } from "../repository/repositories.ts";
import type { Repository } from "../repository/repository.ts";
import { commit, confirmLoss, input, path, revision } from "../tool-parts.ts";
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

/** The tool `merge`: merges and reports conflicts. */
export function mergeTool(git: Repositories): ToolDefinition<MergeArguments, Merged, undefined> {
  return {
    title: "Merge",
    description:
      "Merges a branch or commit into the current branch. Reports conflicts: settle each file with resolve, then call merge_continue; merge_abort goes back",
    input: input(
      git,
      {
        ref: revision,
        message: { ...message, description: "Message of the merge commit, if there is one" },
        fast_forward: string(
          "Whether to fast-forward if the current branch has no commits of its own. Default: allowed",
          {
            enum: Object.keys(fastForward),
          },
        ),
      },
      ["ref"],
    ),
    output: object(
      {
        outcome: string("Result of the merge", { enum: ["up to date", "fast-forward", "merged", "conflicts"] }),
        commit,
        ...conflictsSchema,
      },
      ["commit"],
    ),
    annotations: annotations.adds,
    run: ({ repository, ref, message, fast_forward = "allowed" }, ctx) =>
      git.changeHead(repository, ctx.signal, async (repository) => {
        const merged = await merge(repository, ref, message ?? `Merge ${ref}`, fastForward[fast_forward]);
        return textResult(describe(merged, ref), merged);
      }),
  };
}

async function merge(repository: Repository, ref: string, message: string, fastForward: string): Promise<Merged> {
  await repository.expectWorkTree();
  const operation = await operationOf(repository);
  if (operation !== undefined) throw new ToolError(`A ${operation} is in progress; finish it first, status shows it`);
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
    throw new ToolError(`Nothing was merged. git: ${`${ran.stderr}${ran.stdout}`.trim().slice(0, 2_000)}`);
  }
  const after = await repository.commit("HEAD");
  const outcome = after === before ? "up to date" : after === other ? "fast-forward" : "merged";
  return { outcome, commit: after, conflicts: [], isCut: false };
}

function describe(merged: Merged, ref: string): string {
  if (merged.outcome !== "conflicts") return `${ref}: ${merged.outcome}, now at ${short(merged.commit ?? "")}`;
  return `${describeConflicts(merged)}\n\nSettle each file with resolve, then call merge_continue; merge_abort goes back.`;
}

/** The tool `conflicts`: lists conflicts with their hunks. */
export function conflictsTool(
  git: Repositories,
): ToolDefinition<{ repository?: string; path?: string }, Conflicts, undefined> {
  return {
    title: "Conflicts",
    description: "Lists the conflicting files, and for each hunk both versions and the common ancestor",
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

/** The tool `merge_continue`: commits a merge without open conflicts. */
export function continueMergeTool(
  git: Repositories,
): ToolDefinition<{ repository?: string; message?: string }, Committed, undefined> {
  return {
    title: "Finish a merge",
    description: "Commits a merge when all its conflicts are settled",
    input: input(git, {
      message: { ...message, description: "Commit message. Default: the message of the merge" },
    }),
    output: committedSchema,
    annotations: annotations.adds,
    run: ({ repository, message }, ctx) =>
      git.changeHead(repository, ctx.signal, async (repository) => {
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

/** The tool `merge_abort`: goes back to before the merge, after the user agrees. */
export function abortMergeTool(
  git: Repositories,
  ask: boolean,
): ToolDefinition<{ repository?: string }, { commit: string }, undefined> {
  return {
    title: "Abort a merge",
    description: "Goes back to before the merge, after the user agrees; resolved conflicts are lost",
    input: input(git, {}),
    output: object({ commit }),
    annotations: annotations.destroys,
    async run({ repository: name }, ctx: Context) {
      const looked = await git.open(name, ctx.signal);
      await expectMerge(looked);
      const question = `Abort the merge in ${looked.name}? Conflicts resolved so far are lost.`;
      if (!(await confirmLoss(ctx, ask, question))) return ctx.cancelled("The merge was not aborted.");
      return git.changeHead(name, ctx.signal, async (repository) => {
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
  if ((await operationOf(repository)) !== "merge") throw new ToolError("No merge is in progress; merge starts one");
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
    take: string("Version to use; both means ours, then theirs", { enum: ["ours", "theirs", "base", "both"] }),
    text: string("Text to use instead, with its line endings"),
  },
  additionalProperties: false,
};

/** The tool `resolve`: settles one conflicting file. */
export function resolveTool(git: Repositories): ToolDefinition<ResolveArguments, Resolved, undefined> {
  return {
    title: "Resolve a conflict",
    description: "Settles one conflicting file, writes it to the work tree and stages it",
    input: input(
      git,
      {
        path,
        take: string(
          "ours or theirs: the version of that side, or no file if that side deleted it; text: the whole file, given in text; hunks: a choice for each hunk; file: the file in the work tree as it is; nothing: delete it",
          { enum: ["ours", "theirs", "text", "hunks", "file", "nothing"] },
        ),
        text: string("With take text: the whole file", { maxLength: 4_000_000 }),
        hunks: {
          type: "array",
          items: hunk,
          maxItems: 10_000,
          description: "With take hunks: one entry per hunk that conflicts lists, in order, with either take or text",
        },
      },
      ["path", "take"],
    ),
    output: object({ path, left: array(path, "Files still in conflict; if empty, call merge_continue") }),
    // The file in the work tree is replaced, possibly with edits of the user.
    annotations: annotations.destroys,
    run: (args, ctx) =>
      git.change(args.repository, ctx.signal, async (repository) => {
        await repository.expectWorkTree();
        const file = repository.path(args.path);
        const sides = (await unmergedFiles(repository)).get(file);
        if (sides === undefined)
          throw new ToolError(`${quote(file)} is not in conflict; conflicts lists the conflicting files`);
        await settle(repository, file, sides, args);
        const left = [...(await unmergedFiles(repository)).keys()].slice(0, repository.limits.maxEntries);
        const next = left.length === 0 ? "No conflicts left: call merge_continue" : `Left: ${left.join(", ")}`;
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
  if (!mode.startsWith("100")) throw new ToolError(`${quote(file)} is not a text file; take ours, theirs or nothing`);
  const hash = (await repository.text(["hash-object", "-w", "--stdin"], { input: content })).trim();
  await put(repository, file, { mode, hash });
}

/** Stages a version of a file and lets git write it: git does not write through links. */
async function put(repository: Repository, file: string, side: Side): Promise<void> {
  const { mode, hash } = side;
  const none = "0".repeat(hash.length);
  const input = `0 ${none}\t${file}\0${mode} ${hash} 0\t${file}\0`;
  await repository.read(["update-index", "-z", "--index-info"], { input });
  if (isLinkToCommit(side)) return;
  await repository.read(["checkout-index", "-f", "-u", "-z", "--stdin"], { input: `${file}\0` });
}

async function remove(repository: Repository, file: string, sides: Sides): Promise<void> {
  // git rm would look into a submodule; this leaves the submodule's folder alone.
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
    throw new ToolError(`hunks: expected ${open}, one per hunk of ${quote(file)}, got ${hunks?.length ?? "none"}`);
  }
  const choices = hunks[Symbol.iterator]();
  return pieces.map((piece) => (piece.kind === "agreed" ? piece.text : decide(piece, choices.next().value))).join("");
}

function decide(piece: Piece & { kind: "conflict" }, choice: { take?: Choice; text?: string } = {}): string {
  if (choice.text !== undefined) return choice.text;
  if (choice.take === undefined) throw new ToolError("hunks: expected take or text in each entry");
  return choice.take === "both" ? piece.ours + piece.theirs : piece[choice.take];
}
