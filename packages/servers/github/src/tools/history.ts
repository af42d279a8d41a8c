import type { ToolDefinition } from "portolan/server";
import { array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { cut, type PageRequest, path, serviceAnnotations, withLink } from "portolan-server-kit/service";
import type { Github } from "../github.ts";
import {
  type ChangedFile,
  type Commit,
  commitLine,
  commitSchema,
  fileSchema,
  patchOf,
  type RawCommit,
  type RawFile,
  type RawRepository,
  type Repository,
  repositorySchema,
  toCommit,
  toFile,
  toRepository,
} from "../shapes.ts";
import { arrayOf, filePath, githubList, type InRepository, inRepository, pathOf, ref, uriOf } from "../tool-parts.ts";

/** The tool `get_repository`. */
export function getRepositoryTool(github: Github): ToolDefinition<InRepository, Repository, undefined> {
  return {
    title: "Get a repository",
    description: "Describes a repository: its default branch, language, and whether it is private or archived",
    input: inRepository({}),
    output: repositorySchema,
    annotations: serviceAnnotations.reads,
    async run(args, ctx) {
      const found = toRepository(await github.read<RawRepository>(pathOf(args), ctx));
      const { repository, description, defaultBranch, language, url } = found;
      return textResult(`${repository}: ${description}\n${language}, branch ${defaultBranch}, ${url}`, found);
    },
  };
}

interface Branch {
  readonly name: string;
  readonly sha: string;
  readonly isProtected: boolean;
}

interface RawBranch {
  readonly name: string;
  readonly commit: { readonly sha: string };
  readonly protected: boolean;
}

/** The tool `list_branches`. */
export function listBranchesTool(
  github: Github,
): ToolDefinition<InRepository & PageRequest, { items: readonly Branch[]; cursor?: string }, undefined> {
  return githubList(github, {
    title: "List branches",
    description: "Lists the branches of a repository",
    input: inRepository({}),
    item: object({
      name: string("Name of the branch"),
      sha: string("Full hash of its newest commit"),
      isProtected: boolean("True if rules restrict changes of it"),
    }),
    path: (args) => `${pathOf(args)}/branches`,
    itemsOf: (json) =>
      arrayOf<RawBranch>(json).map((one) => ({ name: one.name, sha: one.commit.sha, isProtected: one.protected })),
    lineOf: ({ name, sha, isProtected }) => `${name} ${sha.slice(0, 10)}${isProtected ? " (protected)" : ""}`,
  });
}

interface CommitFilter extends InRepository {
  readonly ref?: string;
  readonly path?: string;
  readonly author?: string;
  readonly since?: string;
  readonly until?: string;
}

const moment = { pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$" };

/** The tool `list_commits`. */
export function listCommitsTool(
  github: Github,
): ToolDefinition<CommitFilter & PageRequest, { items: readonly Commit[]; cursor?: string }, undefined> {
  return githubList(github, {
    title: "List commits",
    description: "Lists a commit and those before it, newest first, optionally filtered",
    input: inRepository({
      ref,
      path: { ...filePath, description: "Only commits that changed this file or folder" },
      author: string("Only commits of this account or e-mail address", { maxLength: 250 }),
      since: string("Only commits after this time, such as 2026-01-31T00:00:00Z", moment),
      until: string("Only commits before this time", moment),
    }),
    item: commitSchema,
    path: (args) => `${pathOf(args)}/commits`,
    query: ({ ref, path, author, since, until }) => ({ sha: ref, path, author, since, until }),
    itemsOf: (json) => arrayOf<RawCommit>(json).map(toCommit),
    lineOf: commitLine,
  });
}

interface CommitDetails {
  readonly commit: Commit;
  readonly files: readonly ChangedFile[];
  readonly patch: string;
}

/** The tool `get_commit`. */
export function getCommitTool(
  github: Github,
): ToolDefinition<InRepository & { readonly ref: string }, CommitDetails, undefined> {
  return {
    title: "Get a commit",
    description: "Shows a commit with its changes",
    input: inRepository({ ref: { ...ref, description: "A branch, a tag or a commit hash" } }, ["ref"]),
    output: object({
      commit: commitSchema,
      files: array(fileSchema, "Changed files"),
      patch: string("The changes; cut at a limit"),
    }),
    annotations: serviceAnnotations.reads,
    async run(args, ctx) {
      const raw = await github.read<RawCommit & { readonly files?: readonly RawFile[] }>(
        `${pathOf(args)}${path`/commits/${args.ref}`}`,
        ctx,
      );
      const { files = [] } = raw;
      const commit = toCommit(raw);
      const uri = uriOf(args, "commit", commit.sha);
      const patch = cut(patchOf(files), github.access.limits.maxChars, `read the resource ${uri}`);
      const text = `${commit.sha}\n${commit.author} ${commit.date}\n\n${commit.message}\n\n${patch}`;
      return withLink(textResult(text, { commit, files: files.map(toFile), patch }), uri, commit.sha);
    },
  };
}

interface Comparison {
  readonly status: string;
  readonly ahead: number;
  readonly behind: number;
  readonly commits: readonly Commit[];
  readonly files: readonly ChangedFile[];
  readonly patch: string;
}

interface RawComparison {
  readonly status: string;
  readonly ahead_by: number;
  readonly behind_by: number;
  readonly commits: readonly RawCommit[];
  readonly files?: readonly RawFile[];
}

/** The tool `compare`. */
export function compareTool(
  github: Github,
): ToolDefinition<InRepository & { readonly base: string; readonly head: string }, Comparison, undefined> {
  const side = (description: string) => ({ ...ref, description });
  return {
    title: "Compare two commits",
    description: "Shows the commits and the changes that head has and base does not",
    input: inRepository(
      {
        base: side("A branch, a tag or a commit hash to start from"),
        head: side("A branch, a tag or a commit hash with the changes; of a fork as owner:branch"),
      },
      ["base", "head"],
    ),
    output: object({
      status: string("ahead, behind, diverged or identical"),
      ahead: count("Commits of head that base does not have"),
      behind: count("Commits of base that head does not have"),
      commits: array(commitSchema, "The first 250 commits of head, oldest first"),
      files: array(fileSchema, "Changed files, at most 300"),
      patch: string("The changes; cut at a limit"),
    }),
    annotations: serviceAnnotations.reads,
    async run(args, ctx) {
      const raw = await github.read<RawComparison>(
        `${pathOf(args)}${path`/compare/${`${args.base}...${args.head}`}`}`,
        ctx,
      );
      const { status, ahead_by: ahead, behind_by: behind, files = [] } = raw;
      const commits = raw.commits.map(toCommit);
      const patch = cut(patchOf(files), github.access.limits.maxChars, "compare fewer commits");
      const lines = [`${args.head} is ${status}: ${ahead} ahead, ${behind} behind`, ...commits.map(commitLine), patch];
      return textResult(lines.join("\n"), { status, ahead, behind, commits, files: files.map(toFile), patch });
    },
  };
}
