import type { ToolDefinition } from "portolan/server";
import { array, object, string } from "portolan-server-kit";
import type { ListPage, PageRequest } from "portolan-server-kit/service";
import type { Github } from "../github.ts";
import {
  type Issue,
  issueLine,
  issueSchema,
  type RawIssue,
  type RawRepository,
  type Repository,
  repositorySchema,
  toIssue,
  toRepository,
} from "../shapes.ts";
import { arrayOf, githubList } from "../tool-parts.ts";

interface Query {
  readonly query: string;
}

interface RawMatch {
  readonly path: string;
  readonly sha: string;
  readonly html_url: string;
  readonly repository: { readonly full_name: string };
  readonly text_matches?: readonly { readonly fragment?: string }[];
}

interface Match {
  readonly repository: string;
  readonly path: string;
  readonly fragments: readonly string[];
  readonly url: string;
}

function queryOf(example: string) {
  return object({ query: string(`Search words and qualifiers, such as ${example}`, { minLength: 1, maxLength: 256 }) });
}

function itemsIn<T>(json: unknown): readonly T[] {
  return arrayOf<T>((json as { readonly items?: unknown }).items);
}

/** The tool `search_code`. */
export function searchCodeTool(github: Github): ToolDefinition<Query & PageRequest, ListPage<Match>, undefined> {
  return githubList(github, {
    title: "Search code",
    description: "Finds files by their text, with the places that match",
    input: queryOf('"createServer repo:octocat/hello language:typescript"'),
    item: object({
      repository: string("Owner and name"),
      path: string("Path in the repository"),
      fragments: array(string("Text around a match"), "Where it matches"),
      url: string("Address of the page for people"),
    }),
    path: () => "/search/code",
    query: ({ query }) => ({ q: query }),
    mediaType: ".text-match+json",
    itemsOf: (json) =>
      itemsIn<RawMatch>(json).map(({ repository, path, html_url, text_matches = [] }) => ({
        repository: repository.full_name,
        path,
        fragments: text_matches.flatMap(({ fragment }) => fragment ?? []),
        url: html_url,
      })),
    lineOf: ({ repository, path, fragments }) => [`${repository}: ${path}`, ...fragments].join("\n  "),
  });
}

/** The tool `search_issues`. */
export function searchIssuesTool(github: Github): ToolDefinition<Query & PageRequest, ListPage<Issue>, undefined> {
  return githubList(github, {
    title: "Search issues and pull requests",
    description: "Finds issues and pull requests",
    input: queryOf('"crash is:open is:issue repo:octocat/hello"'),
    item: issueSchema,
    path: () => "/search/issues",
    query: ({ query }) => ({ q: query }),
    itemsOf: (json) => itemsIn<RawIssue>(json).map(toIssue),
    lineOf: (issue) => `${issueLine(issue)} ${issue.url}`,
  });
}

/** The tool `search_repositories`. */
export function searchRepositoriesTool(
  github: Github,
): ToolDefinition<Query & PageRequest, ListPage<Repository>, undefined> {
  return githubList(github, {
    title: "Search repositories",
    description: "Finds repositories",
    input: queryOf('"mcp server language:typescript stars:>100"'),
    item: repositorySchema,
    path: () => "/search/repositories",
    query: ({ query }) => ({ q: query }),
    itemsOf: (json) => itemsIn<RawRepository>(json).map(toRepository),
    lineOf: ({ repository, description, stars }) => `${repository} (${stars} stars): ${description}`,
  });
}
