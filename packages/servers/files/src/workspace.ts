import type { Context, RequestContext } from "portolan/server";
import { Jail } from "./jail/jail.ts";
import { clientFolders, joined, narrowed, type Root } from "./jail/roots.ts";
import type { Settings } from "./options.ts";

/** What all tools and resources work with. */
export class Desk {
  readonly settings: Settings;
  /** One change of a file after the other. */
  readonly turns: Turns = new Turns();
  readonly #roots: readonly Root[];
  readonly #own: Jail;
  /** What the local client's roots made of the folders when it was last asked; nobody else's are kept. */
  #lastLocal: Jail | undefined;

  constructor(roots: readonly Root[], settings: Settings) {
    this.#roots = roots;
    this.settings = settings;
    this.#own = new Jail(roots, settings);
  }

  /** The folders the server was started with. */
  get own(): Jail {
    return this.#own;
  }

  /** What exists for the caller; its roots are asked for in each call, so that changes are followed. */
  async jailFor(ctx: Context): Promise<Jail> {
    const { clientRoots } = this.settings;
    const isLocal = ctx.principal.key === "local";
    // Who comes over a network must not name the folders of this machine.
    if (clientRoots === "ignore" || (clientRoots === "provide" && !isLocal)) return this.#own;
    if (!ctx.mayAsk("roots")) return this.#own;
    const wanted = await clientFolders(await ctx.roots());
    const jail = new Jail((clientRoots === "narrow" ? narrowed : joined)(this.#roots, wanted), this.settings);
    if (isLocal) this.#lastLocal = jail;
    return jail;
  }

  /** The same where the client cannot be asked: what is known of its roots. */
  knownJailFor({ principal }: Pick<RequestContext<undefined>, "principal">): Jail {
    return principal.key === "local" ? this.local : this.#own;
  }

  /** What the local client was last found to have. */
  get local(): Jail {
    return this.#lastLocal ?? this.#own;
  }

  /** Whether searching and listing pass this folder by. */
  isIgnored(name: string): boolean {
    return this.settings.ignore.has(name);
  }
}

/** Lets one piece of work after the other touch the same thing. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` after all earlier work on the same key has ended, however it ended. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
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
