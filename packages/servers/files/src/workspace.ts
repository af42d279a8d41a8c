import type { Root as ClientRoot } from "portolan";
import type { Context, RequestContext } from "portolan/server";
import { clientFolders, Jail, joined, narrowed, type Root } from "portolan-server-kit/files";
import { Watchers } from "./disk/watcher.ts";
import type { Settings } from "./options.ts";

/** Shared by all tools and resources: settings, served folders, locks and watchers. */
export class Workspace {
  readonly settings: Settings;
  /** Serializes changes of the same file. */
  readonly mutex: KeyedMutex = new KeyedMutex();
  readonly watchers: Watchers;
  readonly #roots: readonly Root[];
  readonly #own: Jail;
  /** The jail after the local client was last asked for its roots; roots of other clients are not kept. */
  #lastLocal: Jail | undefined;

  constructor(roots: readonly Root[], settings: Settings) {
    this.#roots = roots;
    this.settings = settings;
    this.#own = new Jail(roots, settings);
    this.watchers = new Watchers(settings);
  }

  /** The folders that the server was started with. */
  get own(): Jail {
    return this.#own;
  }

  /** Returns the folders for a caller; asks for its roots in each call, so that changes take effect. */
  async jailFor(ctx: Context): Promise<Jail> {
    const { clientRoots } = this.settings;
    const isLocal = ctx.principal.key === "local";
    // A client on the network must not choose folders of this machine.
    if (clientRoots === "ignore" || (clientRoots === "provide" && !isLocal)) return this.#own;
    if (!ctx.mayAsk("roots")) return this.#own;
    const jail = await this.#withRoots(await ctx.roots());
    if (isLocal) this.#lastLocal = jail;
    return jail;
  }

  /** A client that can tell its roots but has none names no folder to narrow to. */
  async #withRoots(roots: readonly ClientRoot[]): Promise<Jail> {
    const { settings } = this;
    if (roots.length === 0) return this.#own;
    const wanted = await clientFolders(roots);
    if (settings.clientRoots === "provide") return new Jail(joined(this.#roots, wanted), settings);
    return new Jail(narrowed(this.#roots, wanted), { ...settings, whyEmpty: whyEmpty(this.#roots, roots) });
  }

  /** Like `jailFor`, but without asking the client: uses its last known roots. */
  knownJailFor({ principal }: Pick<RequestContext<undefined>, "principal">): Jail {
    return principal.key === "local" ? this.local : this.#own;
  }

  /** The last known jail of the local client. */
  get local(): Jail {
    return this.#lastLocal ?? this.#own;
  }

  /** Returns true if searches and lists skip this folder. */
  isIgnored(name: string): boolean {
    return this.settings.ignore.has(name);
  }
}

/** Roots in a message; a client can have many. */
const maxShownRoots = 3;

function whyEmpty(served: readonly Root[], roots: readonly ClientRoot[]): string {
  const shown = roots.slice(0, maxShownRoots).map(({ uri }) => JSON.stringify(uri.slice(0, 200)));
  const more = roots.length > maxShownRoots ? ` and ${roots.length - maxShownRoots} more` : "";
  const folders = served.map(({ real }) => real).join(", ");
  return (
    `the roots of this client (${shown.join(", ")}${more}) have nothing in common with the folders of this server ` +
    `(${folders}). Ask the user to open one of these folders, or to start the server with --client-roots ignore`
  );
}

/** A mutex per key. */
export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work on the same key has settled. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    const settled = mine.catch(() => {});
    this.#last.set(key, settled);
    try {
      return await mine;
    } finally {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    }
  }
}
