import type { CallToolResult, JsonObject } from "portolan";
import { PortolanError, RpcError } from "portolan";
import type { Answers, CallOptions, Client, ClientExtension, Clock } from "portolan/client";
import { CallFailure } from "portolan/client";
import { hasTasks, resumeTask, startTool, type TaskState, type ToolTask, tasks } from "portolan/client/tasks";
import { nameOf, onAbort, toError } from "portolan/internal";
import type { KeyValue } from "portolan/storage";
import { charsOf, type HostCallOptions, type HostEvent } from "../api.ts";
import type { CallLog, LoggedCall } from "../calls.ts";
import { failureOf } from "../calls.ts";
import { waitFor } from "../consent.ts";
import { display } from "../display/index.ts";
import type { HostedServer } from "../hosted-server.ts";
import {
  longestRestartPauseMs,
  longestTimerMs,
  maxEndedTaskChars,
  maxEndedTasks,
  maxTaskMessageChars,
  maxTasksPerServer,
  taskSilenceMs,
} from "../limits.ts";
import type { Servers } from "../servers.ts";
import { HeldTask } from "./held-task.ts";
import { TaskStore } from "./task-store.ts";
import { type HostTask, type HostTaskState, TaskDetachedError, type WaitTaskOptions } from "./tasks.ts";

/** The start of a task whose caller does not wait for the result. */
export interface TaskStart {
  readonly ttlMs: number | undefined;
  /** Called when the server has answered with a task, which is stored by then. */
  created(task: HostTask, immediateText: string | undefined): void;
}

/** Parts of the host that its tasks use. */
export interface LocalTasksOptions {
  readonly kv: KeyValue;
  readonly clock: Clock;
  readonly servers: () => Servers;
  readonly callLog: CallLog;
  readonly emit: (event: HostEvent) => void;
  /** Returns the handlers of the server's questions in a task. */
  readonly answersFor: (server: HostedServer, options: HostCallOptions) => Answers;
  /** "connect": stored tasks are followed as soon as their server is connected. */
  readonly resume: "connect" | "wait";
}

/** Returns the extension of each client of the host. It stores nothing: the host stores its own record of each task. */
export function taskExtension(): ClientExtension {
  return tasks();
}

/** Errors of a connection, not of the task: it goes on, and the host follows it again. */
const connectionCodes: readonly string[] = ["connection-closed", "timeout", "login-required", "unauthorized"];

/** States of a server that is coming back by itself. */
const passingStates: readonly string[] = ["down", "starting", "ready", "unresponsive"];

/** The tasks of a host: follows each to its end, across lost connections and restarts of the host. */
export class LocalTasks {
  readonly #options: LocalTasksOptions;
  readonly #store: TaskStore;
  readonly #all = new Map<string, HeldTask>();
  #stopTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(options: LocalTasksOptions) {
    this.#options = options;
    this.#store = new TaskStore(options.kv);
  }

  /** Reads the tasks of earlier processes. */
  async load(): Promise<void> {
    // A record whose deletion waits is not a task any more.
    await this.#store.settle();
    for (const stored of await this.#store.read()) {
      if (!this.#all.has(stored.id)) this.#all.set(stored.id, new HeldTask(stored));
    }
  }

  list(): readonly HostTask[] {
    return [...this.#all.values()].filter(({ isAbandoned }) => !isAbandoned).map((task) => task.shown);
  }

  /** Throws if the server has too many open tasks. */
  checkRoom(server: string): void {
    if (this.#hasRoom(server)) return;
    throw new PortolanError(
      "limit-reached",
      `${server} has ${maxTasksPerServer} open tasks already; cancel some first`,
    );
  }

  /**
   * Calls a tool of a connected server. If the server makes a task of the call, it is followed until it has ended, also
   * on later connections. With `start` every tool that allows it becomes a task.
   */
  async call(
    client: Client,
    logged: LoggedCall,
    args: JsonObject,
    options: CallOptions,
    start: TaskStart | undefined,
  ): Promise<CallToolResult> {
    const { name, server } = logged;
    if (!hasTasks(client) || !this.#hasRoom(server.name)) return client.callTool(name, args, options);
    const { signal } = options;
    // The signal of the caller ends a task only while the caller waits for its result.
    const stop = new AbortController();
    const abort = () => stop.abort(logged.cancelled ?? signal?.reason);
    if (signal?.aborted) abort();
    const stopWaiting = signal && onAbort(signal, abort);
    logged.running = { cancel: abort };
    try {
      // Without the handle, because a cancelled call cancels its task.
      const called = { ...options, handle: undefined, signal: stop.signal, optional: start !== undefined };
      const followed = await startTool(client, name, args, {
        ...called,
        ...(start?.ttlMs !== undefined && { ttlMs: start.ttlMs }),
      });
      if (!followed.ref) return await followed.result;
      const task = await this.#hold(logged, followed, stop, start !== undefined);
      if (!start) return await this.#wait(task, { signal: stop.signal, takes: true, aborts: true });
      stopWaiting?.();
      logged.running = { cancel: () => void this.cancel(task.id).catch(() => {}) };
      start.created(task.shown, followed.immediateText);
      return await this.#wait(task, { takes: false });
    } finally {
      stopWaiting?.();
    }
  }

  async wait(id: string, { signal, answers }: WaitTaskOptions = {}): Promise<CallToolResult> {
    const task = await this.#find(id);
    if (answers) task.answers = { ...task.answers, ...answers };
    if (!task.outcome) await this.#ensureFollowed(task, signal);
    return this.#wait(task, { signal, takes: true });
  }

  /** Returns a task, also one that another process has stored meanwhile. Rejects for an unknown id. */
  async #find(id: string): Promise<HeldTask> {
    if (!this.#all.has(id)) await this.load();
    const task = this.#all.get(id);
    if (task && !task.isAbandoned) return task;
    const why = `there is no task ${nameOf(id)}: it has ended and its result was taken, or it belongs to another account`;
    throw new PortolanError("invalid-argument", why);
  }

  async find(id: string): Promise<HostTask> {
    return (await this.#find(id)).shown;
  }

  /** Returns the state of a task after the server was asked for it. */
  async refresh(id: string, signal: AbortSignal | undefined): Promise<HostTask> {
    const task = await this.#find(id);
    if (!task.outcome) await this.#ensureFollowed(task, signal);
    const { followed } = task;
    // The first state that is known, or none if the task is over.
    const first = followed?.events[Symbol.asyncIterator]().next();
    if (followed && first) await waitFor(first, signal);
    if (followed?.state && task.isOpen && this.#note(task, followed.state)) this.#emit(task, "changed");
    // A failure that the first poll has met is known in the next turn.
    else await Promise.race([followed?.result.catch(() => {}), Promise.resolve()]);
    return task.shown;
  }

  async cancel(id: string): Promise<void> {
    const task = await this.#find(id);
    if (!task.isOpen) return;
    await this.#ensureFollowed(task, undefined);
    await task.followed?.cancel();
  }

  /** Follows the tasks of a server again that is connected, and ends the waits for one that stays away. */
  onStateChange(server: HostedServer): void {
    const { client } = server;
    const { state, reason } = server.supervisor.status;
    for (const task of this.#all.values()) {
      if (task.server !== server.name || task.followed || !task.isOpen) continue;
      if (client && (this.#options.resume === "connect" || task.isOwn)) this.#resume(task, server, client);
      else if (!passingStates.includes(state)) task.release(detached(task, reason ?? `its server is ${state}`));
    }
  }

  /** Leaves every task running. */
  close(): void {
    this.#isClosed = true;
    this.#stopTimer?.();
    for (const task of this.#all.values()) {
      task.followed?.detach();
      task.release(detached(task, "the host is closed"));
    }
  }

  /** Resolves when every record is written. */
  settle(): Promise<void> {
    return this.#store.settle();
  }

  #hasRoom(server: string): boolean {
    let open = 0;
    for (const task of this.#all.values()) if (task.server === server && task.isOpen) open += 1;
    return open < maxTasksPerServer;
  }

  /** Stores a new task and follows it. */
  async #hold(logged: LoggedCall, followed: ToolTask, stop: AbortController, isStarted: boolean): Promise<HeldTask> {
    const { server, options } = logged;
    const ref = followed.ref as NonNullable<ToolTask["ref"]>;
    const now = new Date().toISOString();
    const id = await this.#store.idOf(server.name, ref);
    if (this.#all.get(id)?.isOpen) {
      const why = "it answered with the id of a task that goes on";
      throw new PortolanError("answer-invalid", `The server's result of tools/call is invalid: ${why}`);
    }
    const task = new HeldTask({
      id,
      server: server.name,
      serverDigest: server.digest,
      ref,
      call: logged.id,
      state: "working",
      startedAt: now,
      changedAt: now,
      ...(options.run !== undefined && { run: options.run }),
      ...(options.callId !== undefined && { callId: options.callId }),
    });
    task.isOwn = true;
    task.answers = options.answers;
    // The call logs the end of its task, unless it stops waiting before.
    task.isLogged = true;
    if (followed.state) this.#note(task, followed.state);
    this.#all.set(task.id, task);
    this.#follow(task, server, followed, stop);
    try {
      await this.#store.write(task.stored);
    } catch (reason) {
      const message = `The task of ${server.name}.${ref.tool} could not be stored: ${toError(reason).message}`;
      if (!isStarted) this.#options.emit({ kind: "warning", server: server.name, message });
      else {
        // The task could not be found again after a restart.
        this.#all.delete(task.id);
        task.isAbandoned = true;
        followed.cancel().catch(() => {});
        throw new PortolanError("store-failed", message, { cause: reason });
      }
    }
    this.#emit(task, "created");
    return task;
  }

  #follow(task: HeldTask, server: HostedServer, followed: ToolTask, stop: AbortController): void {
    task.followed = followed;
    task.stop = stop;
    this.#readStates(task, followed);
    followed.result.then(
      (result) => this.#end(task, result.isError ? "failed" : "completed", { result }),
      (reason) => this.#failed(task, server, toError(reason)),
    );
  }

  async #readStates(task: HeldTask, followed: ToolTask): Promise<void> {
    for await (const state of followed.events) {
      if (task.followed !== followed || !task.isOpen) return;
      if (this.#note(task, state)) this.#emit(task, "changed");
    }
  }

  /** Takes a state that the server told. Returns false if a user interface would show nothing new. */
  #note(task: HeldTask, { status, message, ttlMs }: TaskState): boolean {
    const shown = message === undefined ? undefined : display(message, { maxChars: maxTaskMessageChars });
    const expiresAt = ttlMs === null ? undefined : expiryOf(task.stored.startedAt, ttlMs);
    const state = status === "input_required" ? status : "working";
    const isNew = state !== task.state || shown !== task.message;
    task.update({ state, message: shown, expiresAt });
    return isNew;
  }

  #failed(task: HeldTask, server: HostedServer, reason: Error): void {
    if (!task.isOpen) return;
    task.followed = undefined;
    if (this.#isClosed) return;
    const isTasks = reason instanceof RpcError || !(reason instanceof PortolanError);
    const isLost = !isTasks && connectionCodes.includes(reason.code) && !task.stop?.signal.aborted;
    if (!isLost) {
      this.#end(task, stateOf(reason), { reason: withOwnId(reason, task) });
      return;
    }
    task.lostAt ??= this.#options.clock.now();
    this.#emit(task, "changed");
    this.onStateChange(server);
    this.#schedule();
  }

  /** Follows a task on another connection than that of its start. */
  #resume(task: HeldTask, server: HostedServer, client: Client): void {
    const { run, call, callId, ref, serverDigest } = task.stored;
    const lost = (why: string) => {
      const error = new PortolanError("task-lost", `${server.name}.${ref.tool}: its task is lost: ${why}`);
      this.#end(task, "lost", { reason: error });
    };
    if (serverDigest !== server.digest) {
      // It may be changed back.
      task.release(notSame(task));
      return;
    }
    if (!hasTasks(client)) {
      lost("the server has no tasks any more");
      return;
    }
    const stop = new AbortController();
    const { answers } = task;
    const origin = {
      ...(run !== undefined && { run }),
      ...(callId !== undefined && { callId }),
      ...(answers && { answers }),
    };
    try {
      const answersInTask = this.#options.answersFor(server, origin);
      const followed = resumeTask(client, ref, { signal: stop.signal, answers: answersInTask, label: call });
      this.#follow(task, server, followed, stop);
      if (task.isAbandoned) followed.cancel().catch(() => {});
      else this.#emit(task, "changed");
    } catch (reason) {
      // The server calls itself by another name than before.
      lost(toError(reason).message);
    }
  }

  async #ensureFollowed(task: HeldTask, signal: AbortSignal | undefined): Promise<void> {
    if (this.#isClosed) throw detached(task, "the host is closed");
    if (task.followed) return;
    const server = await this.#options.servers().findTrusted(task.server, signal);
    const client = await server.use(signal);
    if (task.stored.serverDigest !== server.digest) throw notSame(task);
    task.isOwn = true;
    if (!task.followed && !task.outcome) this.#resume(task, server, client);
  }

  #end(
    task: HeldTask,
    state: HostTaskState,
    outcome: { readonly result?: CallToolResult; readonly reason?: Error },
  ): void {
    if (task.outcome) return;
    const { result, reason } = outcome;
    const wasOpen = task.isOpen;
    const message = reason ? display(reason.message, { maxChars: maxTaskMessageChars }) : task.message;
    task.update({ state, message });
    task.outcome = outcome;
    task.outcomeChars = result ? charsOf(result) : 0;
    task.followed = undefined;
    if (!task.isLogged && wasOpen) this.#log(task, outcome);
    const isTaken = task.settle(outcome);
    if (isTaken || task.isAbandoned || state === "lost" || state === "cancelled") this.#forget(task, isTaken);
    else this.#store.write(task.stored).catch((thrown) => this.#warn(task, thrown));
    if (wasOpen && !task.isAbandoned) this.#emit(task, "ended");
    this.#dropEnded();
  }

  #log({ stored }: HeldTask, { result, reason }: { readonly result?: CallToolResult; readonly reason?: Error }): void {
    const ms = Math.max(0, Date.now() - Date.parse(stored.startedAt));
    const { call, server, ref } = stored;
    const failure = reason && failureOf({ options: {}, cancelled: undefined }, reason);
    this.#options.callLog.endTask({ id: call, server, name: ref.tool, ms, result, failure });
  }

  /** Deletes the record of a task; a task whose end nobody has heard of stays in the list. */
  #forget(task: HeldTask, isTaken: boolean): void {
    if (isTaken || task.isAbandoned) this.#all.delete(task.id);
    this.#store.delete(task.stored).catch((thrown) => this.#warn(task, thrown));
  }

  /** Drops the oldest ended tasks beyond the limits. The results of those that are stored can be fetched again. */
  #dropEnded(): void {
    const ended = [...this.#all.values()].filter(({ outcome }) => outcome);
    let chars = ended.reduce((sum, { outcomeChars }) => sum + outcomeChars, 0);
    let count = ended.length;
    for (const task of ended) {
      if (count <= maxEndedTasks && chars <= maxEndedTaskChars) return;
      this.#all.delete(task.id);
      chars -= task.outcomeChars;
      count -= 1;
    }
  }

  /** Waits for the end of a task. With `aborts` the signal cancels it, otherwise only the wait. */
  async #wait(
    task: HeldTask,
    { signal, takes, aborts = false }: { signal?: AbortSignal | undefined; takes: boolean; aborts?: boolean },
  ): Promise<CallToolResult> {
    if (!task.outcome) {
      if (this.#isClosed) throw detached(task, "the host is closed");
      const waiting = task.wait(takes);
      // A result that the wait has taken already is not lost: then its release does nothing.
      const abort = () => {
        if (aborts) this.#abandon(task, waiting.release, signal);
        else waiting.release(toError(signal?.reason));
      };
      const stopWaiting = signal && onAbort(signal, abort);
      if (signal?.aborted) abort();
      try {
        return await waiting.result;
      } catch (reason) {
        if (reason instanceof TaskDetachedError) task.isLogged = false;
        throw reason;
      } finally {
        waiting.leave();
        stopWaiting?.();
      }
    }
    const { result, reason } = task.outcome;
    if (takes) this.#forget(task, true);
    if (result) return result;
    throw reason;
  }

  /** Ends the wait of a caller who stopped while the server is not connected. The task is cancelled when it is. */
  #abandon(task: HeldTask, release: (reason: Error) => void, signal: AbortSignal | undefined): void {
    if (task.followed || !task.isOpen) return;
    task.isAbandoned = true;
    const why = `tools/call ${nameOf(task.stored.ref.tool)} was aborted: ${toError(signal?.reason).message}`;
    release(new CallFailure("cancelled", why, { name: "AbortError", cause: signal?.reason, requestMayHaveRun: true }));
  }

  /** Looks from time to time after tasks whose connection is lost: needs their server, and gives up the expired ones. */
  #schedule(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    const suspended = [...this.#all.values()].filter((task) => task.isOpen && !task.followed && task.isOwn);
    if (suspended.length === 0 || this.#isClosed) return;
    this.#stopTimer = this.#options.clock.after(Math.min(longestRestartPauseMs, longestTimerMs), () => {
      for (const task of suspended) this.#retry(task);
      this.#schedule();
    });
  }

  #retry(task: HeldTask): void {
    if (!task.isOpen || task.followed) return;
    const { expiresAt, ref } = task.stored;
    const silence = this.#options.clock.now() - (task.lostAt ?? 0);
    const hasExpired = expiresAt === undefined ? silence > taskSilenceMs : Date.now() > Date.parse(expiresAt);
    const server = this.#options.servers().all.find(({ name }) => name === task.server);
    if (hasExpired || !server) {
      const why = server ? "its server was not reached in its lifetime" : "its server was removed";
      const reason = new PortolanError("task-lost", `${task.server}.${ref.tool}: its task is lost: ${why}`);
      this.#end(task, "lost", { reason });
    } else if (server.client) this.#resume(task, server, server.client);
    // A server that is needed is started again, also after many failures.
    else if (server.supervisor.state === "down") server.use().catch(() => {});
  }

  #warn({ server, stored }: HeldTask, thrown: unknown): void {
    const message = `The task of ${server}.${stored.ref.tool} could not be stored: ${toError(thrown).message}`;
    this.#options.emit({ kind: "warning", server, message });
  }

  #emit(task: HeldTask, how: "created" | "changed" | "ended"): void {
    this.#options.emit({ kind: "task", server: task.server, how, task: task.shown });
  }
}

/** Replaces the server's id in a message of our own, because it gives access to the task. */
function withOwnId(reason: Error, { id, stored }: HeldTask): Error {
  if (!(reason instanceof PortolanError) || reason instanceof CallFailure) return reason;
  const message = reason.message.replaceAll(stored.ref.taskId, id);
  return message === reason.message ? reason : new PortolanError(reason.code, message, { cause: reason.cause });
}

function stateOf(reason: Error): HostTaskState {
  if (!(reason instanceof PortolanError)) return "failed";
  if (reason.code === "cancelled") return "cancelled";
  return reason.code === "task-lost" ? "lost" : "failed";
}

function detached({ id, server, stored }: HeldTask, why: string): TaskDetachedError {
  const message = `${server}.${stored.ref.tool} goes on as task ${id}, and the wait for it has ended: ${why}`;
  return new TaskDetachedError(id, message);
}

/** The id of a task gives access to it, so it goes to no server with another configuration. */
function notSame({ id, server, stored }: HeldTask): PortolanError {
  const why = "the configuration of the server has changed since it was started";
  return new PortolanError("server-unavailable", `${server}.${stored.ref.tool}: task ${id} is not followed: ${why}`);
}

function expiryOf(startedAt: string, ttlMs: number): string | undefined {
  const time = new Date(Date.parse(startedAt) + ttlMs);
  return Number.isNaN(time.getTime()) ? undefined : time.toISOString();
}
