import type { Answers } from "../client/answers.ts";
import type { Client, Watch } from "../client/api.ts";
import type { Clock } from "../client/clock.ts";
import { toError } from "../client/failures.ts";
import type { HttpAuth } from "../client/http/options.ts";
import { PortolanError } from "../errors.ts";
import type { Implementation, LogLevel } from "../protocol/types/index.ts";
import { nothing, type OfferKind, type OfferLimits, type Offers, readOffers } from "./catalog/offers.ts";
import { Pace } from "./catalog/pace.ts";
import { openConnection } from "./connection.ts";
import type { ServerEntry } from "./entry.ts";
import { type HostEvent, offersChangedBy } from "./events.ts";
import type { Gate } from "./gate.ts";
import { Supervisor } from "./supervisor.ts";

/** How long a server may take to say what it will tell, before its lists are read all the same. */
const patienceMs = 1_000;
/** It tells of no changes, or is gone. */
const expected: readonly string[] = ["capability-missing", "connection-closed", "cancelled"];
const kinds: readonly OfferKind[] = ["tools", "prompts", "resources"];

/** What a host lends to each of its servers. */
export interface Household {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly info: Implementation;
  readonly logLevel: LogLevel;
  readonly limits: OfferLimits;
  readonly auth?: ((entry: ServerEntry) => HttpAuth | undefined) | undefined;
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
  readonly #house: Household;
  readonly #paces: { readonly [kind in OfferKind]: Pace };
  /** What it offered when it was last looked at. */
  offers: Offers = nothing;

  constructor(entry: ServerEntry, digest: string, house: Household) {
    this.entry = entry;
    this.digest = digest;
    this.#house = house;
    this.trustsHints = entry.settings.trustHints ?? entry.source.kind === "code";
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

  /** Has one list read again, though never faster than is good for anybody. */
  refresh(kind: OfferKind): void {
    this.#paces[kind].want();
  }

  async close(): Promise<void> {
    for (const kind of kinds) this.#paces[kind].stop();
    await this.supervisor.stop("closed");
  }

  #open(signal: AbortSignal) {
    const { tell, info, logLevel, clock, auth } = this.#house;
    const answers = this.#house.answersFor(this);
    const { name: server } = this;
    const warn = (message: string) => tell({ kind: "warning", server, message });
    return openConnection(this.entry, {
      signal,
      info,
      logLevel,
      clock,
      answers,
      ...(answers.sample && { capabilities: { sampling: { tools: {} } } }),
      auth: auth?.(this.entry),
      onStderr: (line) => tell({ kind: "stderr", server, line }),
      onLog: ({ level, logger, data }) =>
        tell({ kind: "log", server, level, ...(logger !== undefined && { logger }), data }),
      onError: ({ message }) => warn(message),
    });
  }

  /** Looks at all that a new connection offers before it is used. */
  async #connected(client: Client): Promise<void> {
    // First, so that no change falls between reading and watching.
    const following = this.#follow(client);
    await Promise.race([following.begun, pause(this.#house.clock, patienceMs)]);
    const isInTime = following.isWatching;
    const { instructions } = client.server;
    const parts = await Promise.all(kinds.map((kind) => this.#read(client, kind)));
    const offers = Object.assign({ ...nothing }, ...parts, instructions !== undefined && { instructions });
    await this.#house.takeIn(this, offers);
    if (isInTime) return;
    following.begun.then((hasBegun) => {
      if (hasBegun) for (const kind of kinds) this.refresh(kind);
    });
  }

  async #refresh(kind: OfferKind): Promise<void> {
    const { client } = this;
    if (!client) return;
    const part = await this.#read(client, kind);
    if (client !== this.client) return;
    await this.#house.takeIn(this, { ...this.offers, ...part });
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

  /** Hears of changes as long as the connection lasts; `begun` says whether there is anything to hear. */
  #follow(client: Client): { readonly isWatching: boolean; readonly begun: Promise<boolean> } {
    const following = { isWatching: false, begun: Promise.resolve(false) };
    const fail = (thrown: unknown) => {
      const isExpected = thrown instanceof PortolanError && expected.includes(thrown.code);
      if (!isExpected) this.#warn(`changes are not heard of: ${toError(thrown).message}`);
      return false;
    };
    const hear = async (watch: Watch) => {
      for await (const change of watch) {
        const kind = offersChangedBy(change);
        if (kind) this.refresh(kind);
      }
    };
    following.begun = client.watch({ tools: true, prompts: true, resources: true }).then((watch) => {
      following.isWatching = true;
      hear(watch).catch(fail);
      return true;
    }, fail);
    return following;
  }

  #warn(message: string): void {
    this.#house.tell({ kind: "warning", server: this.name, message });
  }
}

function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve);
  });
}
