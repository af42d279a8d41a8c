import { ToolError } from "portolan/server";
import { quote } from "./names.ts";
import type { Repository } from "./repository.ts";

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
