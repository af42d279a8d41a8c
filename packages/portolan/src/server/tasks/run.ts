import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import type { InputRequest } from "../../protocol/types/index.ts";
import type { RoundKeeper } from "../ask/conversation.ts";
import { roundStateOf, type SealedState, sealState } from "../ask/round-state.ts";
import { detachedExchange } from "../call/detach.ts";
import type { ReturnPath, ServedExchange } from "../call/exchange.ts";
import type { ServerRuntime } from "../runtime.ts";
import type { Audience } from "../subscribe/hub.ts";
import { maxStatusCharacters, maxTimerMs, statusIntervalMs } from "./limits.ts";
import { audienceOf, type StoredRounds, type TaskRecord, toSealedState, toStoredRounds, withEffect } from "./record.ts";

/** The parts of the server that a run needs. */
export interface RunHost {
  readonly runtime: ServerRuntime;
  /** Changes the task as long as this run has it. Returns false if the task has ended or another process has it. */
  write(run: TaskRun, update: (record: TaskRecord) => TaskRecord): Promise<boolean>;
  /** Asks a question of a handler that waits in memory. */
  ask(run: TaskRun, question: InputRequest): Promise<JsonObject>;
  /** Passes on a notification of the handler. */
  notify(run: TaskRun, method: string, params: JsonObject): void;
  report(error: unknown): void;
  /** False if others may believe that this process has died. */
  readonly hasLease: boolean;
}

/** One run of a handler apart from the request that began it: the first one of a task, or a later one. */
export class TaskRun implements RoundKeeper {
  readonly key: string;
  readonly id: string;
  readonly resume: boolean;
  readonly exchange: ServedExchange;
  readonly received: ReadonlyMap<string, unknown>;
  readonly state: SealedState | undefined;
  /** The request that waits for the result; undefined once the call is a task. */
  origin: ServedExchange | undefined;
  /** The rounds that the questions of this run continue. */
  kept: StoredRounds | undefined;
  /** The clients that are told of its progress; undefined if they cannot be told apart from others. */
  readonly audience: Audience | undefined;
  /** The task while it is written for the first time. */
  creating: Promise<TaskRecord> | undefined;
  /** Called when the call must become a task at once. */
  needsTask: () => void = () => {};
  /** Questions of a handler that waits in memory, by the key that clients see. */
  readonly waiting: Map<string, (answer: JsonObject) => void> = new Map();
  asked = 0;
  /** Resolves when the call goes on as a task. */
  readonly detached: Promise<void>;
  #detach: () => void = () => {};
  readonly #host: RunHost;
  #message: string | undefined;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #statusTimer: ReturnType<typeof setTimeout> | undefined;
  #ttlTimer: ReturnType<typeof setTimeout> | undefined;
  /** True once the run holds nothing any more. */
  isOver = false;

  /**
   * @param origin is the request that waits for a plain result at first
   * @param waits tells that the handler waits in memory for answers
   */
  constructor(host: RunHost, key: string, record: TaskRecord, origin: ServedExchange | undefined, waits: boolean) {
    this.#host = host;
    this.detached = new Promise((resolve) => {
      this.#detach = resolve;
    });
    if (!origin) this.#detach();
    this.key = key;
    this.id = record.id;
    this.resume = record.resume;
    this.origin = origin;
    this.audience = audienceOf(record);
    this.received = new Map(Object.entries(record.answers ?? {}));
    this.state = toSealedState(record.rounds);
    const { peer, principal, call } = record;
    const path: ReturnPath = {
      notify: (method, params) => this.#host.notify(this, method, params),
      status: (message) => this.#status(message),
      ...(waits && { ask: (_: ServedExchange, question: InputRequest) => this.#host.ask(this, question) }),
      caller: origin?.returnPath.caller,
    };
    const { version, capabilities, info } = peer;
    const request = { id: record.id, method: "tools/call", params: call, principal };
    this.exchange = detachedExchange({ ...request, peer: { revision: { version }, capabilities, info } }, path);
    this.exchange.rounds = this;
    origin?.onCancel((reason) => {
      if (this.origin === origin) this.exchange.cancel(reason);
    });
  }

  /** The last status message; a task that begins shows the one of its call. */
  get message(): string | undefined {
    return this.#message;
  }

  /** Goes on as a task, without the request. */
  detach(): void {
    this.origin = undefined;
    this.#detach();
  }

  /** Ends the run when the lifetime of its task is over. */
  endAt(time: number, expired: () => void): void {
    const wait = () => {
      const left = time - Date.now();
      if (left <= 0) return expired();
      this.#ttlTimer = unref(setTimeout(wait, Math.min(left, maxTimerMs)));
    };
    wait();
  }

  /** Releases what the run holds. Returns false if that was done before. */
  close(reason?: Error): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    clearTimeout(this.#ttlTimer);
    clearTimeout(this.#statusTimer);
    if (reason) this.exchange.cancel(reason);
    this.exchange.end();
    this.exchange.settle();
    return true;
  }

  async keep(exchange: ServedExchange, state: SealedState): Promise<string | undefined> {
    const { origin } = this;
    if (origin) return sealState(roundStateOf(this.#host.runtime).sealer, origin, state);
    // Asked by `exchange`, which other middleware may have changed.
    void exchange;
    this.kept = toStoredRounds(state);
    return undefined;
  }

  async effectBegins(key: string): Promise<void> {
    if (!this.resume) return;
    if (!this.#host.hasLease)
      throw new PortolanError("task-lost", "This process may have lost its task to another one");
    const isOurs = await this.#host.write(this, (record) => ({ ...record, begun: [...record.begun, key] }));
    if (!isOurs) throw taskGone();
  }

  async effectEnded(key: string, resultText: string): Promise<void> {
    if (!this.resume) return;
    const isOurs = await this.#host.write(this, (record) => ({
      ...record,
      begun: record.begun.filter((other) => other !== key),
      rounds: withEffect(record.rounds, key, resultText),
    }));
    if (!isOurs) throw taskGone();
  }

  #status(message: string): void {
    this.#message = String(message).slice(0, maxStatusCharacters);
    if (this.origin) this.origin.status(this.#message);
    if (this.origin || this.isOver || this.#statusTimer !== undefined) return;
    const wait = Math.max(0, this.#writtenAt + statusIntervalMs - performance.now());
    if (wait === 0) this.#writeStatus();
    else this.#statusTimer = unref(setTimeout(() => this.#writeStatus(), wait));
  }

  #writeStatus(): void {
    this.#statusTimer = undefined;
    if (this.isOver) return;
    this.#writtenAt = performance.now();
    const message = this.#message;
    this.#host
      .write(this, (record) => ({ ...record, message, updatedAt: Date.now() }))
      .catch((cause) => this.#host.report(cause));
  }
}

function taskGone(): PortolanError {
  return new PortolanError("cancelled", "The task has ended, or another process has it");
}

function unref<T>(timer: T): T {
  (timer as { unref?: () => void }).unref?.();
  return timer;
}
