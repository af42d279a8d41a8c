import type { JsonSchema } from "portolan/server";
import { count, object, string } from "portolan-server-kit";
import type { Repository } from "../repository/repository.ts";
import { path } from "../tool-parts.ts";

/** What lies in a folder of a commit. */
export interface TreeEntry {
  path: string;
  type: string;
  mode: string;
  hash: string;
  size?: number;
}

/** An entry of a folder as a schema. */
export const treeEntrySchema: JsonSchema = object(
  {
    path: { ...path, description: "The name in its folder" },
    type: string("What it is", { enum: ["blob", "tree", "commit"] }),
    mode: string("Such as 100644; 120000 is a link, 160000 a submodule"),
    hash: string("The hash of the object"),
    size: count("Of a file, in bytes"),
  },
  ["size"],
);

/** What a commit has at a path that was checked. */
export async function typeAt(
  repository: Repository,
  commit: string,
  path: string,
): Promise<{ hash: string; type: string } | undefined> {
  const hash = await repository.find(`${commit}:${path === "." ? "" : path}`);
  if (hash === undefined) return undefined;
  const { code, stdout } = await repository.run(["cat-file", "-t", hash]);
  return { hash, type: code === 0 ? stdout.toString().trim() : "commit" };
}

/** What a folder holds, one level deep. */
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

/** A file's bytes, as far as they may be told. */
export function readBlob(repository: Repository, hash: string): Promise<{ bytes: Buffer; isCut: boolean }> {
  return repository.atMost(repository.limits.maxBytes, ["cat-file", "blob", hash]);
}
