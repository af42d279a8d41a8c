// The operations of the fake, as GitHub's REST API has them. A route returns JSON, a text, or throws a `Refusal`.
import type { Shapes } from "./shapes.ts";
import {
  type Account,
  blobSha,
  type CommitState,
  changesBetween,
  type IssueState,
  invalidField,
  patchOf,
  Refusal,
  type RepositoryState,
} from "./state.ts";

/** A request to an operation. */
export interface Asked {
  readonly account: Account;
  readonly query: URLSearchParams;
  /** The media type after `application/vnd.github`, such as `.diff`. */
  readonly media: string;
  // biome-ignore lint/suspicious/noExplicitAny: any body can be sent
  readonly body: any;
}

/** What an operation returns: JSON with a status, a list that is sent in pages, or a text of another media type. */
export type Reply =
  | { readonly status?: number; readonly json: object }
  | { readonly list: readonly object[]; readonly wrap?: (items: readonly object[]) => object }
  | { readonly text: string | Buffer; readonly type: string };

export interface World {
  readonly shapes: Shapes;
  readonly accounts: Map<string, Account>;
  readonly repositories: Map<string, RepositoryState>;
  /** Returns whether an account sees a repository. */
  sees(account: Account, repository: RepositoryState): boolean;
}

type Operation = (world: World, asked: Asked, parts: readonly string[]) => Reply;
type InRepository = (world: World, repository: RepositoryState, asked: Asked, parts: readonly string[]) => Reply;

const repositoryPath = "/repos/([^/]+)/([^/]+)";

/** Each operation: its method, its path as a pattern, and its path in GitHub's description. */
export const operations: readonly {
  readonly method: string;
  readonly pattern: RegExp;
  readonly described: string;
  readonly run: Operation;
}[] = [
  operation("GET", "/user", "/user", (world, { account }) => ({ json: world.shapes.self(account) })),
  operation("GET", "/user/repos", "/user/repos", (world, { account }) => ({
    list: seen(world, account).map((one) => world.shapes.repository(one)),
  })),
  operation("GET", "/search/code", "/search/code", searchCode),
  operation("GET", "/search/issues", "/search/issues", searchIssues),
  operation("GET", "/search/repositories", "/search/repositories", searchRepositories),
  below("GET", "", "", (world, repository) => ({ json: world.shapes.repository(repository) })),
  below("GET", "/branches", "/branches", (_world, { branches }) => ({
    list: [...branches].map(([name, sha]) => ({
      name,
      commit: { sha, url: `http://127.0.0.1/${sha}` },
      protected: false,
    })),
  })),
  below("GET", "/contents(?:/(.*))?", "/contents/{path}", readContents),
  below("PUT", "/contents/(.+)", "/contents/{path}", writeContents),
  below("GET", "/commits", "/commits", listCommits),
  below("GET", "/commits/([^/]+)", "/commits/{ref}", (world, repository, _asked, [ref = ""]) => {
    const commit = repository.need(ref);
    const files = filesOf(world, repository, parentOf(repository, commit), commit);
    const [additions, deletions] = [sum(files, "additions"), sum(files, "deletions")];
    const stats = { additions, deletions, total: additions + deletions };
    return { json: { ...world.shapes.commit(repository, commit), stats, files } };
  }),
  below("GET", "/compare/(.+)\\.\\.\\.(.+)", "/compare/{basehead}", compare),
  below("POST", "/git/refs", "/git/refs", createRef),
  below("GET", "/issues", "/issues", listIssues),
  below("POST", "/issues", "/issues", (world, repository, { account, body }) => {
    const { title, body: text, labels, assignees } = body;
    if (typeof title !== "string" || title === "") throw invalidField("Issue", "title", "missing_field");
    const people = (assignees ?? []).map((login: string) => accountOf(world, login));
    const issue = repository.openIssue(account, { title, body: text, labels, assignees: people });
    return { status: 201, json: { ...world.shapes.issue(repository, issue) } };
  }),
  below("GET", "/issues/(\\d+)", "/issues/{issue_number}", (world, repository, _asked, [number = ""]) => ({
    json: world.shapes.issue(repository, issueOf(repository, number)),
  })),
  below("PATCH", "/issues/(\\d+)", "/issues/{issue_number}", updateIssue),
  below(
    "GET",
    "/issues/(\\d+)/comments",
    "/issues/{issue_number}/comments",
    (world, repository, _asked, [number = ""]) => {
      const issue = issueOf(repository, number);
      return { list: issue.comments.map((one) => world.shapes.comment(repository, issue, one)) };
    },
  ),
  below(
    "POST",
    "/issues/(\\d+)/comments",
    "/issues/{issue_number}/comments",
    (world, repository, asked, [number = ""]) => {
      const issue = issueOf(repository, number);
      const note = repository.comment(issue, asked.account, asked.body.body);
      return { status: 201, json: world.shapes.comment(repository, issue, note) };
    },
  ),
  below("GET", "/pulls", "/pulls", listPulls),
  below("POST", "/pulls", "/pulls", (world, repository, { account, body }) => {
    const issue = repository.openPull(account, { ...body, head: body.head.replace(`${repository.owner.login}:`, "") });
    return { status: 201, json: pullJson(world, repository, issue) };
  }),
  below("GET", "/pulls/(\\d+)", "/pulls/{pull_number}", readPull),
  below("GET", "/pulls/(\\d+)/files", "/pulls/{pull_number}/files", (world, repository, _asked, [number = ""]) => {
    const { start, head } = endsOf(repository, issueOf(repository, number));
    return { list: filesOf(world, repository, start, head) };
  }),
  below("GET", "/pulls/(\\d+)/reviews", "/pulls/{pull_number}/reviews", (world, repository, _asked, [number = ""]) => {
    const issue = issueOf(repository, number);
    return { list: (issue.pull?.reviews ?? []).map((one) => world.shapes.review(repository, issue, one)) };
  }),
  below("POST", "/pulls/(\\d+)/reviews", "/pulls/{pull_number}/reviews", (world, repository, asked, [number = ""]) => {
    const issue = issueOf(repository, number);
    const { event, body = "", commit_id } = asked.body;
    const state = ({ APPROVE: "APPROVED", REQUEST_CHANGES: "CHANGES_REQUESTED", COMMENT: "COMMENTED" } as const)[
      event as "APPROVE"
    ];
    if (state === undefined) throw invalidField("PullRequestReview", "event");
    const commit = commit_id ?? endsOf(repository, issue).head.sha;
    return {
      json: world.shapes.review(repository, issue, repository.review(issue, asked.account, state, body, commit)),
    };
  }),
  below(
    "PUT",
    "/pulls/(\\d+)/merge",
    "/pulls/{pull_number}/merge",
    (_world, repository, { account, body }, [number = ""]) => {
      const sha = repository.merge(issueOf(repository, number), account, body?.sha);
      return { json: { sha, merged: true, message: "Pull Request successfully merged" } };
    },
  ),
  below("GET", "/releases", "/releases", (world, repository) => ({
    list: repository.releases.map((one) => world.shapes.release(repository, one)),
  })),
];

function operation(method: string, pattern: string, described: string, run: Operation) {
  return { method, pattern: new RegExp(`^${pattern}$`), described, run };
}

/** An operation of one repository, which is "not found" for those who do not see it. */
function below(method: string, pattern: string, described: string, run: InRepository) {
  return operation(method, repositoryPath + pattern, `/repos/{owner}/{repo}${described}`, (world, asked, parts) => {
    const [owner = "", name = "", ...rest] = parts;
    const repository = world.repositories.get(`${owner}/${name}`.toLowerCase());
    if (!repository || !world.sees(asked.account, repository)) throw new Refusal(404, "Not Found");
    return run(world, repository, asked, rest);
  });
}

function seen(world: World, account: Account): RepositoryState[] {
  return [...new Set(world.repositories.values())].filter((one) => world.sees(account, one));
}

function accountOf({ accounts }: World, login: string): Account {
  const found = accounts.get(login);
  if (!found) throw invalidField("Issue", "assignees");
  return found;
}

function issueOf(repository: RepositoryState, number: string): IssueState {
  const found = repository.issues[Number(number) - 1];
  if (!found) throw new Refusal(404, "Not Found");
  return found;
}

function sum(
  files: readonly { readonly additions: number; readonly deletions: number }[],
  of: "additions" | "deletions",
) {
  return files.reduce((total, file) => total + file[of], 0);
}

function parentOf(repository: RepositoryState, { parents }: CommitState): CommitState | undefined {
  return parents[0] === undefined ? undefined : repository.resolve(parents[0]);
}

function filesOf(world: World, repository: RepositoryState, from: CommitState | undefined, to: CommitState) {
  return changesBetween(from, to).map((change) => world.shapes.file(repository, to, change));
}

function endsOf(repository: RepositoryState, { pull }: IssueState): { start: CommitState; head: CommitState } {
  if (!pull) throw new Refusal(404, "Not Found");
  const head = repository.need(pull.head);
  // After the merge, the changes are those that were merged.
  const base = pull.merged
    ? repository.need(repository.need(pull.merged.sha).parents[0] as string)
    : repository.need(pull.base);
  return { start: repository.mergeBase(base, head), head };
}

function pullJson(world: World, repository: RepositoryState, issue: IssueState): object {
  if (!issue.pull) throw new Refusal(404, "Not Found");
  return world.shapes.pull(repository, issue, issue.pull);
}

/** Splits a search into words and qualifiers. */
function parse(query: URLSearchParams): { words: string[]; qualifiers: Map<string, string> } {
  const text = query.get("q");
  if (!text) throw invalidField("Search", "q", "missing");
  const parts = text.split(/\s+/);
  const qualifiers = new Map(
    parts.flatMap((part) => (part.includes(":") ? [part.split(":", 2) as [string, string]] : [])),
  );
  return { words: parts.filter((part) => !part.includes(":")), qualifiers };
}

function wrapped(items: readonly object[]) {
  return (page: readonly object[]) => ({ total_count: items.length, incomplete_results: false, items: page });
}

function searchCode(world: World, { account, query, media }: Asked): Reply {
  const { words, qualifiers } = parse(query);
  const found = seen(world, account)
    .filter(({ fullName }) => [undefined, fullName].includes(qualifiers.get("repo")))
    .flatMap((repository) =>
      [...(repository.resolve("HEAD")?.files ?? [])].flatMap(([path, bytes]) => {
        const text = bytes.toString("utf8");
        const places = words.map((word) => text.indexOf(word));
        if (places.some((place) => place < 0)) return [];
        const {
          size: _size,
          type: _type,
          download_url: _download,
          _links,
          sha,
          ...entry
        } = world.shapes.entry(...([repository, "HEAD", path, "file", bytes] as const));
        const text_matches = words.map((word, index) => {
          const from = Math.max(0, (places[index] ?? 0) - 20);
          const fragment = text.slice(from, from + 60);
          const start = (places[index] ?? 0) - from;
          const matches = [{ text: word, indices: [start, start + word.length] }];
          return { object_url: entry.url, object_type: "FileContent", property: "content", fragment, matches };
        });
        const matching = media.startsWith(".text-match") ? { text_matches } : {};
        return [{ ...entry, sha, repository: world.shapes.minimalRepository(repository), score: 1, ...matching }];
      }),
    );
  return { list: found, wrap: wrapped(found) };
}

function searchIssues(world: World, { account, query }: Asked): Reply {
  const { words, qualifiers } = parse(query);
  const kind = query.get("q")?.includes("is:pr") ? "pr" : query.get("q")?.includes("is:issue") ? "issue" : undefined;
  const found = seen(world, account)
    .filter(({ fullName }) => [undefined, fullName].includes(qualifiers.get("repo")))
    .flatMap((repository) =>
      repository.issues
        .filter((issue) => kind === undefined || (kind === "pr") === (issue.pull !== undefined))
        .filter((issue) => words.every((word) => `${issue.title} ${issue.body ?? ""}`.includes(word)))
        .map((issue) => ({ ...world.shapes.issue(repository, issue), score: 1 })),
    );
  return { list: found, wrap: (items) => ({ ...wrapped(found)(items), search_type: "lexical" }) };
}

function searchRepositories(world: World, { account, query }: Asked): Reply {
  const { words } = parse(query);
  const found = seen(world, account)
    .filter(({ name }) => words.every((word) => name.includes(word)))
    .map((repository) => ({ ...world.shapes.repository(repository), score: 1 }));
  return { list: found, wrap: wrapped(found) };
}

function readContents(
  world: World,
  repository: RepositoryState,
  { query, media }: Asked,
  [path = ""]: readonly string[],
): Reply {
  const ref = query.get("ref") ?? repository.defaultBranch;
  const commit = repository.resolve(ref);
  if (!commit) throw new Refusal(404, `No commit found for the ref ${ref}`);
  const bytes = commit.files.get(path);
  if (bytes) {
    if (media.startsWith(".raw")) return { text: bytes, type: "application/vnd.github.raw+json; charset=utf-8" };
    const entry = world.shapes.entry(repository, ref, path, "file", bytes);
    // GitHub sends the content of larger files only as it is.
    const isLarge = bytes.length > 1024 * 1024;
    const content = isLarge ? "" : bytes.toString("base64").replace(/(.{60})/g, "$1\n");
    return { json: { ...entry, content, encoding: isLarge ? "none" : "base64" } };
  }
  const prefix = path === "" ? "" : `${path}/`;
  const names = new Map<string, "file" | "dir">();
  for (const one of commit.files.keys()) {
    if (!one.startsWith(prefix)) continue;
    const [name = "", more] = one.slice(prefix.length).split("/", 2);
    names.set(prefix + name, more === undefined ? "file" : "dir");
  }
  if (names.size === 0) throw new Refusal(404, "Not Found");
  const entries = [...names]
    .sort()
    .map(([name, type]) => world.shapes.entry(repository, ref, name, type, commit.files.get(name) ?? Buffer.from("")));
  if (!media.startsWith(".object")) return { json: entries };
  return { json: { ...world.shapes.entry(repository, ref, path, "dir", Buffer.from("")), entries } };
}

function writeContents(
  world: World,
  repository: RepositoryState,
  { account, body }: Asked,
  [path = ""]: readonly string[],
): Reply {
  const { message, content, branch = repository.defaultBranch, sha } = body;
  const before = repository.need(branch).files.get(path);
  if (!repository.branches.has(branch)) throw new Refusal(404, `Branch ${branch} not found`);
  if (before && sha === undefined) throw new Refusal(422, `Invalid request.\n\n"sha" wasn't supplied.`);
  if (before && blobSha(before) !== sha) throw new Refusal(409, `${path} does not match ${sha}`);
  const bytes = Buffer.from(content, "base64");
  const commit = repository.commit(branch, account, message, { [path]: bytes });
  const { commit: git, node_id, html_url } = world.shapes.commit(repository, commit) as ReturnType<Shapes["commit"]>;
  const { author, committer, tree, verification, url } = git;
  const parents = commit.parents.map((one) => ({ sha: one, url, html_url }));
  const written = { sha: commit.sha, node_id, url, html_url, author, committer, message, tree, parents, verification };
  const json = { content: world.shapes.entry(repository, branch, path, "file", bytes), commit: written };
  return before ? { json } : { status: 201, json };
}

function listCommits(world: World, repository: RepositoryState, { query }: Asked): Reply {
  const path = query.get("path");
  const [since, until] = [query.get("since") ?? "", query.get("until") ?? "9"];
  const found = repository
    .history(repository.need(query.get("sha") ?? "HEAD"))
    .filter(({ date, author }) => date >= since && date <= until && [null, author.login].includes(query.get("author")))
    .filter((commit) => {
      const changes = path === null ? [] : changesBetween(parentOf(repository, commit), commit);
      return path === null || changes.some((change) => change.path === path || change.path.startsWith(`${path}/`));
    });
  return { list: found.map((commit) => world.shapes.commit(repository, commit)) };
}

function compare(
  world: World,
  repository: RepositoryState,
  _asked: Asked,
  [base = "", head = ""]: readonly string[],
): Reply {
  const [from, to] = [repository.need(base), repository.need(head.replace(`${repository.owner.login}:`, ""))];
  const start = repository.mergeBase(from, to);
  const until = (commit: CommitState) => {
    const known = new Set(repository.history(start).map(({ sha }) => sha));
    return repository.history(commit).filter(({ sha }) => !known.has(sha));
  };
  const [ahead, behind] = [until(to), until(from)];
  const direction = {
    "true,true": "diverged",
    "true,false": "ahead",
    "false,true": "behind",
    "false,false": "identical",
  };
  const status = direction[`${ahead.length > 0},${behind.length > 0}`];
  const url = `http://127.0.0.1/repos/${repository.fullName}/compare/${base}...${head}`;
  return {
    json: {
      url,
      html_url: url,
      permalink_url: url,
      diff_url: `${url}.diff`,
      patch_url: `${url}.patch`,
      base_commit: world.shapes.commit(repository, from),
      merge_base_commit: world.shapes.commit(repository, start),
      status,
      ahead_by: ahead.length,
      behind_by: behind.length,
      total_commits: ahead.length,
      commits: ahead.reverse().map((commit) => world.shapes.commit(repository, commit)),
      files: filesOf(world, repository, start, to),
    },
  };
}

function createRef(_world: World, repository: RepositoryState, { body }: Asked): Reply {
  const { ref, sha } = body;
  const [, name] = /^refs\/heads\/(.+)$/.exec(ref) ?? [];
  if (name === undefined) throw new Refusal(422, "Reference name must start with 'refs/heads/'");
  if (repository.branches.has(name)) throw new Refusal(422, "Reference already exists");
  if (!repository.commits.has(sha)) throw new Refusal(422, "Object does not exist");
  repository.branches.set(name, sha);
  const url = `http://127.0.0.1/repos/${repository.fullName}/git`;
  const object = { type: "commit", sha, url: `${url}/commits/${sha}` };
  return { status: 201, json: { ref, node_id: `REF_${name}`, url: `${url}/${ref}`, object } };
}

function inState(query: URLSearchParams): (issue: IssueState) => boolean {
  const state = query.get("state") ?? "open";
  return (issue) => state === "all" || issue.state === state;
}

function listIssues(world: World, repository: RepositoryState, { query }: Asked): Reply {
  const labels = (query.get("labels") ?? "").split(",").filter((one) => one !== "");
  const assignee = query.get("assignee");
  const found = repository.issues
    .filter(inState(query))
    .filter((issue) => labels.every((one) => issue.labels.includes(one)))
    .filter((issue) => assignee === null || issue.assignees.some(({ login }) => login === assignee))
    .reverse();
  return { list: found.map((issue) => world.shapes.issue(repository, issue)) };
}

function updateIssue(
  world: World,
  repository: RepositoryState,
  { body }: Asked,
  [number = ""]: readonly string[],
): Reply {
  const issue = issueOf(repository, number);
  const { title, body: text, state, state_reason, labels, assignees } = body;
  if (title !== undefined) issue.title = title;
  if (text !== undefined) issue.body = text;
  if (labels !== undefined) issue.labels = labels;
  if (assignees !== undefined) issue.assignees = assignees.map((login: string) => accountOf(world, login));
  issue.updated = repository.now();
  if (state !== undefined && state !== issue.state) {
    issue.state = state;
    issue.closed = state === "closed" ? issue.updated : null;
    issue.reason = state === "closed" ? (state_reason ?? "completed") : "reopened";
  }
  return { json: world.shapes.issue(repository, issue) };
}

function listPulls(world: World, repository: RepositoryState, { query }: Asked): Reply {
  const [head, base] = [query.get("head"), query.get("base")];
  const found = repository.issues
    .filter(inState(query))
    .flatMap((issue) => (issue.pull ? [{ issue, pull: issue.pull }] : []))
    .filter(({ pull }) => head === null || head === `${repository.owner.login}:${pull.head}`)
    .filter(({ pull }) => base === null || base === pull.base)
    .reverse();
  return { list: found.map(({ issue, pull }) => world.shapes.pullInList(repository, issue, pull)) };
}

function readPull(
  world: World,
  repository: RepositoryState,
  { media }: Asked,
  [number = ""]: readonly string[],
): Reply {
  const issue = issueOf(repository, number);
  if (!media.startsWith(".diff")) return { json: pullJson(world, repository, issue) };
  const { start, head } = endsOf(repository, issue);
  const parts = changesBetween(start, head).map(
    (change) =>
      `diff --git a/${change.path} b/${change.path}\n--- a/${change.path}\n+++ b/${change.path}\n${patchOf(change)}\n`,
  );
  return { text: parts.join(""), type: "application/vnd.github.diff; charset=utf-8" };
}
