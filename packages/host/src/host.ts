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
import { checkOptions, partOf, rejectInvalid } from "portolan/internal";
import type { KeyValue } from "portolan/storage";
import { createMemoryStorage } from "portolan/storage";
import { type ActivityLog, memorySink, openActivity } from "./activity/index.ts";
import { checkTask, isState } from "./agent/prompt.ts";
import {
  type Run,
  type RunApproval,
  type RunInput,
  type RunOptions,
  type RunState,
  type StartedRun,
  startRun,
} from "./agent/run.ts";
import { createRates, type RootDefinition } from "./answers/forms.ts";
import { type AnswerDependencies, answersFor, createBudgets, sayFor } from "./answers/sampling.ts";
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
  type ServerDefinition,
  type ServerStatus,
} from "./api.ts";
import type { AppAccess } from "./apps/access.ts";
import { CallLog, Calls, hostCallOptionKinds, markUntrusted, noOptions, noteResultResources } from "./calls.ts";
import { Catalog, type CatalogView } from "./catalog/catalog.ts";
import { describeForTrust, TrustHistory, type TrustSubject } from "./config/index.ts";
import { Consent, Questions } from "./consent.ts";
import { skeletonOf } from "./display/index.ts";
import type { Feed } from "./feed.ts";
import { maxStartsAtOnce, pingIntervalMs, readyWaitMs } from "./limits.ts";
import type { Model } from "./models/model.ts";
import { checkBounds, checkHostOptions, checkRunOptions, ExposedRoots, type ServerEntry } from "./options.ts";
import {
  type ChangedDefinition,
  compilePolicy,
  createGrants,
  createPins,
  type Grants,
  hintsOf,
} from "./policy/index.ts";
import type { HostQuestion, TrustVerdict } from "./questions.ts";
import { Servers, toEntry } from "./servers.ts";
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
  readonly #feed: Feed<HostEvent> = createHostFeed();
  readonly #catalog = new Catalog(skeletonOf);
  readonly #models: readonly Model[];
  readonly #grants: Grants;
  readonly #questions: Questions;
  readonly #servers: Servers;
  readonly #consent: Consent;
  readonly #calls: Calls;
  readonly #answers: AnswerDependencies;
  readonly #closed = new AbortController();
  readonly #runs = new Map<string, StartedRun>();
  readonly #roots: ExposedRoots;
  readonly #localTasks: LocalTasks | undefined;
  readonly tasks: HostTasks;
  readonly skills: HostSkills;
  readonly #createLocalSkills: () => Promise<LocalSkills>;
  #localSkills: Promise<LocalSkills> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: HostOptions, grants: Grants, kv: KeyValue, tasks?: TasksModule) {
    const { clock = systemClock, answers = {}, model = [], sampling = {}, limits = {} } = options;
    this.#options = options;
    this.#info = options.info ?? { name: "portolan", version: "0.1.0" };
    this.#clock = clock;
    this.#grants = grants;
    this.#models = Array.isArray(model) ? model : [model as Model];
    this.activity = options.activity ?? openActivity(memorySink());
    this.#questions = new Questions(answers, {
      onAsked: (question) => this.#emitQuestion(question),
      onSettled: (question) => this.#feed.emit({ kind: "answered", server: question.server, question }),
    });
    this.#roots = new ExposedRoots(clock, () => {
      for (const { client } of this.#servers.all) client?.rootsChanged();
    });
    const dependencies: AnswerDependencies = {
      questions: this.#questions,
      grants,
      activity: this.activity,
      models: this.#models,
      sampling,
      roots: () => this.#roots.present,
      budgetOf: createBudgets(sampling, clock),
      rateOf: createRates(options.questionsPerMinute, clock),
      warn: (server, message) => this.#feed.emit({ kind: "warning", server, message }),
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
      emit: (event) => {
        if (event.kind === "catalog" && event.changed === "resources") this.#forgetSkills(event.server);
        this.#feed.emit(event);
      },
      answersFor: (server) => answersFor(server, dependencies),
      ...(options.auth && { auth: options.auth }),
      ...(options.via && { via: options.via }),
      ...(options.observer && { observer: options.observer }),
      ...(extensions.length > 0 && { extensions }),
      ...(localTasks && { onStateChange: (server) => localTasks.onStateChange(server) }),
      ...(options.storage && { kv }),
    });
    this.#answers = dependencies;
    this.#consent = new Consent(compilePolicy(options.policy ?? []), grants, this.#questions, this.activity);
    this.#calls = new Calls({
      clock,
      catalog: this.#catalog,
      consent: this.#consent,
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
    };
  }

  answer(id: string, answer: unknown): Promise<void> {
    return this.#questions.answer(id, answer);
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
      visit: (name, { answers }) =>
        answersFor(this.#servers.find(name), this.#answers, { ...(answers && { answers }) }).openUrl,
      say: (name, { answers }) => sayFor(this.#servers.find(name), this.#answers, { ...(answers && { answers }) }),
    };
  }

  run(task: RunInput | RunState, options: RunOptions = {}): Run {
    if (this.#closing) throw new PortolanError("cancelled", "The host is closed");
    checkRunOptions(options);
    checkTask(task, options);
    if (options.tasks === "background" && !this.#localTasks) {
      const why = 'tasks: "background" needs a host with tasks; pass `tasks: true` to createHost';
      throw new PortolanError("invalid-argument", `run: ${why}`);
    }
    const id = isState(task) ? task.id : crypto.randomUUID();
    if (this.#runs.has(id)) throw new PortolanError("invalid-argument", `run: ${id} is already running`);
    const run = startRun({
      id,
      task,
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

  async add(name: string, server: ServerDefinition | ServerEntry): Promise<void> {
    await this.#servers.add(toEntry(name, server));
  }

  async remove(server: string): Promise<void> {
    await this.#servers.remove(server);
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
    await Promise.all(runs.map(({ result }) => result));
    await this.#localTasks?.settle();
    this.#feed.end();
    // A log that the application passed in is closed by the application.
    await (this.#options.activity ? this.activity.flush() : this.activity.close());
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

  /** Emits a question to all events, and to the run that it belongs to. */
  #emitQuestion(question: HostQuestion): void {
    this.#feed.emit({ kind: "question", server: question.server, question });
    const run = question.run === undefined ? undefined : this.#runs.get(question.run);
    if (isRunApproval(question)) void run?.emit({ type: "approval", question });
    else void run?.emit({ type: "question", question });
  }
}

function isRunApproval(question: HostQuestion): question is RunApproval {
  return question.kind === "approve" && question.callId !== undefined;
}
