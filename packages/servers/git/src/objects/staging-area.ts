import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolError } from "portolan/server";
import { quote } from "../repository/names.ts";
import type { Repository } from "../repository/repository.ts";

/**
 * Throws for files with a filter attribute. Filters are not run, so such a file, for example of Git LFS, would be
 * committed in the wrong form.
 */
export async function refuseFiltered(repository: Repository, files: readonly string[]): Promise<void> {
  if (files.length === 0) return;
  const said = await repository.parts(["check-attr", "-z", "--stdin", "filter"], { input: nulTerminated(files) });
  for (let at = 0; at + 2 < said.length; at += 3) {
    const [file = "", , filter = ""] = said.slice(at, at + 3);
    if (["unspecified", "unset", "set"].includes(filter)) continue;
    throw new ToolError(
      `${quote(file)} needs the filter ${quote(filter)}, which this server does not run; ask the user to stage it`,
    );
  }
}

/** Formats paths for git's standard input. */
export function nulTerminated(files: readonly string[]): string {
  return files.map((file) => `${file}\0`).join("");
}

/** Variables for git. */
type Environment = { readonly [name: string]: string };

/**
 * Runs `work` with a copy of the index: git updates file times in the index when it compares, and tools that read must
 * write nothing.
 */
export async function withIndexCopy<T>({ location }: Repository, work: (env: Environment) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "portolan-git-"));
  try {
    const copy = join(folder, "index");
    await copyFile(join(location.gitDir, "index"), copy).catch((reason: NodeJS.ErrnoException) => {
      // A repository without any staged file has no index. Any other failure would look as if all files were new.
      if (reason.code !== "ENOENT") throw new ToolError(`The index cannot be read (${reason.code}); tell the user`);
    });
    return await work({ GIT_INDEX_FILE: copy });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
