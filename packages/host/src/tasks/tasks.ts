import { type CallToolResult, type JsonObject, PortolanError } from "portolan";
import type { HostCallOptions } from "../api.ts";

/** The state of a task. `lost`: the server does not know it any more. */
export type HostTaskState = "working" | "input_required" | "completed" | "failed" | "cancelled" | "lost";

/** A tool call that outlives its request, as a user interface shows it. */
export interface HostTask {
  /** The host's own id, the same after a restart. The id of the server is a secret, and is not shown. */
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  readonly state: HostTaskState;
  /** The server's description of the state, escaped for display; of an ended task the reason of its failure. */
  readonly message?: string;
  /** The start of the call, as ISO 8601 in UTC. */
  readonly startedAt: string;
  /** The last change that the host has heard of. */
  readonly changedAt: string;
  /** The server may delete the task and its result from this time on. */
  readonly expiresAt?: string;
  /** The run that made the call, and the model's id of the call. */
  readonly run?: string;
  readonly callId?: string;
  /** True while the host follows the task. False if its server is not connected, and for an ended task. */
  readonly isFollowed: boolean;
}

/** Options of `createHost` for tasks. */
export interface HostTasksOptions {
  /**
   * When stored tasks of an earlier process are followed again: as soon as their server is connected, or only by `wait`
   * and `cancel`. Default: "connect".
   */
  readonly resume?: "connect" | "wait";
}

/** Options of `host.tasks.start`. Its `signal` stops the call until the server has answered; later use `cancel`. */
export interface StartTaskOptions extends HostCallOptions {
  /** The wanted lifetime of the task. Servers of 2026-07-28 choose it themselves. Default: the server's choice. */
  readonly ttlMs?: number;
}

/** Options of `host.tasks.wait`. Its `signal` stops waiting and leaves the task running. */
export interface WaitTaskOptions extends Pick<HostCallOptions, "signal" | "conversation" | "answers"> {}

/** The server's answer to a call: with a task, or with the result itself. */
export type StartedTask =
  | {
      readonly task: HostTask;
      /** A text of the server that the model gets now, so that it can go on without the result. */
      readonly immediateText?: string;
      readonly result?: undefined;
    }
  | { readonly task?: undefined; readonly immediateText?: undefined; readonly result: CallToolResult };

/** A wait has ended, but its task goes on. */
export class TaskDetachedError extends PortolanError {
  /** The host's id of the task. */
  readonly task: string;

  constructor(task: string, message: string) {
    super("task-detached", message);
    this.task = task;
  }
}

/** The tasks of a host's servers. */
export interface HostTasks {
  /** Returns the tasks that go on, also those of servers that are not connected, and ended ones whose result nobody took. */
  list(): readonly HostTask[];
  /** Calls a tool, with the same consent and the same log as `callTool`. Resolves when the server has answered. */
  start(server: string, tool: string, args?: JsonObject, options?: StartTaskOptions): Promise<StartedTask>;
  /**
   * Resolves to the result of a task, and takes it: afterwards the host forgets the task. Starts the server if necessary.
   * Rejects with "task-detached" if the server is stopped meanwhile: the task goes on.
   */
  wait(id: string, options?: WaitTaskOptions): Promise<CallToolResult>;
  /** Asks the server for the present state. Starts the server if necessary. */
  refresh(id: string, options?: Pick<HostCallOptions, "signal">): Promise<HostTask>;
  /** Asks the server to cancel the task. */
  cancel(id: string): Promise<void>;
}
