import type { MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import { type JsonObject, RpcError, rpcCodes, serializeResult } from "../../jsonrpc/message.ts";
import {
  internalError,
  invalidParams,
  limitExceeded,
  methodNotFound,
  missingCapability,
  taskEnded,
  taskNotFound,
  unserializableResult,
} from "../../protocol/errors.ts";
import { complete, type Outcome, type Revision } from "../../protocol/revision.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import { type TaskDialect, taskDialectOf, tasksId } from "../../protocol/tasks.ts";
import type { InputRequest, InputRequests } from "../../protocol/types/index.ts";
import { isObject } from "../../schema/shape.ts";
import { sha256 } from "../../storage/crypto.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import { openState, roundStateOf } from "../ask/round-state.ts";
import { runtimeBehind } from "../call/active-extensions.ts";
import { callTool } from "../call/call-tool.ts";
import { HandlerContext } from "../call/context.ts";
import { anonymous, type Exchange, loadQuestions, type Principal, type ServedExchange } from "../call/exchange.ts";
import { checkNeeds, runMiddleware } from "../call/extra.ts";
import { parseCursor, toCursor } from "../call/page.ts";
import type { CompiledTool } from "../define/tools.ts";
import type { ExtendedServer, ServerExtension } from "../extension.ts";
import type { ServerRuntime } from "../runtime.ts";
import type { TaskRule } from "./definition.ts";
import type { TaskSettings } from "./extension.ts";
import { jobEffect } from "./job.ts";
import {
  firstRetryMs,
  maxEmptyRounds,
  maxRetryMs,
  maxStatusCharacters,
  maxTaskQuestions,
  maxWatchedTasks,
  statusIntervalMs,
  taskIdBytes,
  taskPageSize,
} from "./limits.ts";
import {
  audienceOf,
  coreResult,
  coreView,
  detailedView,
  ended,
  extensionView,
  failureOf,
  hasEnded,
  isExpired,
  relatedTask,
  type TaskRecord,
  textIn,
  toStoredRounds,
} from "./record.ts";
import { type RunHost, TaskRun } from "./run.ts";
import { createTaskId, TaskStore } from "./store.ts";

type Next = (exchange: Exchange) => MaybePromise<Outcome>;

/** The tasks of one served server. */
export class TaskServer implements RunHost {
  readonly runtime: ServerRuntime;
  readonly #server: ExtendedServer;
  readonly #extension: ServerExtension;
  readonly #settings: TaskSettings;
  readonly #store: TaskStore;
  /** The handlers in the memory of this process, by the keys of their tasks. */
  readonly #runs = new Map<string, TaskRun>();
  /** Tasks that listeners of this process hear of, with the version that they know, until the tasks have ended. */
  readonly #listenedTo = new Map<string, string>();
  /** The keys of tasks that this process has taken and is about to run. */
  readonly #taken = new Map<string, number>();
  /** Questions that a client of 2025-11-25 is being asked, by the key of the task and of the question. */
  readonly #asking = new Set<string>();

  constructor(extension: ServerExtension, server: ExtendedServer, settings: TaskSettings) {
    this.#extension = extension;
    this.#server = server;
    this.runtime = runtimeBehind(server);
    this.#settings = settings;
    const storage = settings.storage ?? server.storage ?? createMemoryStorage();
    const report = (error: unknown) => this.report(error);
    this.#store = new TaskStore(storage, this.runtime.snapshot.info.name, settings, report, (key) =>
      this.#changedElsewhere(key),
    );
    this.#sweep();
    if (this.#store.isShared) {
      const timer = setInterval(() => this.#sweep(), settings.leaseMs);
      (timer as { unref?: () => void }).unref?.();
    }
  }

  report(error: unknown): string {
    return this.#server.report(error);
  }

  get hasLease(): boolean {
    return this.#store.hasLease;
  }

  // Calls

  /** Runs a call as a task, or answers it if it ends soon or asks before. */
  async call(exchange: ServedExchange, next: Next, rule: TaskRule, dialect: TaskDialect): Promise<Outcome> {
    const { params, peer, principal, returnPath } = exchange;
    const tool = this.#toolOf(params["name"], exchange) as CompiledTool;
    const args = (params["arguments"] ?? {}) as JsonObject;
    await returnPath.checkArguments?.(tool.entry["inputSchema"] as JsonObject, args);
    if (tool.definition.needs) checkNeeds(tool.key, tool.definition.needs, peer);
    const checked = await (tool.input?.validate(args) ?? { value: args });
    const isExtension = dialect === "extension";
    // Wrong arguments are answered as in every call.
    if (checked.issues && isExtension) return next(exchange);
    if (isExtension && rule.when && !checked.issues) {
      const context = new HandlerContext(exchange, this.runtime, tool.makeApp);
      if (!(await rule.when(checked.value, context))) return next(exchange);
    }
    const { requestState, inputResponses } = params;
    const isRetry = isExtension && requestState !== undefined;
    const state = isRetry
      ? await openState(roundStateOf(this.runtime).sealer, exchange, String(requestState))
      : undefined;
    if (state?.parked !== undefined) return next(exchange);
    if (this.#runs.size >= this.#settings.maxRunning) {
      throw limitExceeded("Limit reached: this server runs too many tasks; try again later", "process");
    }
    const caller = await callerOf(exchange);
    const id = createTaskId(taskIdBytes);
    const key = await this.#store.keyOf(principal.key, id);
    const { capabilities, info, revision } = peer;
    const { task, requestState: _, inputResponses: __, ...call } = params;
    const now = Date.now();
    const record: TaskRecord = {
      id,
      dialect,
      principal,
      caller,
      session: returnPath.sessionId,
      peer: { version: revision.version, capabilities, info },
      call,
      createdAt: now,
      updatedAt: now,
      ttlMs: this.#ttlOf(rule, isExtension ? undefined : task),
      pollMs: this.#settings.pollMs,
      resume: rule.resume,
      status: "working",
      owner: this.#store.owner,
      shownKeys: [],
      begun: [],
      reserved: 0,
      ...(isExtension && isObject(inputResponses) && { answers: inputResponses as { [key: string]: JsonObject } }),
      ...(state && { rounds: toStoredRounds(state) }),
    };
    const quickMs = isExtension && !rule.resume ? rule.quickMs : 0;
    return quickMs > 0
      ? this.#callQuickly(exchange, key, record, rule, quickMs)
      : this.#callAsTask(exchange, key, record, rule);
  }

  async #callAsTask(exchange: ServedExchange, key: string, record: TaskRecord, rule: TaskRule): Promise<Outcome> {
    const run = new TaskRun(this, key, record, undefined, rule.waits);
    this.#runs.set(key, run);
    let created: TaskRecord;
    try {
      created = await this.#store.create(key, record);
    } catch (cause) {
      this.#runs.delete(key);
      run.close();
      throw cause;
    }
    this.#follow(run, created);
    this.#start(run);
    return handleOf(created, exchange);
  }

  /** Waits a while for the plain result of a call before it becomes a task. */
  async #callQuickly(
    exchange: ServedExchange,
    key: string,
    record: TaskRecord,
    rule: TaskRule,
    quickMs: number,
  ): Promise<Outcome> {
    await this.#store.admit(record.caller);
    const run = new TaskRun(this, key, record, exchange, rule.waits);
    const outcome = Promise.resolve().then(() => this.#runHandler(run));
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, quickMs, undefined);
      // A handler that waits in memory for an answer cannot be called again: it must be a task.
      run.needsTask = () => resolve(undefined);
    });
    try {
      const early = await Promise.race([outcome, late]);
      if (early !== undefined || exchange.isCancelled) {
        run.detach();
        run.close();
        return early ?? complete({});
      }
    } catch (cause) {
      run.detach();
      run.close();
      throw cause;
    } finally {
      clearTimeout(timer);
    }
    run.detach();
    this.#runs.set(key, run);
    run.creating = this.#store.create(key, { ...record, message: run.message });
    let first: TaskRecord;
    try {
      first = await run.creating;
    } catch (cause) {
      this.#runs.delete(key);
      run.close(new PortolanError("limit-reached", "The call could not become a task"));
      outcome.catch(() => {});
      throw cause;
    } finally {
      run.creating = undefined;
    }
    this.#follow(run, first);
    this.#settle(run, outcome);
    return handleOf(first, exchange);
  }

  #ttlOf(rule: TaskRule, task: unknown): number {
    const wanted = isObject(task) ? task["ttl"] : undefined;
    if (wanted !== undefined && (typeof wanted !== "number" || !(wanted >= 0))) {
      throw invalidParams("params.task.ttl: expected a number from 0 on");
    }
    const chosen = Math.round(wanted ?? rule.ttlMs ?? this.#settings.ttlMs);
    return Math.min(Math.max(1, chosen), this.#settings.maxTtlMs);
  }

  #toolOf(name: unknown, exchange: ServedExchange): CompiledTool | undefined {
    return this.runtime.snapshot.tools.find(String(name), exchange);
  }

  // Runs

  /** Runs the handler inside the middleware that comes after this extension. */
  #runHandler(run: TaskRun): MaybePromise<Outcome> {
    const { snapshot } = this.runtime;
    const before = snapshot.parts.extensions.filter(({ around }) => around).indexOf(this.#extension);
    const chain = snapshot.chain("tools/call", this.runtime).slice(before + 1);
    return runMiddleware(chain, run.exchange, (current) => callTool(this.runtime, current));
  }

  #follow(run: TaskRun, { createdAt, ttlMs }: TaskRecord): void {
    run.endAt(createdAt + ttlMs, () => {
      this.#expire(run.key).catch((cause) => this.report(cause));
    });
  }

  #start(run: TaskRun): void {
    this.#settle(
      run,
      Promise.resolve().then(() => this.#runHandler(run)),
    );
  }

  /** Ends the task with the outcome of its handler, or asks its questions. */
  #settle(run: TaskRun, running: Promise<Outcome>): void {
    running
      .then(
        (outcome) => (outcome.kind === "input_required" ? this.#pause(run, outcome.requests) : this.#end(run, outcome)),
        (cause) => this.#fail(run, cause),
      )
      .catch((cause) => this.#fail(run, cause))
      .catch((cause) => this.report(cause))
      .finally(() => this.#release(run));
  }

  #release(run: TaskRun, reason?: Error): void {
    if (this.#runs.get(run.key) === run) this.#runs.delete(run.key);
    if (run.close(reason)) this.#store.release();
  }

  async write(run: TaskRun, update: (record: TaskRecord) => TaskRecord): Promise<boolean> {
    await run.creating;
    let isOurs = false;
    const { after } = await this.#change(run.key, (record) => {
      isOurs = record.owner === this.#store.owner && !hasEnded(record) && this.#runs.get(run.key) === run;
      return isOurs ? update(record) : undefined;
    });
    return isOurs && after !== undefined;
  }

  /** Writes the end of a run. While the storage fails it tries again: the result is nowhere else. */
  async #writeSurely(run: TaskRun, update: (record: TaskRecord) => TaskRecord): Promise<void> {
    for (let pauseMs = firstRetryMs; !run.isOver; pauseMs = Math.min(pauseMs * 2, maxRetryMs)) {
      try {
        await this.write(run, update);
        return;
      } catch (cause) {
        // A limit of the caller will not pass by itself.
        if (cause instanceof RpcError) throw cause;
        this.report(cause);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  async #end(run: TaskRun, outcome: Outcome): Promise<void> {
    if (outcome.kind !== "complete") {
      throw new PortolanError("invalid-definition", "A task expects a result, but middleware returned none");
    }
    const { result, wrapped } = outcome;
    try {
      serializeResult(result);
    } catch (cause) {
      this.report(cause);
      throw unserializableResult((cause as Error).message);
    }
    const isError = result["isError"] === true;
    await this.#writeSurely(run, (record) =>
      ended(record, "completed", { result, wrapped }, isError ? cut(textIn(result)) : (run.message ?? record.message)),
    );
  }

  async #fail(run: TaskRun, cause: unknown): Promise<void> {
    if (run.exchange.isCancelled) return;
    const error = cause instanceof RpcError ? cause : internalError(this.report(cause));
    await this.#writeSurely(run, (record) => ended(record, "failed", failureOf(error), cut(error.message)));
  }

  /** Keeps the questions of a handler that runs again with the answers. */
  async #pause(run: TaskRun, requests: InputRequests = {}): Promise<void> {
    const asked = Object.entries(requests);
    let isFull = false;
    const rounds = run.kept;
    const emptyRounds = asked.length === 0 ? run.asked + 1 : 0;
    if (emptyRounds > maxEmptyRounds) throw endless(run);
    await this.#writeSurely(run, (record) => {
      isFull = record.shownKeys.length + asked.length > maxTaskQuestions;
      if (isFull) return record;
      if (asked.length === 0) return { ...record, rounds, answers: {} };
      const { pending, shownKeys } = shown(record, asked);
      const { owner: _, ...rest } = record;
      return { ...rest, status: "input_required", pending, answers: {}, shownKeys, rounds, updatedAt: Date.now() };
    });
    if (isFull) throw endless(run);
    if (asked.length > 0) return;
    const record = await this.#store.read(run.key);
    if (record && !hasEnded(record)) await this.#runAgain(run.key, record, emptyRounds);
  }

  /** Runs the handler of a task that this process owns. */
  async #runAgain(key: string, record: TaskRecord, emptyRounds = 0): Promise<void> {
    await this.#store.hold();
    const exchange = this.#runs.get(key)?.exchange;
    const rule = this.#ruleOf(record);
    const run = new TaskRun(this, key, record, undefined, rule?.waits ?? false);
    run.asked = emptyRounds;
    if (exchange) this.#release(this.#runs.get(key) as TaskRun);
    this.#runs.set(key, run);
    this.#follow(run, record);
    await this.runtime.snapshot.loading;
    this.#start(run);
  }

  /** Returns how the tool of a task runs as one; undefined if this server has no such tool. */
  #ruleOf(record: TaskRecord): TaskRule | undefined {
    const { call, principal } = record;
    const probe = { principal } as Exchange;
    return this.#server.optionsOf("tool", String(call["name"]), probe) as TaskRule | undefined;
  }

  async ask(run: TaskRun, question: InputRequest): Promise<JsonObject> {
    run.needsTask();
    await run.detached;
    run.asked += 1;
    const key = `q${run.asked}`;
    const answer = new Promise<JsonObject>((resolve, reject) => {
      run.waiting.set(key, resolve);
      run.exchange.onCancel(reject);
    });
    answer.catch(() => {});
    let isFull = false;
    const isOurs = await this.write(run, (record) => {
      isFull = record.shownKeys.length >= maxTaskQuestions;
      if (isFull) return record;
      const { pending, shownKeys } = shown(record, [[key, question]]);
      return { ...record, status: "input_required", pending, shownKeys, updatedAt: Date.now() };
    });
    if (isFull) throw endless(run);
    if (!isOurs) throw new PortolanError("cancelled", "The task has ended");
    return answer;
  }

  notify(run: TaskRun, method: string, params: JsonObject): void {
    const { origin } = run;
    if (origin) {
      if (origin.isOpen) origin.returnPath.notify(method, params);
      return;
    }
    if (method !== "notifications/progress") return;
    // spec ext-tasks: no progress of a task on any stream. 2025-11-25: the token stays valid for the task's life.
    if (taskDialectOf(run.exchange.peer.revision) !== "core" || !run.audience) return;
    const _meta = { ...(params["_meta"] as JsonObject | undefined), ...relatedTask(run.id) };
    this.#server.publish("progress", { ...params, _meta }, run.audience);
  }

  // Changes

  /** Changes a task and tells its watchers. */
  async #change(key: string, update: (record: TaskRecord) => TaskRecord | undefined) {
    const change = await this.#store.change(key, update);
    const { before, after } = change;
    if (after && after !== before) this.#publish(before, after);
    return change;
  }

  #publish(before: TaskRecord | undefined, after: TaskRecord): void {
    const isSame = before?.status === after.status && before.message === after.message;
    if (isSame && Object.keys(before.pending ?? {}).join() === Object.keys(after.pending ?? {}).join()) return;
    const audience = audienceOf(after);
    this.#tellListeners(after);
    if (after.dialect === "core" && audience) this.#server.publish("tasks/status", coreView(after), audience);
  }

  /** Tells the listeners of this process. Those of others are told by their processes, which hear of the change. */
  #tellListeners(record: TaskRecord): void {
    if (!extensionRevision) return;
    const view = detailedView(record, extensionRevision, this.runtime.snapshot);
    this.runtime.hub.publish("tasks", view, { principal: record.principal.key });
  }

  /** Tells the listeners of this process of a change that another one made. */
  async #tellOf(key: string): Promise<void> {
    const record = await this.#store.read(key);
    if (!record || hasEnded(record)) this.#listenedTo.delete(key);
    if (!record) return;
    const version = versionOf(record);
    if (this.#listenedTo.get(key) === version) return;
    if (!hasEnded(record)) this.#listenedTo.set(key, version);
    this.#tellListeners(record);
  }

  /** Another process has changed a task, or may have changed any. */
  #changedElsewhere(key: string | undefined): void {
    const listenedTo = key === undefined ? [...this.#listenedTo.keys()] : this.#listenedTo.has(key) ? [key] : [];
    for (const each of listenedTo) this.#tellOf(each).catch((cause) => this.report(cause));
    const keys = key === undefined ? [...this.#runs.keys()] : this.#runs.has(key) ? [key] : [];
    for (const each of keys) this.#look(each).catch((cause) => this.report(cause));
  }

  /** Looks whether a task that runs here was cancelled, answered or taken by another process. */
  async #look(key: string): Promise<void> {
    const run = this.#runs.get(key);
    if (!run || run.creating) return;
    const record = await this.#store.read(key);
    const isOurs = record?.owner === this.#store.owner && !hasEnded(record);
    if (isOurs) this.#deliver(run, record);
    else if (this.#runs.get(key) === run && record?.status !== "input_required") {
      this.#release(run, new PortolanError("cancelled", record?.message ?? "The task has ended"));
    }
  }

  /** Hands answers to a handler that waits in memory. */
  #deliver(run: TaskRun, { answers = {} }: TaskRecord): void {
    for (const [key, resolve] of [...run.waiting]) {
      const answer = answers[key];
      if (answer === undefined) continue;
      run.waiting.delete(key);
      resolve(answer);
    }
  }

  /** Ends a task whose lifetime is over. */
  async #expire(key: string): Promise<TaskRecord | undefined> {
    const { after } = await this.#change(key, (record) => {
      if (hasEnded(record) || !isExpired(record)) return undefined;
      const why = `The task did not end within its lifetime of ${record.ttlMs} ms`;
      return ended(record, "failed", failureOf(new RpcError(rpcCodes.internalError, why)), why);
    });
    this.#stop(key, new PortolanError("timeout", "The lifetime of the task is over"));
    return after;
  }

  #stop(key: string, reason: Error): void {
    const run = this.#runs.get(key);
    if (run) this.#release(run, reason);
  }

  /** Looks for tasks whose process has died, and for those that have ended without being counted as ended. */
  #sweep(): void {
    const search = async () => {
      for await (const key of this.#store.open()) {
        const record = await this.#store.read(key);
        if (record) await this.#recover(key, record);
      }
    };
    search().catch((cause) => this.report(cause));
  }

  /** Returns a task as it is after the death of its process was noticed: run again, or failed. */
  async #recover(key: string, record: TaskRecord): Promise<TaskRecord> {
    if (hasEnded(record)) return record;
    if (isExpired(record)) return (await this.#expire(key)) ?? record;
    const { owner } = record;
    if (owner === undefined) return record;
    const isMine = owner === this.#store.owner;
    if (isMine ? this.#runs.has(key) || this.#taken.has(key) : await this.#store.isAlive(owner)) return record;
    await this.runtime.snapshot.loading;
    // Another server with the same storage may have the tool.
    if (!this.#ruleOf(record)) return record;
    const [unfinished] = record.begun;
    const mayResume = record.resume && unfinished === undefined;
    const after = await this.#takeAndRun(key, (current) => {
      if (current.owner !== owner || hasEnded(current) || this.#runs.has(key)) return undefined;
      if (mayResume) return { record: { ...current, owner: this.#store.owner }, runs: true };
      const why =
        unfinished === undefined
          ? "The process that ran the task has ended"
          : `The process that ran the task has ended during the effect ${JSON.stringify(unfinished)}, which may have happened`;
      const reference = this.report(
        new PortolanError("task-lost", `Task ${current.id} of a tool "${current.call["name"]}" failed: ${why}`),
      );
      return { record: ended(current, "failed", failureOf(internalError(reference)), why), runs: false };
    });
    return after ?? record;
  }

  /** Changes a task, and runs its handler if the change says so. `take` returns undefined to leave the task. */
  async #takeAndRun(
    key: string,
    take: (record: TaskRecord) => { readonly record: TaskRecord; readonly runs: boolean } | undefined,
  ): Promise<TaskRecord | undefined> {
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
    try {
      await this.#store.hold();
      try {
        let runs = false;
        const { after } = await this.#change(key, (record) => {
          const taken = take(record);
          runs = taken?.runs === true;
          return taken?.record;
        });
        if (after && runs) await this.#runAgain(key, after);
        return after;
      } finally {
        this.#store.release();
      }
    } finally {
      const left = (this.#taken.get(key) ?? 1) - 1;
      if (left > 0) this.#taken.set(key, left);
      else this.#taken.delete(key);
    }
  }

  // Requests of clients

  /** Returns the task of a caller. Throws if it has none with this id. */
  async #read({ params, principal }: Exchange): Promise<{ key: string; record: TaskRecord }> {
    const found = await this.#store.find(principal.key, String(params["taskId"]));
    if (!found) throw taskNotFound();
    return { key: found.key, record: await this.#recover(found.key, found.record) };
  }

  /** Throws if the client has to declare the extension and has not. Tasks of 2025-11-25 are open to older clients. */
  async #readFor(exchange: Exchange, isOpenToOlder: boolean): Promise<{ key: string; record: TaskRecord }> {
    const isDeclared = exchange.peer.capabilities.extensions?.[tasksId] !== undefined;
    if (isDeclared) return this.#read(exchange);
    const found = isOpenToOlder ? await this.#read(exchange).catch(() => undefined) : undefined;
    if (found?.record.dialect === "core") return found;
    throw missingCapability({ extensions: { [tasksId]: {} } }, exchange.method);
  }

  /** Answers `tasks/get`. */
  async get(exchange: Exchange, dialect: TaskDialect): Promise<Outcome> {
    if (dialect === "core") return complete(coreView((await this.#read(exchange)).record));
    const { record } = await this.#readFor(exchange, true);
    return complete(detailedView(record, exchange.peer.revision, this.runtime.snapshot));
  }

  /** Answers `tasks/cancel`. */
  async cancel(exchange: Exchange, dialect: TaskDialect): Promise<Outcome> {
    const { key } = dialect === "core" ? await this.#read(exchange) : await this.#readFor(exchange, true);
    let hadEnded = false;
    const { before, after } = await this.#change(key, (record) => {
      hadEnded = hasEnded(record);
      return hadEnded ? undefined : ended(record, "cancelled", undefined, "The client cancelled the task");
    });
    if (!before || !after) throw taskNotFound();
    if (!hadEnded) {
      this.#stop(key, new PortolanError("cancelled", "The client cancelled the task"));
      await this.#stopJob(before);
    }
    if (dialect === "extension") return complete({});
    if (hadEnded) throw taskEnded(coreView(after)["status"] as string);
    return complete(coreView(after));
  }

  /** Stops the work of a job that no living process looks at. */
  async #stopJob(record: TaskRecord): Promise<void> {
    const { owner, rounds } = record;
    const stop = this.#ruleOf(record)?.stop;
    const job = rounds?.once[jobEffect];
    if (!stop || job === undefined || (owner !== undefined && (await this.#store.isAlive(owner)))) return;
    try {
      await stop(JSON.parse(job));
    } catch (cause) {
      this.report(cause);
    }
  }

  /** Answers `tasks/update`. */
  async update(exchange: Exchange): Promise<Outcome> {
    const { key } = await this.#readFor(exchange, false);
    await this.#answer(key, exchange.params["inputResponses"] as JsonObject);
    return complete({});
  }

  /** Takes answers to open questions. When none is open any more, the handler goes on. */
  async #answer(key: string, responses: JsonObject): Promise<void> {
    const { checkAnswer } = await loadQuestions();
    const after = await this.#takeAndRun(key, (record) => {
      if (record.status !== "input_required") return undefined;
      const pending = { ...record.pending };
      const answers = { ...record.answers };
      for (const [shownKey, response] of Object.entries(responses)) {
        const asked = Object.hasOwn(pending, shownKey) ? pending[shownKey] : undefined;
        if (!asked) continue;
        answers[asked.key] = checkAnswer(shownKey, asked.question, response);
        delete pending[shownKey];
      }
      const left = Object.keys(pending).length;
      if (left === Object.keys(record.pending ?? {}).length) return undefined;
      const changed = { ...record, pending, answers, updatedAt: Date.now() };
      if (left > 0) return { record: changed, runs: false };
      const { owner = this.#store.owner } = record;
      // A handler that waits in memory goes on where it is.
      return { record: { ...changed, status: "working", owner }, runs: record.owner === undefined };
    });
    const run = this.#runs.get(key);
    if (after && run) this.#deliver(run, after);
  }

  /** Answers `tasks/result`, which waits for the end of the task and asks its questions meanwhile. */
  async result(exchange: ServedExchange): Promise<Outcome> {
    const { key } = await this.#read(exchange);
    let wake = () => {};
    // One for all rounds: a promise that lives as long as the request would keep a reaction of each.
    const stop = this.#store.watch(key, () => wake());
    exchange.onCancel(() => wake());
    // Cancelled alone: a question that was answered elsewhere is withdrawn.
    const asking = exchange.withParams(exchange.params);
    try {
      for (;;) {
        const changed = new Promise<void>((resolve) => {
          wake = resolve;
        });
        const { record } = await this.#read(exchange);
        if (hasEnded(record)) return complete(coreResult(record, exchange.peer.revision));
        if (exchange.isCancelled) return complete({});
        this.#askAll(asking, key, record);
        const timer = setTimeout(() => wake(), this.#lookAgainMs(record));
        await changed;
        clearTimeout(timer);
      }
    } finally {
      stop();
      asking.cancel(new PortolanError("cancelled", "The task needs no answer any more"));
    }
  }

  /** Returns the time after which a waiting request looks again, in case no news came: a lease, or the rest of the lifetime. */
  #lookAgainMs({ createdAt, ttlMs }: TaskRecord): number {
    return Math.max(statusIntervalMs, Math.min(this.#settings.leaseMs, createdAt + ttlMs - Date.now()));
  }

  /** Sends the open questions to the client that waits for the result, each once at a time. */
  #askAll(exchange: ServedExchange, key: string, { id, pending = {} }: TaskRecord): void {
    for (const [shownKey, { question }] of Object.entries(pending)) {
      const name = `${key} ${shownKey}`;
      if (this.#asking.has(name) || !exchange.returnPath.ask) continue;
      this.#asking.add(name);
      const asked = withRelatedTask(question, id);
      exchange.returnPath
        .ask(exchange, asked)
        .then(
          (answer) => this.#answer(key, { [shownKey]: answer }),
          (cause) => this.#refused(exchange, key, shownKey, question, cause),
        )
        .catch((cause) => this.#failBy(key, cause))
        .catch((cause) => this.report(cause))
        .finally(() => {
          this.#asking.delete(name);
          // Another request of the client may ask, if this one could not.
          this.#store.wake(key);
        });
    }
  }

  /** A client that refuses to show a form has closed it. Without another answer the task fails. */
  async #refused(
    exchange: ServedExchange,
    key: string,
    shownKey: string,
    { method }: InputRequest,
    cause: unknown,
  ): Promise<void> {
    // The client is gone: another request may ask.
    if (exchange.isCancelled || !(cause instanceof RpcError)) return;
    if (method === "elicitation/create") await this.#answer(key, { [shownKey]: { action: "cancel" } });
    else throw cause;
  }

  async #failBy(key: string, cause: unknown): Promise<void> {
    const error = cause instanceof RpcError ? cause : internalError(this.report(cause));
    await this.#change(key, (record) =>
      hasEnded(record) ? undefined : ended(record, "failed", failureOf(error), cut(error.message)),
    );
    this.#stop(key, error);
  }

  /** Answers `tasks/list`. Callers without an identity have no list: they could see each other's tasks. */
  async list({ params, principal }: Exchange): Promise<Outcome> {
    if (!mayList(principal)) throw methodNotFound("tasks/list");
    const { cursor } = params;
    const after = cursor === undefined ? undefined : parseCursor(String(cursor), "tasks", "");
    const found = await this.#store.list(principal.key, after, taskPageSize + 1);
    const page = found.slice(0, taskPageSize);
    const last = page[page.length - 1];
    const tasks: JsonObject[] = [];
    for (const record of page) {
      const key = await this.#store.keyOf(principal.key, record.id);
      tasks.push(coreView(await this.#recover(key, record)));
    }
    const isMore = found.length > page.length && last !== undefined;
    return complete({ tasks, ...(isMore && { nextCursor: toCursor("tasks", "", last.id) }) });
  }

  /** Returns the ids of a wanted list whose changes the caller may hear of; undefined if there are none. */
  async admit(wanted: unknown, exchange: Exchange): Promise<readonly string[] | undefined> {
    const isList = Array.isArray(wanted) && wanted.every((id) => typeof id === "string");
    if (!isList) throw invalidParams("params.notifications.taskIds: expected a list of strings");
    const ids = [...new Set<string>(wanted)];
    if (ids.length > maxWatchedTasks) {
      throw invalidParams(`params.notifications.taskIds: expected at most ${maxWatchedTasks}, got ${ids.length}`);
    }
    await this.#store.hearOthers();
    const own = await Promise.all(ids.map((id) => this.#store.find(exchange.principal.key, id)));
    for (const found of own) {
      if (found && this.#store.isShared && !hasEnded(found.record)) {
        this.#listenedTo.set(found.key, versionOf(found.record));
      }
    }
    return ids.filter((_, index) => own[index] !== undefined);
  }
}

/** The newest revision with the extension, in whose form its listeners are told of changes. */
const extensionRevision: Revision | undefined = revisions.find((revision) => taskDialectOf(revision) === "extension");

/** Returns whether tasks of a principal are its own: anonymous callers are one principal. */
export function mayList(principal: Principal): boolean {
  return principal.key !== anonymous.key;
}

/** Returns the key under which tasks are counted: anonymous callers have limits of their own. */
function callerOf({ principal, returnPath }: ServedExchange): Promise<string> {
  const isAnonymous = principal.key === anonymous.key;
  return sha256(JSON.stringify([principal.key, isAnonymous ? (returnPath.caller?.key ?? "") : ""]));
}

/** Returns a text that changes with what clients see of a task. */
function versionOf({ status, updatedAt, message }: TaskRecord): string {
  return `${status} ${updatedAt} ${message}`;
}

/** Returns the answer to a call that has become a task. */
function handleOf(record: TaskRecord, { peer }: ServedExchange): Outcome {
  if (taskDialectOf(peer.revision) === "core") return complete({ task: coreView(record) });
  return { kind: "extended", resultType: "task", result: extensionView(record) };
}

/** Adds questions to those that clients see, each under a key that was never used. */
function shown(record: TaskRecord, asked: readonly (readonly [key: string, question: InputRequest])[]) {
  const used = new Set(record.shownKeys);
  const pending = { ...record.pending };
  for (const [key, question] of asked) {
    let shownKey = key;
    for (let count = 2; used.has(shownKey); count += 1) shownKey = `${key}-${count}`;
    used.add(shownKey);
    pending[shownKey] = { key, question };
  }
  return { pending, shownKeys: [...used] };
}

function withRelatedTask(question: InputRequest, id: string): InputRequest {
  const { method, params } = question;
  return { method, params: { ...params, _meta: { ...params?._meta, ...relatedTask(id) } } } as InputRequest;
}

function endless(run: TaskRun): PortolanError {
  return new PortolanError("limit-reached", `Task ${run.id} asks too many questions`);
}

function cut(text: string | undefined): string | undefined {
  return text?.slice(0, maxStatusCharacters);
}
