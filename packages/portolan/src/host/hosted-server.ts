import type { Client, Watch } from "../client/api.ts";
import type { Clock } from "../client/deadlines.ts";
import { toError } from "../client/failures.ts";
import type { HttpAuth } from "../client/http/options.ts";
import type { Answers } from "../client/options.ts";
import { PortolanError } from "../errors.ts";
import { logLevels } from "../protocol/log-levels.ts";
import type { Implementation, LogLevel, LogMessageParams } from "../protocol/types/index.ts";
import { nothing, type OfferKind, type OfferLimits, type Offers, readOffers } from "./catalog/load-lists.ts";
import { Pace } from "./catalog/pace.ts";
import { openConnection } from "./connection.ts";
import type { ServerEntry } from "./entry.ts";
import { type HostEvent, offersChangedBy } from "./events.ts";
import { Followed } from "./followed.ts";
import type { Gate } from "./gate.ts";
import { Supervisor } from "./supervisor.ts";

/** How long a server may take to say what it will tell, before its lists are read all the same. */
const patienceMs = 1_000;
/** How much of one log message is told. */
const maxLogChars = 64 * 1024;
/** It is gone, or tells of no changes. */
const isGone: readonly string[] = ["connection-closed", "cancelled"];
const isQuiet: readonly string[] = [...isGone, "capability-missing"];
const kinds: readonly OfferKind[] = ["tools", "prompts", "resources"];

/** What a host lends to each of its servers. */
export interface Household {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly info: Implementation;
  readonly logLevel: LogLevel;
  readonly limits: OfferLimits;
  readonly auth?: ((entry: ServerEntry) => HttpAuth | undefined) | undefined;
  readonly via?: ((url: URL) => typeof fetch | undefined) | undefined;
  readonly tell: (event: HostEvent) => void;
  /** How the server's questions are answered. */
  readonly answersFor: (server: HostedServer) => Answers;
  /** Takes in what a server offers now. */
  readonly takeIn: (server: HostedServer, offers: Offers) => Promise<void>;
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
  readonly #paces: { readonly [kind in OfferKind]: Pace };
  /** What it offered when it was last looked at. */
  offers: Offers = nothing;
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
    const paceOf = (kind: OfferKind) => new Pace(clock, () => this.#refresh(kind));
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
  refresh(kind: OfferKind): void {
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

  async #refresh(kind: OfferKind): Promise<void> {
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
  async #read(client: Client, kind: OfferKind): Promise<Partial<Offers>> {
    try {
      return await readOffers(client, kind, this.#house.limits, (what) => this.#warn(what));
    } catch (thrown) {
      this.#warn(`${kind}: ${toError(thrown).message}`);
      return {};
    }
  }

  /** The changes that a connection tells of, if it does. */
  #watch(client: Client): Promise<Watch | undefined> {
    return client
      .watch({ tools: true, prompts: true, resources: true })
      .catch((thrown) => this.#unheard(thrown, isQuiet));
  }

  async #hear(watch: Watch): Promise<void> {
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
