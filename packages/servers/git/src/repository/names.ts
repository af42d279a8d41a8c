import { isAbsolute, relative, sep } from "node:path";
import { ToolError } from "portolan/server";
import { isInside } from "./jail.ts";

const maxNameLength = 1_000;
const maxPathLength = 4_096;
/** Steps from a commit to others: `~2`, `^`, `@{1}`, `@{upstream}`. */
const steps = /(?:[~^]\d{0,6}|@\{(?:\d{1,6}|u|upstream)\})*$/;
// What check-ref-format refuses: control characters, some signs, and certain places of dots and slashes.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const forbidden = /[\u0000- \u007f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$|(?:^|\/)\.|\.lock(?:\/|$)/;

/** Whether this can be the name of a branch or tag; nothing that git could take for an option can. */
export function isRefName(name: string): boolean {
  return name !== "" && name !== "@" && name.length <= maxNameLength && !name.startsWith("-") && !forbidden.test(name);
}

/** A revision that names a commit: a branch, tag or hash, and perhaps steps from there. */
export function checkRevision(revision: string): string {
  const name = revision.replace(steps, "");
  if (revision.length <= maxNameLength && (name === "@" || isRefName(name) || isUpstream(name, revision)))
    return revision;
  throw new ToolError(
    `${quote(revision)}: expected a branch, tag or commit hash, perhaps with ~2 or ^ behind it; branches and tags list them`,
  );
}

/** `@{upstream}` alone means that of the current branch. */
function isUpstream(name: string, revision: string): boolean {
  return name === "" && revision.startsWith("@{");
}

/** A path relative to the work tree, with slashes; `.` is the work tree itself. */
export function checkPath(path: string, workTree: string): string {
  const inside = isAbsolute(path) && isInside(workTree, path) ? relative(workTree, path) : path;
  const names = inside.split(separator).filter((name) => name !== "" && name !== ".");
  const isWrong = path === "" || path.length > maxPathLength || path.includes("\0") || isAbsolute(inside);
  if (isWrong || !names.every(isPlainName)) {
    throw new ToolError(
      `${quote(path)}: expected a path inside the repository, relative to its folder, and none in .git`,
    );
  }
  return names.join("/") || ".";
}

/** Whether a path of the index stays in the work tree; git itself takes it as it stands there. */
export function isPlainPath(path: string): boolean {
  return !isAbsolute(path) && path.split(separator).every((name) => name !== "" && name !== "." && isPlainName(name));
}

const separator = sep === "\\" ? /[\\/]/ : "/";

function isPlainName(name: string): boolean {
  return name !== ".." && !isGitName(name);
}

/** Also the spellings that some file systems take for `.git`. */
function isGitName(name: string): boolean {
  return /^(?:\.git|git~\d+)[ .]*(?:$|:)/i.test(name.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, ""));
}

/** For messages: what was given, in quotes and not endless. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
