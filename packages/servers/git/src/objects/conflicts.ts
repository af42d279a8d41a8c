import { isUtf8 } from "node:buffer";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonSchema } from "portolan/server";
import { array, count, object, string } from "portolan-server-kit";
import type { Repository } from "../repository/repository.ts";
import { isCut, path } from "../tool-parts.ts";
import { readBlob } from "./trees.ts";

/** Lines of a file that both sides changed. */
export interface Hunk {
  line: number;
  ours: string;
  base: string;
  theirs: string;
}

/** A conflicting file; `hunks` is absent if it has no lines. */
export interface Conflict {
  path: string;
  kind: string;
  hunks?: Hunk[];
}

/** The conflicting files that fit into a result. */
export interface Conflicts {
  conflicts: Conflict[];
  isCut: boolean;
}

/** Schema properties of a result with conflicts. */
export const conflictsSchema: { [name: string]: JsonSchema } = {
  conflicts: array(
    object(
      {
        path,
        kind: string("Such as both modified, or deleted by them"),
        hunks: array(
          object({
            line: count("First line in our version"),
            ours: string("Lines of the current branch"),
            base: string("Lines of the common ancestor"),
            theirs: string("Lines of the other branch"),
          }),
          "Absent for binary files, links, long files, and files that one side deleted",
        ),
      },
      ["hunks"],
    ),
    "The conflicting files; settle each with resolve",
  ),
  isCut,
};

/** Returns the conflicts of a merge, with hunks up to `maxBytes`. */
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
    const hasRoom = hunks !== undefined && room >= 0;
    conflicts.push({ path, kind: kindOf(sides), ...(hasRoom && { hunks }) });
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

/** Formats conflicts as text: each hunk with its three versions. */
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

/** One version of a conflicting file. */
export interface Side {
  readonly mode: string;
  readonly hash: string;
}

/** The versions of a conflicting file; absent for a side that deleted or never had it. */
export interface Sides {
  base?: Side;
  ours?: Side;
  theirs?: Side;
}

/** A part of a merged file: agreed, or in conflict. */
export type Piece =
  | { readonly kind: "agreed"; readonly text: string }
  | { readonly kind: "conflict"; readonly ours: string; readonly base: string; readonly theirs: string };

/** Returns the conflicting files by path. */
export async function unmergedFiles(repository: Repository): Promise<Map<string, Sides>> {
  const files = new Map<string, Sides>();
  for (const part of await repository.parts(["ls-files", "-z", "--unmerged"])) {
    const [, mode, hash, stage, path] = /^(\d+) ([0-9a-f]+) ([123])\t(.*)$/s.exec(part) ?? [];
    if (mode === undefined || hash === undefined || stage === undefined || path === undefined) continue;
    const sides = files.get(path) ?? {};
    const side = { mode, hash };
    files.set(path, {
      ...sides,
      ...(stage === "1" ? { base: side } : stage === "2" ? { ours: side } : { theirs: side }),
    });
  }
  return files;
}

/** Returns the kind of a conflict, derived from the versions that exist. */
function kindOf({ base, ours, theirs }: Sides): string {
  if (ours && theirs) return base ? "both modified" : "both added";
  if (ours) return base ? "deleted by them" : "added by us";
  if (theirs) return base ? "deleted by us" : "added by them";
  return "both deleted";
}

/** Merges a file again; undefined without lines to merge: binary, too long, a link, a submodule, or deleted on one side. */
export async function mergeLines(repository: Repository, sides: Sides): Promise<Piece[] | undefined> {
  const { base, ours, theirs } = sides;
  if (!ours || !theirs) return undefined;
  const texts: string[] = [];
  for (const side of [ours, base, theirs]) {
    const text = side === undefined ? "" : await readText(repository, side);
    if (text === undefined) return undefined;
    texts.push(text);
  }
  // Markers are longer than any similar line of the files.
  let size = 20;
  while (texts.some((text) => text.includes("<".repeat(size)) || text.includes("=".repeat(size)))) size *= 2;
  return parsePieces(await runMerge(repository, texts, size), size);
}

async function readText(repository: Repository, { mode, hash }: Side): Promise<string | undefined> {
  if (!mode.startsWith("100")) return undefined;
  const { bytes, isCut } = await readBlob(repository, hash);
  return isCut || bytes.includes(0) || !isUtf8(bytes) ? undefined : bytes.toString();
}

const names = ["ours", "base", "theirs"] as const;

async function runMerge(repository: Repository, texts: readonly string[], size: number): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "portolan-git-"));
  try {
    const files = names.map((name) => join(folder, name));
    await Promise.all(files.map((file, index) => writeFile(file, texts[index] ?? "", { flag: "wx", mode: 0o600 })));
    const labels = names.flatMap((name) => ["-L", name]);
    const args = ["merge-file", "--stdout", "--diff3", "--quiet", `--marker-size=${size}`, ...labels, "--", ...files];
    // The exit code is the number of conflicts.
    const { stdout } = await repository.run(args);
    return stdout.toString();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Parses a merged file with markers of this size. */
function parsePieces(merged: string, size: number): Piece[] {
  const pieces: Piece[] = [];
  const marks = { ours: "<".repeat(size), base: "|".repeat(size), theirs: "=".repeat(size), end: ">".repeat(size) };
  let agreed = "";
  let sides = { ours: "", base: "", theirs: "" };
  let inside: keyof typeof sides | undefined;
  for (const line of merged.split(/(?<=\n)/)) {
    if (inside === undefined && line.startsWith(marks.ours)) {
      if (agreed !== "") pieces.push({ kind: "agreed", text: agreed });
      agreed = "";
      sides = { ours: "", base: "", theirs: "" };
      inside = "ours";
    } else if (inside === "ours" && line.startsWith(marks.base)) inside = "base";
    else if (inside === "base" && line.startsWith(marks.theirs)) inside = "theirs";
    else if (inside === "theirs" && line.startsWith(marks.end)) {
      pieces.push({ kind: "conflict", ...sides });
      inside = undefined;
    } else if (inside === undefined) agreed += line;
    else sides[inside] += line;
  }
  if (agreed !== "") pieces.push({ kind: "agreed", text: agreed });
  return pieces;
}
