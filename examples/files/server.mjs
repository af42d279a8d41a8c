// @ts-check
// A folder as resources: list, read, follow and write its files.
// Run: node examples/files/server.mjs <folder>
import { randomUUID } from "node:crypto";
import { watch } from "node:fs";
import { mkdir, readdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createServer, ToolError } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
import { z } from "zod";

/** @param {string} folder */
export default async function createFilesServer(folder) {
  const root = await realpath(folder);

  const server = createServer({ name: "files", version: "1.0.0" }, { instructions: `Serves the files below ${root}` })
    .template(`${pathToFileURL(root)}/{+path}`, {
      name: "file",
      description: "A file of the folder",
      async list() {
        const files = (await listFiles(root)).filter((file) => !isOutside(root, file));
        return files.map((file) => ({ uri: pathToFileURL(file).href, name: relative(root, file) }));
      },
      complete: {
        async path(typed) {
          const files = (await listFiles(root)).filter((file) => !isOutside(root, file));
          return files.map((file) => relative(root, file)).filter((path) => path.startsWith(typed));
        },
      },
      async read({ path }) {
        const file = await findInside(root, String(path));
        if (!file || !(await stat(file).catch(() => undefined))?.isFile()) return undefined;
        const bytes = await readFile(file);
        return toText(bytes) ?? bytes;
      },
      // The folder is watched, not the file: an editor that saves by renaming replaces the file.
      watch(uri, changed) {
        const file = fileURLToPath(uri);
        const watcher = watch(dirname(file), (_, name) => name === basename(file) && changed());
        return () => watcher.close();
      },
    })
    .tool("write_file", {
      description: "Writes a text file; the user is asked before one is replaced",
      input: z.object({ path: z.string().describe("Relative to the folder"), text: z.string() }),
      output: z.object({ uri: z.string(), bytes: z.number(), replaced: z.boolean() }),
      annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
      async run({ path, text }, ctx) {
        const file = await findInside(root, path);
        if (!file) throw new ToolError(`${path}: expected a path inside the folder, without hidden parts`);
        const existing = await stat(file).catch(() => undefined);
        if (existing && !existing.isFile()) throw new ToolError(`${path}: expected a file, found something else`);
        const bytes = Buffer.byteLength(text);
        if (existing) {
          if (!ctx.capabilities.elicitation) throw new ToolError(`${path} exists, and this client cannot ask the user`);
          const question = `Replace ${path} (${existing.size} bytes) by ${bytes} bytes?`;
          if (!(await ctx.confirm("replace", question))) return ctx.cancelled(`${path} was left as it is.`);
        }
        await replaceFile(file, text);
        return { uri: pathToFileURL(file).href, bytes, replaced: existing !== undefined };
      },
    });
  // Files come and go: whoever shows the list is told.
  const watcher = watch(root, { recursive: true }, (event) => {
    if (event === "rename") server.publish("resources/list_changed", {});
  });
  return { server, close: () => watcher.close() };
}
