// How GitHub writes what the fake remembers. Every member that its OpenAPI description requires is there.
import {
  type Account,
  blobSha,
  type Change,
  type CommitState,
  type IssueState,
  type NoteState,
  type PullState,
  patchOf,
  type ReleaseState,
  type RepositoryState,
  type ReviewState,
  sha1,
} from "./state.ts";

/** Makes the JSON of a fake that is served at `api`. */
export class Shapes {
  readonly #api: string;
  readonly #site: string;

  constructor(origin: string) {
    this.#api = origin;
    this.#site = origin;
  }

  user({ id, login }: Account) {
    const url = `${this.#api}/users/${login}`;
    return {
      login,
      id,
      node_id: node("U", id),
      avatar_url: `${this.#site}/avatars/${id}`,
      gravatar_id: "",
      url,
      html_url: `${this.#site}/${login}`,
      ...urls(url, {
        followers_url: "/followers",
        following_url: "/following{/other_user}",
        gists_url: "/gists{/gist_id}",
        starred_url: "/starred{/owner}{/repo}",
        subscriptions_url: "/subscriptions",
        organizations_url: "/orgs",
        repos_url: "/repos",
        events_url: "/events{/privacy}",
        received_events_url: "/received_events",
      }),
      type: "User",
      user_view_type: "public",
      site_admin: false,
    };
  }

  /** The account of the token itself. */
  self(account: Account) {
    const none = {
      name: account.login,
      company: null,
      blog: "",
      location: null,
      email: null,
      hireable: null,
      bio: null,
    };
    return {
      ...this.user(account),
      ...none,
      twitter_username: null,
      public_repos: 2,
      public_gists: 0,
      followers: 0,
      following: 0,
      created_at: "2020-01-01T00:00:00Z",
      updated_at: "2026-01-01T00:00:00Z",
      private_gists: 0,
      total_private_repos: 1,
      owned_private_repos: 1,
      disk_usage: 10,
      collaborators: 0,
      two_factor_authentication: true,
      plan: { collaborators: 0, name: "free", space: 100, private_repos: 10 },
    };
  }

  /** A repository as it is inside other things. */
  minimalRepository(repository: RepositoryState) {
    const { id, owner, name, fullName } = repository;
    const url = `${this.#api}/repos/${fullName}`;
    return {
      id,
      node_id: node("R", id),
      name,
      full_name: fullName,
      owner: this.user(owner),
      private: repository.isPrivate,
      html_url: `${this.#site}/${fullName}`,
      description: `The repository ${name}`,
      fork: false,
      url,
      ...urls(url, {
        archive_url: "/{archive_format}{/ref}",
        assignees_url: "/assignees{/user}",
        blobs_url: "/git/blobs{/sha}",
        branches_url: "/branches{/branch}",
        collaborators_url: "/collaborators{/collaborator}",
        comments_url: "/comments{/number}",
        commits_url: "/commits{/sha}",
        compare_url: "/compare/{base}...{head}",
        contents_url: "/contents/{+path}",
        contributors_url: "/contributors",
        deployments_url: "/deployments",
        downloads_url: "/downloads",
        events_url: "/events",
        forks_url: "/forks",
        git_commits_url: "/git/commits{/sha}",
        git_refs_url: "/git/refs{/sha}",
        git_tags_url: "/git/tags{/sha}",
        hooks_url: "/hooks",
        issue_comment_url: "/issues/comments{/number}",
        issue_events_url: "/issues/events{/number}",
        issues_url: "/issues{/number}",
        keys_url: "/keys{/key_id}",
        labels_url: "/labels{/name}",
        languages_url: "/languages",
        merges_url: "/merges",
        milestones_url: "/milestones{/number}",
        notifications_url: "/notifications{?since,all,participating}",
        pulls_url: "/pulls{/number}",
        releases_url: "/releases{/id}",
        stargazers_url: "/stargazers",
        statuses_url: "/statuses/{sha}",
        subscribers_url: "/subscribers",
        subscription_url: "/subscription",
        tags_url: "/tags",
        teams_url: "/teams",
        trees_url: "/git/trees{/sha}",
      }),
    };
  }

  repository(repository: RepositoryState) {
    const { fullName, defaultBranch, issues, created } = repository;
    const open = issues.filter(({ state }) => state === "open").length;
    const newest = repository.resolve("HEAD");
    return {
      ...this.minimalRepository(repository),
      clone_url: `${this.#site}/${fullName}.git`,
      git_url: `git://127.0.0.1/${fullName}.git`,
      ssh_url: `git@127.0.0.1:${fullName}.git`,
      svn_url: `${this.#site}/${fullName}`,
      mirror_url: null,
      homepage: null,
      language: "TypeScript",
      forks: 0,
      forks_count: 0,
      stargazers_count: 3,
      watchers: 3,
      watchers_count: 3,
      size: 12,
      default_branch: defaultBranch,
      open_issues: open,
      open_issues_count: open,
      is_template: false,
      topics: [],
      has_issues: true,
      has_projects: false,
      has_wiki: false,
      has_pages: false,
      has_downloads: true,
      has_discussions: false,
      archived: false,
      disabled: false,
      visibility: repository.isPrivate ? "private" : "public",
      license: null,
      pushed_at: newest?.date ?? created,
      created_at: created,
      updated_at: newest?.date ?? created,
      permissions: { admin: true, maintain: true, push: true, triage: true, pull: true },
      network_count: 0,
      subscribers_count: 1,
    };
  }

  issue(repository: RepositoryState, issue: IssueState) {
    const { id, number, author, title, body, state, labels, assignees, comments, created, updated, closed } = issue;
    const url = `${this.#api}/repos/${repository.fullName}/issues/${number}`;
    const kind = issue.pull ? "pull" : "issues";
    const html = `${this.#site}/${repository.fullName}/${kind}/${number}`;
    const pullUrl = `${this.#api}/repos/${repository.fullName}/pulls/${number}`;
    const { pull } = issue;
    const merged_at = pull?.merged?.at ?? null;
    const diff = { diff_url: `${html}.diff`, patch_url: `${html}.patch` };
    return {
      url,
      repository_url: `${this.#api}/repos/${repository.fullName}`,
      ...urls(url, { labels_url: "/labels{/name}", comments_url: "/comments", events_url: "/events" }),
      html_url: html,
      id,
      node_id: node("I", id),
      number,
      title,
      user: this.user(author),
      labels: labels.map((name) => this.#label(repository, name)),
      state,
      locked: false,
      assignee: assignees[0] ? this.user(assignees[0]) : null,
      assignees: assignees.map((one) => this.user(one)),
      milestone: null,
      comments: comments.length,
      created_at: created,
      updated_at: updated,
      closed_at: closed,
      author_association: "OWNER",
      active_lock_reason: null,
      body,
      closed_by: null,
      state_reason: issue.reason,
      timeline_url: `${url}/timeline`,
      ...(pull && { pull_request: { url: pullUrl, html_url: html, ...diff, merged_at } }),
    };
  }

  #label(repository: RepositoryState, name: string) {
    const id = Number.parseInt(sha1(name).slice(0, 8), 16);
    const url = `${this.#api}/repos/${repository.fullName}/labels/${encodeURIComponent(name)}`;
    return { id, node_id: node("L", id), url, name, color: "ededed", default: false, description: null };
  }

  comment(repository: RepositoryState, issue: IssueState, { id, author, body, at }: NoteState) {
    const below = `/repos/${repository.fullName}/issues`;
    return {
      url: `${this.#api}${below}/comments/${id}`,
      html_url: `${this.#site}/${repository.fullName}/issues/${issue.number}#issuecomment-${id}`,
      issue_url: `${this.#api}${below}/${issue.number}`,
      id,
      node_id: node("IC", id),
      user: this.user(author),
      created_at: at,
      updated_at: at,
      author_association: "OWNER",
      body,
    };
  }

  /** A pull request as it is in lists. */
  pullInList(repository: RepositoryState, issue: IssueState, pull: PullState) {
    const url = `${this.#api}/repos/${repository.fullName}/pulls/${issue.number}`;
    const issueUrl = `${this.#api}/repos/${repository.fullName}/issues/${issue.number}`;
    const html = `${this.#site}/${repository.fullName}/pull/${issue.number}`;
    const head = this.#side(repository, pull.head);
    const link = (href: string) => ({ href });
    const statuses = `${this.#api}/repos/${repository.fullName}/statuses/${head.sha}`;
    const { labels, assignee, assignees, author_association } = this.issue(repository, issue);
    return {
      url,
      id: issue.id,
      node_id: node("PR", issue.id),
      html_url: html,
      diff_url: `${html}.diff`,
      patch_url: `${html}.patch`,
      issue_url: issueUrl,
      commits_url: `${url}/commits`,
      review_comments_url: `${url}/comments`,
      review_comment_url: `${this.#api}/repos/${repository.fullName}/pulls/comments{/number}`,
      comments_url: `${issueUrl}/comments`,
      statuses_url: statuses,
      number: issue.number,
      state: issue.state,
      locked: false,
      title: issue.title,
      user: this.user(issue.author),
      body: issue.body,
      labels,
      milestone: null,
      created_at: issue.created,
      updated_at: issue.updated,
      closed_at: issue.closed,
      merged_at: pull.merged?.at ?? null,
      merge_commit_sha: pull.merged?.sha ?? null,
      assignee,
      assignees,
      requested_reviewers: [],
      requested_teams: [],
      head,
      base: this.#side(repository, pull.base),
      _links: {
        self: link(url),
        html: link(html),
        issue: link(issueUrl),
        comments: link(`${issueUrl}/comments`),
        review_comments: link(`${url}/comments`),
        review_comment: link(`${this.#api}/repos/${repository.fullName}/pulls/comments{/number}`),
        commits: link(`${url}/commits`),
        statuses: link(statuses),
      },
      author_association,
      auto_merge: null,
      draft: pull.draft,
    };
  }

  pull(repository: RepositoryState, issue: IssueState, pull: PullState) {
    const { base } = pull;
    const [from, to] = [repository.need(base), repository.need(pull.head)];
    const start = repository.mergeBase(from, to);
    const mergeable = pull.merged ? null : repository.conflicts(pull).length === 0;
    const isAhead = !repository.history(from).some(({ sha }) => sha === to.sha);
    return {
      ...this.pullInList(repository, issue, pull),
      merged: pull.merged !== null,
      mergeable,
      rebaseable: mergeable,
      mergeable_state: mergeable === null ? "unknown" : mergeable ? "clean" : "dirty",
      merged_by: pull.merged ? this.user(pull.merged.by) : null,
      comments: issue.comments.length,
      review_comments: 0,
      maintainer_can_modify: false,
      commits: isAhead ? repository.history(to).findIndex(({ sha }) => sha === start.sha) : 0,
      additions: 1,
      deletions: 0,
      changed_files: 1,
    };
  }

  #side(repository: RepositoryState, ref: string) {
    const { owner } = repository;
    const { sha } = repository.need(ref);
    const whole = this.repository(repository);
    return { label: `${owner.login}:${ref}`, ref, sha, user: this.user(owner), repo: whole };
  }

  review(repository: RepositoryState, issue: IssueState, { id, author, body, state, commit, at }: ReviewState) {
    const pull = `${this.#api}/repos/${repository.fullName}/pulls/${issue.number}`;
    const html = `${this.#site}/${repository.fullName}/pull/${issue.number}#pullrequestreview-${id}`;
    return {
      id,
      node_id: node("PRR", id),
      user: this.user(author),
      body,
      state,
      html_url: html,
      pull_request_url: pull,
      _links: { html: { href: html }, pull_request: { href: pull } },
      submitted_at: at,
      commit_id: commit,
      author_association: "OWNER",
    };
  }

  file(repository: RepositoryState, commit: CommitState, change: Change) {
    const { path, status, before, after } = change;
    const encoded = path.split("/").map(encodeURIComponent).join("/");
    return {
      sha: blobSha(commit.files.get(path) ?? Buffer.from("")),
      filename: path,
      status,
      additions: after.length,
      deletions: before.length,
      changes: after.length + before.length,
      blob_url: `${this.#site}/${repository.fullName}/blob/${commit.sha}/${encoded}`,
      raw_url: `${this.#site}/${repository.fullName}/raw/${commit.sha}/${encoded}`,
      contents_url: `${this.#api}/repos/${repository.fullName}/contents/${encoded}?ref=${commit.sha}`,
      patch: patchOf(change),
    };
  }

  commit(repository: RepositoryState, commit: CommitState) {
    const { sha, message, author, date, parents } = commit;
    const url = `${this.#api}/repos/${repository.fullName}/commits/${sha}`;
    const gitUrl = `${this.#api}/repos/${repository.fullName}/git`;
    const html = (one: string) => `${this.#site}/${repository.fullName}/commit/${one}`;
    const person = { name: author.login, email: `${author.login}@example.com`, date };
    const tree = sha1(`tree ${sha}`);
    return {
      sha,
      node_id: node("C", sha),
      commit: {
        author: person,
        committer: person,
        message,
        tree: { sha: tree, url: `${gitUrl}/trees/${tree}` },
        url: `${gitUrl}/commits/${sha}`,
        comment_count: 0,
        verification: { verified: false, reason: "unsigned", signature: null, payload: null, verified_at: null },
      },
      url,
      html_url: html(sha),
      comments_url: `${url}/comments`,
      author: this.user(author),
      committer: this.user(author),
      parents: parents.map((one) => ({
        sha: one,
        url: `${this.#api}/repos/${repository.fullName}/commits/${one}`,
        html_url: html(one),
      })),
    };
  }

  /** A file or folder without its content. */
  entry(repository: RepositoryState, ref: string, path: string, type: "file" | "dir", bytes: Buffer) {
    const encoded = path.split("/").map(encodeURIComponent).join("/");
    const url = `${this.#api}/repos/${repository.fullName}/contents/${encoded}?ref=${encodeURIComponent(ref)}`;
    const sha = type === "file" ? blobSha(bytes) : sha1(`tree ${path}`);
    const git = `${this.#api}/repos/${repository.fullName}/git/${type === "file" ? "blobs" : "trees"}/${sha}`;
    const html = `${this.#site}/${repository.fullName}/${type === "file" ? "blob" : "tree"}/${ref}/${encoded}`;
    return {
      name: path.slice(path.lastIndexOf("/") + 1),
      path,
      sha,
      size: type === "file" ? bytes.length : 0,
      url,
      html_url: html,
      git_url: git,
      download_url: type === "file" ? `${this.#site}/${repository.fullName}/raw/${ref}/${encoded}` : null,
      type,
      _links: { self: url, git, html },
    };
  }

  release(repository: RepositoryState, { id, tag, name, body, author, at }: ReleaseState) {
    const url = `${this.#api}/repos/${repository.fullName}/releases/${id}`;
    const below = `${this.#api}/repos/${repository.fullName}`;
    return {
      url,
      assets_url: `${url}/assets`,
      upload_url: `${url}/assets{?name,label}`,
      html_url: `${this.#site}/${repository.fullName}/releases/tag/${tag}`,
      id,
      author: this.user(author),
      node_id: node("RE", id),
      tag_name: tag,
      target_commitish: repository.defaultBranch,
      name,
      draft: false,
      prerelease: false,
      created_at: at,
      published_at: at,
      assets: [],
      tarball_url: `${below}/tarball/${tag}`,
      zipball_url: `${below}/zipball/${tag}`,
      body,
    };
  }
}

function urls<K extends string>(base: string, below: { readonly [N in K]: string }): { [N in K]: string } {
  const made = Object.entries<string>(below).map(([name, path]) => [name, base + path]);
  return Object.fromEntries(made) as { [N in K]: string };
}

function node(kind: string, id: number | string): string {
  return `${kind}_${Buffer.from(String(id)).toString("base64url")}`;
}
