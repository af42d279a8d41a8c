import { PortolanError } from "portolan";
import type { Answers } from "portolan/client";
import { pauseFor } from "portolan/internal";
import { createMemoryStorage, type KeyValue } from "portolan/storage";
import { type ActivityLog, recordNow } from "./activity/index.ts";
import { explainAbsence, type HostEvent, type ServerState, type ServerStatus } from "./api.ts";
import { type Catalog, createNameFilter, FeatureCache } from "./catalog/catalog.ts";
import { type FeatureKind, type ListedFeatures, noFeatures } from "./catalog/load-lists.ts";
import { describeForTrust, type TrustHistory, trustDigest, trustPlace } from "./config/index.ts";
import { waitFor } from "./consent.ts";
import { HostedServer, type ServerDependencies } from "./hosted-server.ts";
import { listSettleMs, maxReportedChanges, maxServersInErrors, quickFailureMs } from "./limits.ts";
import type { OpenQuestions } from "./open-questions.ts";
import type { ServerEntry } from "./options.ts";
import { type ChangedDefinition, createPins, type Grants, type Pins } from "./policy/index.ts";
import type { AnswerReceipt, TrustVerdict } from "./questions.ts";
import { secretsOf } from "./server-entry.ts";
import type { BlockedState } from "./supervisor.ts";

const featureKinds: readonly FeatureKind[] = ["tools", "prompts", "resources"];

/** Parts of the host that its servers share. */
export interface ServersOptions
  extends Pick<
    ServerDependencies,
    | "clock"
    | "startSlots"
    | "info"
    | "logLevel"
    | "limits"
    | "pingMs"
    | "auth"
    | "via"
    | "observer"
    | "extensions"
    | "onVisited"
  > {
  readonly catalog: Catalog;
  readonly grants: Grants;
  readonly pins: Pins;
  readonly trustHistory: TrustHistory;
  readonly questions: OpenQuestions;
  readonly activity: ActivityLog;
  readonly emit: (event: HostEvent) => void;
  readonly answersFor: (server: HostedServer) => Answers;
  /** Called when the state of a server has changed. */
  readonly onStateChange?: ((server: HostedServer) => void) | undefined;
  /** Stores the lists of features from one start to the next. */
  readonly kv?: KeyValue | undefined;
}

/** The servers of a host: their entries, the trust in them, and their features. */
export class Servers {
  readonly #options: ServersOptions;
  readonly #servers = new Map<string, HostedServer>();
  readonly #changed = new Map<string, readonly ChangedDefinition[]>();
  /** Tools that the user has shown or hidden, by server and name; they override the entry. */
  readonly #shown = new Map<string, Map<string, boolean>>();
  readonly #changeWatches = new Set<{ server: string; change: ChangedDefinition; onOutdated: () => void }>();
  readonly #trustQuestions = new Map<HostedServer, Promise<void>>();
  readonly #cache: FeatureCache | undefined;
  readonly #lastStates = new WeakMap<HostedServer, ServerState>();
  #isClosed = false;

  constructor(options: ServersOptions) {
    this.#options = options;
    this.#cache = options.kv && new FeatureCache(options.kv);
  }

  get all(): readonly HostedServer[] {
    return [...this.#servers.values()];
  }

  get statuses(): readonly ServerStatus[] {
    return this.all.map(({ status }) => status);
  }

  find(name: string): HostedServer {
    const server = this.#servers.get(name);
    if (server) return server;
    const known = [...this.#servers.keys()].slice(0, maxServersInErrors).join(", ") || "none";
    throw new PortolanError("invalid-argument", `There is no server ${JSON.stringify(name)}; the servers are ${known}`);
  }

  /** Returns the server if it is connected, and therefore trusted. */
  findRunning(name: string): HostedServer | undefined {
    const server = this.#servers.get(name);
    return server?.client && server;
  }

  /** Returns the server after the user has agreed to it, where that is needed. */
  async findTrusted(name: string, signal?: AbortSignal): Promise<HostedServer> {
    const server = this.find(name);
    // A caller that stops waiting leaves the question to the others.
    if (server.supervisor.state === "untrusted") await waitFor(this.#askForTrust(server), signal);
    return server;
  }

  async add(entry: ServerEntry): Promise<void> {
    const { name, settings } = entry;
    const server = await this.#prepareServer(entry);
    this.#checkOpen();
    if (this.#servers.has(name)) {
      throw new PortolanError("invalid-argument", `A server ${JSON.stringify(name)} exists already; remove it first`);
    }
    this.#servers.set(name, server);
    // In the same turn, so that the server cannot be used before its trust is known.
    await this.#applyDecision(server).catch(async (reason) => {
      await this.remove(name);
      throw reason;
    });
    if (settings.eager && server.supervisor.state === "idle") server.supervisor.start();
  }

  /** Puts another configuration in the place of a server's own. */
  async replace(entry: ServerEntry): Promise<void> {
    const { name, settings } = entry;
    this.find(name);
    const server = await this.#prepareServer(entry);
    this.#checkOpen();
    const before = this.find(name);
    // A choice of the user stays as it is.
    if (before.isOff !== (before.entry.settings.disabled === true)) server.isOff = before.isOff;
    // The map keeps the place of a name.
    this.#servers.set(name, server);
    this.#forget(name, "replaced");
    // The calls of the old server fail, whatever becomes of the new one.
    const closing = before.close();
    await this.#applyDecision(server);
    await closing;
    this.#options.emit({ kind: "server", server: name, status: server.status });
    for (const changed of featureKinds) this.#options.emit({ kind: "catalog", server: name, changed });
    if (settings.eager && server.supervisor.state === "idle") server.supervisor.start();
  }

  /** Forgets what is known of the server that had this name. */
  #forget(name: string, how: "removed" | "replaced"): void {
    this.#options.catalog.remove(name);
    this.#changed.delete(name);
    this.#options.questions.withdraw(name, how);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new PortolanError("cancelled", "The host is closed");
  }

  /** Makes a server that is not in the list yet. */
  async #prepareServer(entry: ServerEntry): Promise<HostedServer> {
    const { name } = entry;
    const digest = await trustDigest(entry);
    const cached = await this.#cache?.read({ name, digest });
    const previousTrust = await this.#options.trustHistory.find(entry, digest);
    const server = new HostedServer(entry, digest, {
      ...this.#options,
      updateCatalog: (server, features) => this.#updateCatalog(server, features),
      onStateChange: (server) => this.#onStateChange(server),
    });
    if (cached) server.features = cached;
    server.previousTrust = previousTrust;
    for (const secret of secretsOf(entry)) this.#options.activity.addSecret(secret);
    return server;
  }

  async remove(name: string): Promise<void> {
    const server = this.find(name);
    this.#servers.delete(name);
    this.#shown.delete(name);
    this.#forget(name, "removed");
    await server.close();
  }

  async enable(name: string, isOn: boolean): Promise<void> {
    const server = this.find(name);
    server.isOff = !isOn;
    await this.#applyDecision(server);
  }

  /** Returns true if the user has agreed to exactly this configuration, whatever state the server is in. */
  isTrusted(name: string): boolean {
    return this.#hasTrust(this.find(name));
  }

  /** Stores the decision whether a server may be started, and applies it. */
  async trust(name: string, verdict: TrustVerdict): Promise<void> {
    await this.#recordTrust(this.find(name), verdict);
  }

  /** Starts or blocks each server as the user's decisions now say. */
  async applyDecisions(): Promise<void> {
    await Promise.all(this.all.map((server) => this.#applyDecision(server)));
  }

  /** Shows a tool to models or hides it, whatever the configuration says. */
  async show(name: string, tool: string, isVisible: boolean): Promise<void> {
    const server = this.find(name);
    const shown = this.#shown.get(name) ?? new Map<string, boolean>();
    this.#shown.set(name, shown.set(tool, isVisible));
    await this.#updateCatalog(server, server.features);
    this.#options.emit({ kind: "catalog", server: name, changed: "tools" });
  }

  changedDefinitions(): (ChangedDefinition & { readonly server: string })[] {
    return [...this.#changed].flatMap(([server, changes]) => changes.map((change) => ({ ...change, server })));
  }

  /** Returns the change of a tool that has to be accepted before it is used. */
  changeOf(server: string, tool: string): ChangedDefinition | undefined {
    return this.#changed.get(server)?.find(({ kind, name }) => kind === "tool" && name === tool);
  }

  /** Calls `onOutdated` when a change is accepted, or the definition has changed again. Returns the function that ends it. */
  watchChange(server: string, change: ChangedDefinition, onOutdated: () => void): () => void {
    const watch = { server, change, onOutdated };
    this.#changeWatches.add(watch);
    return () => this.#changeWatches.delete(watch);
  }

  /** Accepts a changed definition if it is still the one that the user looked at. */
  async accept(
    name: string,
    change: Pick<ChangedDefinition, "kind" | "name" | "digest">,
    answeredBy?: string,
  ): Promise<void> {
    const server = this.find(name);
    const { activity, pins } = this.#options;
    const { kind, name: of, digest } = change;
    const again = () => {
      const why = `the definition of ${of} changed again, so it was not accepted; read changedDefinitions() again`;
      return new PortolanError("invalid-argument", `${name}: ${why}`);
    };
    const isCurrent = (known: ChangedDefinition) => known.kind === kind && known.name === of && known.digest === digest;
    if (!this.#changed.get(name)?.some(isCurrent)) throw again();
    const entry = { kind: "definition", server: name, name: of, digest } as const;
    const by = answeredBy === undefined ? {} : { answeredBy };
    // Before it counts, so that no call is made with a definition whose acceptance is not in the log.
    await recordNow(activity, { ...entry, accepted: true, ...by });
    if (!(await pins.accept({ server: name, serverDigest: server.digest }, change))) {
      activity.record({ ...entry, accepted: false, reason: "it changed again" }, { urgent: true });
      throw again();
    }
    await this.#updateCatalog(server, server.features);
    this.#options.emit({ kind: "catalog", server: name, changed: "tools" });
  }

  /**
   * Starts servers in parallel. Resolves when each is ready or has failed, at the latest `withinMs` after the user has
   * answered whether they may start.
   */
  async start(servers: readonly HostedServer[], withinMs: number, signal: AbortSignal | undefined): Promise<void> {
    const { clock, questions } = this.#options;
    const trusted = servers.map(({ name }) => this.findTrusted(name));
    const started = trusted.map(async (found) => {
      const server = await found;
      const startedAt = clock.now();
      await server.use().catch(() => {
        server.isOverdue = clock.now() - startedAt >= quickFailureMs;
      });
    });
    const timer = new AbortController();
    // A user who is being asked may take longer than a server that starts.
    const isAnswered = questions.asksNow("trust") ? Promise.allSettled(trusted) : Promise.resolve();
    const pause = isAnswered.then(() => pauseFor(clock, withinMs, timer.signal)).catch(() => {});
    // A start that has begun continues when its caller stops waiting.
    await waitFor(Promise.race([Promise.allSettled(started), pause]), signal).finally(() => timer.abort());
    for (const server of servers) if (server.supervisor.state === "starting") server.isOverdue = true;
  }

  /**
   * Starts the servers whose features are not cached, and waits for those that it did not wait for in vain before. Returns
   * the name and one sentence for each server or list that failed.
   */
  async prepare(
    wanted: readonly string[] | undefined,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<[server: string, sentence: string][]> {
    const { catalog } = this.#options;
    const missing = this.all.filter(({ name }) => (wanted?.includes(name) ?? true) && !catalog.knows(name));
    for (const server of missing.filter(({ isOverdue }) => isOverdue)) server.use().catch(() => {});
    const awaited = missing.filter(({ isOverdue }) => !isOverdue);
    await this.start(awaited, withinMs, signal);
    const unknown = (wanted ?? []).filter((name) => !this.#servers.has(name));
    const failed = missing.filter(({ name, supervisor }) => !catalog.knows(name) && supervisor.state !== "disabled");
    const explain = (name: string, status?: ServerStatus): [string, string] => [name, explainAbsence(name, status)];
    const absent = failed.map(({ name, status }) => explain(name, status));
    const unlisted = this.all
      .filter(({ name }) => wanted?.includes(name) ?? true)
      .flatMap(({ name, status }) =>
        (status.listProblems ?? [])
          .filter(({ kind }) => kind === "failed")
          .map(({ message }): [string, string] => [name, `${name} did not list its features: ${message}`]),
      );
    return [...unknown.map((name) => explain(name)), ...absent, ...unlisted];
  }

  /** Resolves when the reported changes of lists are in the catalog, at the latest after 5 seconds. */
  async settleLists(called: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
    const settled = Promise.all(this.all.map((server) => server.settleLists(called.has(server.name), signal)));
    const timer = new AbortController();
    const pause = pauseFor(this.#options.clock, listSettleMs, timer.signal).catch(() => {});
    await waitFor(Promise.race([settled, pause]), signal).finally(() => timer.abort());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.all.map((server) => server.close()));
  }

  /** Replaces a server's features. */
  #updateCatalog(server: HostedServer, features: ListedFeatures): Promise<void> {
    server.features = features;
    return server.enqueue(() => this.#comparePins(server));
  }

  /** Compares a server's features with the pinned definitions, and puts them into the catalog. */
  async #comparePins(server: HostedServer): Promise<void> {
    const { catalog, activity, emit } = this.#options;
    const { name, digest: serverDigest, features, entry } = server;
    // Empty pins give the definitions their digests, and have nothing to differ from.
    const pins = entry.isTyped ? createPins(createMemoryStorage().kv) : this.#options.pins;
    const isWanted = () => !server.supervisor.isBlocked;
    const report = await pins.check({ server: name, serverDigest }, features.tools, features.instructions);
    if (!isWanted()) return;
    const before = new Set((this.#changed.get(name) ?? []).map(({ digest }) => digest));
    this.#changed.set(name, report.changed);
    const byName = new Map(report.changed.map((change) => [`${change.kind} ${change.name}`, change.digest]));
    const isShown = this.#isShown(server);
    await catalog.put(
      name,
      features,
      (tool) => {
        const changed = byName.get(`tool ${tool.name}`);
        return { digest: changed ?? report.digests.get(tool.name) ?? "", isQuarantined: changed !== undefined };
      },
      { acceptsInstructions: !byName.has("instructions instructions"), isShown, isWanted },
    );
    for (const { server: of, change, onOutdated } of this.#changeWatches) {
      if (of === name && byName.get(`${change.kind} ${change.name}`) !== change.digest) onOutdated();
    }
    const newChanges = report.changed.filter(({ digest }) => !before.has(digest));
    for (const change of newChanges.slice(0, maxReportedChanges)) {
      const { name: of, digest, diff } = change;
      activity.record({ kind: "definition", server: name, name: of, digest, diff });
      emit({ kind: "definition", server: name, change });
    }
    const more = newChanges.length - maxReportedChanges;
    if (more > 0) activity.record({ kind: "definition", server: name, more });
    await this.#cache?.write(server, features).catch(({ message }) => emit({ kind: "warning", server: name, message }));
  }

  #isShown({ name, entry }: HostedServer): (tool: string) => boolean {
    const isNamed = createNameFilter(entry.settings);
    const shown = this.#shown.get(name);
    return (tool) => shown?.get(tool) ?? isNamed(tool);
  }

  /** Blocks or unblocks a server as the user's decisions now say. A blocked server is not in the catalog. */
  async #applyDecision(server: HostedServer): Promise<void> {
    const { grants, catalog } = this.#options;
    const { name, supervisor, entry, features } = server;
    if (this.#servers.get(name) !== server) return;
    const isFromCode = entry.source.kind === "code";
    const trusted = isFromCode || (grants.find({ ...trustIn(server), subject: "hints" })?.allow ?? false);
    server.trustsHints = entry.settings.trustHints ?? trusted;
    let blocked: BlockedState | undefined;
    let reason: string | undefined;
    if (entry.problem !== undefined) [blocked, reason] = ["misconfigured", entry.problem];
    else if (server.isOff) blocked = "disabled";
    // A server from a file starts only if the user has agreed to exactly this configuration.
    else if (!this.#hasTrust(server)) {
      [blocked, reason] = ["untrusted", grants.find(trustIn(server)) ? "the user said no" : changeOf(server)];
    }
    if (blocked) {
      catalog.remove(name);
      await supervisor.stop(blocked, reason);
      return;
    }
    supervisor.unblock();
    if (features !== noFeatures && !catalog.knows(name)) await this.#updateCatalog(server, features);
  }

  /** The grants alone decide. A state does not: a disabled or misconfigured server may be untrusted, too. */
  #hasTrust(server: HostedServer): boolean {
    return this.#options.grants.find(trustIn(server))?.allow ?? server.entry.source.kind === "code";
  }

  async #recordTrust(
    server: HostedServer,
    { allow, for: scope = "once", trustHints = false }: TrustVerdict,
    answeredBy?: string,
  ): Promise<AnswerReceipt> {
    const { grants, activity } = this.#options;
    const { name, digest } = server;
    // Without storing a "no", the same question would come again at once.
    const kept = scope === "always" ? "always" : "session";
    const place = await trustPlace(server.entry);
    const decision = { ...trustIn(server), ...(place !== undefined && { place }), scope: kept } as const;
    const { id: grant } = await grants.add({ ...decision, allow }, async ({ id }) => {
      const by = answeredBy === undefined ? {} : { answeredBy };
      const entry = { kind: "trust", server: name, allow, scope: kept, trustHints, digest, grant: id, ...by } as const;
      await recordNow(activity, entry);
    });
    await grants.add({ ...decision, subject: "hints", allow: allow && trustHints });
    if (allow) {
      const { trustHistory } = this.#options;
      await trustHistory.remember(server.entry, digest, kept, secretsOf(server.entry));
      server.previousTrust = await trustHistory.find(server.entry, digest);
    }
    await this.#applyDecision(server);
    return { grant };
  }

  #askForTrust(server: HostedServer): Promise<void> {
    const { questions, grants } = this.#options;
    const { name, entry, previousTrust } = server;
    if (!questions.canAsk("trust") || grants.find(trustIn(server))) return Promise.resolve();
    const question =
      this.#trustQuestions.get(server) ??
      questions
        .ask<"trust">(
          { kind: "trust", server: name, subject: describeForTrust(entry, previousTrust) },
          { record: (verdict, by) => this.#recordTrust(server, verdict, by) },
        )
        .then(() => {})
        .finally(() => this.#trustQuestions.delete(server));
    this.#trustQuestions.set(server, question);
    return question;
  }

  #onStateChange(server: HostedServer): void {
    const { status } = server;
    const { name, state, reason } = status;
    const current = this.#servers.get(name);
    // The end of a server that was replaced is not the end of its successor.
    if (current && current !== server) return;
    if (this.#lastStates.get(server) === state) return;
    this.#lastStates.set(server, state);
    if (state === "ready" || server.supervisor.isBlocked) server.isOverdue = false;
    this.#options.activity.record({ kind: "server", server: name, state, ...(reason !== undefined && { reason }) });
    this.#options.emit({ kind: "server", server: name, status });
    this.#options.onStateChange?.(server);
  }
}

function changeOf({ previousTrust }: HostedServer): string | undefined {
  return previousTrust && previousTrust.changes.length > 0
    ? "its configuration changed since the user trusted it, so it must be trusted again"
    : undefined;
}

function trustIn({ name: server, digest }: HostedServer) {
  return { kind: "trust", server, serverDigest: digest, subject: "", digest } as const;
}
