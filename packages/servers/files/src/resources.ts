import { lstat } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ReadResourceResult, Resource } from "portolan";
import {
  type Completer,
  type Context,
  type ResourceWatcher,
  type Server,
  type TemplateDefinition,
  ToolError,
} from "portolan/server";
import { callerOf } from "portolan-server-kit";
import {
  type Folder,
  fullPath,
  IsFolderError,
  type Jail,
  type OpenFile,
  pageOf,
  type Root,
  segmentsBelow,
  systemCodeOf,
  toToolError,
  uriOf,
  type WalkEnd,
  walk,
} from "portolan-server-kit/files";
import { typeOfName } from "./disk/mime.ts";
import type { WatchedPlace } from "./disk/watcher.ts";
import { decode, encodingOf, sampleBytes } from "./text/encoding.ts";
import { readBytes } from "./text/range.ts";
import type { Workspace } from "./workspace.ts";

const folderType = "text/uri-list";
const maxCompletions = 100;
/** Changes within this time cause one notification. */
const settleMs = 50;

/** Adds the served files and folders as resources, with subscriptions. */
export function withResources(server: Server, roots: readonly Root[], workspace: Workspace): Server {
  const listing = new Listing(workspace);
  const watch: ResourceWatcher = (uri, changed, _, subscriber) => follow(workspace, uri, changed, subscriber);
  const about = { watch };
  const read = (uri: string, ctx: Context) => readResource(workspace, uri, ctx);
  let whole = server;
  const templates: { base: string; root: Root | undefined }[] = roots.map((root) => ({ base: uriOf(root.real), root }));
  if (workspace.settings.clientRoots === "provide") templates.push({ base: "file://", root: undefined });
  for (const [index, { base, root }] of templates.entries()) {
    const definition: TemplateDefinition<undefined> = {
      ...about,
      name: root?.name ?? "files",
      complete: { path: completer(workspace, root) },
      read: (_, ctx, uri) => read(uri, ctx),
      // One list for all templates: a client may have other folders.
      ...(index === 0 && { list: (ctx) => listing.list(workspace.knownJailFor(ctx), () => changed()) }),
    };
    whole = whole.template(`${base.replace(/\/$/, "")}/{+path}`, definition);
    if (root)
      whole = whole.resource(base, { ...about, name: root.name, mimeType: folderType, read: (ctx) => read(base, ctx) });
  }
  // The list agrees with the tool info: without folders that the roots of this client leave out.
  const listed = whole.use(
    async (exchange, next) => {
      const outcome = await next(exchange);
      const known = new Set(workspace.knownJailFor(exchange).roots.map(({ real }) => real));
      const hidden = new Set(roots.filter(({ real }) => !known.has(real)).map(({ real }) => uriOf(real)));
      if (outcome.kind !== "complete" || hidden.size === 0) return outcome;
      const resources = (outcome.result["resources"] as Resource[]).filter(({ uri }) => !hidden.has(uri));
      return { ...outcome, result: { ...outcome.result, resources } };
    },
    { method: "resources/list" },
  );
  const served = listed.use(
    async (exchange, next) => {
      const { notifications = {} } = exchange.params as { notifications?: ListenFilter };
      // Held here as well, so that a request beyond the limits is refused with the reason: a resource that the library
      // cannot watch only lacks in the acknowledgement.
      const release = await holdAll(workspace, notifications.resourceSubscriptions ?? [], exchange);
      try {
        if (notifications.resourcesListChanged !== true) return await next(exchange);
        // The client need not have read the list before. What cannot be watched is not acknowledged.
        if (await listing.watch(workspace.knownJailFor(exchange), () => changed())) return await next(exchange);
        const rest = { ...notifications, resourcesListChanged: false };
        return await next(exchange.withParams({ ...exchange.params, notifications: rest }));
      } finally {
        release();
      }
    },
    { method: "subscriptions/listen" },
  );
  const changed = () => served.publish("resources/list_changed", {});
  return served;
}

/** The members of the filter of `subscriptions/listen` that this server reads. */
interface ListenFilter {
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
}

/** Resources of one request that are held; the library refuses a request with more. */
const maxHeld = 1_000;

/** Holds the watchers of resources for a caller. Returns the function that releases them; throws if they are too many. */
async function holdAll(workspace: Workspace, uris: readonly string[], subscriber: Subscriber): Promise<() => void> {
  const releases: (() => void)[] = [];
  const releaseAll = () => {
    for (const release of releases) release();
  };
  try {
    for (const uri of uris.slice(0, maxHeld)) {
      const place = await placeOf(workspace, uri, subscriber);
      if (place) releases.push(await workspace.watchers.hold(place, callerOf(subscriber), () => {}));
    }
  } catch (reason) {
    releaseAll();
    throw reason;
  }
  return releaseAll;
}

type Subscriber = Parameters<ResourceWatcher>[3];

/** Returns the real place that a URI names, however it is spelled; undefined if the caller cannot see it. */
async function placeOf(workspace: Workspace, uri: string, subscriber: Subscriber): Promise<WatchedPlace | undefined> {
  const jail = workspace.knownJailFor(subscriber);
  try {
    const place = await jail.locate(uri);
    return { jail, root: place.root, real: fullPath(place) };
  } catch (reason) {
    if (reason instanceof ToolError) return undefined;
    throw reason;
  }
}

/** The list of resources, and the watchers that detect its changes. */
class Listing {
  readonly #workspace: Workspace;
  readonly #watched = new Map<string, Promise<boolean>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
  }

  /** Watches all roots for changes of the list. Returns false if one of them cannot be watched. */
  async watch(jail: Jail, changed: () => void): Promise<boolean> {
    const watched = await Promise.all(jail.roots.map((root) => this.#watch(jail, root, changed)));
    return watched.every((isWatched) => isWatched);
  }

  async list(jail: Jail, changed: () => void): Promise<Resource[]> {
    await this.watch(jail, changed);
    const found: (Resource & { depth: number })[] = [];
    for (const root of jail.roots) {
      await jail
        .inFolder(root.real, (folder) => this.#collect(jail, root, folder, found))
        .catch((reason) => {
          // The folder has been removed: there is nothing to list.
          if (!(reason instanceof ToolError) && systemCodeOf(reason) === undefined) throw reason;
        });
    }
    // Entries close to the root come first; deeper ones that do not fit are available by template.
    found.sort((a, b) => a.depth - b.depth);
    return found.slice(0, this.#workspace.settings.limits.listed).map(({ depth: _, ...resource }) => resource);
  }

  async #collect(jail: Jail, root: Root, start: Folder, found: (Resource & { depth: number })[]): Promise<void> {
    const { listed, depth } = this.#workspace.settings.limits;
    const end: WalkEnd = { isCut: false, unreadable: 0 };
    const options = {
      walked: listed * 10,
      depth,
      signal: this.#workspace.settings.signal ?? new AbortController().signal,
      isShown: (name: string) => jail.isNameShown(name) && !this.#workspace.isIgnored(name),
      isEntered: () => true,
    };
    let kept = 0;
    for await (const { folder, name, kind, segments } of walk(start, options, end)) {
      if (kind !== "file" && kind !== "folder") continue;
      const uri = uriOf(join(folder.real, name));
      const named = { uri, name: jail.pathOf(root, join(folder.real, name)), depth: segments.length };
      kept += 1;
      if (kind === "folder") found.push({ ...named, mimeType: folderType });
      else found.push({ ...named, ...(kept <= listed && (await aboutFile(folder, name))) });
    }
  }

  #watch(jail: Jail, root: Root, changed: () => void): Promise<boolean> {
    let watched = this.#watched.get(root.real);
    if (!watched) {
      const { watchers } = this.#workspace;
      // The list is shared by all callers, so its paths count for none of them.
      const held = watchers.hold({ jail, root, real: root.real }, undefined, ({ isListChange }) => {
        if (!isListChange || this.#timer) return;
        this.#timer = setTimeout(() => {
          this.#timer = undefined;
          changed();
        }, settleMs).unref();
      });
      watched = held.then(
        () => true,
        () => false,
      );
      this.#watched.set(root.real, watched);
      // A root that cannot be watched now is tried again with the next list.
      watched.then((isWatched) => isWatched || this.#watched.delete(root.real));
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

async function readResource(workspace: Workspace, uri: string, ctx: Context): Promise<ReadResourceResult | undefined> {
  const jail = await workspace.jailFor(ctx);
  try {
    const file = await jail.openFile(uri);
    return await contentsOf(file, uri, workspace.settings.limits.blobBytes).finally(() => file.handle.close());
  } catch (reason) {
    if (reason instanceof IsFolderError || isRoot(jail, uri)) return readFolder(workspace, jail, uri, ctx);
    // Outside, hidden and special files do not exist for callers.
    if (reason instanceof ToolError || isMissing(reason)) return undefined;
    throw await cannotRead(uri, reason);
  }
}

function isRoot(jail: Jail, uri: string): boolean {
  return jail.roots.some(({ real }) => uriOf(real) === uri);
}

async function contentsOf({ handle, stats, place }: OpenFile, uri: string, most: number): Promise<ReadResourceResult> {
  if (stats.size > most) {
    const { RpcError } = await import("portolan");
    throw new RpcError(1_001, `${uri} has ${stats.size} bytes, more than ${most}; the tool read returns it in parts`);
  }
  const bytes = await readBytes(handle, 0, stats.size, stats.size);
  const encoding = encodingOf(bytes.subarray(0, sampleBytes));
  const type = typeOfName(basename(place.real)) ?? (encoding ? "text/plain" : "application/octet-stream");
  const about = { uri, mimeType: type };
  if (encoding) return { contents: [{ ...about, text: decode(bytes, encoding) }] };
  const blob = bytes.toString("base64");
  return { contents: [{ ...about, blob }] };
}

async function readFolder(
  workspace: Workspace,
  jail: Jail,
  uri: string,
  ctx: Context,
): Promise<ReadResourceResult | undefined> {
  const limit = workspace.settings.limits.results;
  const isShown = (name: string) => jail.isNameShown(name);
  try {
    return await jail.inFolder(uri, async (folder) => {
      const page = await pageOf(folder, { after: undefined, limit, isShown, signal: ctx.signal });
      const rows = page.entries.map(({ name }) => uriOf(join(folder.real, name)));
      const more = page.isLast ? [] : [`# ${page.total - rows.length} more; the tool list returns them in pages`];
      return { contents: [{ uri, mimeType: folderType, text: [...rows, ...more, ""].join("\r\n") }] };
    });
  } catch (reason) {
    if (reason instanceof ToolError || isMissing(reason)) return undefined;
    throw await cannotRead(uri, reason);
  }
}

/** Returns whether a system error says that there is nothing at a path. */
function isMissing(reason: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"].includes(systemCodeOf(reason) ?? "");
}

/** Returns the error for a resource that exists but cannot be read: "not found" would hide the cause. */
async function cannotRead(uri: string, reason: unknown): Promise<unknown> {
  const explained = toToolError(uri, reason);
  if (!(explained instanceof ToolError)) return reason;
  const { RpcError } = await import("portolan");
  return new RpcError(1_001, explained.message, { cause: reason });
}

async function follow(
  workspace: Workspace,
  uri: string,
  changed: (uri?: string) => void,
  subscriber: Subscriber,
): Promise<(() => void) | undefined> {
  const place = await placeOf(workspace, uri, subscriber);
  if (!place) return undefined;
  return workspace.watchers.hold(place, callerOf(subscriber), ({ real }) => {
    // A folder reached by a link keeps the URI of the subscription.
    const below = segmentsBelow(place.real, real);
    if (below)
      changed(below.length === 0 ? uri : `${uri.replace(/\/$/, "")}/${below.map(encodeURIComponent).join("/")}`);
  });
}

/** Completes paths, one level at a time. */
function completer(workspace: Workspace, root: Root | undefined): Completer<undefined> {
  return async (value, _, ctx) => {
    const jail = workspace.knownJailFor(ctx);
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
      if (reason instanceof ToolError || systemCodeOf(reason) !== undefined) return [];
      throw reason;
    }
  };
}

/** Encodes the characters that would end the path of a URI. */
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
