import type { Channel, Implementation, LogLevel, LogMessageParams } from "portolan";
import { logLevels, PortolanError } from "portolan";
import type { Answers, ChangeStream, Client, Clock, ConnectOptions, HttpAuth, Link } from "portolan/client";
import { connect } from "portolan/client";
import { timedOut, toError } from "portolan/internal";
import { type HostEvent, offersChangedBy } from "./api.ts";
import {
  type FeatureKind,
  type FeatureLimits,
  type ListedFeatures,
  nothing,
  readOffers,
  Throttle,
} from "./catalog/load-lists.ts";
import { waitFor } from "./consent.ts";
import type { CustomTarget, HttpTarget, ServerEntry } from "./options.ts";
import { type Semaphore, Supervisor } from "./supervisor.ts";

/** How long a server may take to say what it will tell, before its lists are read all the same. */
const patienceMs = 1_000;
/** How much of one log message is told. */
const maxLogChars = 64 * 1024;
/** It is gone, or tells of no changes. */
const isGone: readonly string[] = ["connection-closed", "cancelled"];
const isQuiet: readonly string[] = [...isGone, "capability-missing"];
const kinds: readonly FeatureKind[] = ["tools", "prompts", "resources"];

/** What a host lends to each of its servers. */
export interface Household {
  readonly clock: Clock;
  readonly gate: Semaphore;
  readonly info: Implementation;
  readonly logLevel: LogLevel;
  readonly limits: FeatureLimits;
  readonly auth?: ((entry: ServerEntry) => HttpAuth | undefined) | undefined;
  readonly via?: ((url: URL) => typeof fetch | undefined) | undefined;
  readonly tell: (event: HostEvent) => void;
  /** How the server's questions are answered. */
  readonly answersFor: (server: HostedServer) => Answers;
  /** Takes in what a server offers now. */
  readonly takeIn: (server: HostedServer, offers: ListedFeatures) => Promise<void>;
  readonly noteState: (server: HostedServer) => void;
}

/** One server of a host: kept running, and what it offers kept up to date. */
export class HostedServer {
  readonly entry: ServerEntry;
  /** Names exactly what is started or reached, and who said so. */
  readonly digest: string;
  readonly supervisor: Supervisor;
  /** Whether what it says of its tools counts. */
  trustsHints: boolean;
  /** Switched off, by its entry or by the user. */
  isOff: boolean;
  readonly #house: Household;
  readonly #paces: { readonly [kind in FeatureKind]: Throttle };
  /** What it offered when it was last looked at. */
  offers: ListedFeatures = nothing;
  /** The connection whose lists were read. */
  #introduced: Client | undefined;
  #turn: Promise<void> = Promise.resolve();
  readonly #followed: Followed;
  #logLevel: LogLevel;

  constructor(entry: ServerEntry, digest: string, house: Household) {
    this.entry = entry;
    this.digest = digest;
    this.#house = house;
    this.trustsHints = entry.settings.trustHints ?? entry.source.kind === "code";
    this.isOff = entry.settings.disabled === true;
    this.#logLevel = house.logLevel;
    this.#followed = new Followed(
      (uri) => house.tell({ kind: "resource", server: entry.name, uri }),
      (uri, thrown) => this.#unheard(thrown, isGone, ` of ${uri}`),
    );
    const { gate, clock } = house;
    this.supervisor = new Supervisor(entry, {
      gate,
      clock,
      random: Math.random,
      open: (_, signal) => this.#open(signal),
      connected: (client) => this.#connected(client),
      changed: () => house.noteState(this),
    });
    const paceOf = (kind: FeatureKind) => new Throttle(clock, () => this.#refresh(kind));
    this.#paces = { tools: paceOf("tools"), prompts: paceOf("prompts"), resources: paceOf("resources") };
  }

  get name(): string {
    return this.entry.name;
  }

  get client(): Client | undefined {
    return this.supervisor.client;
  }

  use(signal?: AbortSignal): Promise<Client> {
    return this.supervisor.use(signal);
  }

  /** Tells of changes of a resource, also after a restart, until what it gives is called. */
  async follow(uri: string): Promise<() => Promise<void>> {
    return this.#followed.add(await this.use(), uri);
  }

  /** What it is to log from now on, also after a restart. */
  async setLogLevel(level: LogLevel): Promise<void> {
    await (await this.use()).setLogLevel(level);
    this.#logLevel = level;
  }

  /** Has one list read again, though never faster than is good for anybody. */
  refresh(kind: FeatureKind): void {
    this.#paces[kind].want();
  }

  /** Does one thing after the other, so that what was read last is what counts in the end. */
  inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }

  async close(): Promise<void> {
    for (const kind of kinds) this.#paces[kind].stop();
    await this.supervisor.stop("closed");
  }

  #open(signal: AbortSignal) {
    const { tell, info, clock, auth, via } = this.#house;
    const answers = this.#house.answersFor(this);
    const { name: server } = this;
    const warn = (message: string) => tell({ kind: "warning", server, message });
    return openConnection(this.entry, {
      signal,
      info,
      logLevel: this.#logLevel,
      clock,
      answers,
      ...(answers.sample && { capabilities: { sampling: { tools: {} } } }),
      auth: auth?.(this.entry),
      via,
      onStderr: (line) => tell({ kind: "stderr", server, line }),
      onLog: (message) => tell({ kind: "log", server, ...toLog(message) }),
      onNotification: (method) => this.#heardUnpromised(method),
      onError: ({ message }) => warn(message),
    });
  }

  /** Some servers tell of changes without having promised it, so that nobody watches for them. */
  #heardUnpromised(method: string): void {
    const capabilities = this.#introduced?.server.capabilities;
    for (const kind of kinds) {
      if (method !== `notifications/${kind}/list_changed`) continue;
      if (capabilities?.[kind] && !capabilities[kind].listChanged) this.refresh(kind);
    }
  }

  /** Looks at all that a new connection offers before it is used. */
  async #connected(client: Client): Promise<void> {
    // First, so that no change falls between reading and watching.
    const watching = this.#watch(client);
    const isInTime = await this.#isInTime(watching);
    const { instructions } = client.server;
    const parts = await Promise.all(kinds.map((kind) => this.#read(client, kind)));
    const { instructions: _, ...lists } = this.offers;
    const offers = Object.assign({ ...lists }, ...parts, instructions !== undefined && { instructions });
    await this.#house.takeIn(this, offers);
    this.#introduced = client;
    this.#followed.goOn(client);
    // From now on: what has changed meanwhile waits in the watch.
    watching.then((watch) => {
      if (!watch) return undefined;
      if (!isInTime) for (const kind of kinds) this.refresh(kind);
      return this.#hear(watch);
    });
  }

  async #isInTime(watching: Promise<unknown>): Promise<boolean> {
    let stop: () => void = () => {};
    const pause = new Promise<boolean>((resolve) => {
      stop = this.#house.clock.after(patienceMs, () => resolve(false));
    });
    const isInTime = await Promise.race([watching.then(() => true), pause]);
    stop();
    return isInTime;
  }

  async #refresh(kind: FeatureKind): Promise<void> {
    const client = this.#introduced;
    if (!client) return;
    const part = await this.#read(client, kind);
    if (client !== this.client) return;
    try {
      await this.#house.takeIn(this, { ...this.offers, ...part });
    } catch (thrown) {
      // What cannot be compared with what was accepted is not used: with the next start it is tried again.
      this.#warn(`${kind}: ${toError(thrown).message}`);
      await this.supervisor.stop();
      return;
    }
    this.#house.tell({ kind: "catalog", server: this.name, changed: kind });
  }

  /** A list that cannot be read leaves the one that is known. */
  async #read(client: Client, kind: FeatureKind): Promise<Partial<ListedFeatures>> {
    try {
      return await readOffers(client, kind, this.#house.limits, (what) => this.#warn(what));
    } catch (thrown) {
      this.#warn(`${kind}: ${toError(thrown).message}`);
      return {};
    }
  }

  /** The changes that a connection tells of, if it does. */
  #watch(client: Client): Promise<ChangeStream | undefined> {
    return client
      .watch({ tools: true, prompts: true, resources: true })
      .catch((thrown) => this.#unheard(thrown, isQuiet));
  }

  async #hear(watch: ChangeStream): Promise<void> {
    try {
      for await (const change of watch) {
        const kind = offersChangedBy(change);
        if (kind) this.refresh(kind);
      }
    } catch (thrown) {
      this.#unheard(thrown, isQuiet);
    }
  }

  #unheard(thrown: unknown, expected: readonly string[], what = ""): undefined {
    const isExpected = thrown instanceof PortolanError && expected.includes(thrown.code);
    if (!isExpected) this.#warn(`changes${what} are not heard of: ${toError(thrown).message}`);
  }

  #warn(message: string): void {
    this.#house.tell({ kind: "warning", server: this.name, message });
  }
}

/** What a server logs, with the levels and names that there are: it may have sent anything. */
function toLog({ level, logger, data = null }: Partial<LogMessageParams>): Omit<LogMessageParams, "_meta"> {
  const known = logLevels.find((one) => one === level) ?? "info";
  return { level: known, ...(typeof logger === "string" && { logger }), data: shorten(data) };
}

/** A long message is cut: many of them wait for each reader. */
function shorten(data: unknown): unknown {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  if (text.length <= maxLogChars) return data;
  return `${text.slice(0, maxLogChars)} (${text.length - maxLogChars} more characters)`;
}

/** A resource whose changes somebody wants to hear of. */
interface Following {
  readonly uri: string;
  watch?: ChangeStream;
}

/** The resources of one server that are followed, from one connection to the next. */
export class Followed {
  readonly #all = new Set<Following>();
  readonly #heard: (uri: string) => void;
  readonly #failed: (uri: string, thrown: unknown) => void;

  /** `heard` is called for each change, `failed` when there will be no more of them. */
  constructor(heard: (uri: string) => void, failed: (uri: string, thrown: unknown) => void) {
    this.#heard = heard;
    this.#failed = failed;
  }

  /** Follows a resource until what it gives is called. */
  async add(client: Client, uri: string): Promise<() => Promise<void>> {
    const following: Following = { uri };
    // Before it is watched: the connection may be another by then.
    this.#all.add(following);
    try {
      await this.#watch(client, following);
    } catch (reason) {
      this.#all.delete(following);
      throw reason;
    }
    return async () => {
      this.#all.delete(following);
      await following.watch?.close();
    };
  }

  /** Goes on with a new connection. */
  goOn(client: Client): void {
    for (const following of this.#all) {
      this.#watch(client, following).catch((thrown) => this.#failed(following.uri, thrown));
    }
  }

  async #watch(client: Client, following: Following): Promise<void> {
    const { uri } = following;
    const watch = await client.watch({ uris: [uri] });
    // Whoever has left meanwhile could not close it.
    if (!this.#all.has(following)) return watch.close();
    following.watch = watch;
    this.#hear(watch).catch((thrown) => this.#failed(uri, thrown));
  }

  async #hear(watch: ChangeStream): Promise<void> {
    for await (const change of watch) if (change.kind === "resource") this.#heard(change.uri);
  }
}

const defaultConnectMs = 60_000;

/** A running server: how to speak to it, and what is known of its process. */
export interface Connection {
  readonly client: Client;
  readonly pid?: number | undefined;
  readonly stderr?: string | undefined;
}

/** What a connection is opened with. */
export interface Opening extends Omit<ConnectOptions, "auth"> {
  readonly answers: Answers;
  /** Authorizes requests, unless the entry says how. */
  readonly auth: HttpAuth | undefined;
  /** The fetch for an address that is not reached straight. */
  readonly via: ((url: URL) => typeof fetch | undefined) | undefined;
  readonly onStderr: (line: string) => void;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Connects to a server in the way its entry says. */
export async function openConnection({ target, settings }: ServerEntry, opening: Opening): Promise<Connection> {
  const { onStderr, auth: _auth, via: _via, ...options } = opening;
  const { era, connectMs, idleMs } = settings;
  const process =
    "command" in target ? (await import("portolan/client/stdio")).stdio({ ...target, onStderr }) : undefined;
  const link =
    process ??
    ("open" in target ? await inTime(target, connectMs, opening) : await httpLink(target as HttpTarget, opening));
  const client = await connect(link, {
    ...options,
    ...(era !== undefined && { era }),
    ...(connectMs !== undefined && { connectMs }),
    ...(idleMs !== undefined && { idleMs }),
  });
  // Read when somebody looks: a process writes more as it lives.
  return {
    client,
    get pid() {
      return process?.pid;
    },
    get stderr() {
      return process?.stderr;
    },
  };
}

/** What the application opens; it is not waited for longer than for any other server, and closed if it comes too late. */
async function inTime(
  target: CustomTarget,
  connectMs = defaultConnectMs,
  { signal, clock }: Opening,
): Promise<Link | Channel> {
  const late = new AbortController();
  const giveUp = () => late.abort(signal.reason);
  const stopTimer = clock.after(connectMs, () => late.abort(timedOut(`open: nothing in ${connectMs} ms`)));
  signal.addEventListener("abort", giveUp, { once: true });
  const opened = (async () => target.open())();
  try {
    return await waitFor(opened, late.signal);
  } catch (reason) {
    opened.then((link) => link.close()).catch(() => {});
    throw reason;
  } finally {
    stopTimer();
    signal.removeEventListener("abort", giveUp);
  }
}

async function httpLink({ url, headers, legacySse, auth }: HttpTarget, opening: Opening): Promise<Link> {
  const { http } = await import("portolan/client/http");
  const authorized = auth ?? opening.auth;
  const fetch = URL.canParse(url) ? opening.via?.(new URL(url)) : undefined;
  return http(url, {
    ...(headers && { headers }),
    ...(authorized && { auth: authorized }),
    ...(fetch && { fetch }),
    ...(legacySse !== undefined && { legacySse }),
  });
}
