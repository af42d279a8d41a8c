import { existsSync, readFileSync } from "node:fs";
import { register } from "node:module";
import { dirname, extname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MessageChannel, type MessagePort, receiveMessageOnPort } from "node:worker_threads";

/**
 * Runs beside the program as Node's hooks do: whatever a file of the project imports of the project is as new as the file
 * itself, and is told to us.
 */
const hooks = `
let root, port;
export function initialize(data) { root = data.root; port = data.port; }
export async function resolve(specifier, context, next) {
  const found = await next(specifier, context);
  const age = /[?&]portolan-dev=\\d+/.exec(context.parentURL ?? "")?.[0];
  if (!age || !found.url.startsWith(root) || found.url.includes("/node_modules/")) return found;
  port.postMessage(found.url);
  return { ...found, url: found.url + "?" + age.slice(1) };
}`;

let heard: MessagePort | undefined;
let age = 0;

/** Imports an ES module and what it imports of its project as they are now; gives the files, too. */
export async function importFresh(file: string): Promise<{ exports: { [name: string]: unknown }; files: string[] }> {
  heard ??= listen(packageOf(file));
  age += 1;
  const files = [file];
  try {
    const exports = (await import(`${pathToFileURL(file).href}?portolan-dev=${age}`)) as { [name: string]: unknown };
    return { exports, files };
  } finally {
    for (let said = receiveMessageOnPort(heard); said; said = receiveMessageOnPort(heard)) {
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

/** Whether Node takes a file for an ES module. */
export function isModule(file: string): boolean {
  const extension = extname(file);
  if (extension !== ".js") return extension === ".mjs";
  const description = join(packageOf(file), "package.json");
  if (!existsSync(description)) return false;
  return (JSON.parse(readFileSync(description, "utf8")) as { type?: string }).type === "module";
}

/** The folder of the package that a file belongs to; its own where there is none. */
function packageOf(file: string): string {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
  }
  return dirname(file);
}
