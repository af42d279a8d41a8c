// What the fake of GitHub remembers, and what happens in it: commits, branches, issues, pull requests. No HTTP here.
import { createHash } from "node:crypto";

export interface Account {
  readonly id: number;
  readonly login: string;
}

export interface CommitState {
  readonly sha: string;
  readonly message: string;
  readonly author: Account;
  readonly date: string;
  readonly parents: readonly string[];
  /** The content of each file, by path. */
  readonly files: ReadonlyMap<string, Buffer>;
}

export interface NoteState {
  readonly id: number;
  readonly author: Account;
  readonly body: string;
  readonly at: string;
}

export interface ReviewState extends NoteState {
  readonly state: "APPROVED" | "CHANGES_REQUESTED" | "COMMENTED";
  readonly commit: string;
}

export interface IssueState {
  readonly id: number;
  readonly number: number;
  readonly author: Account;
  title: string;
  body: string | null;
  state: "open" | "closed";
  reason: string | null;
  labels: string[];
  assignees: Account[];
  readonly comments: NoteState[];
  readonly created: string;
  updated: string;
  closed: string | null;
  /** Present for a pull request. */
  readonly pull?: PullState;
}

export interface PullState {
  readonly head: string;
  readonly base: string;
  readonly draft: boolean;
  readonly reviews: ReviewState[];
  merged: { readonly sha: string; readonly by: Account; readonly at: string } | null;
}

export interface ReleaseState {
  readonly id: number;
  readonly tag: string;
  readonly name: string;
  readonly body: string;
  readonly author: Account;
  readonly at: string;
}

/** A request that GitHub would refuse, with its status and the body's message. */
export class Refusal extends Error {
  readonly status: number;
  readonly errors: readonly object[] | undefined;

  constructor(status: number, message: string, errors?: readonly object[]) {
    super(message);
    this.status = status;
    this.errors = errors;
  }
}

export class RepositoryState {
  readonly id: number;
  readonly owner: Account;
  readonly name: string;
  readonly isPrivate: boolean;
  readonly defaultBranch = "main";
  readonly commits: Map<string, CommitState> = new Map();
  readonly branches: Map<string, string> = new Map();
  readonly issues: IssueState[] = [];
  readonly releases: ReleaseState[] = [];
  readonly created: string;
  readonly #nextId: () => number;
  #seconds = 0;

  constructor(id: number, owner: Account, name: string, isPrivate: boolean, nextId: () => number) {
    this.id = id;
    this.owner = owner;
    this.name = name;
    this.isPrivate = isPrivate;
    this.#nextId = nextId;
    this.created = this.now();
  }

  get fullName(): string {
    return `${this.owner.login}/${this.name}`;
  }

  /** The clock of the fake: each look is a second later. */
  now(): string {
    this.#seconds += 1;
    return new Date(Date.UTC(2026, 0, 1) + this.#seconds * 1000).toISOString().replace(".000Z", "Z");
  }

  /** Returns the commit of a branch, a full hash or HEAD. */
  resolve(ref: string): CommitState | undefined {
    const sha = this.branches.get(ref === "HEAD" ? this.defaultBranch : ref.replace(/^refs\/heads\//, "")) ?? ref;
    return this.commits.get(sha);
  }

  need(ref: string): CommitState {
    const found = this.resolve(ref);
    if (!found) throw new Refusal(422, `No commit found for SHA: ${ref}`);
    return found;
  }

  /** Commits files to a branch; `undefined` removes a file. */
  commit(
    branch: string,
    author: Account,
    message: string,
    changes: { readonly [path: string]: string | Buffer | undefined },
  ) {
    const parent = this.branches.get(branch);
    const files = new Map(parent === undefined ? [] : this.commits.get(parent)?.files);
    for (const [path, content] of Object.entries(changes)) {
      if (content === undefined) files.delete(path);
      else files.set(path, Buffer.from(content as string));
    }
    return this.#add(branch, { author, message, parents: parent === undefined ? [] : [parent], files });
  }

  #add(branch: string, content: Omit<CommitState, "sha" | "date">): CommitState {
    const date = this.now();
    const names = [...content.files].map(([path, bytes]) => `${path} ${blobSha(bytes)}`);
    const sha = sha1([content.message, content.author.login, date, ...content.parents, ...names].join("\n"));
    const commit = { ...content, sha, date };
    this.commits.set(sha, commit);
    this.branches.set(branch, sha);
    return commit;
  }

  /** Returns the commits from one on, newest first. */
  history(from: CommitState): CommitState[] {
    const seen = new Map<string, CommitState>();
    const open = [from];
    for (let commit = open.pop(); commit; commit = open.pop()) {
      if (seen.has(commit.sha)) continue;
      seen.set(commit.sha, commit);
      open.push(...commit.parents.flatMap((sha) => this.commits.get(sha) ?? []));
    }
    return [...seen.values()].sort((a, b) => b.date.localeCompare(a.date));
  }

  mergeBase(a: CommitState, b: CommitState): CommitState {
    const known = new Set(this.history(a).map(({ sha }) => sha));
    const found = this.history(b).find(({ sha }) => known.has(sha));
    if (!found) throw new Refusal(404, "Not Found");
    return found;
  }

  openIssue(
    author: Account,
    content: { title: string; body?: string | null; labels?: string[]; assignees?: Account[]; pull?: PullState },
  ) {
    const at = this.now();
    const issue: IssueState = {
      id: this.#nextId(),
      number: this.issues.length + 1,
      author,
      title: content.title,
      body: content.body ?? null,
      state: "open",
      reason: null,
      labels: content.labels ?? [],
      assignees: content.assignees ?? [],
      comments: [],
      created: at,
      updated: at,
      closed: null,
      ...(content.pull && { pull: content.pull }),
    };
    this.issues.push(issue);
    return issue;
  }

  comment(issue: IssueState, author: Account, body: string): NoteState {
    const note = { id: this.#nextId(), author, body, at: this.now() };
    issue.comments.push(note);
    issue.updated = note.at;
    return note;
  }

  openPull(author: Account, content: { title: string; body?: string; head: string; base: string; draft?: boolean }) {
    const { title, body = null, head, base, draft = false } = content;
    if (!this.branches.has(head)) throw invalidField("PullRequest", "head");
    if (!this.branches.has(base)) throw invalidField("PullRequest", "base");
    if (this.branches.get(head) === this.branches.get(base)) {
      throw new Refusal(422, "Validation Failed", [
        { resource: "PullRequest", code: "custom", message: `No commits between ${base} and ${head}` },
      ]);
    }
    return this.openIssue(author, { title, body, pull: { head, base, draft, reviews: [], merged: null } });
  }

  review(issue: IssueState, author: Account, state: ReviewState["state"], body: string, commit: string): ReviewState {
    const review = { id: this.#nextId(), author, body, state, commit, at: this.now() };
    issue.pull?.reviews.push(review);
    return review;
  }

  release(author: Account, tag: string, body: string): void {
    this.releases.unshift({ id: this.#nextId(), tag, name: `Release ${tag}`, body, author, at: this.now() });
  }

  /** Returns the files that both sides changed in different ways. */
  conflicts(pull: PullState): string[] {
    const [head, base] = [this.need(pull.head), this.need(pull.base)];
    const start = this.mergeBase(base, head).files;
    const paths = new Set([...head.files.keys(), ...base.files.keys(), ...start.keys()]);
    const isEqual = (a: Buffer | undefined, b: Buffer | undefined) => (a && b ? a.equals(b) : a === b);
    return [...paths].filter((path) => {
      const [was, ours, theirs] = [start.get(path), base.files.get(path), head.files.get(path)];
      return !isEqual(was, ours) && !isEqual(was, theirs) && !isEqual(ours, theirs);
    });
  }

  merge(issue: IssueState, by: Account, expected: string | undefined): string {
    const { pull } = issue;
    if (!pull) throw new Refusal(404, "Not Found");
    const head = this.need(pull.head);
    if (expected !== undefined && expected !== head.sha) {
      throw new Refusal(409, "Head branch was modified. Review and try the merge again.");
    }
    if (issue.state === "closed" || this.conflicts(pull).length > 0) {
      throw new Refusal(405, "Pull Request is not mergeable");
    }
    const base = this.need(pull.base);
    const start = this.mergeBase(base, head).files;
    const files = new Map(base.files);
    for (const [path, content] of head.files) if (!start.get(path)?.equals(content)) files.set(path, content);
    for (const path of start.keys()) if (!head.files.has(path)) files.delete(path);
    const message = `Merge pull request #${issue.number} from ${this.owner.login}/${pull.head}`;
    const { sha, date } = this.#add(pull.base, { author: by, message, parents: [base.sha, head.sha], files });
    pull.merged = { sha, by, at: date };
    issue.state = "closed";
    issue.closed = date;
    issue.updated = date;
    return sha;
  }
}

export function invalidField(resource: string, field: string, code = "invalid"): Refusal {
  return new Refusal(422, "Validation Failed", [{ resource, field, code }]);
}

export function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

/** The hash that git gives to a content. */
export function blobSha(bytes: Buffer): string {
  return createHash("sha1").update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
}

/** A file that differs between two commits. */
export interface Change {
  readonly path: string;
  readonly status: "added" | "removed" | "modified";
  readonly before: string[];
  readonly after: string[];
}

export function changesBetween(from: CommitState | undefined, to: CommitState): Change[] {
  const before = from?.files ?? new Map<string, Buffer>();
  const lines = (bytes: Buffer | undefined) => (bytes ? bytes.toString("utf8").replace(/\n$/, "").split("\n") : []);
  const paths = [...new Set([...before.keys(), ...to.files.keys()])].sort();
  return paths.flatMap((path): Change[] => {
    const [was, is] = [before.get(path), to.files.get(path)];
    if (was && is && was.equals(is)) return [];
    const status = was === undefined ? "added" : is === undefined ? "removed" : "modified";
    return [{ path, status, before: lines(was), after: lines(is) }];
  });
}

/** Returns a hunk that replaces the whole file: enough to read. */
export function patchOf({ before, after }: Change): string {
  const head = `@@ -${before.length === 0 ? 0 : 1},${before.length} +${after.length === 0 ? 0 : 1},${after.length} @@`;
  return [head, ...before.map((line) => `-${line}`), ...after.map((line) => `+${line}`)].join("\n");
}
