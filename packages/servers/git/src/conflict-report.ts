import type { JsonSchema } from "portolan/server";
import { array, count, object, string } from "portolan-server-kit";
import { kindOf, mergeLines, type Piece, type Sides, unmergedFiles } from "./conflicts.ts";
import type { Repository } from "./repository.ts";
import { isCut, path } from "./schema.ts";

/** A place in a file where both sides changed the same lines. */
export interface Hunk {
  line: number;
  ours: string;
  base: string;
  theirs: string;
}

/** A conflicting file, with its hunks where it has lines. */
export interface Conflict {
  path: string;
  kind: string;
  hunks?: Hunk[];
}

/** Conflicting files, as far as they may be told. */
export interface Conflicts {
  conflicts: Conflict[];
  isCut: boolean;
}

/** The members of a result that tells conflicts. */
export const conflictsSchema: { [name: string]: JsonSchema } = {
  conflicts: array(
    object(
      {
        path,
        kind: string("Such as both modified, or deleted by them"),
        hunks: array(
          object({
            line: count("Where it begins in our file"),
            ours: string("What the current branch has there"),
            base: string("What both began with"),
            theirs: string("What the other branch has there"),
          }),
          "Absent for what has no lines or is long: binary files, links, files that one side deleted",
        ),
      },
      ["hunks"],
    ),
    "Files to settle with resolve, one after the other",
  ),
  isCut,
};

/** The conflicts of a merge; hunks as long as there is room for them. */
export async function reportConflicts(repository: Repository, only?: string): Promise<Conflicts> {
  const { maxEntries, maxBytes } = repository.limits;
  const all = [...(await unmergedFiles(repository))].filter(([path]) => only === undefined || path === only);
  const conflicts: Conflict[] = [];
  let room = maxBytes;
  let isCut = all.length > maxEntries;
  for (const [path, sides] of all.slice(0, maxEntries)) {
    const hunks = room > 0 ? await hunksOf(repository, sides) : undefined;
    room -= hunks === undefined ? 0 : sizeOf(hunks);
    if (room < 0) isCut = true;
    const isTold = hunks !== undefined && room >= 0;
    conflicts.push({ path, kind: kindOf(sides), ...(isTold && { hunks }) });
  }
  return { conflicts, isCut };
}

async function hunksOf(repository: Repository, sides: Sides): Promise<Hunk[] | undefined> {
  const pieces = await mergeLines(repository, sides);
  return pieces === undefined ? undefined : toHunks(pieces);
}

function toHunks(pieces: readonly Piece[]): Hunk[] {
  const hunks: Hunk[] = [];
  let line = 1;
  for (const piece of pieces) {
    if (piece.kind === "conflict") hunks.push({ line, ours: piece.ours, base: piece.base, theirs: piece.theirs });
    line += linesIn(piece.kind === "conflict" ? piece.ours : piece.text);
  }
  return hunks;
}

function linesIn(text: string): number {
  return text.split("\n").length - 1;
}

function sizeOf(hunks: readonly Hunk[]): number {
  return hunks.reduce((size, { ours, base, theirs }) => size + ours.length + base.length + theirs.length, 0);
}

/** Conflicts as text: each hunk with its three sides. */
export function describeConflicts({ conflicts, isCut }: Conflicts): string {
  const lines = conflicts.flatMap(({ path, kind, hunks = [] }) => [
    `${path} (${kind})`,
    ...hunks.flatMap(({ line, ours, base, theirs }, index) => [
      `  hunk ${index + 1}, line ${line}`,
      ...side("ours", ours),
      ...side("base", base),
      ...side("theirs", theirs),
    ]),
  ]);
  return [...lines, ...(isCut ? ["… and more"] : [])].join("\n");
}

function side(name: string, text: string): string[] {
  const lines = text === "" ? ["(nothing)"] : text.replace(/\n$/, "").split("\n");
  return lines.map((line) => `    ${name}: ${line}`);
}
