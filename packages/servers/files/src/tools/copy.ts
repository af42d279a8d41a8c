import type { FileHandle } from "node:fs/promises";
import { type Context, ToolError } from "portolan/server";
import { annotations, boolean, count, object, string, textResult } from "portolan-server-kit";
import { withReasons } from "../failures.ts";
import { fullPath } from "../jail/jail.ts";
import { alreadyThere, put, statOf } from "../put.ts";
import { pathSchema } from "../schema.ts";
import { inBytes, isAgreed, type MakeTool } from "./common.ts";

interface Input {
  from: string;
  to: string;
  overwrite?: boolean;
}

interface Output {
  from: string;
  to: string;
  bytes: number;
  replaced: boolean;
}

const chunkBytes = 1024 * 1024;

export const copyTool: MakeTool<Input, Output> = (desk) => ({
  title: "Copy a file",
  description:
    "Copies one file, of any kind of content. to is the path of the copy; folders it needs are made. A file there is replaced only with overwrite: true.",
  input: object({ from: pathSchema, to: pathSchema, overwrite: boolean("Replace the file at to if it exists") }, [
    "overwrite",
  ]),
  output: object({
    from: string("What was copied"),
    to: string("The copy"),
    bytes: count("Its size"),
    replaced: boolean("A file was replaced"),
  }),
  annotations: annotations.overwrites,
  run({ from, to, overwrite = false }, ctx) {
    return withReasons(`${from} to ${to}`, async () => {
      const jail = await desk.jailFor(ctx);
      const { handle, stats, place: source } = await jail.openFile(from);
      try {
        const { copyBytes } = desk.settings.limits;
        if (stats.size > copyBytes) throw new ToolError(`${from}: can copy at most ${inBytes(copyBytes)}`);
        const target = await jail.locate(to);
        const old = target.missing.length > 0 ? undefined : await jail.atEntry(to, {}, statOf);
        if (old && !old.isFile()) throw new ToolError(`${target.path} is not a file; give the path of the copy`);
        if (old && !overwrite) throw alreadyThere(target.path);
        if (old?.ino === stats.ino && old.dev === stats.dev) throw new ToolError("Both are the same file");
        if (old && !(await isAgreed(desk, ctx, `Replace ${target.path} by a copy of ${source.path}?`))) {
          return ctx.cancelled(`${target.path} stays as it is.`);
        }
        return await desk.turns.take(fullPath(target), () =>
          jail.atEntry(to, { make: true }, async (folder, name, place) => {
            const bytes = await put(folder, name, place.path, old, (draft) =>
              pump(handle, draft, stats.size, copyBytes, ctx),
            );
            const output = { from: source.path, to: place.path, bytes, replaced: old !== undefined };
            return textResult(`Copied ${source.path} to ${place.path} (${inBytes(bytes)})`, output);
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
    if (bytes > most) throw new ToolError("The file grows while it is copied; nothing was copied");
    ctx.progress(bytes, size);
  }
}
