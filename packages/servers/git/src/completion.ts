import type { Completer, RequestContext } from "portolan/server";
import { toolErrorsAsInvalidParams } from "portolan-server-kit";
import { objectAt, readTree } from "./objects/trees.ts";
import type { Repositories } from "./repository/repositories.ts";
import type { Repository } from "./repository/repository.ts";

type Known = { [name: string]: string };

const maxSuggestions = 100;
const hashBegin = /^[0-9a-f]{4,64}$/;

/** Completes branches, tags and recent commits. */
export function completeRef(git: Repositories): Completer<undefined> {
  return async (value, known, ctx) => {
    const found = await readCandidates(git, known, ctx, async (repository) => {
      const hashes = hashBegin.test(value) ? await recentHashes(repository) : [];
      return [...(await refsOf(repository)), ...hashes].filter((name) => name.startsWith(value));
    });
    return [...new Set(found)];
  };
}

/** Completes files and folders of a commit, one level at a time. */
export function completePath(git: Repositories): Completer<undefined> {
  return (value, known, ctx) => pathsAt(git, value, known, ctx, () => true);
}

/** Completes folders of a commit, one level at a time. */
export function completeFolder(git: Repositories): Completer<undefined> {
  return (value, known, ctx) => pathsAt(git, value, known, ctx, (type) => type === "tree");
}

async function pathsAt(
  git: Repositories,
  value: string,
  known: Known,
  ctx: RequestContext<undefined>,
  isWanted: (type: string) => boolean,
): Promise<string[]> {
  const folder = value.slice(0, value.lastIndexOf("/") + 1);
  const found = await readCandidates(git, known, ctx, async (repository) => {
    const entries = await entriesOf(repository, known["ref"] ?? "HEAD", folder);
    return entries
      .filter(({ path, type }) => isWanted(type) && `${folder}${path}`.startsWith(value))
      .map(({ path, type }) => `${folder}${path}${type === "tree" ? "/" : ""}`);
  });
  return [...new Set(found)];
}

/** Returns the entries of a folder; incomplete input gives no entries instead of an error. */
async function entriesOf(repository: Repository, ref: string, folder: string) {
  try {
    const found = await objectAt(repository, await repository.commit(ref), repository.path(folder || "."));
    return found?.type === "tree" ? (await readTree(repository, found.hash)).entries : [];
  } catch {
    return [];
  }
}

/** Reads from the chosen repository, or from all of them. */
async function readCandidates(
  git: Repositories,
  known: Known,
  ctx: RequestContext<undefined>,
  read: (repository: Repository) => Promise<string[]>,
): Promise<string[]> {
  const chosen = known["repo"];
  const names = chosen === undefined ? git.names : git.names.filter((name) => name === chosen);
  return (await toolErrorsAsInvalidParams(git.readEach(names, ctx, read))).flat();
}

async function refsOf(repository: Repository): Promise<string[]> {
  const args = ["for-each-ref", "--count=10000", "--sort=-creatordate", "--format=%(refname:short)"];
  const said = await repository.text([...args, "refs/heads/", "refs/tags/", "refs/remotes/"]);
  return ["HEAD", ...said.split("\n").filter((line) => line !== "")];
}

async function recentHashes(repository: Repository): Promise<string[]> {
  if ((await repository.head()) === undefined) return [];
  return (await repository.text(["rev-list", `--max-count=${maxSuggestions}`, "HEAD", "--"])).split("\n");
}
