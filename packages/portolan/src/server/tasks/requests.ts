import { PortolanError } from "../../errors.ts";
import { type JsonObject, RpcError } from "../../jsonrpc/message.ts";
import {
  internalError,
  invalidParams,
  methodNotFound,
  missingCapability,
  taskEnded,
  taskNotFound,
} from "../../protocol/errors.ts";
import { complete, type Outcome } from "../../protocol/revision.ts";
import { type TaskDialect, tasksId } from "../../protocol/tasks.ts";
import type { InputRequest } from "../../protocol/types/index.ts";
import { anonymous, type Exchange, loadQuestions, type Principal, ServedExchange } from "../call/exchange.ts";
import { parseCursor, toCursor } from "../call/page.ts";
import { jobEffect } from "./job.ts";
import { maxTimerMs, maxToldTasks, maxWatchedTasks, statusIntervalMs, taskPageSize } from "./limits.ts";
import {
  coreResult,
  coreView,
  cut,
  detailedView,
  ended,
  failureOf,
  hasEnded,
  relatedTask,
  type TaskRecord,
} from "./record.ts";
import type { TaskServer } from "./task-server.ts";

/** Answers what clients send about the tasks of one served server. */
export class TaskRequests {
  readonly #tasks: TaskServer;
  /** Questions that a client of 2025-11-25 is being asked, by the key of the task and of the question. */
  readonly #asking = new Set<string>();
  /** The keys of tasks whose clients of 2025-11-25 were told that they need input, with the time of that state. */
  readonly #told = new Map<string, number>();
  /** Withdraws the questions of a task that were sent outside requests, by its key. */
  readonly #withdraw = new Map<string, Set<() => void>>();

  constructor(tasks: TaskServer) {
    this.#tasks = tasks;
  }

  /** Returns the task of a caller. Throws if it has none with this id. */
  async #read({ params, principal }: Exchange): Promise<{ key: string; record: TaskRecord }> {
    const found = await this.#tasks.store.find(principal.key, String(params["taskId"]));
    if (!found) throw taskNotFound();
    return { key: found.key, record: await this.#tasks.recover(found.key, found.record) };
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
  async get(exchange: ServedExchange, dialect: TaskDialect): Promise<Outcome> {
    if (dialect === "core") {
      const { key, record } = await this.#read(exchange);
      this.#askPoller(exchange, key, record);
      return complete(coreView(record));
    }
    const { record } = await this.#readFor(exchange, true);
    return complete(detailedView(record, exchange.peer.revision, this.#tasks.runtime.snapshot));
  }

  /** Answers `tasks/cancel`. */
  async cancel(exchange: Exchange, dialect: TaskDialect): Promise<Outcome> {
    const { key } = dialect === "core" ? await this.#read(exchange) : await this.#readFor(exchange, true);
    let hadEnded = false;
    const { before, after } = await this.#tasks.change(key, (record) => {
      hadEnded = hasEnded(record);
      return hadEnded ? undefined : ended(record, "cancelled", undefined, "The client cancelled the task");
    });
    if (!before || !after) throw taskNotFound();
    if (!hadEnded) {
      this.#tasks.stop(key, new PortolanError("cancelled", "The client cancelled the task"));
      await this.#stopJob(before);
    }
    if (dialect === "extension") return complete({});
    if (hadEnded) throw taskEnded(coreView(after)["status"] as string);
    return complete(coreView(after));
  }

  /** Stops the work of a job that no living process looks at. */
  async #stopJob(record: TaskRecord): Promise<void> {
    const { owner, rounds } = record;
    const stop = this.#tasks.ruleOf(record)?.stop;
    const job = rounds?.once[jobEffect];
    if (!stop || job === undefined || (owner !== undefined && (await this.#tasks.store.isAlive(owner)))) return;
    try {
      await stop(JSON.parse(job));
    } catch (cause) {
      this.#tasks.report(cause);
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
    const after = await this.#tasks.takeAndRun(key, (record) => {
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
      const { owner = this.#tasks.store.owner } = record;
      // A handler that waits in memory goes on where it is.
      return { record: { ...changed, status: "working", owner }, runs: record.owner === undefined };
    });
    if (after) this.#tasks.deliver(key, after);
  }

  /** Answers `tasks/result`, which waits for the end of the task and asks its questions meanwhile. */
  async result(exchange: ServedExchange): Promise<Outcome> {
    const { key } = await this.#read(exchange);
    // Over HTTP the stream that they were sent on may be gone for good. This request asks them itself.
    if (exchange.returnPath.sessionId !== undefined) for (const withdraw of this.#withdraw.get(key) ?? []) withdraw();
    let wake = () => {};
    // One for all rounds: a promise that lives as long as the request would keep a reaction of each.
    const stop = this.#tasks.store.watch(key, () => wake());
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
        void this.#askAll(asking, key, record);
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
    return Math.max(statusIntervalMs, Math.min(this.#tasks.settings.leaseMs, createdAt + ttlMs - Date.now()));
  }

  /**
   * Asks a client of 2025-11-25 outside its requests if it goes on polling after it was told that the task needs input. A
   * client should send `tasks/result` then, and expect the questions on any stream: see "Input Required Status" there.
   */
  #askPoller(exchange: ServedExchange, key: string, record: TaskRecord): void {
    const { request, peer, principal, returnPath } = exchange;
    // Another process may be asking already.
    if (record.status !== "input_required" || this.#tasks.store.isShared) return;
    if (this.#told.get(key) !== record.updatedAt) {
      this.#told.delete(key);
      for (const oldest of this.#told.keys()) {
        if (this.#told.size < maxToldTasks) break;
        this.#told.delete(oldest);
      }
      this.#told.set(key, record.updatedAt);
      return;
    }
    // A channel takes questions at any time.
    const path = returnPath.sessionId === undefined ? returnPath : returnPath.outsideRequests;
    const isAsked = (shownKey: string) => this.#asking.has(`${key} ${shownKey}`);
    if (!path?.ask || Object.keys(record.pending ?? {}).every(isAsked)) return;
    const asking = new ServedExchange(request, peer, principal, path);
    const withdraw = () => {
      stop();
      clearTimeout(timer);
      const others = this.#withdraw.get(key);
      others?.delete(withdraw);
      if (others?.size === 0) this.#withdraw.delete(key);
      asking.cancel(new PortolanError("cancelled", "The task needs no answer any more"));
    };
    const look = async () => {
      const now = await this.#tasks.store.read(key);
      if (now?.status !== "input_required") withdraw();
    };
    const stop = this.#tasks.store.watch(key, () => {
      look().catch((cause) => this.#tasks.report(cause));
    });
    const timer = setTimeout(withdraw, Math.min(maxTimerMs, Math.max(0, record.createdAt + record.ttlMs - Date.now())));
    this.#withdraw.set(key, (this.#withdraw.get(key) ?? new Set()).add(withdraw));
    void this.#askAll(asking, key, record).then(withdraw);
  }

  /** Sends the open questions to a client, each once at a time. Resolves when all that were sent are settled. */
  async #askAll(exchange: ServedExchange, key: string, { id, pending = {} }: TaskRecord): Promise<void> {
    const sent: Promise<void>[] = [];
    for (const [shownKey, { question }] of Object.entries(pending)) {
      const name = `${key} ${shownKey}`;
      if (this.#asking.has(name) || !exchange.returnPath.ask) continue;
      this.#asking.add(name);
      const asked = withRelatedTask(question, id);
      const settled = exchange.returnPath
        .ask(exchange, asked)
        .then(
          (answer) => this.#answer(key, { [shownKey]: answer }),
          (cause) => this.#refused(exchange, key, shownKey, question, cause),
        )
        .catch((cause) => this.#failBy(key, cause))
        .catch((cause) => this.#tasks.report(cause))
        .then(() => {
          this.#asking.delete(name);
          // Another request of the client may ask, if this one could not.
          this.#tasks.store.wake(key);
        });
      sent.push(settled);
    }
    await Promise.all(sent);
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
    const error = cause instanceof RpcError ? cause : internalError(this.#tasks.report(cause));
    await this.#tasks.change(key, (record) =>
      hasEnded(record) ? undefined : ended(record, "failed", failureOf(error), cut(error.message)),
    );
    this.#tasks.stop(key, error);
  }

  /** Answers `tasks/list`. Callers without an identity have no list: they could see each other's tasks. */
  async list({ params, principal }: Exchange): Promise<Outcome> {
    if (!mayList(principal)) throw methodNotFound("tasks/list");
    const { cursor } = params;
    const after = cursor === undefined ? undefined : parseCursor(String(cursor), "tasks", "");
    const found = await this.#tasks.store.list(principal.key, after, taskPageSize + 1);
    const page = found.slice(0, taskPageSize);
    const last = page[page.length - 1];
    const tasks: JsonObject[] = [];
    for (const record of page) {
      const key = await this.#tasks.store.keyOf(principal.key, record.id);
      tasks.push(coreView(await this.#tasks.recover(key, record)));
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
    await this.#tasks.store.hearOthers();
    const own = await Promise.all(ids.map((id) => this.#tasks.store.find(exchange.principal.key, id)));
    for (const found of own) {
      if (found) this.#tasks.listeners.add(found.key, found.record);
    }
    return ids.filter((_, index) => own[index] !== undefined);
  }
}

/** Returns whether tasks of a principal are its own: anonymous callers are one principal. */
export function mayList(principal: Principal): boolean {
  return principal.key !== anonymous.key;
}

function withRelatedTask(question: InputRequest, id: string): InputRequest {
  const { method, params } = question;
  return { method, params: { ...params, _meta: { ...params?._meta, ...relatedTask(id) } } } as InputRequest;
}
