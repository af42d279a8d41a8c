import type { Completer, RequestContext } from "portolan/server";
import { objectAt, readTree } from "./objects/trees.ts";
import type { Repositories } from "./repository/repositories.ts";
import type { Repository } from "./repository/repository.ts";

type Known = { [name: string]: string };

const maxSuggestions = 100;
const hashBegin = /^[0-9a-f]{4,64}$/;

/** Completes branches, tags and recent commits. */
export function completeRef(git: Repositories): Completer<undefined> {
  return async (value, known, ctx) => {
    const found = new Set<string>();
    for (const repository of await candidates(git, known, ctx)) {
      for (const ref of await refsOf(repository)) if (ref.startsWith(value)) found.add(ref);
      if (hashBegin.test(value))
        for (const hash of await recentHashes(repository)) if (hash.startsWith(value)) found.add(hash);
    }
    return [...found];
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
  const found = new Set<string>();
  const folder = value.slice(0, value.lastIndexOf("/") + 1);
  for (const repository of await candidates(git, known, ctx)) {
    for (const { path, type } of await entriesOf(repository, known["ref"] ?? "HEAD", folder)) {
      const whole = `${folder}${path}`;
      if (whole.startsWith(value) && isWanted(type)) found.add(type === "tree" ? `${whole}/` : whole);
    }
  }
  return [...found];
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

/** Returns the chosen repository, or all of them. */
async function candidates(git: Repositories, known: Known, ctx: RequestContext<undefined>): Promise<Repository[]> {
  const chosen = known["repo"];
  const names = chosen === undefined ? git.names : git.names.filter((name) => name === chosen);
  return Promise.all(names.map((name) => git.open(name, ctx.signal)));
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
