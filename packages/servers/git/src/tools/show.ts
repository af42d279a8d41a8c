import { isUtf8 } from "node:buffer";
import { type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, boolean, object, string, textResult } from "portolan-server-kit";
import { type Commit, commitSchema, readCommit, titleOf } from "../objects/commits.ts";
import { type ChangedFile, changedFileSchema, diffFlags, lineOf, parseChanges, readPatch } from "../objects/patch.ts";
import { objectAt, readBlob, readTree, type TreeEntry, treeEntrySchema } from "../objects/trees.ts";
import { quote } from "../repository/names.ts";
import type { Repositories } from "../repository/repositories.ts";
import type { Repository } from "../repository/repository.ts";
import { input, isCut, path, revision } from "../tool-parts.ts";

interface ShowArguments {
  repository?: string;
  ref: string;
  path?: string;
  stat?: boolean;
}

interface Shown {
  commit: Commit;
  files?: ChangedFile[];
  patch?: string;
  text?: string;
  entries?: TreeEntry[];
  isCut: boolean;
}

/** The tool `show`: shows a commit, or a file or folder of a commit. */
export function showTool(git: Repositories): ToolDefinition<ShowArguments, Shown, undefined> {
  return {
    title: "Show",
    description:
      "Shows a commit and its changes against its first parent; with a path: that file, or the entries of that folder, at that commit",
    input: input(
      git,
      {
        ref: revision,
        path: { ...path, description: "A file or folder at this commit; . is the root folder" },
        stat: boolean("Without a path: return only file names and line counts"),
      },
      ["ref"],
    ),
    output: object(
      {
        commit: commitSchema,
        files: array(changedFileSchema, "Without a path: the changed files"),
        patch: string("Without a path: the changes as a unified diff"),
        text: string("With the path of a file: its text"),
        entries: array(treeEntrySchema, "With the path of a folder: its entries"),
        isCut,
      },
      ["files", "patch", "text", "entries"],
    ),
    annotations: annotations.reads,
    async run(args, ctx) {
      const repository = await git.open(args.repository, ctx.signal);
      const commit = await readCommit(repository, await repository.commit(args.ref));
      const shown =
        args.path === undefined
          ? await showChange(repository, commit, args.stat === true)
          : await showPath(repository, commit, repository.path(args.path));
      return textResult(describe(shown), shown);
    },
  };
}

/** Returns the changes of a commit against its first parent, or against the empty tree. */
export async function showChange(repository: Repository, commit: Commit, isShort: boolean): Promise<Shown> {
  const { maxEntries } = repository.limits;
  const sides = ["-r", "--no-commit-id", "--root", ...commit.parents.slice(0, 1), commit.commit, "--"];
  const all = parseChanges(await repository.parts(["diff-tree", ...diffFlags, "--raw", "--numstat", "-z", ...sides]));
  const files = all.slice(0, maxEntries);
  const isListCut = all.length > files.length;
  if (isShort) return { commit, files, isCut: isListCut };
  const { patch, isCut } = await readPatch(repository, ["diff-tree", ...diffFlags, "--patch", ...sides]);
  return { commit, files, patch, isCut: isCut || isListCut };
}

async function showPath(repository: Repository, commit: Commit, path: string): Promise<Shown> {
  const found = await objectAt(repository, commit.commit, path);
  if (found?.type === "tree") return { commit, ...(await readTree(repository, found.hash)) };
  if (found?.type !== "blob") {
    throw new ToolError(`No ${quote(path)} in ${commit.commit}; show its folder to see the entries`);
  }
  const { bytes, isCut } = await readBlob(repository, found.hash);
  if (!isText(bytes, isCut)) throw new ToolError(`${quote(path)} is binary; read it as a resource instead`);
  return { commit, text: bytes.toString(), isCut };
}

function isText(bytes: Buffer, isCut: boolean): boolean {
  // The cut may split a character.
  const whole = isCut ? bytes.subarray(0, bytes.lastIndexOf(10) + 1) : bytes;
  return isUtf8(whole) && !whole.includes(0);
}

/** Formats the result of `show` as text. */
export function describe({ commit, files = [], patch, text, entries, isCut }: Shown): string {
  const cut = isCut ? "\n… cut" : "";
  if (text !== undefined) return `${text}${cut}`;
  if (entries !== undefined) return entries.map(({ type, path }) => `${type} ${path}`).join("\n") + cut;
  const { author, body } = commit;
  const head = [titleOf(commit), `commit ${commit.commit}`, `Author: ${author.name} <${author.email}> ${author.date}`];
  return (
    [...head, "", ...(body === "" ? [] : [body, ""]), ...files.map(lineOf), "", patch ?? ""].join("\n").trimEnd() + cut
  );
}
