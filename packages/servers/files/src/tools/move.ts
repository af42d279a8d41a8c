import { type FileHandle, rename } from "node:fs/promises";
import { type Context, ToolError } from "portolan/server";
import { annotations, boolean, count, object, string, textResult } from "portolan-server-kit";
import {
  alreadyThere,
  explainSystemErrors,
  fullPath,
  moveToFree,
  notThere,
  statOf,
  writeAtomically,
} from "portolan-server-kit/files";
import { type CreateTool, formatSize, isConfirmed, pathSchema } from "./tool-parts.ts";

interface MoveInput {
  from: string;
  to: string;
  overwrite?: boolean;
}

interface MoveOutput {
  from: string;
  to: string;
  replaced: boolean;
}

export const moveTool: CreateTool<MoveInput, MoveOutput> = (workspace) => ({
  title: "Move or rename",
  description:
    "Moves or renames a file or folder. to is the complete new path, not a target folder; missing folders are created. An existing file is replaced only with overwrite: true.",
  input: object({ from: pathSchema, to: pathSchema, overwrite: boolean("Replace an existing file at to") }, [
    "overwrite",
  ]),
  output: object({
    from: string("Old path"),
    to: string("New path"),
    replaced: boolean("True if a file was replaced"),
  }),
  annotations: annotations.destroys,
  run({ from, to, overwrite = false }, ctx) {
    return explainSystemErrors(`${from} to ${to}`, async () => {
      const jail = await workspace.jailFor(ctx);
      const follow = false;
      return jail.atEntry(from, { follow }, async (source, name, old) => {
        const moved = await statOf(source, name);
        if (!moved) throw notThere(old.path);
        const target = await jail.locate(to, { follow });
        const there = target.missing.length > 0 ? undefined : await jail.atEntry(to, { follow }, statOf);
        if (there && !(overwrite && there.isFile() && moved.isFile())) {
          if (there.isDirectory()) throw new ToolError(`${target.path} is a folder; pass the complete new path`);
          throw alreadyThere(target.path);
        }
        if (there) {
          const question = `Replace ${target.path} (${formatSize(there.size)}) with ${old.path} (${formatSize(moved.size)})?`;
          if (!(await isConfirmed(workspace, ctx, question))) return ctx.cancelled("Nothing was moved.");
        }
        return jail.atEntry(to, { follow, make: true }, async (folder, newName, place) => {
          await Promise.all([source.check(), folder.check()]);
          if (there) await rename(source.at(name), folder.at(newName));
          else await moveToFree(source, name, folder, newName, place.path);
          const output = { from: old.path, to: place.path, replaced: there !== undefined };
          return textResult(`Moved ${old.path} to ${place.path}`, output);
        });
      });
    });
  },
});

interface CopyInput {
  from: string;
  to: string;
  overwrite?: boolean;
}

interface CopyOutput {
  from: string;
  to: string;
  bytes: number;
  replaced: boolean;
}

const chunkBytes = 1024 * 1024;

export const copyTool: CreateTool<CopyInput, CopyOutput> = (workspace) => ({
  title: "Copy a file",
  description:
    "Copies one file. to is the path of the copy; missing folders are created. An existing file is replaced only with overwrite: true.",
  input: object({ from: pathSchema, to: pathSchema, overwrite: boolean("Replace an existing file at to") }, [
    "overwrite",
  ]),
  output: object({
    from: string("The copied file"),
    to: string("The copy"),
    bytes: count("Size of the copy"),
    replaced: boolean("True if a file was replaced"),
  }),
  annotations: annotations.overwrites,
  run({ from, to, overwrite = false }, ctx) {
    return explainSystemErrors(`${from} to ${to}`, async () => {
      const jail = await workspace.jailFor(ctx);
      const { handle, stats, place: source } = await jail.openFile(from);
      try {
        const { copyBytes } = workspace.settings.limits;
        if (stats.size > copyBytes)
          throw new ToolError(`${from}: the file is larger than ${formatSize(copyBytes)}, the limit for a copy`);
        const target = await jail.locate(to);
        const old = target.missing.length > 0 ? undefined : await jail.atEntry(to, {}, statOf);
        if (old && !old.isFile()) throw new ToolError(`${target.path} is not a file; pass the full path of the copy`);
        if (old && !overwrite) throw alreadyThere(target.path);
        if (old?.ino === stats.ino && old.dev === stats.dev) throw new ToolError("from and to are the same file");
        if (old && !(await isConfirmed(workspace, ctx, `Replace ${target.path} with a copy of ${source.path}?`))) {
          return ctx.cancelled(`${target.path} was not changed.`);
        }
        return await workspace.mutex.run(fullPath(target), () =>
          jail.atEntry(to, { make: true }, async (folder, name, place) => {
            const bytes = await writeAtomically(folder, name, place.path, old, (draft) =>
              pump(handle, draft, stats.size, copyBytes, ctx),
            );
            const output = { from: source.path, to: place.path, bytes, replaced: old !== undefined };
            return textResult(`Copied ${source.path} to ${place.path} (${formatSize(bytes)})`, output);
          }),
        );
      } finally {
        await handle.close();
      }
    });
  },
});

async function pump(from: FileHandle, to: FileHandle, size: number, most: number, ctx: Context): Promise<number> {
  const buffer = Buffer.allocUnsafe(chunkBytes);
  let bytes = 0;
  for (;;) {
    ctx.signal.throwIfAborted();
    const { bytesRead } = await from.read(buffer, 0, chunkBytes, bytes);
    if (bytesRead === 0) return bytes;
    await to.writeFile(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
    if (bytes > most) throw new ToolError("The file grew while it was copied; nothing was copied");
    ctx.progress(bytes, size);
  }
}
