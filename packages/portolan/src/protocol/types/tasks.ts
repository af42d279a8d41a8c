import type { JsonObject } from "../../jsonrpc/message.ts";
import type { Meta, NotificationParams, PaginatedResult, RequestParams } from "./base.ts";

/*
 * The experimental tasks of 2025-11-25, which either side may host. Later revisions have them as an extension of another shape.
 */

/** Asks that a request be run as a task. */
export interface TaskMetadata {
  /** How long to keep the task, in milliseconds from its creation. */
  ttl?: number;
}

/** The params of a request that may be run as a task. */
export interface TaskAugmentedParams extends RequestParams {
  /** 2025-11-25 only. */
  task?: TaskMetadata;
}

/** Ties a message to a task, under the related-task key of its `_meta`. */
export interface RelatedTaskMetadata {
  taskId: string;
}

/** How far a task is; the last three are final. */
export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** The state of a task. */
export interface Task {
  taskId: string;
  status: TaskStatus;
  /** More about the status, for people. */
  statusMessage?: string;
  /** An ISO 8601 moment. */
  createdAt: string;
  /** An ISO 8601 moment. */
  lastUpdatedAt: string;
  /** Milliseconds from creation; `null` means for ever. */
  ttl: number | null;
  /** How many milliseconds to wait between looks. */
  pollInterval?: number;
}

/** Answers a request that has become a task. */
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

/** The result of `tasks/result`: whatever the request itself would have yielded. */
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

/** A page of the tasks that the asker may see. */
export interface ListTasksResult extends PaginatedResult {
  tasks: Task[];
}

/** The params of `notifications/tasks/status`. */
export interface TaskStatusParams extends NotificationParams, Task {}
