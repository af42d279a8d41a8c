import type { JsonSchema } from "portolan/server";
import { boolean, count, object, string } from "portolan-server-kit";
import type { GitRunOptions, Repository } from "../repository/repository.ts";
import { path } from "../tool-parts.ts";

/** A changed file. */
export interface ChangedFile {
  path: string;
  from?: string;
  change: string;
  added?: number;
  removed?: number;
  isBinary: boolean;
}

/** Schema of a changed file. */
export const changedFileSchema: JsonSchema = object(
  {
    path,
    from: string("The path it had before, if it was renamed or copied"),
    change: string("Kind of change", {
      enum: ["added", "copied", "deleted", "modified", "renamed", "type changed", "conflict", "unknown"],
    }),
    added: count("Lines"),
    removed: count("Lines"),
    isBinary: boolean("Its lines cannot be counted"),
  },
  ["from", "added", "removed"],
);

const changes: { readonly [letter: string]: string } = {
  A: "added",
  C: "copied",
  D: "deleted",
  M: "modified",
  R: "renamed",
  T: "type changed",
  U: "conflict",
};

/** Returns the word for git's status letter. */
export function changeOf(letter: string): string {
  return changes[letter] ?? "unknown";
}

/** Flags of every diff: no program of the repository is run, and the output has one form. */
export const diffFlags: readonly string[] = [
  "--no-ext-diff",
  "--no-textconv",
  "--no-color",
  "--no-relative",
  "--ignore-submodules=dirty",
  "--submodule=short",
  "--src-prefix=a/",
  "--dst-prefix=b/",
  "--find-renames",
];

/** Parses the output of `--raw --numstat -z`. */
export function parseChanges(parts: readonly string[]): ChangedFile[] {
  const files = new Map<string, ChangedFile>();
  const rest = parts[Symbol.iterator]();
  const next = () => rest.next().value ?? "";
  for (let part = next(); part !== ""; part = next()) {
    const raw = /^:+[0-7 ]+ [0-9a-f. ]+ ([A-Z])[A-Z\d]*$/.exec(part);
    if (raw) {
      const change = changeOf(raw[1] ?? "");
      const first = next();
      const isMoved = change === "renamed" || change === "copied";
      const file = isMoved ? next() : first;
      files.set(file, { path: file, ...(isMoved && { from: first }), change, isBinary: false });
      continue;
    }
    const [, added, removed, named = ""] = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(part) ?? [];
    if (added === undefined) continue;
    // A renamed file has its two names in separate parts.
    if (named === "") next();
    const file = files.get(named === "" ? next() : named);
    if (file === undefined) continue;
    if (added === "-") file.isBinary = true;
    else Object.assign(file, { added: Number(added), removed: Number(removed) });
  }
  return [...files.values()];
}

/** Runs a diff and returns the patch, cut after `maxBytes`. */
export async function readPatch(
  repository: Repository,
  args: readonly string[],
  options: GitRunOptions = {},
): Promise<{ patch: string; isCut: boolean }> {
  const { bytes, isCut } = await repository.atMost(repository.limits.maxBytes, args, options);
  // Cut after a whole line.
  const shown = isCut ? bytes.subarray(0, bytes.lastIndexOf(10) + 1) : bytes;
  return { patch: shown.toString(), isCut };
}

/** Formats a changed file in one line. */
export function lineOf({ path, from, change, added, removed, isBinary }: ChangedFile): string {
  const counts = isBinary ? " (binary)" : added === undefined ? "" : ` (+${added} −${removed})`;
  return `${change} ${from === undefined ? path : `${from} → ${path}`}${counts}`;
}
