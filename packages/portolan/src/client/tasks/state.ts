import { PortolanError } from "../../errors.ts";
import type { ErrorObject, JsonObject } from "../../jsonrpc/message.ts";
import { metaKeys } from "../../protocol/revision.ts";
import type { TaskDialect } from "../../protocol/tasks.ts";
import type { InputRequests, TaskStatus } from "../../protocol/types/index.ts";
import {
  any,
  integer,
  isObject,
  number,
  object,
  oneOf,
  optional,
  record,
  type ShapeCheck,
  string,
} from "../../schema/shape.ts";
import { maxImmediateChars, maxStatusChars, maxTaskIdChars } from "./limits.ts";

/** The state of a task, the same in every revision. */
export interface TaskState {
  readonly taskId: string;
  readonly status: TaskStatus;
  /** A description of the status for people. It is text of the server. */
  readonly message?: string;
  /** When the task was created, as the server wrote it. */
  readonly createdAt?: string;
  /** When the task last changed, as the server wrote it. */
  readonly updatedAt?: string;
  /** Lifetime from its creation. `null`: no limit. */
  readonly ttlMs: number | null;
  /** The server's wish for the time between two polls. */
  readonly pollMs?: number;
}

/** A state with what the extension sends along. */
export interface DetailedState extends TaskState {
  readonly questions?: InputRequests;
  readonly result?: JsonObject;
  readonly error?: ErrorObject;
}

/** Tells if a task has ended. */
export function isFinal({ status }: Pick<TaskState, "status">): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Reads the state that a server sends. Throws a PortolanError "answer-invalid" if it is none, or of another task. */
export function readState(value: unknown, dialect: TaskDialect, of?: string): DetailedState {
  const problem = shapes[dialect](value, "task") ?? problemOf(value as JsonObject, of);
  if (problem !== undefined) throw new PortolanError("answer-invalid", `The server's task is invalid: ${problem}`);
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ...rest } = value as JsonObject;
  const ttl = rest[dialect === "core" ? "ttl" : "ttlMs"] as number | null | undefined;
  const poll = rest[dialect === "core" ? "pollInterval" : "pollIntervalMs"] as number | undefined;
  const state: TaskState = {
    taskId: taskId as string,
    status: status as TaskStatus,
    ...(statusMessage !== undefined && { message: (statusMessage as string).slice(0, maxStatusChars) }),
    ...(createdAt !== undefined && { createdAt: createdAt as string }),
    ...(lastUpdatedAt !== undefined && { updatedAt: lastUpdatedAt as string }),
    ttlMs: ttl ?? null,
    ...(poll !== undefined && { pollMs: poll }),
  };
  if (dialect === "core") return state;
  const { inputRequests, result, error } = rest;
  return {
    ...state,
    ...(status === "input_required" && { questions: (inputRequests ?? {}) as InputRequests }),
    ...(status === "completed" && { result: result as JsonObject }),
    ...(status === "failed" && { error: error as ErrorObject }),
  };
}

/** Returns the text that a server offers for the model until the task has ended. */
export function immediateTextOf({ _meta }: JsonObject): string | undefined {
  const text = isObject(_meta) ? _meta["io.modelcontextprotocol/model-immediate-response"] : undefined;
  return typeof text === "string" ? text.slice(0, maxImmediateChars) : undefined;
}

/** Returns the id of the task that a message of the core dialect belongs to. */
export function relatedTaskOf({ _meta }: JsonObject): string | undefined {
  const related = isObject(_meta) ? _meta[metaKeys.relatedTask] : undefined;
  const taskId = isObject(related) ? related["taskId"] : undefined;
  return typeof taskId === "string" ? taskId : undefined;
}

/** Accepts `null` besides the values that `check` accepts. */
const orNull =
  (check: ShapeCheck): ShapeCheck =>
  (value, path) =>
    value === null ? undefined : check(value, path);

const state = {
  taskId: string,
  status: oneOf("working", "input_required", "completed", "failed", "cancelled"),
  statusMessage: optional(string),
  createdAt: optional(string),
  lastUpdatedAt: optional(string),
};

const shapes: { readonly [dialect in TaskDialect]: ShapeCheck } = {
  core: object({ ...state, ttl: optional(orNull(number)), pollInterval: optional(number) }),
  extension: object({
    ...state,
    ttlMs: optional(orNull(number)),
    pollIntervalMs: optional(number),
    inputRequests: optional(record(object({ method: string, params: optional(record()) }))),
    result: optional(record()),
    error: optional(object({ code: integer, message: string, data: any })),
  }),
};

function problemOf({ taskId }: JsonObject, expected: string | undefined): string | undefined {
  const { length } = taskId as string;
  if (length === 0) return "taskId: expected an id, got an empty string";
  if (length > maxTaskIdChars) return `taskId: expected at most ${maxTaskIdChars} characters, got ${length}`;
  return expected === undefined || taskId === expected ? undefined : "taskId: expected the one that was asked for";
}
