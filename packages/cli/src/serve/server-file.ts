import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire, register } from "node:module";
import { dirname, extname, join, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";
import { PortolanError } from "portolan";
import type { Servable } from "portolan/server";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import type { System } from "../system.ts";
import { quoteCommand } from "../terminal/escape.ts";
import { installable } from "../version.ts";

const typed = new Set([".ts", ".mts", ".cts"]);

/** The exports of a server file, and the files that it consists of. */
export interface LoadedFile {
  readonly exports: { readonly [name: string]: unknown };
  /** The file and its imports within the project. Only the file itself if Node.js loaded it. */
  readonly files: readonly string[];
}

/** Loads a server file. With `isFresh`, the file and its imports are loaded again. */
export async function loadServerFile(
  file: string,
  { state, system }: CommandContext,
  { isFresh = false }: { readonly isFresh?: boolean } = {},
): Promise<LoadedFile> {
  const alias = resolveFrom(file, "portolan/server") ? {} : provideLibrary(system.self);
  const isRunnable = !typed.has(extname(file)) || system.runsTypeScript;
  if (isRunnable && !isFresh) return { exports: await import(pathToFileURL(file).href), files: [file] };
  if (isModule(file)) return importFresh(file);
  const { createJiti } = await import("jiti");
  // In a folder of the user: other users must not be able to change code that runs.
  const jiti = createJiti(file, { fsCache: join(state.folder, "compiled"), interopDefault: false, alias });
  if (isFresh) for (const known of ownFiles(jiti.cache)) delete jiti.cache[known];
  const exports = await jiti.import<LoadedFile["exports"]>(file);
  return { exports, files: [...new Set([file, ...ownFiles(jiti.cache)])] };
}

/** A loader hook for files without the library: they import the copy of this program. */
const lender = `
let self;
export function initialize(data) { self = data.self; }
export async function resolve(specifier, context, next) {
  const isOurs = specifier === "portolan" || specifier.startsWith("portolan/");
  return next(specifier, isOurs ? { ...context, parentURL: self } : context);
}`;

function provideLibrary(self: string): { [name: string]: string } {
  register(`data:text/javascript,${encodeURIComponent(lender)}`, { data: { self: pathToFileURL(self).href } });
  const { resolve } = createRequire(self);
  const { exports } = createRequire(self)("portolan/package.json") as { exports: { [path: string]: unknown } };
  const names = Object.keys(exports).map((path) => `portolan${path.slice(1)}`);
  return Object.fromEntries(names.map((name) => [name, resolve(name)]));
}

function ownFiles(cache: object): string[] {
  return Object.keys(cache).filter((path) => !path.includes(`${sep}node_modules${sep}`));
}

/** Returns the default export of a server file, or undefined if there is none. */
export async function serverFrom({ exports }: LoadedFile, file: string): Promise<Servable | undefined> {
  const server = await exports["default"];
  if (server === undefined) return undefined;
  if (typeof server === "object" && server !== null && "publish" in server) return server as unknown as Servable;
  throw new Failure("usage", `${file}: expected a server of createServer as its default export, got ${typeof server}`);
}

/**
 * Imports a part of the library from the server file's own copy: only the copy that created a server can serve it. A
 * file without a copy uses ours.
 */
export async function importLibrary<T>(file: string, part: string, { system }: CommandContext): Promise<T> {
  const name = `portolan/${part}`;
  return (await import(pathToFileURL(resolveFrom(file, name) ?? createRequire(system.self).resolve(name)).href)) as T;
}

function resolveFrom(file: string, name: string): string | undefined {
  try {
    return createRequire(file).resolve(name);
  } catch {
    return undefined;
  }
}

/** Describes an error in a server file, with its location. */
export function explainError(thrown: unknown, file: string, system: System): string {
  if (!(thrown instanceof Error)) return `${file}: ${String(thrown)}`;
  if (thrown instanceof Failure || thrown instanceof PortolanError) return thrown.message;
  const { name, message, stack = "" } = thrown;
  // The command provides `portolan` to files that have no copy of it, and no other package.
  if (/^Cannot find (?:package|module) 'portolan-host/.test(message)) {
    const packages = (["portolan", "portolan-host"] as const).map((it) => installable(system, it));
    return `${file}: it imports portolan-host, which is not installed. Run: ${quoteCommand(["npm", "install", ...packages])}`;
  }
  const place =
    locationIn(stack, file) ?? (thrown instanceof SyntaxError ? locationOfSyntaxError(file, system) : undefined);
  // A mistake that the file's own copy of the library found later: its message names the tool, and no place in the file.
  if (name === "PortolanError" && !place?.startsWith(dirname(file))) return message;
  const [first = ""] = message.split("\n");
  // Some messages already begin with the name of the error.
  return `${place ?? file}: ${/^\w*Error: /.test(first) ? "" : `${name}: `}${first.trim()}`;
}

/** Finds the location of an error: in the file, otherwise in what it imports. */
function locationIn(stack: string, file: string): string | undefined {
  const found = stack
    .replace(/[?&]portolan-dev=\d+/g, "")
    .matchAll(/(?:^|[\s(]|file:\/\/)((?:\/|[A-Za-z]:[\\/])[^\s():]+:\d+(?::\d+)?)/gm);
  const places = [...found].map(([, place = ""]) => place).filter((place) => !place.includes("node_modules"));
  return places.find((place) => place.startsWith(dirname(file))) ?? places[0];
}

/** Node.js reports the location of a syntax error only to `--check`. */
function locationOfSyntaxError(file: string, { execPath }: System): string | undefined {
  const { stderr } = spawnSync(execPath, ["--check", file], { encoding: "utf8" });
  return locationIn(stderr, file);
}

/** A loader hook that gives imports within the project the version of their importer, and reports them. */
const hooks = `
let root, port;
export function initialize(data) { root = data.root; port = data.port; }
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  const generation = /[?&]portolan-dev=\\d+/.exec(context.parentURL ?? "")?.[0];
  if (!generation || !found.url.startsWith(root) || found.url.includes("/node_modules/")) return found;
  port.postMessage(found.url);
  return { ...found, url: found.url + "?" + generation.slice(1) };
}`;

let loadedFiles: MessagePort | undefined;
let generation = 0;

/** Imports an ES module and its imports as they are now. Returns the files, too. */
async function importFresh(file: string): Promise<{ exports: { [name: string]: unknown }; files: string[] }> {
  loadedFiles ??= listen(packageOf(file));
  generation += 1;
  const files = [file];
  try {
    const exports = (await import(`${pathToFileURL(file).href}?portolan-dev=${generation}`)) as {
      [name: string]: unknown;
    };
    return { exports, files };
  } finally {
    for (let said = receiveMessageOnPort(loadedFiles); said; said = receiveMessageOnPort(loadedFiles)) {
      files.push(fileURLToPath(said.message as string));
    }
  }
}

function listen(root: string): MessagePort {
  const { port1, port2 } = new MessageChannel();
  port1.unref();
  register(`data:text/javascript,${encodeURIComponent(hooks)}`, {
    data: { root: pathToFileURL(`${root}/`).href, port: port2 },
    transferList: [port2],
  });
  return port1;
}

/** True if Node.js loads the file as an ES module. */
function isModule(file: string): boolean {
  const extension = extname(file);
  if (extension !== ".js") return extension === ".mjs";
  const description = join(packageOf(file), "package.json");
  if (!existsSync(description)) return false;
  return (JSON.parse(readFileSync(description, "utf8")) as { type?: string }).type === "module";
}

/** Returns the package folder of a file, or its own folder if there is none. */
function packageOf(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
  }
  return dirname(file);
}
