import type { Completer, Server, TemplateValues } from "portolan/server";
import {
  type CallerContext,
  completer,
  followed,
  type Known,
  path,
  reader,
  ServiceError,
} from "portolan-server-kit/service";
import type { Github } from "./github.ts";
import {
  patchOf,
  type RawComment,
  type RawCommit,
  type RawFile,
  type RawIssue,
  type RawPull,
  type RawReview,
  toComment,
  toCommit,
  toIssue,
  toPull,
  toReview,
} from "./shapes.ts";
import { arrayOf, pathOf } from "./tool-parts.ts";
import { isBinary, readFile } from "./tools/files.ts";
import { messageOf } from "./tools/issues.ts";

const wholePage = { per_page: 100 };

/** Adds files, commits, issues, pull requests and releases as resources. */
export function addResources(server: Server, github: Github): Server {
  const owner = completeOwner(github);
  const repo = completeRepository(github);
  const issues = completeNumber(github, "issues");
  const pulls = completeNumber(github, "pulls");
  const { access } = github;
  // GitHub answers "not modified" to an ETag, which does not count against its limits.
  const watched = (address: (values: TemplateValues) => string) =>
    followed(access, (values, ctx, known) => etagOf(github, address(values), ctx, known));
  return server
    .template("github://{owner}/{repo}/file/{ref}/{+path}", {
      name: "file",
      title: "A file",
      description: "A file as of a branch, a tag or a commit; HEAD is the default branch",
      complete: { owner, repo, ref: completeBranch(github), path: completePath(github) },
      read: reader(access, async (values, ctx, uri) => {
        const { bytes } = await readFile(
          github,
          { ...repositoryOf(values), path: text(values, "path"), ref: text(values, "ref") },
          ctx,
        );
        if (isBinary(bytes)) return { uri, mimeType: "application/octet-stream", blob: bytes.toString("base64") };
        return { uri, mimeType: "text/plain", text: bytes.toString("utf8") };
      }),
    })
    .template("github://{owner}/{repo}/commit/{sha}", {
      name: "commit",
      title: "A commit",
      description: "A commit with its changes; sha is a full hash, a branch or a tag",
      mimeType: "text/plain",
      complete: { owner, repo, sha: completeBranch(github) },
      read: reader(access, async (values, ctx) => {
        const address = `${pathOf(repositoryOf(values))}${path`/commits/${text(values, "sha")}`}`;
        const raw = await github.read<RawCommit & { readonly files?: readonly RawFile[] }>(address, ctx);
        const { sha, author, date, message } = toCommit(raw);
        return `commit ${sha}\nAuthor: ${author}\nDate: ${date}\n\n${message}\n\n${patchOf(raw.files ?? [])}`;
      }),
    })
    .template("github://{owner}/{repo}/issue/{number}", {
      name: "issue",
      title: "An issue",
      description: "An issue with its text and its first 100 comments, as JSON",
      mimeType: "application/json",
      complete: { owner, repo, number: issues },
      ...watched((values) => numbered(values, "issues")),
      read: reader(access, async (values, ctx) => {
        const address = numbered(values, "issues");
        const [issue, comments] = await Promise.allSettled([
          github.read<RawIssue>(address, ctx),
          github.read<RawComment[]>(`${address}/comments`, ctx, wholePage),
        ]);
        if (issue.status === "rejected") throw issue.reason;
        const rest =
          comments.status === "fulfilled"
            ? { comments: comments.value.map(toComment) }
            : { comments: [], note: `The comments are missing: ${messageOf(comments)}` };
        return JSON.stringify({ ...toIssue(issue.value), body: issue.value.body ?? "", ...rest }, null, 2);
      }),
    })
    .template("github://{owner}/{repo}/pull/{number}", {
      name: "pull",
      title: "A pull request",
      description: "A pull request with its text and its reviews, as JSON",
      mimeType: "application/json",
      complete: { owner, repo, number: pulls },
      ...watched((values) => numbered(values, "pulls")),
      read: reader(access, async (values, ctx) => {
        const address = numbered(values, "pulls");
        const [pull, reviews] = await Promise.allSettled([
          github.read<RawPull>(address, ctx),
          github.read<RawReview[]>(`${address}/reviews`, ctx, wholePage),
        ]);
        if (pull.status === "rejected") throw pull.reason;
        const rest =
          reviews.status === "fulfilled"
            ? { reviews: reviews.value.map(toReview) }
            : { reviews: [], note: `The reviews are missing: ${messageOf(reviews)}` };
        return JSON.stringify({ ...toPull(pull.value), body: pull.value.body ?? "", ...rest }, null, 2);
      }),
    })
    .template("github://{owner}/{repo}/pull/{number}/diff", {
      name: "diff",
      title: "Diff of a pull request",
      description: "All changes of a pull request",
      mimeType: "text/plain",
      complete: { owner, repo, number: pulls },
      read: reader(access, async (values, ctx) => (await github.readAs("diff", numbered(values, "pulls"), ctx)).text),
    })
    .template("github://{owner}/{repo}/releases", {
      name: "releases",
      title: "Releases",
      description: "The newest 100 releases of a repository with their notes, as JSON",
      mimeType: "application/json",
      complete: { owner, repo },
      ...watched((values) => `${pathOf(repositoryOf(values))}/releases`),
      read: reader(access, async (values, ctx) => {
        const releases = await github.read<RawRelease[]>(`${pathOf(repositoryOf(values))}/releases`, ctx, wholePage);
        return JSON.stringify(arrayOf<RawRelease>(releases).map(toRelease), null, 2);
      }),
    });
}

interface RawRelease {
  readonly tag_name: string;
  readonly name: string | null;
  readonly body?: string | null;
  readonly prerelease: boolean;
  readonly published_at: string | null;
  readonly html_url: string;
}

function toRelease({ tag_name, name, body, prerelease, published_at, html_url }: RawRelease) {
  return { tag: tag_name, name, notes: body ?? "", isPrerelease: prerelease, published: published_at, url: html_url };
}

function text(values: TemplateValues, name: string): string {
  return String(values[name]);
}

function repositoryOf(values: TemplateValues) {
  return { owner: text(values, "owner"), repo: text(values, "repo") };
}

function numbered(values: TemplateValues, kind: "issues" | "pulls"): string {
  return `${pathOf(repositoryOf(values))}/${kind}${path`/${text(values, "number")}`}`;
}

/** Returns the ETag of a resource; the known one if it has not changed, and "gone" if the resource is no longer there. */
async function etagOf(
  github: Github,
  address: string,
  ctx: CallerContext,
  known: string | undefined,
): Promise<string | undefined> {
  try {
    const { status, headers } = await github.readIfChanged(address, ctx, known === "gone" ? undefined : known);
    return status === 304 ? known : (headers.get("etag") ?? undefined);
  } catch (reason) {
    if (known !== undefined && reason instanceof ServiceError && reason.failure.kind === "not-found") return "gone";
    throw reason;
  }
}

/** Reads the names of the repositories that the account works on, as owner and name. */
async function repositoriesOf(github: Github, ctx: CallerContext): Promise<[string, string][]> {
  const found = await github.read<{ readonly full_name: string }[]>("/user/repos", ctx, {
    ...wholePage,
    sort: "pushed",
  });
  return arrayOf<{ readonly full_name: string }>(found).map(({ full_name }) => {
    const [owner = "", repo = ""] = full_name.split("/");
    return [owner, repo];
  });
}

export function completeOwner(github: Github): Completer<undefined> {
  return completer(async (_value, _known, ctx) => (await repositoriesOf(github, ctx)).map(([owner]) => owner));
}

export function completeRepository(github: Github): Completer<undefined> {
  return completer(async (_value, { owner: chosen }, ctx) => {
    const found = await repositoriesOf(github, ctx);
    return found.filter(([owner]) => chosen === undefined || owner === chosen).map(([, repo]) => repo);
  });
}

/** Returns the path of the repository that is chosen; undefined while it is not. */
function chosenPath({ owner, repo }: Known): string | undefined {
  return owner === undefined || repo === undefined ? undefined : pathOf({ owner, repo });
}

function completeBranch(github: Github): Completer<undefined> {
  return completer(async (_value, known, ctx) => {
    const address = chosenPath(known);
    if (address === undefined) return [];
    const branches = await github.read<{ readonly name: string }[]>(`${address}/branches`, ctx, wholePage);
    return ["HEAD", ...arrayOf<{ readonly name: string }>(branches).map(({ name }) => name)];
  });
}

/** Completes files and folders, one level at a time. */
function completePath(github: Github): Completer<undefined> {
  return completer(async (value, known, ctx) => {
    const address = chosenPath(known);
    if (address === undefined) return [];
    const folder = value.slice(0, value.lastIndexOf("/") + 1);
    const below = folder === "" ? "" : `/${folder.slice(0, -1).split("/").map(encodeURIComponent).join("/")}`;
    const query = { ref: known["ref"] };
    const entries = await github.read<{ readonly path: string; readonly type: string }[]>(
      `${address}/contents${below}`,
      ctx,
      query,
    );
    return arrayOf<{ readonly path: string; readonly type: string }>(entries).map(({ path, type }) =>
      type === "dir" ? `${path}/` : path,
    );
  });
}

export function completeNumber(github: Github, kind: "issues" | "pulls"): Completer<undefined> {
  return completer(async (_value, known, ctx) => {
    const address = chosenPath(known);
    if (address === undefined) return [];
    const found = await github.read<{ readonly number: number }[]>(`${address}/${kind}`, ctx, wholePage);
    return arrayOf<{ readonly number: number }>(found).map(({ number }) => String(number));
  });
}
