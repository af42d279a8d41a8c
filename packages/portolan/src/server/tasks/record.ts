import { type ErrorObject, type JsonObject, RpcError } from "../../jsonrpc/message.ts";
import { taskEnded } from "../../protocol/errors.ts";
import { type Complete, metaKeys, type Revision, type Self } from "../../protocol/revision.ts";
import type { TaskDialect } from "../../protocol/tasks.ts";
import type {
  ClientCapabilities,
  Implementation,
  InputRequest,
  InputRequests,
  TaskStatus,
} from "../../protocol/types/index.ts";
import { emptyState, type SealedState } from "../ask/round-state.ts";
import { anonymous, type Principal } from "../call/exchange.ts";
import type { Audience } from "../subscribe/hub.ts";
import { maxStatusCharacters } from "./limits.ts";

/** A task as it is stored: the same for every revision. */
export interface TaskRecord {
  readonly id: string;
  /** The dialect of the client that made it. */
  readonly dialect: TaskDialect;
  readonly principal: Principal;
  /** Whose limits it counts for. */
  readonly caller: string;
  /** The session over HTTP that made it. */
  readonly session?: string | undefined;
  readonly peer: StoredPeer;
  /** The params of the call. Those of an ended task lack the arguments. */
  readonly call: JsonObject;
  /** Milliseconds since the epoch, as the clocks of all processes tell. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly ttlMs: number;
  readonly pollMs: number;
  readonly resume: boolean;
  /** A tool that has failed has completed its task: it has a result. */
  readonly status: TaskStatus;
  readonly message?: string | undefined;
  /** The process that has its handler in memory. */
  readonly owner?: string | undefined;
  /** The open questions, by the key that clients see. */
  readonly pending?: { readonly [shownKey: string]: PendingQuestion } | undefined;
  /** The answers to questions of this round, by the handler's key. */
  readonly answers?: { readonly [key: string]: JsonObject } | undefined;
  /** Every key that a client has ever seen: none may return. */
  readonly shownKeys: readonly string[];
  readonly rounds?: StoredRounds | undefined;
  /** Effects of `once` that began in this run and have no result yet. */
  readonly begun: readonly string[];
  readonly outcome?: StoredOutcome | undefined;
  /** Characters that are counted for its caller. */
  readonly reserved: number;
}

/** The client that called, as far as a handler may know it. */
export interface StoredPeer {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  readonly info?: Implementation | undefined;
}

export interface PendingQuestion {
  /** The handler's own key. */
  readonly key: string;
  readonly question: InputRequest;
}

/** The end of a task: the result of its tool, or the error of its call. */
export type StoredOutcome =
  | { readonly result: JsonObject; readonly wrapped?: boolean | undefined }
  | { readonly error: ErrorObject & { readonly kind?: string | undefined } };

/** `SealedState` as JSON. */
export interface StoredRounds {
  readonly answers: { readonly [key: string]: { readonly digest: string; readonly answer: JsonObject } };
  readonly once: { readonly [key: string]: string };
  readonly asked: { readonly [key: string]: string };
  readonly userState?: string | undefined;
  readonly rounds: number;
}

export function toStoredRounds({ answers, once, asked, userState, rounds }: SealedState): StoredRounds {
  return {
    answers: Object.fromEntries(answers),
    once: Object.fromEntries(once),
    asked: Object.fromEntries(asked),
    userState,
    rounds,
  };
}

export function toSealedState(stored: StoredRounds | undefined): SealedState | undefined {
  if (!stored) return undefined;
  const { answers, once, asked, userState, rounds } = stored;
  return {
    answers: new Map(Object.entries(answers)),
    once: new Map(Object.entries(once)),
    asked: new Map(Object.entries(asked)),
    ...(userState !== undefined && { userState }),
    rounds,
  };
}

/** Returns the rounds with one more effect. */
export function withEffect(stored: StoredRounds | undefined, key: string, resultText: string): StoredRounds {
  const rounds = stored ?? toStoredRounds(emptyState());
  return { ...rounds, once: { ...rounds.once, [key]: resultText } };
}

/** Tells if a task has ended. */
export function hasEnded({ status }: Pick<TaskRecord, "status">): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Tells if the lifetime of a task is over. */
export function isExpired({ createdAt, ttlMs }: TaskRecord): boolean {
  return Date.now() >= createdAt + ttlMs;
}

/** Returns the open questions as clients of the extension see them. */
export function questionsOf({ pending = {} }: TaskRecord): InputRequests {
  return Object.fromEntries(Object.entries(pending).map(([key, { question }]) => [key, question]));
}

/** Returns the changed task with its end, without what only a handler needs. */
export function ended(
  record: TaskRecord,
  status: TaskStatus,
  outcome: StoredOutcome | undefined,
  message: string | undefined = record.message,
): TaskRecord {
  const { pending: _, answers: __, rounds: ___, owner: ____, ...rest } = record;
  return { ...rest, status, outcome, message, call: { name: record.call["name"] }, begun: [], updatedAt: Date.now() };
}

/** Returns the outcome for an error of the call. */
export function failureOf({ code, message, data, kind }: RpcError): StoredOutcome {
  return { error: { code, message, ...(data !== undefined && { data }), ...(kind !== undefined && { kind }) } };
}

/** The members of a task that both dialects have under the same names. */
function common(record: TaskRecord, status: TaskStatus, message: string | undefined): JsonObject {
  return {
    taskId: record.id,
    status,
    ...(message !== undefined && { statusMessage: message }),
    createdAt: new Date(record.createdAt).toISOString(),
    lastUpdatedAt: new Date(record.updatedAt).toISOString(),
  };
}

/** Returns a task as 2025-11-25 has it, where a failed tool is a failed task. */
export function coreView(record: TaskRecord): JsonObject {
  const { status, message, ttlMs: ttl, pollMs: pollInterval, outcome } = record;
  const failedTool = status === "completed" && outcome && "result" in outcome && outcome.result["isError"] === true;
  const shown = failedTool ? (textIn(outcome.result) ?? message) : message;
  return { ...common(record, failedTool ? "failed" : status, shown), ttl, pollInterval };
}

/** Returns a task as the extension has it, without what depends on its state. */
export function extensionView(record: TaskRecord): JsonObject {
  const { status, message, ttlMs, pollMs: pollIntervalMs } = record;
  return { ...common(record, status, message), ttlMs, pollIntervalMs };
}

/** Returns a task as `tasks/get` of the extension shows it: with its questions, its result or its error. */
export function detailedView(record: TaskRecord, revision: Revision, self: Self): JsonObject {
  const view = extensionView(record);
  const { status, outcome } = record;
  if (status === "input_required") return { ...view, inputRequests: questionsOf(record) };
  if (status === "completed" && outcome && "result" in outcome) {
    return { ...view, result: revision.encodeResult("tools/call", toComplete(outcome), self) };
  }
  if (status === "failed" && outcome && "error" in outcome) {
    return { ...view, error: revision.encodeError(toRpcError(outcome.error)) };
  }
  return view;
}

/** Returns what `tasks/result` of 2025-11-25 answers for an ended task. Throws the error of the call. */
export function coreResult(record: TaskRecord, revision: Revision): JsonObject {
  const { id, status, outcome } = record;
  if (!outcome) throw taskEnded(status);
  if ("error" in outcome) throw toRpcError(outcome.error);
  const result = revision.encodeComplete("tools/call", toComplete(outcome));
  return { ...result, _meta: { ...(result["_meta"] as JsonObject | undefined), ...relatedTask(id) } };
}

/** Returns the part of `_meta` that names the task of a message. */
export function relatedTask(taskId: string): JsonObject {
  return { [metaKeys.relatedTask]: { taskId } };
}

/**
 * Returns the clients that are told of a task; undefined if they cannot be told apart from others. All anonymous clients have
 * one principal, so that only a session tells them apart.
 */
export function audienceOf({ principal, session }: TaskRecord): Audience | undefined {
  if (session !== undefined) return { principal: principal.key, session };
  return principal.key === anonymous.key ? undefined : { principal: principal.key };
}

function toComplete({ result, wrapped }: { result: JsonObject; wrapped?: boolean | undefined }): Complete {
  return { kind: "complete", result, ...(wrapped !== undefined && { wrapped }) };
}

function toRpcError({ code, message, data, kind }: ErrorObject & { readonly kind?: string | undefined }): RpcError {
  return new RpcError(code, message, { data, ...(kind !== undefined && { kind: kind as never }), stage: "handler" });
}

/** Returns the first text of a result. */
export function textIn({ content }: JsonObject): string | undefined {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.find((block) => typeof block?.text === "string")?.text;
}

/** Cuts a status message. */
export function cut(text: string | undefined): string | undefined {
  return text?.slice(0, maxStatusCharacters);
}
