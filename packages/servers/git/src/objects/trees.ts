import type { JsonSchema } from "portolan/server";
import { count, object, string } from "portolan-server-kit";
import type { Repository } from "../repository/repository.ts";
import { path } from "../tool-parts.ts";

/** An entry of a folder in a commit. */
export interface TreeEntry {
  path: string;
  type: string;
  mode: string;
  hash: string;
  size?: number;
}

/** Schema of a folder entry. */
export const treeEntrySchema: JsonSchema = object(
  {
    path: { ...path, description: "The name in its folder" },
    type: string("Type of object", { enum: ["blob", "tree", "commit"] }),
    mode: string("Such as 100644; 120000 is a link, 160000 a submodule"),
    hash: string("The hash of the object"),
    size: count("Of a file, in bytes"),
  },
  ["size"],
);

/** Returns the object at a path of a commit; the path must have been checked. */
export async function objectAt(
  repository: Repository,
  commit: string,
  path: string,
): Promise<{ hash: string; type: string } | undefined> {
  const hash = await repository.find(`${commit}:${path === "." ? "" : path}`);
  if (hash === undefined) return undefined;
  const { code, stdout } = await repository.run(["cat-file", "-t", hash]);
  return { hash, type: code === 0 ? stdout.toString().trim() : "commit" };
}

/** Returns the entries of a folder, one level deep. */
export async function readTree(
  repository: Repository,
  hash: string,
): Promise<{ entries: TreeEntry[]; isCut: boolean }> {
  const parts = await repository.parts(["ls-tree", "-z", "-l", hash]);
  const entries = parts.slice(0, repository.limits.maxEntries).map(parseEntry);
  return { entries, isCut: entries.length < parts.length };
}

function parseEntry(part: string): TreeEntry {
  const [, mode = "", type = "", hash = "", size = "", path = ""] =
    /^(\d+) (\w+) ([0-9a-f]+) +(\d+|-)\t(.*)$/s.exec(part) ?? [];
  return { path, type, mode, hash, ...(/^\d/.test(size) && { size: Number(size) }) };
}

/** Returns the bytes of a file, at most `maxBytes`. */
export function readBlob(repository: Repository, hash: string): Promise<{ bytes: Buffer; isCut: boolean }> {
  return repository.atMost(repository.limits.maxBytes, ["cat-file", "blob", hash]);
}
