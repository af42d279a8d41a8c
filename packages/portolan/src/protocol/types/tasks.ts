import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Meta, NotificationParams, PaginatedResult, RequestParams } from "./base.ts";

/*
 * The experimental tasks of 2025-11-25, which either side may run. Later revisions have them as an extension, in another form.
 */

/** A request to run as a task. */
export interface TaskMetadata {
  /** Lifetime of the task, in milliseconds from its creation. */
  ttl?: number;
}

/** The params of a request that may be run as a task. */
export interface TaskAugmentedParams extends RequestParams {
  /** 2025-11-25 only. */
  task?: TaskMetadata;
}

/** The task of a message, under the related-task key of its `_meta`. */
export interface RelatedTaskMetadata {
  taskId: string;
}

/** The status of a task. The last three are final. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** The state of a task. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  /** A description of the status for people. */
  statusMessage?: string;
  /** An ISO 8601 timestamp. */
  createdAt: string;
  /** An ISO 8601 timestamp. */
  lastUpdatedAt: string;
  /** Milliseconds from creation. `null`: no limit. */
  ttl: number | null;
  /** The milliseconds to wait between polls. */
  pollInterval?: number;
}

/** The interim result of a request that runs as a task. */
export interface CreateTaskResult {
  task: Task;
  _meta?: Meta;
}

/** The params of `tasks/get`. */
export interface GetTaskParams extends RequestParams {
  taskId: string;
}

/** The result of `tasks/get`. */
export interface GetTaskResult extends Task {
  _meta?: Meta;
}

/** The params of `tasks/result`. */
export interface GetTaskPayloadParams extends RequestParams {
  taskId: string;
}

/** The result of `tasks/result`: the result of the request itself. */
export interface GetTaskPayloadResult extends JsonObject {
  _meta?: Meta;
}

/** The params of `tasks/cancel`. */
export interface CancelTaskParams extends RequestParams {
  taskId: string;
}

/** The result of `tasks/cancel`. */
export interface CancelTaskResult extends Task {
  _meta?: Meta;
}

/** The result of `tasks/list`: one page of the tasks that the caller may see. */
export interface ListTasksResult extends PaginatedResult {
  tasks: Task[];
}

/** The params of `notifications/tasks/status`. */
export interface TaskStatusParams extends NotificationParams, Task {}
