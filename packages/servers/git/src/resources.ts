import { isUtf8 } from "node:buffer";
import {
  type Context,
  type ReadReturn,
  type RequestContext,
  type Server,
  type TemplateDefinition,
  type TemplateValues,
  ToolError,
} from "portolan/server";
import { toolErrorsAsInvalidParams } from "portolan-server-kit";
import { completeFolder, completePath, completeRef } from "./completion.ts";
import { commitFormat, parseCommits, readCommit, titleOf } from "./objects/commits.ts";
import { objectAt, readBlob, readTree } from "./objects/trees.ts";
import type { Repositories } from "./repository/repositories.ts";
import type { Repository } from "./repository/repository.ts";
import { describe, showChange } from "./tools/show.ts";

type Read = TemplateDefinition<undefined>["read"];

const recentCommits = 20;
/** Content named by its hash never changes. */
const immutable = { ttlMs: 24 * 60 * 60 * 1000, cacheScope: "private" } as const;

/** Adds commits, folders and files as resources. */
export function addResources<T>(server: Server<undefined, T>, git: Repositories): Server<undefined, T> {
  const repo = [...git.names];
  const ref = completeRef(git);
  return server
    .template("git://{repo}/commit/{sha}", {
      name: "commit",
      title: "Commit",
      description: "A commit with its changes; sha is a full hash, a branch or a tag",
      mimeType: "text/plain",
      list: (ctx) => listCommits(git, ctx),
      complete: { repo, sha: ref },
      read: reader(git, "sha", async (repository, commit) => {
        const about = await readCommit(repository, commit);
        return describe(await showChange(repository, about, false));
      }),
    })
    .template("git://{repo}/tree/{ref}", {
      name: "tree",
      title: "Root folder of a commit",
      description: "The entries of the root folder of a commit",
      mimeType: "application/json",
      complete: { repo, ref },
      read: reader(git, "ref", readFolder),
    })
    .template("git://{repo}/tree/{ref}/{+path}", {
      name: "folder",
      title: "A folder of a commit",
      description: "The entries of a folder, with the URIs of its files and folders",
      mimeType: "application/json",
      complete: { repo, ref, path: completeFolder(git) },
      read: reader(git, "ref", readFolder),
    })
    .template("git://{repo}/blob/{ref}/{+path}", {
      name: "file",
      title: "A file of a commit",
      description: "A file as of a commit, branch or tag",
      complete: { repo, ref, path: completePath(git) },
      read: reader(git, "ref", readFile),
    });
}

/** Returns a reader for the commit in a URI variable; content named by a full hash may be cached. */
function reader(
  git: Repositories,
  variable: string,
  read: (repository: Repository, commit: string, values: TemplateValues, uri: string) => Promise<ReadReturn>,
): Read {
  const readAt = async (values: TemplateValues, ctx: Context, uri: string) => {
    const named = String(values[variable]);
    const repository = await git.open(String(values["repo"]), ctx.signal);
    const commit = await repository.commit(named);
    const found = await read(repository, commit, values, uri);
    return found !== undefined && named === commit ? cached(uri, found) : found;
  };
  return (values, ctx, uri) => toolErrorsAsInvalidParams(readAt(values, ctx, uri));
}

function cached(uri: string, found: Exclude<ReadReturn, undefined>): ReadReturn {
  if (typeof found === "string") return { contents: [{ uri, mimeType: "text/plain", text: found }], ...immutable };
  return Array.isArray(found) || found instanceof Uint8Array || !("uri" in found)
    ? found
    : { contents: [found], ...immutable };
}

async function readFolder(
  repository: Repository,
  commit: string,
  { path = ".", ref }: TemplateValues,
  uri: string,
): Promise<ReadReturn> {
  const folder = repository.path(String(path));
  const found = await objectAt(repository, commit, folder);
  if (found?.type !== "tree") return undefined;
  const { entries, isCut } = await readTree(repository, found.hash);
  const below = folder === "." ? "" : `${folder}/`;
  const listed = entries.map((entry) => ({
    ...entry,
    ...(entry.type !== "commit" && { uri: uriOf(repository.name, entry.type, String(ref), below + entry.path) }),
  }));
  return { uri, mimeType: "application/json", text: JSON.stringify({ commit, entries: listed, isCut }, null, 2) };
}

async function readFile(
  repository: Repository,
  commit: string,
  { path = "" }: TemplateValues,
  uri: string,
): Promise<ReadReturn> {
  const file = repository.path(String(path));
  const found = await objectAt(repository, commit, file);
  if (found?.type !== "blob") return undefined;
  const { bytes, isCut } = await readBlob(repository, found.hash);
  if (isCut)
    throw new ToolError(
      `${file} is longer than ${repository.limits.maxBytes} bytes; the tool show returns its beginning`,
    );
  if (isUtf8(bytes) && !bytes.includes(0)) return { uri, mimeType: "text/plain", text: bytes.toString() };
  return { uri, mimeType: "application/octet-stream", blob: bytes.toString("base64") };
}

async function listCommits(git: Repositories, ctx: RequestContext<undefined>) {
  const listed = git.readEach(git.names, ctx, async (repository) => {
    const { name } = repository;
    const head = await repository.head();
    if (head === undefined) return [];
    const parts = await repository.parts(["log", `--max-count=${recentCommits}`, ...commitFormat, head, "--"]);
    return parseCommits(parts).map((commit) => ({
      uri: uriOf(name, "commit", commit.commit),
      name: commit.commit,
      title: titleOf(commit),
      description: commit.subject,
    }));
  });
  return (await toolErrorsAsInvalidParams(listed)).flat();
}

function uriOf(name: string, kind: string, ref: string, path?: string): string {
  const below = path === undefined ? "" : `/${path.split("/").map(encodeURIComponent).join("/")}`;
  return `git://${encodeURIComponent(name)}/${kind}/${encodeURIComponent(ref)}${below}`;
}
