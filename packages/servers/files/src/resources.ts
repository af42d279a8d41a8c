import { lstat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ReadResourceResult, Resource } from "portolan";
import { type Completer, type Context, type Server, type TemplateDefinition, ToolError } from "portolan/server";
import { typeOfName } from "./disk/mime.ts";
import { codeOf } from "./disk/system-errors.ts";
import { pageOf, type WalkEnd, walk } from "./disk/walk.ts";
import { watchBelow } from "./disk/watcher.ts";
import type { Folder } from "./jail/folder.ts";
import { fullPath, IsFolder, type Jail, type OpenFile } from "./jail/jail.ts";
import { type Root, segmentsBelow, uriOf } from "./jail/roots.ts";
import { decode, encodingOf, sampleBytes } from "./text/encoding.ts";
import { readBytes } from "./text/range.ts";
import type { Desk } from "./workspace.ts";

const folderType = "text/uri-list";
const maxCompletions = 100;
/** Changes that come together are told together. */
const settleMs = 50;

/** Adds the served folders as resources: what they are, what is below them, and how they change. */
export function withResources(server: Server, roots: readonly Root[], desk: Desk): Server {
  const listing = new Listing(desk);
  const about = {
    watch: (uri: string, changed: (uri?: string) => void) => follow(desk, uri, changed),
  };
  const read = (uri: string, ctx: Context) => readResource(desk, uri, ctx);
  let whole = server;
  const templates: { base: string; root: Root | undefined }[] = roots.map((root) => ({ base: uriOf(root.real), root }));
  if (desk.settings.clientRoots === "provide") templates.push({ base: "file://", root: undefined });
  for (const [index, { base, root }] of templates.entries()) {
    const definition: TemplateDefinition<undefined> = {
      ...about,
      name: root?.name ?? "files",
      complete: { path: completer(desk, root) },
      read: (_, ctx, uri) => read(uri, ctx),
      // One list for all: the folders of a client may be others.
      ...(index === 0 && { list: (ctx) => listing.list(desk.knownJailFor(ctx), () => changed()) }),
    };
    whole = whole.template(`${base.replace(/\/$/, "")}/{+path}`, definition);
    if (root)
      whole = whole.resource(base, { ...about, name: root.name, mimeType: folderType, read: (ctx) => read(base, ctx) });
  }
  const served = whole;
  const changed = () => served.publish("resources/list_changed", {});
  return served;
}

/** The list of resources, and the watchers that know when it changes. */
class Listing {
  readonly #desk: Desk;
  readonly #watched = new Map<string, Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  async list(jail: Jail, changed: () => void): Promise<Resource[]> {
    await Promise.all(jail.roots.map((root) => this.#watch(jail, root, changed)));
    const found: (Resource & { depth: number })[] = [];
    for (const root of jail.roots) {
      await jail
        .inFolder(root.real, (folder) => this.#collect(jail, root, folder, found))
        .catch((reason) => {
          // A folder that was removed meanwhile has nothing to list.
          if (!(reason instanceof ToolError) && codeOf(reason) === undefined) throw reason;
        });
    }
    // Where not all fit, what lies deep is left to the template.
    found.sort((a, b) => a.depth - b.depth);
    return found.slice(0, this.#desk.settings.limits.listed).map(({ depth: _, ...resource }) => resource);
  }

  async #collect(jail: Jail, root: Root, start: Folder, found: (Resource & { depth: number })[]): Promise<void> {
    const { listed, depth } = this.#desk.settings.limits;
    const end: WalkEnd = { isCut: false, unreadable: 0 };
    const options = {
      walked: listed * 10,
      depth,
      signal: this.#desk.settings.signal ?? new AbortController().signal,
      isShown: (name: string) => jail.isNameShown(name) && !this.#desk.isIgnored(name),
      isEntered: () => true,
    };
    let kept = 0;
    for await (const { folder, name, kind, way } of walk(start, options, end)) {
      if (kind !== "file" && kind !== "folder") continue;
      const uri = uriOf(join(folder.real, name));
      const named = { uri, name: jail.pathOf(root, join(folder.real, name)), depth: way.length };
      kept += 1;
      if (kind === "folder") found.push({ ...named, mimeType: folderType });
      else found.push({ ...named, ...(kept <= listed && (await aboutFile(folder, name))) });
    }
  }

  #watch(jail: Jail, root: Root, changed: () => void): Promise<unknown> {
    let watched = this.#watched.get(root.real);
    if (!watched) {
      watched = watchBelow(this.#desk, jail, root, root.real, ({ isListChange }) => {
        if (!isListChange || this.#timer) return;
        this.#timer = setTimeout(() => {
          this.#timer = undefined;
          changed();
        }, settleMs).unref();
      });
      this.#watched.set(root.real, watched);
    }
    return watched;
  }
}

async function aboutFile(folder: Folder, name: string): Promise<Partial<Resource>> {
  const mimeType = typeOfName(name);
  const stats = await lstat(folder.at(name)).catch(() => undefined);
  return {
    ...(mimeType !== undefined && { mimeType }),
    ...(stats && { size: stats.size, annotations: { lastModified: stats.mtime.toISOString() } }),
  };
}

async function readResource(desk: Desk, uri: string, ctx: Context): Promise<ReadResourceResult | undefined> {
  const jail = await desk.jailFor(ctx);
  try {
    const file = await jail.openFile(uri);
    return await contentsOf(file, uri, desk.settings.limits.blobBytes).finally(() => file.handle.close());
  } catch (reason) {
    if (reason instanceof IsFolder || isRoot(jail, uri)) return readFolder(desk, jail, uri, ctx);
    // What is outside, hidden or special does not exist.
    if (reason instanceof ToolError || codeOf(reason) !== undefined) return undefined;
    throw reason;
  }
}

function isRoot(jail: Jail, uri: string): boolean {
  return jail.roots.some(({ real }) => uriOf(real) === uri);
}

async function contentsOf({ handle, stats, place }: OpenFile, uri: string, most: number): Promise<ReadResourceResult> {
  if (stats.size > most) {
    const { RpcError } = await import("portolan");
    throw new RpcError(1_001, `${uri} has ${stats.size} bytes, more than ${most}; the tool read gives it in parts`);
  }
  const bytes = await readBytes(handle, 0, stats.size, stats.size);
  const encoding = encodingOf(bytes.subarray(0, sampleBytes));
  const type = typeOfName(basename(place.real)) ?? (encoding ? "text/plain" : "application/octet-stream");
  const about = { uri, mimeType: type };
  if (encoding) return { contents: [{ ...about, text: decode(bytes, encoding) }] };
  const blob = bytes.toString("base64");
  return { contents: [{ ...about, blob }] };
}

async function readFolder(desk: Desk, jail: Jail, uri: string, ctx: Context): Promise<ReadResourceResult | undefined> {
  const limit = desk.settings.limits.results;
  const isShown = (name: string) => jail.isNameShown(name);
  try {
    return await jail.inFolder(uri, async (folder) => {
      const page = await pageOf(folder, { after: undefined, limit, isShown, signal: ctx.signal });
      const rows = page.entries.map(({ name }) => uriOf(join(folder.real, name)));
      const more = page.isLast ? [] : [`# ${page.total - rows.length} more; the tool list gives them in pages`];
      return { contents: [{ uri, mimeType: folderType, text: [...rows, ...more, ""].join("\r\n") }] };
    });
  } catch (reason) {
    if (reason instanceof ToolError || codeOf(reason) !== undefined) return undefined;
    throw reason;
  }
}

async function follow(desk: Desk, uri: string, changed: (uri?: string) => void): Promise<(() => void) | undefined> {
  const jail = desk.local;
  const place = await jail.locate(uri).catch((reason) => {
    if (reason instanceof ToolError) return undefined;
    throw reason;
  });
  if (!place) return undefined;
  const base = fullPath(place);
  return watchBelow(desk, jail, place.root, base, ({ real }) => {
    // A folder that is reached by a link keeps the address it was followed by.
    const below = segmentsBelow(base, real);
    if (below)
      changed(below.length === 0 ? uri : `${uri.replace(/\/$/, "")}/${below.map(encodeURIComponent).join("/")}`);
  });
}

/** Suggests what a path goes on with, folder by folder. */
function completer(desk: Desk, root: Root | undefined): Completer<undefined> {
  return async (value, _, ctx) => {
    const jail = desk.knownJailFor(ctx);
    const typed = decoded(value);
    const slash = typed.lastIndexOf("/");
    const above = typed.slice(0, slash + 1);
    const start = typed.slice(slash + 1).toLowerCase();
    const isShown = (name: string) => jail.isNameShown(name) && name.toLowerCase().startsWith(start);
    try {
      return await jail.inFolder(join(root?.real ?? "/", above), async (folder) => {
        const page = await pageOf(folder, { after: undefined, limit: maxCompletions, isShown, signal: ctx.signal });
        const values = page.entries.map(({ name, kind }) => encoded(above + name) + (kind === "folder" ? "/" : ""));
        return { values, total: page.total, hasMore: !page.isLast };
      });
    } catch (reason) {
      if (reason instanceof ToolError || codeOf(reason) !== undefined) return [];
      throw reason;
    }
  };
}

/** A value as a template takes it: what would end the path in an address is encoded. */
function encoded(path: string): string {
  return path.replace(/[%?#]/g, encodeURIComponent);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
