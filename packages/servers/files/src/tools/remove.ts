import { rmdir, unlink } from "node:fs/promises";
import { type Context, ToolError } from "portolan/server";
import { annotations, boolean, count, object, string, textResult } from "portolan-server-kit";
import { entriesOf, explainSystemErrors, type Folder, type Jail, notThere, statOf } from "portolan-server-kit/files";
import type { Workspace } from "../workspace.ts";
import { type CreateTool, formatSize, isConfirmed, pathSchema } from "./tool-parts.ts";

interface Input {
  path: string;
  recursive?: boolean;
}

interface Output {
  path: string;
  removed: number;
}

export const removeTool: CreateTool<Input, Output> = (workspace) => ({
  title: "Remove a file or folder",
  description:
    "Permanently removes a file, a link or an empty folder. Removes a folder with its content only with recursive: true, and only if the user agrees.",
  input: object({ path: pathSchema, recursive: boolean("Also remove the content of a folder") }, ["recursive"]),
  output: object({ path: string("The removed path"), removed: count("Number of removed files and folders") }),
  annotations: annotations.overwrites,
  run({ path, recursive = false }, ctx) {
    return explainSystemErrors(path, async () => {
      const jail = await workspace.jailFor(ctx);
      return jail.atEntry(path, { follow: false }, async (folder, name, place) => {
        const stats = await statOf(folder, name);
        if (!stats) throw notThere(place.path);
        if (!stats.isDirectory()) {
          const what = stats.isFile() ? ` (${formatSize(stats.size)})` : "";
          if (!(await isConfirmed(workspace, ctx, `Remove ${place.path}${what}?`))) return kept(ctx, place.path);
          await folder.check();
          await unlink(folder.at(name));
          return gone(place.path, 1);
        }
        const entries = await countIn(workspace, jail, ctx, folder, name);
        if (entries > 0 && !recursive) {
          throw new ToolError(`${place.path} is not empty; set recursive: true to remove its content, too`);
        }
        if (entries > 0 && workspace.settings.ask && !ctx.mayAsk("elicitation.form")) {
          throw new ToolError(
            `${place.path} is not empty, and this client cannot ask the user; remove the entries one by one`,
          );
        }
        const question =
          entries === 0
            ? `Remove the empty folder ${place.path}?`
            : `Remove ${place.path} and all ${entries} files and folders in it?`;
        if (!(await isConfirmed(workspace, ctx, question))) return kept(ctx, place.path);
        const removed = entries === 0 ? 0 : await emptyFolder(folder, name, entries, ctx.signal);
        await folder.check();
        await rmdir(folder.at(name));
        return gone(place.path, removed + 1);
      });
    });
  },
});

/** Counts the entries of a folder at every depth; throws if the folder must not be removed as a whole. */
async function countIn(workspace: Workspace, jail: Jail, ctx: Context, parent: Folder, name: string): Promise<number> {
  const { removed, depth } = workspace.settings.limits;
  let total = 0;
  const visit = async (above: Folder, inner: string, left: number): Promise<void> => {
    if (left === 0) throw new ToolError(`${name} is deeper than ${depth} folders; remove the inner ones first`);
    await within(above, inner, async (folder) => {
      for await (const entry of entriesOf(folder)) {
        ctx.signal.throwIfAborted();
        if (!jail.isNameShown(entry.name)) {
          throw new ToolError(`${name} contains hidden files, which are not served; it was not removed`);
        }
        total += 1;
        if (total > removed) throw new ToolError(`${name} has more than ${removed} entries; remove parts of it first`);
        if (entry.kind === "folder") await visit(folder, entry.name, left - 1);
      }
    });
  };
  await visit(parent, name, depth);
  return total;
}

/** Removes the content of a folder, but never more entries than the user agreed to. */
async function emptyFolder(parent: Folder, name: string, agreed: number, signal: AbortSignal): Promise<number> {
  let removed = 0;
  const visit = (above: Folder, inner: string): Promise<void> =>
    within(above, inner, async (folder) => {
      const entries = [];
      for await (const entry of entriesOf(folder)) {
        entries.push(entry);
        if (removed + entries.length > agreed)
          throw new ToolError(`${name} grew while it was removed; ${removed} entries were removed`);
      }
      for (const entry of entries) {
        signal.throwIfAborted();
        if (entry.kind === "folder") await visit(folder, entry.name);
        await folder.check();
        await (entry.kind === "folder" ? rmdir : unlink)(folder.at(entry.name));
        removed += 1;
      }
    });
  await visit(parent, name);
  return removed;
}

async function within(parent: Folder, name: string, use: (folder: Folder) => Promise<void>): Promise<void> {
  const folder = await parent.openFolder(name);
  await use(folder).finally(() => folder.close());
}

function gone(path: string, removed: number) {
  return textResult(`Removed ${path}${removed > 1 ? ` and ${removed - 1} in it` : ""}`, { path, removed });
}

function kept(ctx: Context, path: string) {
  return ctx.cancelled(`${path} was not removed.`);
}
