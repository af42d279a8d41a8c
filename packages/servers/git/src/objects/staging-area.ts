import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolError } from "portolan/server";
import { quote } from "../repository/names.ts";
import type { Repository } from "../repository/repository.ts";

/**
 * Programs that a repository puts between files and commits are not run. A file that needs one, such as of Git LFS,
 * would be committed in the wrong form.
 */
export async function refuseFiltered(repository: Repository, files: readonly string[]): Promise<void> {
  if (files.length === 0) return;
  const said = await repository.parts(["check-attr", "-z", "--stdin", "filter"], { input: joined(files) });
  for (let at = 0; at + 2 < said.length; at += 3) {
    const [file = "", , filter = ""] = said.slice(at, at + 3);
    if (["unspecified", "unset", "set"].includes(filter)) continue;
    throw new ToolError(
      `${quote(file)} goes through the filter ${quote(filter)}, which this server does not run; ask the user to stage it`,
    );
  }
}

/** Paths as git reads them from its input. */
export function joined(files: readonly string[]): string {
  return files.map((file) => `${file}\0`).join("");
}

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
