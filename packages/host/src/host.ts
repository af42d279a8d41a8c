import type {
  CallToolResult,
  Completion,
  CompletionReference,
  GetPromptResult,
  Implementation,
  JsonObject,
  LogLevel,
  ReadResourceResult,
} from "portolan";
import { PortolanError } from "portolan";
import { type Clock, systemClock } from "portolan/client";
import { checkOptions, nameOf, partOf, rejectInvalid } from "portolan/internal";
import type { KeyValue } from "portolan/storage";
import { createMemoryStorage } from "portolan/storage";
import { type ActivityLog, memorySink, openActivity, recordNow } from "./activity/index.ts";
import type { SeenResult } from "./agent/present.ts";
import { type PresentOptions, presentFor, previewRun } from "./agent/preview.ts";
import { checkInput, isState } from "./agent/prompt.ts";
import {
  type Run,
  type RunApproval,
  type RunInput,
  type RunOptions,
  type RunPreview,
  type RunState,
  type StartedRun,
  startRun,
} from "./agent/run.ts";
import { answeredEvent } from "./answers/answered.ts";
import { createRates, type RootDefinition } from "./answers/forms.ts";
import { createBudgets } from "./answers/sampling-budget.ts";
import { type AnswerDependencies, answersFor, sayFor } from "./answers/server-answers.ts";
import { Visits } from "./answers/visits.ts";
import {
  type CompleteOptions,
  createEventFilter,
  createHostFeed,
  type EventFilter,
  type Host,
  type HostCallOptions,
  type HostEvent,
  type HostOptions,
  type ReadyOptions,
  type RunningCall,
  type ServerDefinition,
  type ServerStatus,
} from "./api.ts";
import type { AppAccess } from "./apps/access.ts";
import { CallLog, Calls, hostCallOptionKinds, noOptions } from "./calls.ts";
import { Catalog, type CatalogView } from "./catalog/catalog.ts";
import { describeForTrust, TrustHistory, type TrustSubject } from "./config/index.ts";
import { Consent } from "./consent.ts";
import { markUntrusted, noteResultResources } from "./content-origins.ts";
import { DefinitionReview } from "./definition-review.ts";
import { skeletonOf } from "./display/index.ts";
import type { Feed } from "./feed.ts";
import { maxStartsAtOnce, pingIntervalMs, readyWaitMs } from "./limits.ts";
import type { Model } from "./models/model.ts";
import { OpenQuestions } from "./open-questions.ts";
import type { OpenConnectionOptions, OpenedConnection, OpenedConnections } from "./opened-connections.ts";
import {
  checkBounds,
  checkHostOptions,
  checkModels,
  checkRunOptions,
  ExposedRoots,
  type ServerEntry,
} from "./options.ts";
import {
  type ChangedDefinition,
  compilePolicy,
  createGrants,
  createPins,
  type Grants,
  hintsOf,
} from "./policy/index.ts";
import type { AnswerOptions, AnswerReceipt, HostQuestion, TrustVerdict } from "./questions.ts";
import { toEntry } from "./server-entry.ts";
import { Servers } from "./servers.ts";
import type { LocalSkills } from "./skills/local-skills.ts";
import type { HostSkills } from "./skills/skills.ts";
import { Semaphore } from "./supervisor.ts";
import type { LocalTasks, TaskStart } from "./tasks/local-tasks.ts";
import type { HostTasks } from "./tasks/tasks.ts";

/** Loaded only by a host with tasks. */
type TasksModule = typeof import("./tasks/local-tasks.ts");

/** Creates a host: several servers under one user's control. A server starts when it is first needed. */
export async function createHost(options: HostOptions = {}): Promise<Host> {
  checkHostOptions(options);
  const { account, storage = createMemoryStorage() } = options;
  const kv = account === undefined ? storage.kv : partOf(storage.kv, account);
  const entries = await entriesOf(options.servers);
  const tasks = options.tasks ? await import("./tasks/local-tasks.ts") : undefined;
  const host = new LocalHost(options, await createGrants(kv), kv, tasks);
  try {
    await host.loadTasks();
    if (options.roots) await host.setRoots(options.roots);
    for (const entry of entries) await host.add(entry.name, entry);
  } catch (reason) {
    await host.close();
    throw reason;
  }
  return host;
}

async function entriesOf(servers: HostOptions["servers"] = {}): Promise<readonly ServerEntry[]> {
  if (typeof servers === "string") {
    const { readConfigs } = await import("#config-files");
    const { entries, errors } = await readConfigs(servers);
    for (const error of errors) throw error;
    return entries;
  }
  if (isList(servers)) return servers;
  return Object.entries(servers).map(([name, definition]) => toEntry(name, definition));
}

function isList(servers: Exclude<HostOptions["servers"], string | undefined>): servers is readonly ServerEntry[] {
  return Array.isArray(servers);
}

/** A host that connects to its servers from this process. */
export class LocalHost implements Host {
  readonly activity: ActivityLog;
  readonly #options: HostOptions;
  readonly #info: Implementation;
  readonly #clock: Clock;
  readonly #feed: Feed<HostEvent> = createHostFeed((hasReaders) => this.#followActivity(hasReaders));
  readonly #catalog = new Catalog(skeletonOf);
  #models: readonly Model[];
  readonly #grants: Grants;
  readonly #questions: OpenQuestions;
  readonly #servers: Servers;
  readonly #consent: Consent;
  readonly #calls: Calls;
  readonly #answers: AnswerDependencies;
  readonly #closed = new AbortController();
  /** Addresses that the user has gone to. */
  readonly #visits = new Visits((server, question) => this.#feed.emit({ kind: "visited", server, question }));
  readonly #runs = new Map<string, StartedRun>();
  readonly #roots: ExposedRoots;
  readonly #localTasks: LocalTasks | undefined;
  readonly tasks: HostTasks;
  readonly skills: HostSkills;
  readonly #createLocalSkills: () => Promise<LocalSkills>;
  #localSkills: Promise<LocalSkills> | undefined;
  /** Loaded with the first connection that is opened. */
  #opened: Promise<OpenedConnections> | undefined;
  #closing: Promise<void> | undefined;
  #stopFollowing: (() => void) | undefined;

  constructor(options: HostOptions, grants: Grants, kv: KeyValue, tasks?: TasksModule) {
    const { clock = systemClock, answers = {}, model = [], sampling = {}, limits = {} } = options;
    this.#options = options;
    this.#info = options.info ?? { name: "portolan", version: "0.1.0" };
    this.#clock = clock;
    this.#grants = grants;
    this.#models = Array.isArray(model) ? model : [model as Model];
    this.activity = options.activity ?? openActivity(memorySink());
    grants.listen((grant, how) => {
      if (this.#feed.hasReaders) this.#feed.emit({ kind: "grant", server: grant.server, grant: { ...grant }, how });
    });
    this.#questions = new OpenQuestions(answers, {
      activity: this.activity,
      onAsked: (question) => {
        if (this.#feed.hasReaders) this.#feed.emit({ kind: "question", server: question.server, question });
        if (question.run !== undefined) emitTo(this.#runs.get(question.run), question);
      },
      onSettled: (settled) => {
        if (this.#feed.hasReaders) this.#feed.emit(answeredEvent(settled));
        if (settled.question.kind === "openUrl") this.#visits.note(settled);
      },
    });
    this.#roots = new ExposedRoots(clock, () => {
      for (const { client } of this.#servers.all) client?.rootsChanged();
      this.#opened?.then((opened) => opened.rootsChanged());
      this.#feed.emit({ kind: "roots", server: "" });
    });
    const dependencies: AnswerDependencies = {
      questions: this.#questions,
      grants,
      activity: this.activity,
      models: () => this.#models,
      sampling,
      roots: () => this.#roots.present,
      budgetOf: createBudgets(sampling, clock),
      rateOf: createRates(options.questionsPerMinute, clock),
      warn: (server, message) => this.#feed.emit({ kind: "warning", server, message }),
      modelFailed: (failure) => this.#feed.emit({ kind: "model-failed", ...failure }),
    };
    const callLog = new CallLog(this.activity, clock);
    const localTasks =
      tasks &&
      new tasks.LocalTasks({
        kv,
        clock,
        callLog,
        servers: () => this.#servers,
        emit: (event) => this.#emitTask(event),
        answersFor: (server, during) => answersFor(server, dependencies, during),
        resume: (typeof options.tasks === "object" ? options.tasks.resume : undefined) ?? "connect",
      });
    this.#localTasks = localTasks;
    this.tasks = this.#createTasks();
    this.skills = this.#createSkills();
    const extensions = [...(options.extensions ?? []), ...(tasks ? [tasks.taskExtension()] : [])];
    this.#servers = new Servers({
      clock,
      limits,
      startSlots: new Semaphore(options.startsAtOnce ?? maxStartsAtOnce),
      info: this.#info,
      logLevel: options.logLevel ?? "info",
      pingMs: options.pingMs ?? pingIntervalMs,
      catalog: this.#catalog,
      grants,
      pins: createPins(kv),
      trustHistory: new TrustHistory(kv),
      questions: this.#questions,
      activity: this.activity,
      onVisited: (server, elicitationId) => this.#visits.complete(server, elicitationId),
      emit: (event) => {
        if (event.kind === "catalog" && event.changed === "resources") this.#forgetSkills(event.server);
        this.#feed.emit(event);
      },
      answersFor: (server) => answersFor(server, dependencies),
      ...(options.auth && { auth: options.auth }),
      ...(options.via && { via: options.via }),
      ...(options.observer && { observer: options.observer }),
      ...(options.tap && { tap: options.tap }),
      ...(extensions.length > 0 && { extensions }),
      onStateChange: (server) => {
        localTasks?.onStateChange(server);
        this.#opened?.then((opened) => opened.endBlocked(server));
      },
      ...(options.storage && { kv }),
    });
    this.#answers = dependencies;
    this.#consent = new Consent(compilePolicy(options.policy ?? []), grants, this.#questions, this.activity);
    this.#calls = new Calls({
      activity: this.activity,
      clock,
      catalog: this.#catalog,
      consent: this.#consent,
      questions: this.#questions,
      visits: this.#visits,
      review: new DefinitionReview({
        servers: this.#servers,
        questions: this.#questions,
        activity: this.activity,
      }),
      callLog,
      tasks: localTasks,
      feed: this.#feed,
      answersFor: (server, during) => answersFor(server, dependencies, during),
    });
    this.#createLocalSkills = async () => {
      const { LocalSkills } = await import("./skills/local-skills.ts");
      return new LocalSkills({ servers: this.#servers, calls: this.#calls, consent: this.#consent, grants, kv });
    };
  }

  get servers(): readonly ServerStatus[] {
    return this.#servers.statuses;
  }

  get catalog(): CatalogView {
    return this.#catalog;
  }

  get questions(): readonly HostQuestion[] {
    return this.#questions.waiting;
  }

  get calls(): readonly RunningCall[] {
    return this.#calls.running;
  }

  cancel(call: string, reason?: string): boolean {
    if (reason === undefined || typeof reason === "string") return this.#calls.cancel(call, reason);
    throw new PortolanError("invalid-argument", `cancel: reason: expected a text, got ${nameOf(reason)}`);
  }

  get grants(): Host["grants"] {
    return {
      list: () => this.#grants.list(),
      revoke: async (id) => {
        const isKnown = await this.#grants.revoke(id);
        if (isKnown) this.activity.record({ kind: "grant", grant: id, revoked: true }, { urgent: true });
        // The grant may have been the trust in a server.
        if (isKnown) await this.#servers.applyDecisions();
        return isKnown;
      },
      restore: async (id) => {
        const isRestored = await this.#grants.restore(id, async ({ server, subject: name, kind: of, allow, scope }) => {
          const entry = { kind: "grant", server, name, grant: id, of, allow, scope, restored: true } as const;
          await recordNow(this.activity, entry);
        });
        if (isRestored) await this.#servers.applyDecisions();
        return isRestored;
      },
    };
  }

  async answer(id: string, answer: unknown, options: AnswerOptions = {}): Promise<AnswerReceipt> {
    await rejectInvalid(options, { digest: "string", by: "string" }, "answer");
    return this.#questions.answer(id, answer, options);
  }

  events(filter: EventFilter = {}): AsyncIterableIterator<HostEvent> {
    checkOptions(filter, { kinds: 1, server: 1 }, "events");
    return this.#feed.read(createEventFilter(filter));
  }

  async ready(options: ReadyOptions = {}): Promise<readonly ServerStatus[]> {
    checkOptions(options, { withinMs: 1, signal: 1 }, "ready");
    const { withinMs = readyWaitMs, signal } = options;
    await this.#servers.start(this.#servers.all, withinMs, signal);
    return this.servers;
  }

  callTool(
    server: string,
    tool: string,
    args: JsonObject = {},
    options: HostCallOptions = noOptions,
  ): Promise<CallToolResult> {
    const invalid = rejectInvalid(options, hostCallOptionKinds, "callTool");
    if (invalid) return invalid;
    const running = this.#servers.findRunning(server);
    // Fast path: a running server is trusted already.
    if (running) return this.#calls.callTool(running, tool, args, options);
    const findTrusted = this.#servers.findTrusted(server, options.signal);
    return findTrusted.then((found) => this.#calls.callTool(found, tool, args, options));
  }

  async readResource(server: string, uri: string, options: HostCallOptions = {}): Promise<ReadResourceResult> {
    await rejectInvalid(options, hostCallOptionKinds, "readResource");
    return this.#calls.readResource(await this.#servers.findTrusted(server, options.signal), uri, options);
  }

  async getPrompt(server: string, name: string, args = {}, options: HostCallOptions = {}): Promise<GetPromptResult> {
    await rejectInvalid(options, hostCallOptionKinds, "getPrompt");
    return this.#calls.getPrompt(await this.#servers.findTrusted(server, options.signal), name, args, options);
  }

  async complete(
    server: string,
    ref: CompletionReference,
    argument: { name: string; value: string },
    options: CompleteOptions = {},
  ): Promise<Completion> {
    await rejectInvalid(options, { signal: "object", known: "object" }, "complete");
    const { signal, known } = options;
    const client = await (await this.#servers.findTrusted(server, signal)).use(signal);
    return client.complete(ref, argument, { ...(signal && { signal }), ...(known && { known }) });
  }

  async follow(server: string, uri: string): Promise<() => Promise<void>> {
    return (await this.#servers.findTrusted(server)).follow(uri);
  }

  /** The parts of the host that `openApp` needs beyond its public methods. */
  get appAccess(): AppAccess {
    return {
      closed: this.#closed.signal,
      clock: this.#clock,
      info: this.#info,
      trustsContent: (name) => this.#servers.find(name).entry.settings.trustContent === true,
      settled: async (name, signal) => void (await (await this.#servers.findTrusted(name, signal)).use(signal)),
      permit: async (id, name, action, options) =>
        this.#consent.permitApp(id, await this.#servers.findTrusted(name, options.signal), action, options),
      callTool: async (name, tool, args, options) =>
        this.#calls.callAppTool(await this.#servers.findTrusted(name, options.signal), tool, args, options),
      visit: (name, { answers }) =>
        answersFor(this.#servers.find(name), this.#answers, { ...(answers && { answers }) }).openUrl,
      sample: (name, { answers }) =>
        answersFor(this.#servers.find(name), this.#answers, { ...(answers && { answers }) }).sample,
      say: (name, { answers }) => sayFor(this.#servers.find(name), this.#answers, { ...(answers && { answers }) }),
    };
  }

  run(input: RunInput | RunState, options: RunOptions = {}): Run {
    if (this.#closing) throw new PortolanError("cancelled", "The host is closed");
    checkRunOptions(options);
    checkInput(input, options);
    if (options.tasks === "background" && !this.#localTasks) {
      const why = 'tasks: "background" needs a host with tasks; pass `tasks: true` to createHost';
      throw new PortolanError("invalid-argument", `run: ${why}`);
    }
    const id = isState(input) ? input.id : crypto.randomUUID();
    if (this.#runs.has(id)) throw new PortolanError("invalid-argument", `run: ${id} is already running`);
    const run = startRun({
      id,
      input,
      options,
      host: this,
      model: options.model ?? this.#models[0],
      isReadOnly: (server, tool) => this.#isReadOnly(server, tool),
      trustsContent: (server) => this.#servers.find(server).entry.settings.trustContent === true,
      prepare: (signal) => this.#servers.prepare(options.servers, readyWaitMs, signal),
      settleLists: (called, signal) => this.#servers.settleLists(called, signal),
    });
    this.#runs.set(id, run);
    run.result.finally(() => this.#runs.delete(id));
    return run;
  }

  async preview(input: RunInput, options: RunOptions = {}): Promise<RunPreview> {
    checkRunOptions(options);
    checkInput(input, options);
    if (isState(input)) {
      const why = "expected a text or a prompt of a server, got the state of a run; pass it as `history`";
      throw new PortolanError("invalid-argument", `preview: ${why}`);
    }
    const { catalog, servers, tasks } = this;
    const isKnown = (server: string) => this.#catalog.knows(server);
    return previewRun(input, options, { catalog, servers, tasks, isKnown }, options.model ?? this.#models[0]);
  }

  present(result: CallToolResult, options: PresentOptions = {}): SeenResult {
    return presentFor(result, options, options.model ?? this.#models[0]);
  }

  get models(): readonly Model[] {
    return this.#models;
  }

  setModels(models: readonly Model[]): void {
    checkModels(models);
    this.#models = [...models];
    this.#feed.emit({ kind: "models", server: "" });
  }

  async add(name: string, server: ServerDefinition | ServerEntry): Promise<void> {
    await this.#servers.add(toEntry(name, server));
  }

  async remove(server: string): Promise<void> {
    await this.#servers.remove(server);
  }

  async replace(name: string, server: ServerDefinition | ServerEntry): Promise<void> {
    await this.#servers.replace(toEntry(name, server));
  }

  async start(server: string): Promise<ServerStatus> {
    const found = await this.#servers.findTrusted(server);
    await found.supervisor.start();
    return found.status;
  }

  async stop(server: string): Promise<void> {
    await this.#servers.find(server).supervisor.stop();
  }

  async enable(server: string, isOn: boolean): Promise<void> {
    await this.#servers.enable(server, isOn);
  }

  isTrusted(server: string): boolean {
    return this.#servers.isTrusted(server);
  }

  trustSubject(server: string): TrustSubject {
    const { entry, previousTrust } = this.#servers.find(server);
    return describeForTrust(entry, previousTrust);
  }

  async trust(server: string, verdict: TrustVerdict | boolean): Promise<void> {
    await this.#servers.trust(server, typeof verdict === "boolean" ? { allow: verdict } : verdict);
  }

  async ping(server: string): Promise<{ readonly ms: number }> {
    const client = await (await this.#servers.findTrusted(server)).use();
    const startedAt = this.#clock.now();
    await client.ping();
    return { ms: this.#clock.now() - startedAt };
  }

  async setLogLevel(server: string, level: LogLevel): Promise<void> {
    await (await this.#servers.findTrusted(server)).setLogLevel(level);
  }

  async show(server: string, tool: string, isVisible: boolean): Promise<void> {
    await this.#servers.show(server, tool, isVisible);
  }

  changedDefinitions(): readonly (ChangedDefinition & { readonly server: string })[] {
    return this.#servers.changedDefinitions();
  }

  async accept(server: string, change: Pick<ChangedDefinition, "kind" | "name" | "digest">): Promise<void> {
    await this.#servers.accept(server, change);
  }

  async setRoots(roots: readonly RootDefinition[]): Promise<void> {
    await this.#roots.set(roots);
  }

  get roots(): readonly RootDefinition[] {
    return this.#roots.all;
  }

  async open(server: string, options: OpenConnectionOptions = {}): Promise<OpenedConnection> {
    const trusted = await this.#servers.findTrusted(server, options.signal);
    this.#opened ??= import("./opened-connections.ts").then(
      ({ OpenedConnections }) =>
        new OpenedConnections({
          activity: this.activity,
          clock: this.#clock,
          tap: this.#options.tap,
          observer: this.#options.observer,
          answersFor: (asking) => answersFor(asking, this.#answers),
        }),
    );
    const opened = await this.#opened;
    if (this.#closing) throw new PortolanError("cancelled", "The host is closed");
    return opened.open(trusted, options);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const runs = [...this.#runs.values()];
    // Before the runs are cancelled, so that their tasks go on.
    this.#localTasks?.close();
    for (const run of runs) run.cancel("the host is closed");
    this.#closed.abort(new PortolanError("cancelled", "The host is closed"));
    this.#questions.close();
    this.#roots.end();
    await this.#servers.close();
    await this.#opened?.then((opened) => opened.close());
    await Promise.all(runs.map(({ result }) => result));
    await this.#localTasks?.settle();
    // The counts are for people; a storage that fails must not keep the host open.
    await this.#grants.flush().catch(() => {});
    this.#feed.end();
    // A log that the application passed in is closed by the application.
    await (this.#options.activity ? this.activity.flush() : this.activity.close());
  }

  /** Listens to the log only while somebody reads events. */
  #followActivity(hasReaders: boolean): void {
    this.#stopFollowing?.();
    this.#stopFollowing = hasReaders
      ? this.activity.listen?.((seq) => this.#feed.emit({ kind: "activity", server: "", seq }))
      : undefined;
  }

  #isReadOnly(server: string, name: string): boolean {
    const tool = this.#catalog.tool(server, name);
    return tool !== undefined && hintsOf(tool.definition, this.#servers.find(server).trustsHints).readOnly;
  }

  /** Reads the tasks of earlier processes. */
  async loadTasks(): Promise<void> {
    await this.#localTasks?.load();
  }

  #createSkills(): HostSkills {
    const local = () => {
      // Loaded late: only hosts whose servers have skills need it.
      this.#localSkills ??= this.#createLocalSkills();
      return this.#localSkills;
    };
    return {
      list: async (options = {}) => {
        checkOptions(options, { server: 1, signal: 1 }, "skills.list");
        return (await local()).list(options);
      },
      load: async (server, uri, options = {}) => {
        await rejectInvalid(options, hostCallOptionKinds, "skills.load");
        return (await local()).load(server, uri, options);
      },
      read: async (loaded, file, options = {}) => {
        await rejectInvalid(options, hostCallOptionKinds, "skills.read");
        return (await local()).read(loaded, file, options);
      },
      preview: async (server, uri, options = {}) => {
        checkOptions(options, { signal: 1 }, "skills.preview");
        return (await local()).preview(server, uri, options);
      },
    };
  }

  #forgetSkills(server: string): void {
    // A failure to load the part is reported to those who use it.
    this.#localSkills?.then((skills) => skills.forget(server)).catch(() => {});
  }

  #createTasks(): HostTasks {
    const need = (): LocalTasks => {
      if (this.#localTasks) return this.#localTasks;
      const why = "the host was created without tasks; pass `tasks: true` to createHost";
      throw new PortolanError("capability-missing", `tasks: ${why}`);
    };
    return {
      list: () => this.#localTasks?.list() ?? [],
      start: async (server, tool, args = {}, options = {}) => {
        const { ttlMs, ...call } = options;
        const tasks = need();
        await rejectInvalid(call, hostCallOptionKinds, "tasks.start");
        checkBounds("tasks.start: ", { ttlMs });
        tasks.checkRoom(server);
        const found = await this.#servers.findTrusted(server, call.signal);
        return new Promise((resolve, reject) => {
          const created: TaskStart["created"] = (task, text) =>
            resolve({ task, ...(text !== undefined && { immediateText: text }) });
          this.#calls
            .callTool(found, tool, args, call, { ttlMs, created })
            .then((result) => resolve({ result }), reject);
        });
      },
      wait: async (id, options = {}) => {
        const tasks = need();
        await rejectInvalid(options, { signal: "object", conversation: "object", answers: "object" }, "tasks.wait");
        const { server: name } = await tasks.find(id);
        const server = this.#servers.find(name);
        try {
          return noteResultResources(server, await tasks.wait(id, options), options);
        } finally {
          // A wait that was stopped has brought no content.
          if (!options.signal?.aborted) markUntrusted(server, options);
        }
      },
      refresh: async (id, options = {}) => {
        await rejectInvalid(options, { signal: "object" }, "tasks.refresh");
        return need().refresh(id, options.signal);
      },
      cancel: async (id) => need().cancel(id),
    };
  }

  /** Emits a change of a task to all events, and to the run that it belongs to. */
  #emitTask(event: HostEvent): void {
    this.#feed.emit(event);
    if (event.kind !== "task" || event.task.run === undefined) return;
    const { how, task } = event;
    void this.#runs.get(event.task.run)?.emit({ type: "task", how, task });
  }
}

/** Emits a question to the run that it belongs to. */
function emitTo(run: StartedRun | undefined, question: HostQuestion): void {
  if (isRunApproval(question)) void run?.emit({ type: "approval", question });
  else void run?.emit({ type: "question", question });
}

function isRunApproval(question: HostQuestion): question is RunApproval {
  return question.kind === "approve" && question.callId !== undefined;
}
