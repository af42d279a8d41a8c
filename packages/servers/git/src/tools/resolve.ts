import { type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, object, string, textResult } from "portolan-server-kit";
import { mergeLines, type Piece, type Side, type Sides, unmergedFiles } from "../conflicts.ts";
import { refuseFiltered } from "../filters.ts";
import type { Git } from "../git.ts";
import { quote } from "../names.ts";
import type { Repository } from "../repository.ts";
import { input, path } from "../schema.ts";

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
