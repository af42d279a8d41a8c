import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Repository } from "./repository.ts";

/** Variables for git. */
type Environment = { readonly [name: string]: string };

/**
 * Compares the work tree with a copy of the index: git would note in it which files it has looked at, and whoever only
 * reads writes nothing.
 */
export async function withOwnIndex<T>({ place }: Repository, work: (env: Environment) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "portolan-git-"));
  try {
    const copy = join(folder, "index");
    // A repository in which nothing was ever staged has none.
    await copyFile(join(place.gitDir, "index"), copy).catch(() => {});
    return await work({ GIT_INDEX_FILE: copy });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
