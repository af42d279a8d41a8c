import { dialMs, nodeAwayMs } from "./limits.ts";
import { dialPauseMs, ignore, type LinkOptions, type LinkState, LinkStatus, type RedisLink } from "./link.ts";

/** A client of node-redis 5 or 6 (npm: `redis`), from `createClient`, `createCluster` or `createSentinel`. */
export interface NodeRedisClient {
  duplicate(...overrides: never[]): unknown;
  sendCommand(...command: never[]): unknown;
  subscribe(...channels: never[]): unknown;
  destroy(): unknown;
}

/** The three kinds of clients of node-redis. */
export type NodeRedisKind = "client" | "cluster" | "sentinel";

/** The part of a duplicate that is used. */
interface Duplicate {
  /** Of a single client: whether its socket is connected. */
  readonly isReady: boolean;
  connect(): Promise<unknown>;
  destroy(): unknown;
  sendCommand(...command: unknown[]): Promise<unknown>;
  subscribe(channel: string, receive: (text: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  on(event: string, listener: (...args: never[]) => void): unknown;
}

/**
 * A connection of node-redis. A single client reconnects by itself. The clients of Sentinel and Cluster do so only in
 * part (one searches without a pause, the other keeps a master that was replaced), so they are replaced as a whole.
 */
export class NodeRedisLink implements RedisLink {
  readonly isCluster: boolean;
  readonly #client: NodeRedisClient;
  readonly #kind: NodeRedisKind;
  readonly #options: LinkOptions;
  readonly #status: LinkStatus;
  readonly #channels = new Set<string>();
  /** The listener of each channel of a duplicate. It must stay the same one: node-redis calls all different ones it was given. */
  readonly #listeners = new WeakMap<Duplicate, Map<string, (text: string) => void>>();
  #current: Duplicate | undefined;
  /** The duplicate that is being connected. */
  #next: Duplicate | undefined;
  #attempts = 0;
  #redial: ReturnType<typeof setTimeout> | undefined;
  #retired = new Map<Duplicate, ReturnType<typeof setTimeout>>();

  constructor(client: NodeRedisClient, kind: NodeRedisKind, options: LinkOptions) {
    this.isCluster = kind === "cluster";
    this.#client = client;
    this.#kind = kind;
    this.#options = options;
    this.#status = new LinkStatus(options.events);
  }

  get tried(): Promise<void> {
    return this.#status.tried;
  }

  get state(): LinkState {
    return this.#status.state;
  }

  get reason(): unknown {
    return this.#status.reason;
  }

  open(): void {
    if (this.state !== "idle") return;
    this.#status.connecting();
    this.#dial();
  }

  send(key: string, args: readonly string[]): Promise<unknown> {
    const current = this.#connected();
    if (this.#kind === "client") return current.sendCommand(args);
    return this.#kind === "cluster" ? current.sendCommand(key, false, args) : current.sendCommand(false, args);
  }

  subscribe(channel: string): Promise<unknown> {
    this.#channels.add(channel);
    return this.#listen(this.#connected(), channel);
  }

  unsubscribe(channel: string): Promise<unknown> {
    this.#channels.delete(channel);
    return this.#connected().unsubscribe(channel);
  }

  reset(): void {
    if (this.state !== "up" || !this.#current) return;
    void destroy(this.#current);
    this.#current = undefined;
    this.#status.down(new Error("it was silent, or became a replica"));
    this.#dial();
  }

  async close(): Promise<void> {
    if (this.state === "closed") return;
    this.#status.closed();
    clearTimeout(this.#redial);
    for (const timer of this.#retired.values()) clearTimeout(timer);
    const open = [this.#current, this.#next, ...this.#retired.keys()];
    this.#retired.clear();
    this.#next = undefined;
    await Promise.all(open.map((duplicate) => duplicate && destroy(duplicate)));
  }

  #connected(): Duplicate {
    if (!this.#current) throw new Error("The client is offline");
    return this.#current;
  }

  /** Subscribes a duplicate to a channel. May be called again: an earlier attempt may have succeeded late. */
  #listen(duplicate: Duplicate, channel: string): Promise<unknown> {
    const listeners = this.#listeners.get(duplicate) ?? new Map<string, (text: string) => void>();
    this.#listeners.set(duplicate, listeners);
    let listener = listeners.get(channel);
    if (!listener) {
      listener = (text) => {
        // One that was replaced receives the same messages for a while.
        if ((this.#current ?? this.#next) === duplicate) this.#options.events.received(channel, text);
      };
      listeners.set(channel, listener);
    }
    return duplicate.subscribe(channel, listener);
  }

  /** Connects a new duplicate, which takes the place of the present one when it is connected. */
  #dial(): void {
    if (this.#next || this.state === "closed") return;
    clearTimeout(this.#redial);
    this.#redial = undefined;
    const duplicate = this.#duplicate();
    this.#next = duplicate;
    if (this.#kind === "client") {
      // Its failure is an event, and it tries again by itself.
      duplicate.connect().catch(ignore);
      return;
    }
    this.#withinDialTime(duplicate.connect()).then(
      () => this.#use(duplicate),
      (error) => this.#failed(duplicate, error),
    );
  }

  async #use(duplicate: Duplicate): Promise<void> {
    if (this.#next !== duplicate) return;
    try {
      await this.#withinDialTime(Promise.all([...this.#channels].map((channel) => this.#listen(duplicate, channel))));
    } catch (error) {
      this.#failed(duplicate, error);
      return;
    }
    if (this.#next !== duplicate) return;
    const former = this.#current;
    this.#current = duplicate;
    this.#next = undefined;
    this.#attempts = 0;
    if (former) {
      // The commands under way on it may still be answered.
      this.#retired.set(
        former,
        setTimeout(() => {
          this.#retired.delete(former);
          void destroy(former);
        }, this.#options.silentMs),
      );
      this.#options.events.disturbed();
    }
    this.#status.up();
  }

  #failed(duplicate: Duplicate, error: unknown): void {
    void destroy(duplicate);
    if (this.#next !== duplicate) return;
    this.#next = undefined;
    // The other nodes of a cluster may serve on. A Sentinel whose master is away searches for it without a pause.
    if (this.#kind === "sentinel" && this.#current) {
      void destroy(this.#current);
      this.#current = undefined;
    }
    if (!this.#current) this.#status.down(error);
    this.#dialLater(this.isCluster && this.#current ? nodeAwayMs : dialPauseMs(this.#attempts));
    this.#attempts += 1;
  }

  #dialLater(pauseMs: number): void {
    this.#redial ??= setTimeout(() => this.#dial(), pauseMs);
  }

  async #withinDialTime(work: Promise<unknown>): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no connection within ${dialMs} ms`)), dialMs);
    });
    try {
      await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
      work.catch(ignore);
    }
  }

  #duplicate(): Duplicate {
    const { silentMs } = this.#options;
    const duplicate = duplicateOf(this.#client, this.#kind, silentMs);
    if (this.#kind === "client") this.#watchClient(duplicate);
    else if (this.#kind === "sentinel") this.#watchSentinel(duplicate);
    else this.#watchCluster(duplicate);
    return duplicate;
  }

  #watchClient(duplicate: Duplicate): void {
    duplicate.on("ready", () => {
      if (this.#next === duplicate) void this.#use(duplicate);
      else if (this.#current === duplicate) this.#status.up();
    });
    duplicate.on("error", (error: unknown) => {
      const isPresent = this.#current === duplicate || (this.#next === duplicate && !this.#current?.isReady);
      if (isPresent && !duplicate.isReady) this.#status.down(error);
    });
  }

  #watchSentinel(duplicate: Duplicate): void {
    duplicate.on("error", () => {
      // Of the master, a Sentinel or the subscriber: it does not say which, so all is made anew.
      if (this.#current === duplicate && this.state === "up") this.#dialLater(dialPauseMs(this.#attempts));
    });
    duplicate.on("topology-change", () => {
      if (this.#current === duplicate) this.#options.events.disturbed();
    });
  }

  #watchCluster(duplicate: Duplicate): void {
    duplicate.on("error", ignore);
    duplicate.on("node-error", () => {
      if (this.#current !== duplicate) return;
      this.#options.events.disturbed();
      this.#dialLater(nodeAwayMs);
    });
    for (const event of ["node-reconnecting", "node-disconnect"]) {
      duplicate.on(event, () => {
        if (this.#current === duplicate) this.#options.events.disturbed();
      });
    }
  }
}

function duplicateOf(client: NodeRedisClient, kind: NodeRedisKind, silentMs: number): Duplicate {
  const given = optionsOf(client, kind);
  // For connections that hang in their handshake, and nodes of a cluster. Long, because it also ends one that a busy process
  // has not read from.
  const idleMs = Math.max(dialMs, silentMs);
  const socketOf = (socket: object | undefined) => ({
    ...socket,
    // A ping each third of the time keeps a connection from being silent while it works.
    ...{ connectTimeout: dialMs, socketTimeout: idleMs, reconnectStrategy: dialPauseMs },
  });
  const ofNode = {
    // A command for a server that is away fails at once instead of waiting in a queue.
    ...{ disableOfflineQueue: true, pingInterval: Math.ceil(idleMs / 3) },
    // Replies are plain text, and nothing is cached or pushed.
    ...{ commandOptions: {}, readonly: false, clientSideCache: undefined, emitInvalidate: undefined },
    ...{ commandsQueueMaxLength: undefined, maintNotifications: "disabled" },
  };
  const ofAll = { commandOptions: {}, keyPrefix: undefined, clientSideCache: undefined };
  const duplicate = (overrides: object) =>
    (client.duplicate as (overrides: object) => Duplicate).call(client, { ...ofAll, ...overrides });
  if (kind === "client") return duplicate({ ...ofNode, socket: socketOf(given.socket) });
  if (kind === "cluster") {
    return duplicate({
      useReplicas: false,
      defaults: { ...given.defaults, ...ofNode, socket: socketOf(given.defaults?.socket) },
    });
  }
  // A Sentinel keeps the options of its nodes, with the password, to itself, so they stay as they are.
  return duplicate({
    // Without an own connection a command waits until all others are done; with a rediscovery it would be sent again.
    ...{ reserveClient: true, masterPoolSize: 1, replicaPoolSize: 0, maxCommandRediscovers: 0 },
    passthroughClientErrorEvents: true,
  });
}

interface NodeOptions {
  readonly socket?: object;
}

interface GivenOptions extends NodeOptions {
  readonly defaults?: NodeOptions;
}

/** Returns the options of the user's client, so that overrides add to them. */
function optionsOf(client: NodeRedisClient, kind: NodeRedisKind): GivenOptions {
  const { options, _options } = client as { options?: GivenOptions; _options?: GivenOptions };
  return (kind === "cluster" ? _options : options) ?? {};
}

/** Some versions throw if the client is closed already. */
async function destroy(duplicate: Duplicate): Promise<void> {
  try {
    await duplicate.destroy();
  } catch {
    // Nothing is left to close.
  }
}
