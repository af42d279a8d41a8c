import type { CallToolResult } from "portolan";
import type { ToolTask } from "portolan/client/tasks";
import type { HostAnswers } from "../questions.ts";
import type { StoredTask } from "./task-store.ts";
import type { HostTask, HostTaskState } from "./tasks.ts";

/** The end of a task: a result, or the reason why there is none. */
export interface TaskOutcome {
  readonly result?: CallToolResult;
  readonly reason?: Error;
}

interface Waiter {
  readonly takes: boolean;
  resolve(result: CallToolResult): void;
  reject(reason: Error): void;
}

/** A caller's wait for the end of a task. */
export interface TaskWait {
  readonly result: Promise<CallToolResult>;
  /** Ends the wait with an error. */
  release(reason: Error): void;
  leave(): void;
}

/** One task in the memory of a host. */
export class HeldTask {
  stored: StoredTask;
  message: string | undefined;
  /** Started or waited for by this process, which therefore reconnects for it. */
  isOwn = false;
  /** Its caller has stopped while the server was away. It is cancelled when the server is back. */
  isAbandoned = false;
  /** True if another part of the host writes the end of the task to the log. */
  isLogged = false;
  /** Present while it is followed. */
  followed: ToolTask | undefined;
  /** Aborts the call that follows it. */
  stop: AbortController | undefined;
  answers: HostAnswers | undefined;
  /** The time of the clock when its connection was lost. */
  lostAt: number | undefined;
  outcome: TaskOutcome | undefined;
  outcomeChars = 0;
  readonly #waiters = new Set<Waiter>();

  constructor(stored: StoredTask) {
    this.stored = stored;
  }

  get id(): string {
    return this.stored.id;
  }

  get server(): string {
    return this.stored.server;
  }

  get state(): HostTaskState {
    return this.stored.state;
  }

  /** True until it has ended, as far as the host has heard. */
  get isOpen(): boolean {
    return this.state === "working" || this.state === "input_required";
  }

  get shown(): HostTask {
    const { id, server, ref, state, startedAt, changedAt, expiresAt, run, callId } = this.stored;
    return {
      id,
      server,
      tool: ref.tool,
      state,
      ...(this.message !== undefined && { message: this.message }),
      startedAt,
      changedAt,
      ...(expiresAt !== undefined && { expiresAt }),
      ...(run !== undefined && { run }),
      ...(callId !== undefined && { callId }),
      isFollowed: this.followed !== undefined && this.isOpen,
    };
  }

  update(news: { state: HostTaskState; message: string | undefined; expiresAt?: string | undefined }): void {
    const { state, message, expiresAt = this.stored.expiresAt } = news;
    this.lostAt = undefined;
    const isNew = state !== this.state || message !== this.message;
    this.message = message;
    const changedAt = isNew ? new Date().toISOString() : this.stored.changedAt;
    this.stored = { ...this.stored, state, changedAt, ...(expiresAt !== undefined && { expiresAt }) };
  }

  /** Begins a wait for its end. `takes`: the waiter gets the result for good. */
  wait(takes: boolean): TaskWait {
    let waiter: Waiter | undefined;
    const result = new Promise<CallToolResult>((resolve, reject) => {
      waiter = { takes, resolve, reject };
      this.#waiters.add(waiter);
    });
    return {
      result,
      release: (reason) => {
        if (!waiter || !this.#waiters.delete(waiter)) return;
        waiter.reject(reason);
      },
      leave: () => {
        if (waiter) this.#waiters.delete(waiter);
      },
    };
  }

  /** Ends all waits with an error; the task goes on. */
  release(reason: Error): void {
    for (const waiter of this.#waiters) waiter.reject(reason);
    this.#waiters.clear();
  }

  /** Passes its end to all who wait. Returns true if one of them takes the result. */
  settle({ result, reason }: TaskOutcome): boolean {
    let isTaken = false;
    for (const { takes, resolve, reject } of this.#waiters) {
      isTaken ||= takes;
      if (result) resolve(result);
      else reject(reason as Error);
    }
    this.#waiters.clear();
    return isTaken;
  }
}
