import type { MaybePromise } from "../../async.ts";
import type { Context, RequestContext } from "../call/context.ts";
import type { ToolReturn } from "../define/definition.ts";

/** "optional": a tool may run as a task. "required": it runs as nothing else. */
export type TaskMode = "optional" | "required";

/** How a tool runs as a task. */
export interface TaskPlan<I, App> {
  /** Default: "optional". */
  readonly mode?: TaskMode;
  /** Decides for each call of a client that allows tasks. Returns false to run the tool as a plain call. Default: a task. */
  when?(args: I, context: RequestContext<App>): MaybePromise<boolean>;
  /**
   * Time for which the call waits for a plain result before it becomes a task; questions of that time are asked as those of a
   * plain call. On 2025-11-25 the client decides, and this counts for nothing. Default: 0.
   */
  readonly quickMs?: number;
  /** Lifetime of the task. Default: `ttlMs` of the extension. */
  readonly ttlMs?: number;
  /**
   * True if the tool may run again from the top after its process has died. Effects in `ctx.once` are not repeated. Default:
   * false; the task fails then.
   */
  readonly resume?: boolean;
}

/** The state of work that another system does. */
export type JobState<O> =
  | { readonly status: "working"; readonly message?: string }
  | { readonly status: "completed"; readonly result: ToolReturn<O> }
  | { readonly status: "failed"; readonly message?: string };

/** Work that another system does, such as a render farm. It goes on when the server's process ends. */
export interface TaskJob<I, O, App> {
  /** Time between two looks. Default: 1 second. */
  readonly pollMs?: number;
  /** Starts the work. Returns its name in the other system: a value with a JSON form, which is stored. */
  start(args: I, context: Context<App>): unknown;
  /** Looks at the work. Called again and again, in any process. */
  look(job: unknown, context: Context<App>): MaybePromise<JobState<O>>;
  /** Stops the work of a task that was cancelled or whose lifetime is over. */
  stop?(job: unknown): unknown;
}

/** The member `task` as the extension keeps it. */
export interface TaskRule {
  readonly mode: TaskMode;
  readonly when: TaskPlan<unknown, unknown>["when"] | undefined;
  readonly quickMs: number;
  readonly ttlMs: number | undefined;
  readonly resume: boolean;
  /** True if the handler waits in memory for answers: it does not run again after a question. */
  readonly waits: boolean;
  readonly stop: TaskJob<unknown, unknown, unknown>["stop"] | undefined;
}
