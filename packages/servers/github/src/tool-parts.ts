import { type FullResult, type JsonSchema, type ToolDefinition, ToolError } from "portolan/server";
import { array, count, annotations as kinds, object, string, textResult } from "portolan-server-kit";
import { path } from "portolan-server-kit/service";
import type { Github, PageRequest, QueryValues } from "./github.ts";

/** Hints about the effects of tools; all of them reach a service on the web. */
export const annotations: {
  readonly [kind in "reads" | "adds" | "overwrites"]: NonNullable<
    ToolDefinition<unknown, unknown, unknown>["annotations"]
  >;
} = {
  reads: { ...kinds.reads, openWorldHint: true },
  adds: { ...kinds.adds, openWorldHint: true },
  overwrites: { ...kinds.overwrites, openWorldHint: true },
};

/** Which repository a call is about. */
export interface InRepository {
  readonly owner: string;
  readonly repo: string;
}

/** Names of accounts and repositories have no slash. */
const name = { minLength: 1, maxLength: 100, pattern: "^[A-Za-z0-9._-]+$" };
const repository = {
  owner: string("Account or organization that owns the repository, such as octocat", name),
  repo: string("Name of the repository, such as hello-world", name),
};

export const ref: JsonSchema = string("A branch, a tag or a commit hash. Default: the default branch", {
  minLength: 1,
  maxLength: 250,
});
export const number: JsonSchema = count("Number of the issue or pull request", { minimum: 1 });
export const body = (description: string): JsonSchema => string(`${description}, Markdown`, { maxLength: 60_000 });
export const title: JsonSchema = string("Title", { minLength: 1, maxLength: 250 });
export const branch = (description: string): JsonSchema => string(description, { minLength: 1, maxLength: 250 });
export const filePath: JsonSchema = string("Path in the repository, such as src/index.ts", {
  minLength: 1,
  maxLength: 4_000,
});

/** Returns the input schema of a tool for one repository. Members of `more` are optional unless `required` lists them. */
export function inRepository(
  more: { readonly [name: string]: JsonSchema },
  required: readonly string[] = [],
): JsonSchema {
  const optional = Object.keys(more).filter((member) => !required.includes(member));
  return object({ ...repository, ...more }, optional);
}

/** Returns the path of a repository in the API. */
export function pathOf({ owner, repo }: InRepository): string {
  return path`/repos/${owner}/${repo}`;
}

const pageInput = {
  limit: count("Entries on a page. Default: 30", { minimum: 1, maximum: 100 }),
  cursor: string("Continues after an earlier page; pass the same other arguments", { maxLength: 200 }),
};

/** A tool that lists something in pages. */
interface ListTool<A, T> {
  readonly title: string;
  readonly description: string;
  /** The input without the members of pages. */
  readonly input: JsonSchema;
  /** The schema of an item. */
  readonly item: JsonSchema;
  readonly path: (args: A) => string;
  readonly query?: (args: A) => QueryValues;
  readonly mediaType?: string;
  /** Finds the items in a response. */
  readonly itemsOf: (json: unknown) => readonly T[];
  readonly lineOf: (item: T) => string;
}

interface Listed<T> {
  readonly items: readonly T[];
  readonly cursor?: string;
}

/** Returns a tool that lists something in pages. */
export function listTool<A extends object, T>(
  github: Github,
  { title, description, input, item, path, query = () => ({}), mediaType, itemsOf, lineOf }: ListTool<A, T>,
): ToolDefinition<A & PageRequest, Listed<T>, undefined> {
  return {
    title,
    description: `${description}, in pages`,
    input: { ...input, properties: { ...(input["properties"] as object), ...pageInput } },
    output: object({ items: array(item, "This page"), cursor: string("Pass it to get the next page") }, ["cursor"]),
    annotations: annotations.reads,
    async run(args, ctx) {
      const { limit, cursor } = args;
      const page = { query: query(args), ...(limit && { limit }), ...(cursor !== undefined && { cursor }) };
      const found = await github.readPage(path(args), ctx, page, itemsOf, mediaType);
      const lines = found.items.map(lineOf);
      if (found.cursor !== undefined) lines.push(`More with cursor ${found.cursor}`);
      return textResult(lines.join("\n") || "Nothing found", found);
    },
  };
}

/** Returns an array of a response; throws if GitHub has sent something else. */
export function arrayOf<T>(json: unknown): readonly T[] {
  if (Array.isArray(json)) return json;
  throw new ToolError("GitHub's response is not a list. Try again later");
}

/** A text that was cut at a limit, and the note that says so. */
export function cut(text: string, maxChars: number, rest: string): string {
  if (text.length <= maxChars) return text;
  // A cut between the halves of a character would not be a text.
  const end = /[\uD800-\uDBFF]/.test(text[maxChars - 1] ?? "") ? maxChars - 1 : maxChars;
  return `${text.slice(0, end)}\n[${text.length - end} more characters: ${rest}]`;
}

/** Adds a link to a resource of this server, which has the whole of what a result shows in part. */
export function withLink<T>(result: FullResult<T>, uri: string, name: string): FullResult<T> {
  return { ...result, content: [...(result.content ?? []), { type: "resource_link", uri, name }] };
}

/** Returns the URI of a resource of this server. */
export function uriOf({ owner, repo }: InRepository, ...below: readonly (string | number)[]): string {
  return `github://${[owner, repo, ...below].map((part) => encodeURIComponent(String(part))).join("/")}`;
}
