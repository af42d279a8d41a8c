import { lstat } from "node:fs/promises";
import { join } from "node:path";
import type { JsonSchema } from "portolan/server";
import { array, boolean, count, object, string } from "portolan-server-kit";
import type { Repository } from "../repository/repository.ts";
import { commit, isCut, path } from "../tool-parts.ts";
import { changeOf } from "./patch.ts";

/** A changed file in the status. */
export interface StatusEntry {
  path: string;
  from?: string;
  change: string;
}

/** The result of `git status`. */
export interface Status {
  branch?: string;
  commit?: string;
  upstream?: string;
  ahead?: number;
  behind?: number;
  operation?: string;
  isClean: boolean;
  staged: StatusEntry[];
  unstaged: StatusEntry[];
  conflicts: { path: string; kind: string }[];
  untracked: string[];
  isCut: boolean;
}

const entry = object(
  { path, from: string("The path it had before, if it was renamed"), change: string("Such as modified") },
  ["from"],
);

/** Schema of the status. */
export const statusSchema: JsonSchema = object(
  {
    branch: string("The current branch; absent for a detached HEAD"),
    commit,
    upstream: string("The branch it follows"),
    ahead: count("Commits that the upstream does not have"),
    behind: count("Commits that only the upstream has"),
    operation: string("The operation in progress: merge, rebase, cherry-pick, revert or bisect"),
    isClean: boolean("True if nothing is staged, changed, conflicting or untracked"),
    staged: array(entry, "Changes in the next commit"),
    unstaged: array(entry, "Changed, but not staged"),
    conflicts: array(object({ path, kind: string("Such as both modified") }), "Settle each with resolve"),
    untracked: array(path, "New, but not staged; a folder ends with a slash"),
    isCut,
  },
  ["branch", "commit", "upstream", "ahead", "behind", "operation"],
);

const conflictKinds: { readonly [letters: string]: string } = {
  DD: "both deleted",
  AU: "added by us",
  UD: "deleted by them",
  UA: "added by them",
  DU: "deleted by us",
  AA: "both added",
  UU: "both modified",
};

/** Returns the status of the work tree, optionally of some paths only. */
export async function readStatus(repository: Repository, paths: readonly string[] = []): Promise<Status> {
  await repository.expectWorkTree();
  const flags = ["--porcelain=v2", "-z", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty"];
  const parts = await repository.parts(["status", ...flags, "--find-renames", "--", ...paths]);
  const state: Status = { isClean: true, staged: [], unstaged: [], conflicts: [], untracked: [], isCut: false };
  for (let at = 0; at < parts.length; at += 1) {
    const part = parts[at] ?? "";
    if (part.startsWith("# ")) readHeader(state, part);
    else if (part.startsWith("? ")) state.untracked.push(part.slice(2));
    else if (part.startsWith("u ")) readConflict(state, part);
    else if (part.startsWith("1 ")) readChange(state, part, fieldsOfChange, undefined);
    else if (part.startsWith("2 ")) {
      at += 1;
      readChange(state, part, fieldsOfChange + 1, parts[at]);
    }
  }
  const operation = await operationOf(repository);
  if (operation !== undefined) state.operation = operation;
  return bounded(state, repository.limits.maxEntries);
}

const fieldsOfChange = 8;
const fieldsOfConflict = 10;

function readHeader(state: Status, part: string): void {
  const [, name, value = ""] = /^# branch\.(\S+) (.*)$/s.exec(part) ?? [];
  if (name === "oid" && value !== "(initial)") state.commit = value;
  if (name === "head" && value !== "(detached)") state.branch = value;
  if (name === "upstream") state.upstream = value;
  const [, ahead, behind] = name === "ab" ? (/^\+(\d+) -(\d+)$/.exec(value) ?? []) : [];
  if (ahead !== undefined) Object.assign(state, { ahead: Number(ahead), behind: Number(behind) });
}

function readChange(state: Status, part: string, fields: number, from: string | undefined): void {
  const [, letters = "", path = ""] = split(part, fields);
  const named = { path, ...(from !== undefined && { from }) };
  const [staged = ".", unstaged = "."] = letters;
  if (staged !== ".") state.staged.push({ ...named, change: changeOf(staged) });
  if (unstaged !== ".") state.unstaged.push({ path, change: changeOf(unstaged) });
}

function readConflict(state: Status, part: string): void {
  const [, letters = "", path = ""] = split(part, fieldsOfConflict);
  state.conflicts.push({ path, kind: conflictKinds[letters] ?? "unknown" });
}

/** Splits a line into its kind, its letters, and the path after `fields` fields. */
function split(part: string, fields: number): [string, string, string] {
  const words = part.split(" ");
  return [words[0] ?? "", words[1] ?? "", words.slice(fields).join(" ")];
}

const operations: readonly (readonly [file: string, operation: string])[] = [
  ["MERGE_HEAD", "merge"],
  ["rebase-merge", "rebase"],
  ["rebase-apply", "rebase"],
  ["CHERRY_PICK_HEAD", "cherry-pick"],
  ["REVERT_HEAD", "revert"],
  ["BISECT_LOG", "bisect"],
];

/** Returns the operation in progress; undefined if there is none. */
export async function operationOf({ location }: Repository): Promise<string | undefined> {
  for (const [file, operation] of operations) {
    const found = await lstat(join(location.gitDir, file)).catch(() => undefined);
    if (found !== undefined) return operation;
  }
  return undefined;
}

function bounded(state: Status, max: number): Status {
  const { staged, unstaged, conflicts, untracked } = state;
  const lists = [staged, unstaged, conflicts, untracked];
  return {
    ...state,
    isClean: lists.every(({ length }) => length === 0),
    staged: staged.slice(0, max),
    unstaged: unstaged.slice(0, max),
    conflicts: conflicts.slice(0, max),
    untracked: untracked.slice(0, max),
    isCut: lists.some(({ length }) => length > max),
  };
}
