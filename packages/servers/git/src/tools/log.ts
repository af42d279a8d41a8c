import { type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, count, object, string, textResult } from "portolan-server-kit";
import { type Commit, commitFormat, commitSchema, parseCommits, titleOf } from "../objects/commits.ts";
import { quote } from "../repository/names.ts";
import type { Repositories } from "../repository/repositories.ts";
import { input, path, revision } from "../tool-parts.ts";

interface LogArguments {
  repository?: string;
  ref?: string;
  path?: string;
  author?: string;
  since?: string;
  until?: string;
  grep?: string;
  limit?: number;
  cursor?: string;
}

interface Log {
  commits: Commit[];
  cursor?: string;
}

const defaultLimit = 20;
const date = string("A date such as 2026-01-31, 2026-01-31T12:00:00Z or 2 weeks ago", {
  pattern: "^[A-Za-z0-9][A-Za-z0-9 :.+/-]*$",
  maxLength: 64,
});
const words = { minLength: 1, maxLength: 200 };

/** The tool `log`: returns the history in pages. */
export function logTool(git: Repositories): ToolDefinition<LogArguments, Log, undefined> {
  const { maxCommits } = git.limits;
  return {
    title: "Log",
    description: "Lists a commit and those before it, newest first, optionally filtered; in pages",
    input: input(git, {
      ref: { ...revision, description: `${revision["description"]}. Default: HEAD` },
      path: { ...path, description: "Only commits that touched this file or folder" },
      author: string("Only commits whose author's name or address contains this", words),
      since: { ...date, description: `Only commits after this. ${date["description"]}` },
      until: { ...date, description: `Only commits before this. ${date["description"]}` },
      grep: string("Only commits whose message contains this", words),
      limit: count(`Maximum number. Default: ${defaultLimit}`, { minimum: 1, maximum: maxCommits }),
      cursor: string("Continues after an earlier page; pass the same ref", { maxLength: 100 }),
    }),
    output: object(
      {
        commits: array(commitSchema, "Newest first"),
        cursor: string("There may be more: pass it to log with the same arguments"),
      },
      ["cursor"],
    ),
    annotations: annotations.reads,
    async run(args, ctx) {
      const repository = await git.open(args.repository, ctx.signal);
      const limit = Math.min(args.limit ?? defaultLimit, maxCommits);
      const { start, skip } = args.cursor === undefined ? { start: args.ref, skip: 0 } : parseCursor(args.cursor);
      if (start === undefined && (await repository.head()) === undefined) return { commits: [] };
      // The next page starts at the same commit, even after new commits.
      const from = await repository.commit(start ?? "HEAD");
      const filters = [
        ...(args.author === undefined ? [] : [`--author=${oneLine(args.author)}`]),
        ...(args.grep === undefined ? [] : [`--grep=${oneLine(args.grep)}`]),
        ...(args.since === undefined ? [] : [`--since=${args.since}`]),
        ...(args.until === undefined ? [] : [`--until=${args.until}`]),
      ];
      const paths = args.path === undefined ? [] : [repository.path(args.path)];
      const page = [`--max-count=${limit + 1}`, `--skip=${skip}`, "--fixed-strings", "--regexp-ignore-case"];
      const parts = await repository.parts(["log", ...page, ...commitFormat, ...filters, from, "--", ...paths]);
      const found = parseCommits(parts);
      const commits = found.slice(0, limit);
      const more: { cursor?: string } = found.length > limit ? { cursor: `${from}:${skip + limit}` } : {};
      const lines = [
        ...commits.map(titleOf),
        ...(more.cursor === undefined ? [] : [`More with cursor ${more.cursor}`]),
      ];
      return textResult(lines.join("\n") || "No commits match", { commits, ...more });
    },
  };
}

function parseCursor(cursor: string): { start: string; skip: number } {
  const [, start, skip] = /^([0-9a-f]{40,64}):(\d{1,9})$/.exec(cursor) ?? [];
  if (start === undefined) throw new ToolError(`cursor: expected one that log returned, got ${quote(cursor)}`);
  return { start, skip: Number(skip) };
}

/** Rejects line breaks: git treats each line as a separate pattern. */
function oneLine(pattern: string): string {
  if (/[\0\r\n]/.test(pattern)) throw new ToolError(`${quote(pattern)}: expected one line`);
  return pattern;
}
