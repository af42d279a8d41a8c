import type { JsonSchema } from "portolan/server";
import { array, boolean, count, object, string } from "portolan-server-kit";

// GitHub's answers as far as this server reads them, and what tools return of them: few members, so that a model can read
// many entries.

interface User {
  readonly login: string;
}

/** The name of an account; GitHub has none for accounts that were deleted. */
function nameOf(user: User | null | undefined): string {
  return user?.login ?? "ghost";
}

const url: JsonSchema = string("Address of the page for people");
const author: JsonSchema = string("Name of the account");
const number: JsonSchema = count("Number in the repository", { minimum: 1 });
const time = (what: string): JsonSchema => string(`${what}, ISO 8601`);
const sha: JsonSchema = string("Full hash of the commit");

export interface RawRepository {
  readonly full_name: string;
  readonly description: string | null;
  readonly default_branch: string;
  readonly private: boolean;
  readonly archived: boolean;
  readonly language: string | null;
  readonly stargazers_count: number;
  readonly open_issues_count: number;
  readonly pushed_at: string | null;
  readonly html_url: string;
}

export interface Repository {
  readonly repository: string;
  readonly description: string;
  readonly defaultBranch: string;
  readonly isPrivate: boolean;
  readonly isArchived: boolean;
  readonly language: string;
  readonly stars: number;
  readonly openIssues: number;
  readonly pushed: string;
  readonly url: string;
}

export const repositorySchema: JsonSchema = object({
  repository: string("Owner and name, such as octocat/hello"),
  description: string("What it is; empty if it does not say"),
  defaultBranch: string("Name of the default branch"),
  isPrivate: boolean("True if only some people can see it"),
  isArchived: boolean("True if nothing in it can be changed"),
  language: string("Main programming language; empty if unknown"),
  stars: count("People who marked it"),
  openIssues: count("Open issues and pull requests"),
  pushed: time("Last push"),
  url,
});

export function toRepository(raw: RawRepository): Repository {
  return {
    repository: raw.full_name,
    description: raw.description ?? "",
    defaultBranch: raw.default_branch,
    isPrivate: raw.private,
    isArchived: raw.archived,
    language: raw.language ?? "",
    stars: raw.stargazers_count,
    openIssues: raw.open_issues_count,
    pushed: raw.pushed_at ?? "",
    url: raw.html_url,
  };
}

export interface RawIssue {
  readonly number: number;
  readonly title: string;
  readonly state: string;
  readonly user: User | null;
  readonly labels: readonly (string | { readonly name?: string })[];
  readonly assignees?: readonly User[] | null;
  readonly comments: number;
  readonly body?: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly html_url: string;
  readonly pull_request?: object;
}

export interface Issue {
  readonly number: number;
  readonly title: string;
  readonly state: string;
  readonly isPullRequest: boolean;
  readonly author: string;
  readonly labels: readonly string[];
  readonly assignees: readonly string[];
  readonly comments: number;
  readonly created: string;
  readonly updated: string;
  readonly url: string;
}

const issueMembers = {
  number,
  title: string("Title"),
  state: string("open or closed"),
  isPullRequest: boolean("True for a pull request, which also is an issue"),
  author,
  labels: array(string("Name of a label"), "Labels"),
  assignees: array(author, "Who works on it"),
  comments: count("Number of comments"),
  created: time("When it was opened"),
  updated: time("Last change"),
  url,
};

export const issueSchema: JsonSchema = object(issueMembers);

export function toIssue(raw: RawIssue): Issue {
  return {
    number: raw.number,
    title: raw.title,
    state: raw.state,
    isPullRequest: raw.pull_request !== undefined,
    author: nameOf(raw.user),
    labels: raw.labels.map((label) => (typeof label === "string" ? label : (label.name ?? ""))),
    assignees: (raw.assignees ?? []).map(nameOf),
    comments: raw.comments,
    created: raw.created_at,
    updated: raw.updated_at,
    url: raw.html_url,
  };
}

export function issueLine({ number, title, state, author, labels, comments }: Issue): string {
  const tags = labels.length === 0 ? "" : ` [${labels.join(", ")}]`;
  return `#${number} ${state}: ${title}${tags} (${author}, ${comments} comments)`;
}

export interface RawComment {
  readonly user: User | null;
  readonly body?: string | null;
  readonly created_at: string;
  readonly html_url: string;
}

export interface Comment {
  readonly author: string;
  readonly created: string;
  readonly body: string;
  readonly url: string;
}

export const commentSchema: JsonSchema = object({
  author,
  created: time("When it was written"),
  body: string("Text, Markdown"),
  url,
});

export function toComment(raw: RawComment): Comment {
  return { author: nameOf(raw.user), created: raw.created_at, body: raw.body ?? "", url: raw.html_url };
}

export interface RawPull {
  readonly number: number;
  readonly title: string;
  readonly state: string;
  readonly draft?: boolean;
  readonly merged_at: string | null;
  readonly user: User | null;
  readonly body: string | null;
  readonly head: { readonly ref: string; readonly sha: string; readonly label?: string };
  readonly base: { readonly ref: string };
  readonly created_at: string;
  readonly updated_at: string;
  readonly html_url: string;
  /** Null while GitHub finds out. Absent in lists. */
  readonly mergeable?: boolean | null;
  readonly mergeable_state?: string;
}

export interface Pull {
  readonly number: number;
  readonly title: string;
  readonly state: string;
  readonly isDraft: boolean;
  readonly author: string;
  readonly head: string;
  readonly headSha: string;
  readonly base: string;
  readonly created: string;
  readonly updated: string;
  readonly url: string;
}

const pullMembers = {
  number,
  title: string("Title"),
  state: string("open, closed or merged"),
  isDraft: boolean("True if it is not ready for review"),
  author,
  head: string("Branch with the changes, as owner:branch"),
  headSha: string("Full hash of its newest commit"),
  base: string("Branch that the changes are for"),
  created: time("When it was opened"),
  updated: time("Last change"),
  url,
};

export const pullSchema: JsonSchema = object(pullMembers);

export function toPull(raw: RawPull): Pull {
  return {
    number: raw.number,
    title: raw.title,
    state: raw.merged_at === null ? raw.state : "merged",
    isDraft: raw.draft ?? false,
    author: nameOf(raw.user),
    head: raw.head.label ?? raw.head.ref,
    headSha: raw.head.sha,
    base: raw.base.ref,
    created: raw.created_at,
    updated: raw.updated_at,
    url: raw.html_url,
  };
}

export function pullLine({ number, title, state, isDraft, author, head, base }: Pull): string {
  return `#${number} ${state}${isDraft ? " draft" : ""}: ${title} (${author}, ${head} into ${base})`;
}

export interface RawReview {
  readonly user: User | null;
  readonly state: string;
  readonly body: string;
  readonly submitted_at?: string;
}

export interface Review {
  readonly author: string;
  readonly state: string;
  readonly body: string;
}

export const reviewSchema: JsonSchema = object({
  author,
  state: string("approved, changes_requested, commented, dismissed or pending"),
  body: string("Text, Markdown"),
});

export function toReview({ user, state, body }: RawReview): Review {
  return { author: nameOf(user), state: state.toLowerCase(), body };
}

export interface RawCommit {
  readonly sha: string;
  readonly commit: {
    readonly message: string;
    readonly author: { readonly name?: string; readonly date?: string } | null;
  };
  readonly html_url: string;
}

export interface Commit {
  readonly sha: string;
  readonly author: string;
  readonly date: string;
  readonly message: string;
  readonly url: string;
}

export const commitSchema: JsonSchema = object({
  sha,
  author: string("Name of the author"),
  date: time("When it was written"),
  message: string("Message"),
  url,
});

export function toCommit({ sha, commit, html_url }: RawCommit): Commit {
  const { author, message } = commit;
  return { sha, author: author?.name ?? "", date: author?.date ?? "", message, url: html_url };
}

export function commitLine({ sha, date, author, message }: Commit): string {
  return `${sha.slice(0, 10)} ${date.slice(0, 10)} ${author}: ${message.split("\n", 1)[0]}`;
}

export interface RawFile {
  readonly filename: string;
  readonly status: string;
  readonly additions: number;
  readonly deletions: number;
  readonly patch?: string;
}

export interface ChangedFile {
  readonly path: string;
  readonly status: string;
  readonly additions: number;
  readonly deletions: number;
}

export const fileSchema: JsonSchema = object({
  path: string("Path in the repository"),
  status: string("added, removed, modified, renamed, copied, changed or unchanged"),
  additions: count("Lines added"),
  deletions: count("Lines removed"),
});

export function toFile({ filename, status, additions, deletions }: RawFile): ChangedFile {
  return { path: filename, status, additions, deletions };
}

/** Returns the changes of files as a text. */
export function patchOf(files: readonly RawFile[]): string {
  return files
    .map(({ filename, status, patch }) => `--- ${filename} (${status})\n${patch ?? "(no text, or too large)"}`)
    .join("\n");
}
