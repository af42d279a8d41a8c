import type { Answers } from "../client/answers.ts";
import { pauseFor } from "../client/clock.ts";
import { PortolanError } from "../errors.ts";
import type { KeyValue } from "../storage/storage.ts";
import type { ActivityLog } from "./activity/index.ts";
import { hasSecretName } from "./activity/secrets.ts";
import type { Asking } from "./asking.ts";
import type { Catalog } from "./catalog/catalog.ts";
import { createFilter } from "./catalog/filter.ts";
import { OfferMemory } from "./catalog/memory.ts";
import type { Offers } from "./catalog/offers.ts";
import { describeForTrust, trustDigest } from "./config/index.ts";
import type { ServerEntry } from "./entry.ts";
import type { HostEvent } from "./events.ts";
import { HostedServer, type Household } from "./hosted-server.ts";
import type { ChangedDefinition, Grants, Pins } from "./policy/index.ts";
import type { TrustVerdict } from "./questions.ts";
import type { ServerState, ServerStatus } from "./status.ts";
import { waitFor } from "./supervisor.ts";

/** What the servers of a host share. */
export interface ServersOptions extends Pick<Household, "clock" | "gate" | "info" | "logLevel" | "limits" | "auth"> {
  readonly catalog: Catalog;
  readonly grants: Grants;
  readonly pins: Pins;
  readonly asking: Asking;
  readonly activity: ActivityLog;
  readonly tell: (event: HostEvent) => void;
  readonly answersFor: (server: HostedServer) => Answers;
  /** Where what servers offer is kept from one start to the next. */
  readonly kv?: KeyValue | undefined;
}

/** The servers of a host: who is there, who may be started, and what they offer. */
export class Servers {
  readonly #with: ServersOptions;
  readonly #members = new Map<string, HostedServer>();
  readonly #changed = new Map<string, readonly ChangedDefinition[]>();
  /** What the user has shown or hidden, against what the entry says. */
  readonly #shown = new Map<string, Map<string, boolean>>();
  readonly #asked = new Map<string, Promise<void>>();
  readonly #memory: OfferMemory | undefined;
  readonly #lastState = new Map<string, ServerState>();

  constructor(options: ServersOptions) {
    this.#with = options;
    this.#memory = options.kv && new OfferMemory(options.kv);
  }

  get all(): readonly HostedServer[] {
    return [...this.#members.values()];
  }

  get statuses(): readonly ServerStatus[] {
    return this.all.map(({ supervisor }) => supervisor.status);
  }

  find(name: string): HostedServer {
    const server = this.#members.get(name);
    if (server) return server;
    const known = [...this.#members.keys()].slice(0, 20).join(", ") || "none";
    throw new PortolanError("invalid-argument", `There is no server ${JSON.stringify(name)}; there is ${known}`);
  }

  /** The server, if it runs: then it may. */
  running(name: string): HostedServer | undefined {
    const server = this.#members.get(name);
    return server?.client && server;
  }

  /** The server, after the user has agreed to it, where that is needed. */
  async admitted(name: string, signal?: AbortSignal): Promise<HostedServer> {
    const server = this.find(name);
    // Whoever gives up waiting leaves the question to the others.
    if (server.supervisor.state === "untrusted") await waitFor(this.#askForTrust(server), signal);
    return server;
  }

  async add(entry: ServerEntry): Promise<HostedServer> {
    const { name, settings, problem, source } = entry;
    if (this.#members.has(name)) {
      throw new PortolanError("invalid-argument", `There is a server ${JSON.stringify(name)} already; remove it first`);
    }
    const digest = await trustDigest(entry);
    const server = new HostedServer(entry, digest, {
      ...this.#with,
      takeIn: (member, offers) => this.#takeIn(member, offers),
      noteState: (member) => this.#noteState(member),
    });
    this.#members.set(name, server);
    for (const secret of secretsOf(entry)) this.#with.activity.addSecret(secret);
    if (problem !== undefined) await server.supervisor.stop("misconfigured", problem);
    else if (settings.disabled) await server.supervisor.stop("disabled");
    else if (source.kind !== "code") await this.#applyTrust(server);
    const remembered = await this.#memory?.read(server);
    if (remembered) await this.#takeIn(server, remembered);
    if (settings.eager && server.supervisor.state === "idle") server.supervisor.start();
    return server;
  }

  async remove(name: string): Promise<void> {
    const server = this.find(name);
    this.#members.delete(name);
    this.#with.catalog.remove(name);
    this.#changed.delete(name);
    this.#shown.delete(name);
    await server.close();
  }

  async enable(name: string, isOn: boolean): Promise<void> {
    const { supervisor } = this.find(name);
    if (!isOn) await supervisor.stop("disabled");
    else if (supervisor.state === "disabled") {
      supervisor.admit();
      await this.#applyTrust(this.find(name));
    }
  }

  /** Writes down whether a server may be started, and acts upon it. */
  async trust(name: string, { allow, for: scope = "once", trustHints = false }: TrustVerdict): Promise<void> {
    const server = this.find(name);
    const { grants, activity } = this.#with;
    // A no that is not remembered would be asked again at once.
    const kept = scope === "always" ? "always" : "session";
    await grants.add({ ...trustIn(server), allow, scope: kept });
    await grants.add({ ...trustIn(server), subject: "hints", allow: allow && trustHints, scope: kept });
    const { digest } = server;
    activity.record({ kind: "trust", server: name, allow, scope: kept, trustHints, digest }, { urgent: true });
    await this.#applyTrust(server);
  }

  /** Shows a tool to models or hides it, whatever the configuration says. */
  async show(name: string, tool: string, isVisible: boolean): Promise<void> {
    const server = this.find(name);
    const shown = this.#shown.get(name) ?? new Map<string, boolean>();
    this.#shown.set(name, shown.set(tool, isVisible));
    await this.#takeIn(server, server.offers);
    this.#with.tell({ kind: "catalog", server: name, changed: "tools" });
  }

  changedDefinitions(): (ChangedDefinition & { readonly server: string })[] {
    return [...this.#changed].flatMap(([server, changes]) => changes.map((change) => ({ ...change, server })));
  }

  /** Takes a changed definition as the right one. */
  async accept(name: string, of: string): Promise<void> {
    const server = this.find(name);
    const change = this.#changed.get(name)?.find((changed) => changed.name === of);
    if (!change) throw new PortolanError("invalid-argument", `${name}: the definition of ${of} has not changed`);
    const pinned = { server: name, serverDigest: server.digest };
    if (!(await this.#with.pins.accept(pinned, change))) {
      throw new PortolanError(
        "invalid-argument",
        `${name}: the definition of ${of} has changed again; look at it first`,
      );
    }
    const { digest } = change;
    this.#with.activity.record(
      { kind: "definition", server: name, name: of, accepted: true, digest },
      { urgent: true },
    );
    await this.#takeIn(server, server.offers);
    this.#with.tell({ kind: "catalog", server: name, changed: "tools" });
  }

  /** Starts servers side by side; returns when each is ready or has failed, or when it takes too long. */
  async start(servers: readonly HostedServer[], withinMs: number, signal: AbortSignal | undefined): Promise<void> {
    const started = servers.map(async ({ name }) => (await this.admitted(name)).use());
    const enough = new AbortController();
    const pause = pauseFor(this.#with.clock, withinMs, enough.signal).catch(() => {});
    // What has begun goes on, whoever gives up waiting.
    await waitFor(Promise.race([Promise.allSettled(started), pause]), signal).finally(() => enough.abort());
  }

  /** Starts those of which nothing is known from the last time; gives a sentence for each that fails. */
  async prepare(wanted: readonly string[] | undefined, withinMs: number, signal: AbortSignal): Promise<string[]> {
    const { catalog } = this.#with;
    const missing = this.all.filter(({ name }) => (wanted?.includes(name) ?? true) && !catalog.knows(name));
    await this.start(missing, withinMs, signal);
    return missing.flatMap(({ name, supervisor }) => {
      const { state, reason } = supervisor.status;
      if (catalog.knows(name) || state === "disabled") return [];
      return [`${name} takes no part: it is ${state}${reason === undefined ? "" : `, ${reason}`}`];
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((server) => server.close()));
  }

  /** Compares what a server offers with what was accepted, and puts it into the catalogue. */
  async #takeIn(server: HostedServer, offers: Offers): Promise<void> {
    const { pins, catalog, activity, tell } = this.#with;
    const { name, digest: serverDigest } = server;
    server.offers = offers;
    const report = await pins.check({ server: name, serverDigest }, offers.tools, offers.instructions);
    const before = new Set((this.#changed.get(name) ?? []).map(({ digest }) => digest));
    this.#changed.set(name, report.changed);
    const byName = new Map(report.changed.map((change) => [`${change.kind} ${change.name}`, change.digest]));
    const isShown = this.#isShown(server);
    await catalog.put(
      name,
      offers,
      (tool) => {
        const changed = byName.get(`tool ${tool.name}`);
        return { digest: changed ?? report.digests.get(tool.name) ?? "", isQuarantined: changed !== undefined };
      },
      { acceptsInstructions: !byName.has("instructions instructions"), isShown },
    );
    for (const change of report.changed) {
      if (before.has(change.digest)) continue;
      activity.record({
        kind: "definition",
        server: name,
        name: change.name,
        digest: change.digest,
        diff: change.diff,
      });
      tell({ kind: "definition", server: name, change });
    }
    await this.#memory?.keep(server, offers);
  }

  #isShown({ name, entry }: HostedServer): (tool: string) => boolean {
    const isNamed = createFilter(entry.settings);
    const shown = this.#shown.get(name);
    return (tool) => shown?.get(tool) ?? isNamed(tool);
  }

  /** A server that a file names is started only if the user has agreed to exactly that. */
  async #applyTrust(server: HostedServer): Promise<void> {
    const { grants } = this.#with;
    const { supervisor, entry } = server;
    if (entry.source.kind === "code") return supervisor.admit();
    const known = grants.find(trustIn(server));
    server.trustsHints =
      entry.settings.trustHints ?? grants.find({ ...trustIn(server), subject: "hints" })?.allow ?? false;
    if (known?.allow) supervisor.admit();
    else await supervisor.stop("untrusted", known ? "the user said no" : undefined);
  }

  #askForTrust(server: HostedServer): Promise<void> {
    const { asking, grants } = this.#with;
    const { name, entry } = server;
    if (!asking.answers("trust") || grants.find(trustIn(server))) return Promise.resolve();
    const asked =
      this.#asked.get(name) ??
      asking
        .ask<"trust">({ kind: "trust", server: name, subject: describeForTrust(entry) })
        .then((verdict) => this.trust(name, verdict))
        .finally(() => this.#asked.delete(name));
    this.#asked.set(name, asked);
    return asked;
  }

  #noteState(server: HostedServer): void {
    const { status } = server.supervisor;
    const { name, state, reason } = status;
    if (this.#lastState.get(name) === state) return;
    this.#lastState.set(name, state);
    this.#with.activity.record({ kind: "server", server: name, state, ...(reason !== undefined && { reason }) });
    this.#with.tell({ kind: "server", server: name, status });
  }
}

/** What an entry says that must not be written down anywhere else: what is called a secret, or looks like a key. */
function secretsOf({ way, written }: ServerEntry): string[] {
  const said = [way, written].flatMap((it) => {
    if ("command" in it) return Object.entries(it.env ?? {});
    return "url" in it ? Object.entries(it.headers ?? {}) : [];
  });
  return said
    .filter(([name, value]) => hasSecretName(name) || /^[\w+/=.-]{20,}$/.test(value))
    .map(([, value]) => value);
}

function trustIn({ name: server, digest }: HostedServer) {
  return { kind: "trust", server, serverDigest: digest, subject: "", digest } as const;
}
