import type { Implementation, LogLevel, LogMessageParams } from "portolan";
import { logLevels, PortolanError, RpcError } from "portolan";
import type {
  Answers,
  ChangeStream,
  Client,
  ClientExtension,
  Clock,
  EraPolicy,
  HttpAuth,
  RequestObserver,
  TapEvent,
} from "portolan/client";
import { toError } from "portolan/internal";
import { changedFeatures, type HostEvent, type HostOptions, type ServerStatus } from "./api.ts";
import {
  type FeatureKind,
  type FeatureLimits,
  type ListedFeatures,
  type ListProblem,
  noFeatures,
  type ReadLists,
  readFeatures,
  Throttle,
} from "./catalog/load-lists.ts";
import type { PreviousTrust } from "./config/index.ts";
import { listSettleMs, longestTimerMs, maxLogMessageChars, pingAnswerMs, watchWaitMs } from "./limits.ts";
import { type OpenOptions, openConnection, type ServerConnection } from "./open-connection.ts";
import type { ServerEntry } from "./options.ts";
import { type Semaphore, Supervisor } from "./supervisor.ts";

/** Errors that end a stream of changes without a warning: the connection closed, or the server sends no changes. */
const closedCodes: readonly string[] = ["connection-closed", "cancelled"];
const noChangesCodes: readonly string[] = [...closedCodes, "capability-missing"];
const loginCodes: readonly string[] = ["login-required", "unauthorized"];
const kinds: readonly FeatureKind[] = ["tools", "prompts", "resources"];

/** Parts of the host that each of its servers uses. */
export interface ServerDependencies {
  readonly clock: Clock;
  readonly startSlots: Semaphore;
  readonly info: Implementation;
  readonly logLevel: LogLevel;
  readonly limits: FeatureLimits;
  readonly pingMs: number;
  readonly auth?: ((entry: ServerEntry) => HttpAuth | undefined) | undefined;
  readonly via?: ((url: URL) => typeof fetch | undefined) | undefined;
  readonly observer?: RequestObserver | undefined;
  readonly tap?: HostOptions["tap"];
  readonly extensions?: readonly ClientExtension[] | undefined;
  readonly emit: (event: HostEvent) => void;
  /** Returns the handlers of the server's own requests. */
  readonly answersFor: (server: HostedServer) => Answers;
  /** Replaces a server's features in the catalog. */
  readonly updateCatalog: (server: HostedServer, features: ListedFeatures) => Promise<void>;
  readonly onStateChange: (server: HostedServer) => void;
  /** Called when the server says that the user has finished at an address, with its id of the question. */
  readonly onVisited: (server: string, elicitationId: unknown) => void;
}

/** Options of a connection beside the host's own. */
export interface SecondConnection extends Pick<OpenOptions, "answers" | "signal" | "observer" | "tap"> {
  readonly era: EraPolicy | undefined;
}

/** One server of a host: keeps it connected and its features up to date. */
export class HostedServer {
  readonly entry: ServerEntry;
  readonly name: string;
  /** Digest of the entry's configuration and source; trust, grants and pins are bound to it. */
  readonly digest: string;
  readonly supervisor: Supervisor;
  /** Trusts the hints of its tools. */
  trustsHints: boolean;
  /** Switched off, by its entry or by the user. */
  isOff: boolean;
  /** A wait for its start ended without it. Runs do not wait for it again before it was ready. */
  isOverdue = false;
  /** The earlier configuration of the server that the user trusted. */
  previousTrust: PreviousTrust | undefined;
  readonly #dependencies: ServerDependencies;
  readonly #throttles: { readonly [kind in FeatureKind]: Throttle };
  /** The features when the lists were last read. */
  features: ListedFeatures = noFeatures;
  readonly #listProblems = new Map<FeatureKind, readonly ListProblem[]>();
  /** Lists that the server has reported as changed, until they are read. */
  readonly #reported = new Set<FeatureKind>();
  /** The connection whose lists were read. */
  #listedClient: Client | undefined;
  #queue: Promise<void> = Promise.resolve();
  readonly #subscriptions: ResourceSubscriptions;
  #logLevel: LogLevel;
  /** The server has sent something since the last check. */
  #wasHeard = false;
  #stopPingTimer: (() => void) | undefined;

  constructor(entry: ServerEntry, digest: string, dependencies: ServerDependencies) {
    this.entry = entry;
    this.name = entry.name;
    this.digest = digest;
    this.#dependencies = dependencies;
    this.trustsHints = entry.settings.trustHints ?? entry.source.kind === "code";
    this.isOff = entry.settings.disabled === true;
    this.#logLevel = dependencies.logLevel;
    this.#subscriptions = new ResourceSubscriptions(
      (uri) => dependencies.emit({ kind: "resource", server: entry.name, uri }),
      (uri, thrown) => this.#warnUnlessExpected(thrown, closedCodes, ` of ${uri}`),
    );
    const { startSlots, clock } = dependencies;
    this.supervisor = new Supervisor(entry, {
      startSlots,
      clock,
      random: Math.random,
      open: (_, signal) => this.#open(signal),
      onConnect: (client) => this.#onConnect(client),
      onStateChange: () => {
        this.#schedulePing();
        dependencies.onStateChange(this);
      },
    });
    const throttleFor = (kind: FeatureKind) => new Throttle(clock, () => this.#refresh(kind));
    this.#throttles = {
      tools: throttleFor("tools"),
      prompts: throttleFor("prompts"),
      resources: throttleFor("resources"),
    };
  }

  get client(): Client | undefined {
    return this.supervisor.client;
  }

  get status(): ServerStatus {
    const { status } = this.supervisor;
    const listProblems = this.client ? kinds.flatMap((kind) => this.#listProblems.get(kind) ?? []) : [];
    const isChanged = status.state === "untrusted" && (this.previousTrust?.changes.length ?? 0) > 0;
    return {
      ...status,
      ...(listProblems.length > 0 && { listProblems }),
      ...(isChanged && { isChanged }),
      ...(status.state === "starting" && this.isOverdue && { isOverdue: true }),
    };
  }

  /** Notes that the server answers. */
  heard(): void {
    this.#wasHeard = true;
    if (this.supervisor.state === "unresponsive") this.supervisor.showResponsive(true);
  }

  use(signal?: AbortSignal): Promise<Client> {
    return this.supervisor.use(signal);
  }

  /** Subscribes to a resource, across restarts. Returns the function that ends it. */
  async follow(uri: string): Promise<() => Promise<void>> {
    return this.#subscriptions.add(await this.use(), uri);
  }

  /** Sets the level of the server's log, across restarts. */
  async setLogLevel(level: LogLevel): Promise<void> {
    await (await this.use()).setLogLevel(level);
    this.#logLevel = level;
  }

  /** Reads one list again, throttled. */
  refresh(kind: FeatureKind): void {
    this.#reported.delete(kind);
    this.#throttles[kind].request();
  }

  /** Resolves when the changes of lists that the server has reported are in the catalog. */
  async settleLists(wasCalled: boolean, signal: AbortSignal): Promise<void> {
    const { client } = this;
    const { tools, prompts, resources } = client?.server.capabilities ?? {};
    const sendsChanges = [tools, prompts, resources].some((list) => list?.listChanged === true);
    // A change may be reported after the result of the call that caused it, but before the answer to a later request.
    const mayFollow = wasCalled && sendsChanges && this.supervisor.state === "ready";
    if (client && mayFollow) await client.ping({ signal, totalMs: listSettleMs }).catch(() => {});
    for (const kind of this.#reported) this.refresh(kind);
    await Promise.all(kinds.map((kind) => this.#throttles[kind].flush()));
  }

  /** Runs work one after the other, so that the last list read is the one that stays. */
  enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }

  async close(): Promise<void> {
    this.#stopPingTimer?.();
    for (const kind of kinds) this.#throttles[kind].stop();
    await this.supervisor.stop("closed");
  }

  #open(signal: AbortSignal): Promise<ServerConnection> {
    const { emit, observer, tap, answersFor, onVisited } = this.#dependencies;
    const { name: server } = this;
    return this.#connect({
      signal,
      logLevel: this.#logLevel,
      answers: answersFor(this),
      ...(observer && { observer }),
      ...(tap && { tap: (event: TapEvent) => tap(server, "main", event) }),
      onStderr: (line) => emit({ kind: "stderr", server, line }),
      onLog: (message) => emit({ kind: "log", server, ...toLog(message) }),
      onNotification: (method, params) => {
        this.#onNotification(method);
        if (method === "notifications/elicitation/complete") onVisited(server, params["elicitationId"]);
      },
    });
  }

  /** Opens a connection beside the host's own, with the same authorization. */
  connectAgain({ era = this.entry.settings.era, ...options }: SecondConnection): Promise<ServerConnection> {
    const { startSlots } = this.#dependencies;
    const open = () => this.#connect({ ...options, ...(era !== undefined && { era }), onStderr: () => {} });
    return startSlots.run(open, options.signal);
  }

  #connect(options: Omit<OpenOptions, "auth" | "via" | "clock">): Promise<ServerConnection> {
    const { emit, info, clock, auth, via, extensions } = this.#dependencies;
    return openConnection(this.entry, {
      info,
      clock,
      ...(options.answers.sample && { capabilities: { sampling: { tools: {} } } }),
      auth: auth?.(this.entry),
      via,
      ...(extensions && { extensions }),
      onError: ({ message }) => emit({ kind: "warning", server: this.name, message }),
      ...options,
    });
  }

  /**
   * Notes which lists have changed; the stream of changes has them read. A server that sends changes without declaring
   * `listChanged` has no such stream.
   */
  #onNotification(method: string): void {
    this.heard();
    const capabilities = this.#listedClient?.server.capabilities;
    for (const kind of kinds) {
      if (method !== `notifications/${kind}/list_changed` || !capabilities?.[kind]) continue;
      if (capabilities[kind].listChanged) this.#reported.add(kind);
      else this.refresh(kind);
    }
  }

  /** Reads all lists of a new connection before it is used. */
  async #onConnect(client: Client): Promise<void> {
    this.#reported.clear();
    // Watch first, so that no change is lost between reading and watching.
    const watch = this.#watch(client);
    const isWatched = await this.#isWatched(watch);
    const { instructions } = client.server;
    const read = await Promise.all(kinds.map((kind) => this.#read(client, kind)));
    await throwIfUnusable(client, read);
    const { instructions: _, ...lists } = this.features;
    const parts = read.map(({ features }) => features);
    const features = Object.assign({ ...lists }, ...parts, instructions !== undefined && { instructions });
    await this.#dependencies.updateCatalog(this, features);
    this.#listedClient = client;
    this.#subscriptions.resume(client);
    // Changes since the watch began wait in its stream.
    watch.then((changes) => {
      if (!changes) return undefined;
      if (!isWatched) for (const kind of kinds) this.refresh(kind);
      return this.#readChanges(changes);
    });
  }

  async #isWatched(watch: Promise<unknown>): Promise<boolean> {
    let stop: () => void = () => {};
    const pause = new Promise<boolean>((resolve) => {
      stop = this.#dependencies.clock.after(watchWaitMs, () => resolve(false));
    });
    const isWatched = await Promise.race([watch.then(() => true), pause]);
    stop();
    return isWatched;
  }

  async #refresh(kind: FeatureKind): Promise<void> {
    const client = this.#listedClient;
    if (!client) return;
    const { features } = await this.#read(client, kind);
    if (client !== this.client) return;
    try {
      await this.#dependencies.updateCatalog(this, { ...this.features, ...features });
    } catch (thrown) {
      // Features that cannot be compared with the pins are not used. The next start tries again.
      this.#warn(`${kind}: ${toError(thrown).message}`);
      await this.supervisor.stop();
      return;
    }
    this.#dependencies.emit({ kind: "catalog", server: this.name, changed: kind });
  }

  /** Reads the lists of one kind, and warns of what is missing. A list that cannot be read keeps its previous content. */
  async #read(client: Client, kind: FeatureKind): Promise<ReadLists> {
    const read = await readFeatures(client, kind, this.#dependencies.limits);
    this.#listProblems.set(kind, read.problems);
    for (const { message } of read.problems) this.#warn(message);
    return read;
  }

  /** Checks a connected server at intervals, unless each request has a connection of its own. */
  #schedulePing(): void {
    this.#stopPingTimer?.();
    this.#stopPingTimer = undefined;
    const { client } = this;
    const { clock, pingMs } = this.#dependencies;
    const hasConnection = "command" in this.entry.target || client?.server.era === "stateful";
    if (!client || !hasConnection || pingMs === 0) return;
    this.#stopPingTimer = clock.after(Math.min(pingMs, longestTimerMs), () => {
      this.#ping(client).then(() => this.#schedulePing());
    });
  }

  /** Asks a server that was not heard from. A missing answer changes its state; nothing is ended. */
  async #ping(client: Client): Promise<void> {
    const wasHeard = this.#wasHeard;
    this.#wasHeard = false;
    if (wasHeard) return;
    try {
      await client.ping({ idleMs: pingAnswerMs });
      if (client === this.client) this.supervisor.showResponsive(true);
    } catch (thrown) {
      if (client !== this.client) return;
      // Any answer will do, also that it does not know the request.
      const isAnswer = thrown instanceof RpcError;
      this.supervisor.showResponsive(isAnswer, isAnswer ? undefined : describeSilence(thrown));
    }
  }

  /** Opens the stream of list changes, if the server sends them. */
  #watch(client: Client): Promise<ChangeStream | undefined> {
    return client
      .watch({ tools: true, prompts: true, resources: true })
      .catch((thrown) => this.#warnUnlessExpected(thrown, noChangesCodes));
  }

  async #readChanges(changes: ChangeStream): Promise<void> {
    try {
      for await (const change of changes) {
        const kind = changedFeatures(change);
        if (kind) this.refresh(kind);
      }
    } catch (thrown) {
      this.#warnUnlessExpected(thrown, noChangesCodes);
    }
  }

  #warnUnlessExpected(thrown: unknown, expected: readonly string[], what = ""): undefined {
    const isExpected = thrown instanceof PortolanError && expected.includes(thrown.code);
    if (!isExpected) this.#warn(`Changes${what} are not received: ${toError(thrown).message}`);
  }

  #warn(message: string): void {
    this.#dependencies.emit({ kind: "warning", server: this.name, message });
  }
}

/**
 * Throws if the server cannot be used, although it answered at first: its connection is lost, or the user must sign in
 * before any list can be read.
 */
async function throwIfUnusable(client: Client, read: readonly ReadLists[]): Promise<void> {
  const isOpen = Symbol("open");
  const lost = await Promise.race([client.closed, isOpen]);
  if (lost !== isOpen) throw lost ?? new PortolanError("connection-closed", "the connection ended");
  const known = read.flatMap(({ features }) => Object.values(features)).some((items) => items.length > 0);
  const errors = read.flatMap(({ problems }) => problems.map(({ error }) => error));
  const login = errors.find((error) => error instanceof PortolanError && loginCodes.includes(error.code));
  if (login && !known) throw login;
}

function describeSilence(thrown: unknown): string {
  const isLate = thrown instanceof PortolanError && thrown.code === "timeout";
  return isLate ? `no answer to a ping within ${pingAnswerMs / 1_000} s` : toError(thrown).message;
}

/** Normalizes a log message, because a server may send anything. */
function toLog({ level, logger, data = null }: Partial<LogMessageParams>): Omit<LogMessageParams, "_meta"> {
  const known = logLevels.find((one) => one === level) ?? "info";
  return { level: known, ...(typeof logger === "string" && { logger }), data: shorten(data) };
}

/** Cuts a long message, because many of them wait for each reader. */
function shorten(data: unknown): unknown {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  if (text.length <= maxLogMessageChars) return data;
  return `${text.slice(0, maxLogMessageChars)} (${text.length - maxLogMessageChars} more characters)`;
}

/** One subscription to a resource. */
interface ResourceSubscription {
  readonly uri: string;
  changes?: ChangeStream;
}

/** The resource subscriptions of one server, renewed with each connection. */
export class ResourceSubscriptions {
  readonly #all = new Set<ResourceSubscription>();
  readonly #onChange: (uri: string) => void;
  readonly #onFailure: (uri: string, thrown: unknown) => void;

  /** `onChange` is called for each change, `onFailure` when a subscription ends with an error. */
  constructor(onChange: (uri: string) => void, onFailure: (uri: string, thrown: unknown) => void) {
    this.#onChange = onChange;
    this.#onFailure = onFailure;
  }

  /** Subscribes to a resource. Returns the function that ends it. */
  async add(client: Client, uri: string): Promise<() => Promise<void>> {
    const subscription: ResourceSubscription = { uri };
    // Added before it is watched, because the connection may be replaced meanwhile.
    this.#all.add(subscription);
    try {
      await this.#watch(client, subscription);
    } catch (reason) {
      this.#all.delete(subscription);
      throw reason;
    }
    return async () => {
      this.#all.delete(subscription);
      await subscription.changes?.close();
    };
  }

  /** Renews all subscriptions on a new connection. */
  resume(client: Client): void {
    for (const subscription of this.#all) {
      this.#watch(client, subscription).catch((thrown) => this.#onFailure(subscription.uri, thrown));
    }
  }

  async #watch(client: Client, subscription: ResourceSubscription): Promise<void> {
    const { uri } = subscription;
    const changes = await client.watch({ uris: [uri] });
    // Ended meanwhile, when there was no stream to close yet.
    if (!this.#all.has(subscription)) return changes.close();
    subscription.changes = changes;
    this.#readChanges(changes).catch((thrown) => this.#onFailure(uri, thrown));
  }

  async #readChanges(changes: ChangeStream): Promise<void> {
    for await (const change of changes) if (change.kind === "resource") this.#onChange(change.uri);
  }
}
