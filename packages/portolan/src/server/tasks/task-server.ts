import type { MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import { type JsonObject, RpcError, rpcCodes, serializeResult } from "../../jsonrpc/message.ts";
import { internalError, invalidParams, limitExceeded, unserializableResult } from "../../protocol/errors.ts";
import { complete, type Outcome } from "../../protocol/revision.ts";
import { type TaskDialect, taskDialectOf } from "../../protocol/tasks.ts";
import type { InputRequest, InputRequests } from "../../protocol/types/index.ts";
import { isObject } from "../../schema/shape.ts";
import { sha256 } from "../../storage/crypto.ts";
import { createMemoryStorage } from "../../storage/memory.ts";
import { openState, roundStateOf } from "../ask/round-state.ts";
import { runtimeBehind } from "../call/active-extensions.ts";
import { HandlerContext } from "../call/context.ts";
import { runAfter } from "../call/detach.ts";
import { anonymous, type Exchange, type ServedExchange } from "../call/exchange.ts";
import { checkNeeds } from "../call/extra.ts";
import type { CompiledTool } from "../define/tools.ts";
import type { ExtendedServer, ServerExtension } from "../extension.ts";
import type { ServerRuntime } from "../runtime.ts";
import type { TaskRule } from "./definition.ts";
import type { TaskSettings } from "./extension.ts";
import { firstRetryMs, maxEmptyRounds, maxRetryMs, maxTaskQuestions, taskIdBytes } from "./limits.ts";
import { TaskListeners } from "./listeners.ts";
import {
  coreView,
  cut,
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
import { createTaskId, type TaskChange, TaskStore } from "./store.ts";

type Next = (exchange: Exchange) => MaybePromise<Outcome>;

/** The tasks of one served server. */
export class TaskServer implements RunHost {
  readonly runtime: ServerRuntime;
  readonly #server: ExtendedServer;
  readonly #extension: ServerExtension;
  readonly settings: TaskSettings;
  readonly store: TaskStore;
  readonly listeners: TaskListeners;
  /** The handlers in the memory of this process, by the keys of their tasks. */
  readonly #runs = new Map<string, TaskRun>();
  /** The keys of tasks that this process has taken and is about to run. */
  readonly #taken = new Map<string, number>();

  constructor(extension: ServerExtension, server: ExtendedServer, settings: TaskSettings) {
    this.#extension = extension;
    this.#server = server;
    this.runtime = runtimeBehind(server);
    this.settings = settings;
    this.listeners = new TaskListeners(this, server);
    const storage = settings.storage ?? server.storage ?? createMemoryStorage();
    const report = (error: unknown) => this.report(error);
    this.store = new TaskStore(storage, server.info.name, settings, report, (key) => this.#changedElsewhere(key));
    this.#sweep();
    if (this.store.isShared) {
      const timer = setInterval(() => this.#sweep(), settings.leaseMs);
      (timer as { unref?: () => void }).unref?.();
    }
  }

  report(error: unknown): string {
    return this.#server.report(error);
  }

  get hasLease(): boolean {
    return this.store.hasLease;
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
    if (this.#runs.size >= this.settings.maxRunning) {
      throw limitExceeded("Limit reached: this server runs too many tasks; try again later", "process");
    }
    const caller = await callerOf(exchange);
    const id = createTaskId(taskIdBytes);
    const key = await this.store.keyOf(principal.key, id);
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
      pollMs: this.settings.pollMs,
      resume: rule.resume,
      status: "working",
      owner: this.store.owner,
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
      created = await this.store.create(key, record);
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
    await this.store.admit(record.caller);
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
    run.creating = this.store.create(key, { ...record, message: run.message });
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
    const chosen = Math.round(wanted ?? rule.ttlMs ?? this.settings.ttlMs);
    return Math.min(Math.max(1, chosen), this.settings.maxTtlMs);
  }

  #toolOf(name: unknown, exchange: ServedExchange): CompiledTool | undefined {
    return this.runtime.snapshot.tools.find(String(name), exchange);
  }

  // Runs

  #runHandler({ exchange }: TaskRun): MaybePromise<Outcome> {
    return runAfter(this.runtime, this.#extension, exchange);
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
    if (run.close(reason)) this.store.release();
  }

  async write(run: TaskRun, update: (record: TaskRecord) => TaskRecord): Promise<boolean> {
    await run.creating;
    let isOurs = false;
    const { after } = await this.change(run.key, (record) => {
      isOurs = record.owner === this.store.owner && !hasEnded(record) && this.#runs.get(run.key) === run;
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
    const record = await this.store.read(run.key);
    if (record && !hasEnded(record)) await this.#runAgain(run.key, record, emptyRounds);
  }

  /** Runs the handler of a task that this process owns. */
  async #runAgain(key: string, record: TaskRecord, emptyRounds = 0): Promise<void> {
    await this.store.hold();
    const exchange = this.#runs.get(key)?.exchange;
    const rule = this.ruleOf(record);
    const run = new TaskRun(this, key, record, undefined, rule?.waits ?? false);
    run.asked = emptyRounds;
    if (exchange) this.#release(this.#runs.get(key) as TaskRun);
    this.#runs.set(key, run);
    this.#follow(run, record);
    await this.runtime.snapshot.loading;
    this.#start(run);
  }

  /** Returns how the tool of a task runs as one; undefined if this server has no such tool. */
  ruleOf(record: TaskRecord): TaskRule | undefined {
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
  async change(key: string, update: (record: TaskRecord) => TaskRecord | undefined): Promise<TaskChange> {
    const change = await this.store.change(key, update);
    const { before, after } = change;
    if (after && after !== before) this.listeners.publish(before, after);
    return change;
  }

  /** Another process has changed a task, or may have changed any. */
  #changedElsewhere(key: string | undefined): void {
    this.listeners.changedElsewhere(key);
    const keys = key === undefined ? [...this.#runs.keys()] : this.#runs.has(key) ? [key] : [];
    for (const each of keys) this.#look(each).catch((cause) => this.report(cause));
  }

  /** Looks whether a task that runs here was cancelled, answered or taken by another process. */
  async #look(key: string): Promise<void> {
    const run = this.#runs.get(key);
    if (!run || run.creating) return;
    const record = await this.store.read(key);
    const isOurs = record?.owner === this.store.owner && !hasEnded(record);
    if (isOurs) this.deliver(key, record);
    else if (this.#runs.get(key) === run && record?.status !== "input_required") {
      this.#release(run, new PortolanError("cancelled", record?.message ?? "The task has ended"));
    }
  }

  /** Hands answers to a handler that waits in memory, if this process has it. */
  deliver(key: string, { answers = {} }: TaskRecord): void {
    const run = this.#runs.get(key);
    if (!run) return;
    for (const [name, resolve] of [...run.waiting]) {
      const answer = answers[name];
      if (answer === undefined) continue;
      run.waiting.delete(name);
      resolve(answer);
    }
  }

  /** Ends a task whose lifetime is over. */
  async #expire(key: string): Promise<TaskRecord | undefined> {
    const { after } = await this.change(key, (record) => {
      if (hasEnded(record) || !isExpired(record)) return undefined;
      const why = `The task did not end within its lifetime of ${record.ttlMs} ms`;
      return ended(record, "failed", failureOf(new RpcError(rpcCodes.internalError, why)), why);
    });
    this.stop(key, new PortolanError("timeout", "The lifetime of the task is over"));
    return after;
  }

  stop(key: string, reason: Error): void {
    const run = this.#runs.get(key);
    if (run) this.#release(run, reason);
  }

  /** Looks for tasks whose process has died, and for those that have ended without being counted as ended. */
  #sweep(): void {
    const search = async () => {
      for await (const key of this.store.open()) {
        const record = await this.store.read(key);
        if (record) await this.recover(key, record);
      }
    };
    search().catch((cause) => this.report(cause));
  }

  /** Returns a task as it is after the death of its process was noticed: run again, or failed. */
  async recover(key: string, record: TaskRecord): Promise<TaskRecord> {
    if (hasEnded(record)) return record;
    if (isExpired(record)) return (await this.#expire(key)) ?? record;
    const { owner } = record;
    if (owner === undefined) return record;
    const isMine = owner === this.store.owner;
    if (isMine ? this.#runs.has(key) || this.#taken.has(key) : await this.store.isAlive(owner)) return record;
    await this.runtime.snapshot.loading;
    // Another server with the same storage may have the tool.
    if (!this.ruleOf(record)) return record;
    const [unfinished] = record.begun;
    const mayResume = record.resume && unfinished === undefined;
    const after = await this.takeAndRun(key, (current) => {
      if (current.owner !== owner || hasEnded(current) || this.#runs.has(key)) return undefined;
      if (mayResume) return { record: { ...current, owner: this.store.owner }, runs: true };
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
  async takeAndRun(
    key: string,
    take: (record: TaskRecord) => { readonly record: TaskRecord; readonly runs: boolean } | undefined,
  ): Promise<TaskRecord | undefined> {
    this.#taken.set(key, (this.#taken.get(key) ?? 0) + 1);
    try {
      await this.store.hold();
      try {
        let runs = false;
        const { after } = await this.change(key, (record) => {
          const taken = take(record);
          runs = taken?.runs === true;
          return taken?.record;
        });
        if (after && runs) await this.#runAgain(key, after);
        return after;
      } finally {
        this.store.release();
      }
    } finally {
      const left = (this.#taken.get(key) ?? 1) - 1;
      if (left > 0) this.#taken.set(key, left);
      else this.#taken.delete(key);
    }
  }
}

/** Returns the key under which tasks are counted: anonymous callers have limits of their own. */
function callerOf({ principal, returnPath }: ServedExchange): Promise<string> {
  const isAnonymous = principal.key === anonymous.key;
  return sha256(JSON.stringify([principal.key, isAnonymous ? (returnPath.caller?.key ?? "") : ""]));
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

function endless(run: TaskRun): PortolanError {
  return new PortolanError("limit-reached", `Task ${run.id} asks too many questions`);
}
