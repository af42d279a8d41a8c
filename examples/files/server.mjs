// @ts-check
// Serves a folder as resources: clients list, read and subscribe to its files, and a tool writes them.
// Run: node examples/files/server.mjs <folder>
import { isUtf8 } from "node:buffer";
import { existsSync, realpathSync, watch } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { createServer, ToolError } from "portolan/server";
import { serveStdio } from "portolan/server/stdio";
import { z } from "zod";

export default function createFilesServer(folder = ".") {
  const root = realpathSync(folder);
  /** @type {(() => void)[]} */
  let stopWatching = [];

  const server = createServer({ name: "files", version: "1.0.0" }, { instructions: `The files below ${root}.` })
    .template(`${pathToFileURL(root)}/{+path}`, {
      name: "file",
      async list() {
        const entries = (await readdir(root, { recursive: true, withFileTypes: true }))
          .map((entry) => ({ entry, path: relative(root, join(entry.parentPath, entry.name)) }))
          .filter(({ path }) => isVisible(path));
        const folders = entries.filter(({ entry }) => entry.isDirectory()).map(({ path }) => path);
        // Clients that have seen the list are notified when files are added or removed.
        for (const stop of stopWatching) stop();
        stopWatching = ["", ...folders].map((path) =>
          watchFolder(join(root, path), (event, name) => {
            if (event === "rename" && isVisible(name)) server.publish("resources/list_changed", {});
          }),
        );
        const files = entries.filter(({ entry }) => entry.isFile());
        return files.map(({ path }) => ({ uri: pathToFileURL(join(root, path)).href, name: path }));
      },
      async read({ path }) {
        const file = findInside(root, String(path));
        if (!file || !(await statOf(file))?.isFile()) return undefined;
        const bytes = await readFile(file);
        return isUtf8(bytes) ? bytes.toString() : bytes;
      },
      watch(uri, changed) {
        const file = findInside(root, fileURLToPath(uri));
        if (!file) throw new Error(`${uri} is outside the folder`);
        // Watch the folder, not the file: editors that save by renaming replace the file, and end a watch on it.
        return watchFolder(dirname(file), (_, name) => name === basename(file) && changed());
      },
    })
    .tool("write_file", {
      description: "Writes a text file; asks the user before it replaces one",
      input: z.object({ path: z.string().describe("Relative to the folder"), text: z.string() }),
      output: z.object({ uri: z.string(), bytes: z.number(), replaced: z.boolean() }),
      annotations: { destructiveHint: true, idempotentHint: true, openWorldHint: false },
      async run({ path, text }, ctx) {
        const file = findInside(root, path);
        if (!file) throw new ToolError(`${path}: expected a path inside the folder, without hidden names`);
        const old = await statOf(file);
        if (old && !old.isFile()) throw new ToolError(`${path}: expected a file, found something else`);
        const bytes = Buffer.byteLength(text);
        if (old) {
          if (!ctx.capabilities.elicitation) throw new ToolError(`${path} exists, and this client cannot ask the user`);
          const isWanted = await ctx.confirm("replace", `Replace ${path} (${old.size} bytes) by ${bytes} bytes?`);
          if (!isWanted) return ctx.cancelled(`${path} stays as it is.`);
        }
        // Write a draft, then rename it: readers see the old file or the new one, never half of it.
        await mkdir(dirname(file), { recursive: true });
        const draft = join(dirname(file), `.${crypto.randomUUID()}`);
        const written = writeFile(draft, text, { flag: "wx", mode: old?.mode ?? 0o666 });
        await written.then(() => rename(draft, file)).finally(() => rm(draft, { force: true }));
        return { uri: pathToFileURL(file).href, bytes, replaced: old !== undefined };
      },
    });
  return server;
}

const statOf = (/** @type {string} */ file) => stat(file).catch(() => undefined);

function watchFolder(/** @type {string} */ folder, /** @type {(event: string, name: string) => void} */ onChange) {
  const watcher = watch(folder, { persistent: false }, (event, name) => onChange(event, String(name)));
  watcher.on("error", () => watcher.close());
  return () => watcher.close();
}

/** Returns the real path of a visible file below the root, existing or new; undefined for any other path. */
function findInside(/** @type {string} */ root, /** @type {string} */ path) {
  const file = resolveLinks(resolve(root, path));
  return isVisible(relative(root, file)) ? file : undefined;
}

/** @returns {string} the path with symbolic links resolved in the part that exists */
function resolveLinks(/** @type {string} */ path) {
  return existsSync(path) ? realpathSync(path) : join(resolveLinks(dirname(path)), basename(path));
}

/** Tells whether no name in a path begins with a dot; this excludes hidden files and the ".." that leads outside. */
function isVisible(/** @type {string} */ path) {
  return path !== "" && !isAbsolute(path) && !path.split(sep).some((name) => name.startsWith("."));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) serveStdio(createFilesServer(process.argv[2]));
