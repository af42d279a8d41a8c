import { isAbsolute, relative, sep } from "node:path";
import { ToolError } from "portolan/server";
import { isInside } from "./jail.ts";

const maxNameLength = 1_000;
const maxPathLength = 4_096;
/** Suffixes that step from one commit to another: `~2`, `^`, `@{1}`, `@{upstream}`. */
const steps = /(?:[~^]\d{0,6}|@\{(?:\d{1,6}|u|upstream)\})*$/;
// Names that check-ref-format rejects: control characters, some signs, and dots and slashes in certain places.
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches them
const forbidden = /[\u0000- \u007f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$|(?:^|\/)\.|\.lock(?:\/|$)/;

/** Returns true for a valid branch or tag name; nothing that git could read as an option is valid. */
export function isRefName(name: string): boolean {
  return name !== "" && name !== "@" && name.length <= maxNameLength && !name.startsWith("-") && !forbidden.test(name);
}

/** Returns a revision if it is a branch, tag or hash with optional steps; throws otherwise. */
export function checkRevision(revision: string): string {
  const name = revision.replace(steps, "");
  if (revision.length <= maxNameLength && (name === "@" || isRefName(name) || isUpstream(name, revision)))
    return revision;
  throw new ToolError(
    `${quote(revision)}: expected a branch, tag or commit hash, optionally followed by ~2 or ^; branches and tags list them`,
  );
}

/** `@{upstream}` alone means the upstream of the current branch. */
function isUpstream(name: string, revision: string): boolean {
  return name === "" && revision.startsWith("@{");
}

/** Returns a path relative to the work tree, with slashes; `.` is the work tree itself. Throws for paths outside. */
export function checkPath(path: string, workTree: string): string {
  const inside = isAbsolute(path) && isInside(workTree, path) ? relative(workTree, path) : path;
  const names = inside.split(separator).filter((name) => name !== "" && name !== ".");
  const isWrong = path === "" || path.length > maxPathLength || path.includes("\0") || isAbsolute(inside);
  if (isWrong || !names.every(isPlainName)) {
    throw new ToolError(
      `${quote(path)}: expected a path inside the repository, relative to its folder, and not in .git`,
    );
  }
  return names.join("/") || ".";
}

/** Returns true if a path of the index stays in the work tree; git itself does not check it. */
export function isPlainPath(path: string): boolean {
  return !isAbsolute(path) && path.split(separator).every((name) => name !== "" && name !== "." && isPlainName(name));
}

const separator = sep === "\\" ? /[\\/]/ : "/";

function isPlainName(name: string): boolean {
  return name !== ".." && !isGitName(name);
}

/** Also matches spellings that some file systems treat as `.git`. */
function isGitName(name: string): boolean {
  return /^(?:\.git|git~\d+)[ .]*(?:$|:)/i.test(name.replace(/[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g, ""));
}

/** Quotes and shortens a value for a message. */
export function quote(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
