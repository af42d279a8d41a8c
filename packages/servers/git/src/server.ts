import { realpath } from "node:fs/promises";
import { basename } from "node:path";
import { createServer, type Server } from "portolan/server";
import { defaultLimits, type GitOptions } from "./options.ts";
import { addPrompt } from "./prompt.ts";
import { locate } from "./repository/jail.ts";
import { Repositories } from "./repository/repositories.ts";
import { findProgram } from "./repository/run.ts";
import { addResources } from "./resources.ts";
import { blameTool } from "./tools/blame.ts";
import { branchesTool, createBranchTool, deleteBranchTool, switchBranchTool, tagsTool } from "./tools/branches.ts";
import { commitTool, stageTool, unstageTool } from "./tools/commit.ts";
import { diffTool } from "./tools/diff.ts";
import { logTool } from "./tools/log.ts";
import { abortMergeTool, conflictsTool, continueMergeTool, mergeTool, resolveTool } from "./tools/merge.ts";
import { showTool } from "./tools/show.ts";
import { statusTool } from "./tools/status.ts";

export const version = "0.1.0";

/** Creates a server for these repositories; rejects if there are none, or if one is not a repository. */
export async function createGit(options: GitOptions): Promise<Server> {
  const { readOnly = false, ask = true } = options;
  const roots = await findRoots(options.repositories);
  const all = [...roots.values()];
  const program = await findProgram(process.env["PATH"] ?? "", all);
  if (program === undefined) throw new Error("git was not found on the PATH outside the repositories; install it");
  for (const root of all) await locate(root, all, new AbortController().signal);
  const shared = { program, roots: all, limits: { ...defaultLimits, ...options.limits }, identity: options.identity };
  const git = new Repositories(shared, roots, () => server.publish("resources/list_changed", {}));
  const reading = addPrompt(addResources(addReading(begin(git, readOnly), git), git), git);
  const server = readOnly ? reading : addWriting(reading, git, ask);
  return server;
}

function begin(git: Repositories, readOnly: boolean): Server {
  const which = git.names.length === 1 ? `the repository ${git.names[0]}` : `the repositories ${git.names.join(", ")}`;
  const writes = readOnly
    ? "Nothing can be changed."
    : "Stage, then commit; merge reports conflicts, resolve settles them.";
  const instructions = `Works on ${which}. Paths are relative to the repository's folder. ${writes} There is no network.`;
  return createServer({ name: "portolan-git", title: "Git", version }, { instructions });
}

function addReading(server: Server, git: Repositories): Server {
  return server
    .tool("status", statusTool(git))
    .tool("log", logTool(git))
    .tool("diff", diffTool(git))
    .tool("show", showTool(git))
    .tool("blame", blameTool(git))
    .tool("branches", branchesTool(git))
    .tool("tags", tagsTool(git))
    .tool("conflicts", conflictsTool(git));
}

function addWriting(server: Server, git: Repositories, ask: boolean): Server {
  return server
    .tool("stage", stageTool(git))
    .tool("unstage", unstageTool(git))
    .tool("commit", commitTool(git))
    .tool("branch_create", createBranchTool(git))
    .tool("branch_switch", switchBranchTool(git))
    .tool("branch_delete", deleteBranchTool(git, ask))
    .tool("merge", mergeTool(git))
    .tool("resolve", resolveTool(git))
    .tool("merge_continue", continueMergeTool(git))
    .tool("merge_abort", abortMergeTool(git, ask));
}

/** Returns the real paths of the folders by unique short names. */
async function findRoots(folders: readonly string[]): Promise<Map<string, string>> {
  if (folders.length === 0) throw new Error("expected at least one repository");
  const roots = new Map<string, string>();
  for (const folder of folders) {
    const root = await realpath(folder).catch(() => undefined);
    if (root === undefined) throw new Error(`${folder}: no such folder`);
    if ([...roots.values()].includes(root)) continue;
    const plain =
      basename(root)
        .replace(/[^\p{L}\p{N}._-]+/gu, "-")
        .replace(/^[-.]+/, "") || "repository";
    let name = plain;
    for (let number = 2; roots.has(name); number += 1) name = `${plain}-${number}`;
    roots.set(name, root);
  }
  return roots;
}
