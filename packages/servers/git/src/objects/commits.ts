import type { JsonSchema } from "portolan/server";
import { array, object, string } from "portolan-server-kit";
import type { Repository } from "../repository/repository.ts";
import { commit } from "../tool-parts.ts";

/** A commit in results of tools and resources. */
export interface Commit {
  commit: string;
  parents: string[];
  author: { name: string; email: string; date: string };
  committed: string;
  subject: string;
  body: string;
  /** Branches and tags that point to this commit. */
  refs: string[];
}

/** Schema of a commit. */
export const commitSchema: JsonSchema = object({
  commit,
  parents: array(commit, "None for the first commit, several for a merge"),
  author: object({ name: string("As committed"), email: string("As committed"), date: string("ISO 8601") }),
  committed: string("When it was committed, ISO 8601"),
  subject: string("The first line of the message"),
  body: string("The rest of the message"),
  refs: array({ type: "string" }, "Branches and tags that point to it"),
});

const fields = ["%H", "%P", "%an", "%ae", "%aI", "%cI", "%s", "%b", "%D"];
/** Format flags for log. Commit messages contain no NUL, so no message can forge a field. */
export const commitFormat: readonly string[] = [
  "-z",
  `--format=tformat:${fields.join("%x00")}`,
  "--decorate=short",
  "--no-show-signature",
  "--no-notes",
  "--no-mailmap",
  "--encoding=UTF-8",
  "--no-color",
];

/** Parses the output of `commitFormat`. */
export function parseCommits(parts: readonly string[]): Commit[] {
  const commits: Commit[] = [];
  for (let at = 0; at + fields.length <= parts.length; at += fields.length) {
    const [
      hash = "",
      parents = "",
      name = "",
      email = "",
      date = "",
      committed = "",
      subject = "",
      body = "",
      refs = "",
    ] = parts.slice(at, at + fields.length);
    commits.push({
      commit: hash.trim(),
      parents: words(parents, " "),
      author: { name, email, date },
      committed,
      subject,
      body: body.trimEnd(),
      refs: words(refs, ", "),
    });
  }
  return commits;
}

function words(text: string, separator: string): string[] {
  return text === "" ? [] : text.split(separator);
}

/** Returns the commit of a hash. */
export async function readCommit(repository: Repository, hash: string): Promise<Commit> {
  const parts = await repository.parts(["log", "-1", ...commitFormat, hash, "--"]);
  const [found] = parseCommits(parts);
  if (found === undefined) throw new Error(`git log printed nothing for ${hash}`);
  return found;
}

/** Returns the short form of a hash. */
export function short(hash: string): string {
  return hash.slice(0, 10);
}

/** Formats a commit in one line. */
export function titleOf({ commit, author, subject }: Commit): string {
  return `${short(commit)} ${author.date.slice(0, 10)} ${author.name}: ${subject}`;
}
