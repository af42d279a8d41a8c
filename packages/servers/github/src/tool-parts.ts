import { type JsonSchema, type ToolDefinition, ToolError } from "portolan/server";
import { count, object, string } from "portolan-server-kit";
import {
  type ListPage,
  type ListTool,
  listTool,
  type PageRequest,
  path,
  type ServiceValues,
} from "portolan-server-kit/service";
import { type Github, pageSize } from "./github.ts";

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

/** A list of GitHub. */
interface GithubList<A, T> extends Pick<ListTool<A, T>, "title" | "description" | "input" | "item" | "lineOf"> {
  readonly path: (args: A) => string;
  readonly query?: (args: A) => ServiceValues;
  readonly mediaType?: string;
  /** Finds the items in a response. */
  readonly itemsOf: (json: unknown) => readonly T[];
}

/** Returns a tool that lists something in pages. */
export function githubList<A extends object, T>(
  github: Github,
  { path, query = () => ({}), mediaType, itemsOf, ...list }: GithubList<A, T>,
): ToolDefinition<A & PageRequest, ListPage<T>, undefined> {
  return listTool<A, T>({
    ...list,
    size: pageSize,
    read: (args, ctx) => github.readPage(path(args), ctx, { ...args, query: query(args) }, itemsOf, mediaType),
  });
}

/** Returns an array of a response; throws if GitHub has sent something else. */
export function arrayOf<T>(json: unknown): readonly T[] {
  if (Array.isArray(json)) return json;
  throw new ToolError("GitHub's response is not a list. Try again later");
}

/** Returns the URI of a resource of this server. */
export function uriOf({ owner, repo }: InRepository, ...below: readonly (string | number)[]): string {
  return `github://${[owner, repo, ...below].map((part) => encodeURIComponent(String(part))).join("/")}`;
}
