import { PortolanError } from "../../errors.ts";
import { type JsonObject, RpcError, rpcCodes } from "../../jsonrpc/message.ts";
import type { InputRequests } from "../../protocol/types/index.ts";
import type { ExtendedCall } from "../extension.ts";
import { isTransient, toError } from "../failures.ts";
import { maxOpenQuestions } from "../limits.ts";
import type { CallOptions } from "../options.ts";
import type { ClientTasks } from "./client-tasks.ts";
import {
  listeningPollMs,
  maxPollMs,
  maxServerErrors,
  maxSilenceMs,
  maxTaskQuestionBytes,
  maxTaskQuestions,
  minPollMs,
  pollJitter,
  pollMs,
} from "./limits.ts";
import { type DetailedState, isFinal, readState, type TaskState } from "./state.ts";

/** Follows one task to its end: polls it, answers its questions and returns the result of the call. */
export class TaskDriver {
  readonly taskId: string;
  readonly call: ExtendedCall;
  /** The newest known state. */
  state: TaskState;
  /** False until the server has told a state. */
  isKnown: boolean;
  isOver = false;
  readonly #tasks: ClientTasks;
  readonly #options: CallOptions;
  readonly #readers = new Set<() => void>();
  /** All questions ever asked, by key, as text. */
  readonly #asked = new Map<string, string>();
  #askedBytes = 0;
  readonly #open = new Map<string, AbortController>();
  #resolve: (result: JsonObject) => void = () => {};
  #reject: (reason: Error) => void = () => {};
  #wake: () => void = () => {};
  /** The state may have changed since the last poll. */
  #hasNews = false;
  #stopListening: (() => void) | undefined;
  #isListening = false;
  /** The open `tasks/result` request, which brings the questions in the core dialect. */
  #waiting: AbortController | undefined;
  #serverErrors = 0;
  #faults = 0;
  #lastNewsAt: number;

  /** Without a state the first poll tells it. */
  constructor(tasks: ClientTasks, call: ExtendedCall, taskId: string, state?: TaskState) {
    this.#tasks = tasks;
    this.call = call;
    this.taskId = taskId;
    this.isKnown = state !== undefined;
    this.state = state ?? { taskId, status: "working", ttlMs: null };
    this.#lastNewsAt = call.clock.now();
    const { answers, capabilities } = call.options;
    this.#options = { ...(answers && { answers }), ...(capabilities && { capabilities }) };
  }

  /** Resolves to the result of the call. */
  run(): Promise<JsonObject> {
    const { signal, options } = this.call;
    // The timers of the clock do not keep a process alive, and between two polls there may be no connection that does.
    const hold = setInterval(() => {}, 2 ** 30);
    const onAbort = () => {
      const wasAborted = options.signal?.aborted === true && !this.isOver;
      this.#fail(toError(signal.reason));
      if (wasAborted) this.#tasks.giveUp(this.taskId);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    return new Promise<JsonObject>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      if (signal.aborted) onAbort();
      else this.#poll(this.isKnown && !isFinal(this.state)).catch((reason) => this.#fail(toError(reason)));
    }).finally(() => {
      clearInterval(hold);
      signal.removeEventListener("abort", onAbort);
    });
  }

  /** Takes a state that the server reports without being asked. */
  report(reported: DetailedState | undefined): void {
    if (this.isOver) return;
    if (reported === undefined || this.#tasks.dialect === "core") this.#pollSoon();
    else this.#take(reported).catch((reason) => this.#fail(toError(reason)));
  }

  /** Asks the server to cancel the task. The call fails once the server has acknowledged it. */
  async cancel(): Promise<void> {
    if (this.isOver) return;
    try {
      await this.#tasks.cancel(this.taskId, this.#options);
    } catch (reason) {
      const hasEnded = reason instanceof RpcError && reason.code === rpcCodes.invalidParams;
      if (!hasEnded) throw reason;
      // The next poll tells how.
      this.#pollSoon();
      return;
    }
    await this.#tasks.forget(this.taskId);
    this.#fail(new PortolanError("cancelled", `${this.#what} was cancelled`));
  }

  /** Leaves the task running and fails the call. */
  detach(): void {
    const why = `${this.#what} was left running as task ${this.taskId}; resumeTask waits for it again`;
    this.#fail(new PortolanError("task-detached", why));
  }

  /** Yields the newest state whenever it has changed, and ends with the task. */
  async *states(): AsyncGenerator<TaskState> {
    let last: TaskState | undefined;
    for (;;) {
      if (this.isKnown && this.state !== last) {
        last = this.state;
        yield last;
        continue;
      }
      if (this.isOver) return;
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#readers.delete(wake);
          resolve();
        };
        this.#readers.add(wake);
      });
    }
  }

  get #what(): string {
    return `tools/call ${JSON.stringify(this.call.params["name"])}`;
  }

  async #poll(pausesFirst: boolean): Promise<void> {
    if (pausesFirst) await this.#pause();
    while (!this.isOver) {
      const state = await this.#get();
      if (this.isOver) return;
      if (state) await this.#take(state);
      if (this.isOver) return;
      this.#listen();
      await this.#pause();
    }
  }

  /** Returns undefined for a fault that may pass. */
  async #get(): Promise<DetailedState | undefined> {
    this.#hasNews = false;
    try {
      const result = await this.call.request("tasks/get", { taskId: this.taskId }, this.#options);
      const state = readState(result, this.#tasks.dialect, this.taskId);
      this.#faults = 0;
      this.#serverErrors = 0;
      this.#lastNewsAt = this.call.clock.now();
      return state;
    } catch (reason) {
      await this.#endure(toError(reason));
      return undefined;
    }
  }

  /** Throws an error that will not pass by itself. */
  async #endure(reason: Error): Promise<void> {
    if (this.isOver) return;
    if (reason instanceof RpcError) {
      if (reason.code === rpcCodes.invalidParams) throw await this.#lost(reason);
      this.#serverErrors += 1;
      const mayPass = reason.code !== rpcCodes.methodNotFound && reason.kind !== "missing-capability";
      if (!mayPass || this.#serverErrors >= maxServerErrors) throw reason;
    } else if (!isTransient(reason)) throw reason;
    this.#faults += 1;
    const silence = this.call.clock.now() - this.#lastNewsAt;
    if (silence > (this.state.ttlMs ?? maxSilenceMs)) {
      const why = `${this.#what}: no news of its task ${this.taskId} for ${silence} ms: ${reason.message}`;
      throw new PortolanError("task-lost", why, { cause: reason });
    }
  }

  async #lost(cause: Error): Promise<PortolanError> {
    await this.#tasks.forget(this.taskId);
    const why = `${this.#what}: the server does not know its task ${this.taskId} (any more): ${cause.message}`;
    return new PortolanError("task-lost", why, { cause });
  }

  async #take(state: DetailedState): Promise<void> {
    if (this.isOver) return;
    const { questions, result: _, error: __, ...plain } = state;
    if (!this.isKnown || JSON.stringify(plain) !== JSON.stringify(this.state)) {
      this.isKnown = true;
      this.state = plain;
      this.#wakeReaders();
    }
    if (isFinal(state)) await this.#end(state);
    else if (this.#tasks.dialect === "extension") this.#ask(questions ?? {});
    else if (state.status === "input_required") this.#waitForResult();
  }

  async #end(state: DetailedState): Promise<void> {
    const { status, message, result, error } = state;
    if (status === "cancelled") {
      await this.#tasks.forget(this.taskId);
      throw new PortolanError("cancelled", `${this.#what}: its task was cancelled${message ? `: ${message}` : ""}`);
    }
    if (this.#tasks.dialect === "core") {
      await this.#fetchResult(status === "failed");
      return;
    }
    if (error) {
      await this.#tasks.forget(this.taskId);
      throw new RpcError(error.code, error.message, { data: error.data });
    }
    if (result === undefined) {
      throw new PortolanError(
        "answer-invalid",
        `${this.#what}: its task has ended as ${status}, but has no ${status === "failed" ? "error" : "result"}`,
      );
    }
    await this.#succeed(result);
  }

  /** Fetches the result of an ended task in the core dialect. A failed one may have a result too: that of a failed tool. */
  async #fetchResult(hasFailed: boolean): Promise<void> {
    for (;;) {
      try {
        const result = await this.call.request("tasks/result", { taskId: this.taskId }, this.#options);
        await this.#succeed(result);
        return;
      } catch (reason) {
        const error = toError(reason);
        if (error instanceof RpcError && hasFailed) {
          await this.#tasks.forget(this.taskId);
          throw error;
        }
        await this.#endure(error);
      }
      if (this.isOver) return;
      await this.#pause();
      if (this.isOver) return;
    }
  }

  /** Opens `tasks/result`, whose response brings the questions. It stays open until the task has ended. */
  #waitForResult(): void {
    if (this.#waiting) return;
    this.#waiting = new AbortController();
    const { signal } = this.#waiting;
    const forever = Number.POSITIVE_INFINITY;
    const options = { ...this.#options, signal, idleMs: forever, totalMs: forever };
    this.call.request("tasks/result", { taskId: this.taskId }, options).then(
      (result) => this.#succeed(result).catch((reason) => this.#fail(toError(reason))),
      () => {
        // The next poll tells whether the task has failed, is lost, or waits for another such request.
        this.#waiting = undefined;
      },
    );
  }

  /** Asks the questions that are new, and ends those that the server has withdrawn. */
  #ask(questions: InputRequests): void {
    for (const [key, controller] of this.#open) {
      if (!Object.hasOwn(questions, key))
        controller.abort(new PortolanError("cancelled", "The server withdrew the question"));
    }
    for (const [key, question] of Object.entries(questions)) {
      const text = JSON.stringify(question);
      const before = this.#asked.get(key);
      if (before === text) continue;
      if (before !== undefined) {
        const why = `${this.#what}: the question ${JSON.stringify(key)} of its task has become another one`;
        throw new PortolanError("answer-invalid", why);
      }
      this.#askedBytes += key.length + text.length;
      if (
        this.#asked.size >= maxTaskQuestions ||
        this.#open.size >= maxOpenQuestions ||
        this.#askedBytes > maxTaskQuestionBytes
      ) {
        throw new PortolanError("limit-reached", `${this.#what}: its task asks too many questions`);
      }
      this.#asked.set(key, text);
      this.#answer(key, { [key]: question });
    }
  }

  async #answer(key: string, question: InputRequests): Promise<void> {
    const controller = new AbortController();
    this.#open.set(key, controller);
    try {
      const inputResponses = await this.call.answer(question, controller.signal);
      this.#open.delete(key);
      for (;;) {
        if (this.isOver) return;
        try {
          await this.call.request("tasks/update", { taskId: this.taskId, inputResponses }, this.#options);
          return;
        } catch (reason) {
          await this.#endure(toError(reason));
        }
        await this.#wait(this.#pauseMs());
      }
    } catch (reason) {
      this.#open.delete(key);
      if (this.isOver || controller.signal.aborted) return;
      // The question stays without an answer, so the task would wait for nothing.
      this.#fail(toError(reason));
      this.#tasks.giveUp(this.taskId);
    }
  }

  /** Opens a stream of changes, unless there is one or the server has none. */
  #listen(): void {
    if (this.#stopListening) return;
    this.#stopListening = this.#tasks.listen(this, (isOpen) => {
      this.#isListening = isOpen;
    });
  }

  #pauseMs(): number {
    const hint = Math.min(Math.max(this.state.pollMs ?? pollMs, minPollMs), maxPollMs);
    const usual = this.#isListening ? Math.max(hint, listeningPollMs) : hint;
    return (
      Math.min(usual * 2 ** Math.min(this.#faults, 10), Math.max(usual, maxPollMs)) * (1 + Math.random() * pollJitter)
    );
  }

  #pollSoon(): void {
    this.#hasNews = true;
    this.#wake();
  }

  #pause(): Promise<void> {
    return this.#wait(this.#hasNews ? minPollMs : this.#pauseMs(), (wake) => {
      this.#wake = wake;
    });
  }

  /** Resolves after a time, at the end of the task, or when it is woken, but not before the least pause. */
  #wait(ms: number, wakeable: (wake: () => void) => void = () => {}): Promise<void> {
    const { clock } = this.call;
    const begin = clock.now();
    return new Promise((resolve) => {
      let stop = clock.after(ms, () => done());
      const done = () => {
        stop();
        this.#readers.delete(onChange);
        wakeable(() => {});
        resolve();
      };
      const onChange = () => {
        if (this.isOver) done();
      };
      this.#readers.add(onChange);
      wakeable(() => {
        stop();
        stop = clock.after(Math.max(0, begin + minPollMs - clock.now()), () => done());
      });
    });
  }

  async #succeed(result: JsonObject): Promise<void> {
    if (this.isOver) return;
    if (!isFinal(this.state)) this.state = { ...this.state, status: "completed" };
    this.#close();
    await this.#tasks.forget(this.taskId);
    this.#resolve(result);
  }

  #fail(reason: Error): void {
    if (this.isOver) return;
    this.#close();
    this.#reject(reason);
  }

  #close(): void {
    this.isOver = true;
    const ended = new PortolanError("cancelled", `${this.#what}: its task is over`);
    for (const controller of this.#open.values()) controller.abort(ended);
    this.#waiting?.abort(ended);
    this.#stopListening?.();
    this.#wakeReaders();
  }

  #wakeReaders(): void {
    for (const wake of [...this.#readers]) wake();
  }
}
