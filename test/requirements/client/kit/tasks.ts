import type { JsonObject } from "portolan";
import type { ManualClock } from "portolan/testing";
import { isStateless, type RevisionDate } from "../../../kit/revisions.ts";
import { text, turn } from "./calls.ts";
import type { Handler, Script } from "./scripted-server.ts";

export const tasksId = "io.modelcontextprotocol/tasks";
export const taskId = "task-7";
const relatedTask = { "io.modelcontextprotocol/related-task": { taskId } };

/** One state of the scripted task. */
export interface Step {
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  /** The questions of the extension. */
  readonly inputRequests?: JsonObject;
  readonly error?: JsonObject;
  readonly more?: JsonObject;
}

export interface TaskScript {
  /** The states that successive polls find; the last one stays. */
  readonly steps: readonly Step[];
  /** The result of the tool. */
  readonly result?: JsonObject;
  readonly on?: { readonly [method: string]: Handler };
  /** The state of the creating answer. Default: working. */
  readonly begin?: Step;
  readonly taskSupport?: string | undefined;
  /** Default: the server has tasks. */
  readonly offers?: JsonObject;
}

/** A server that answers `tools/call` with one task, in the messages of the revision. */
export function taskServer(revision: RevisionDate, script: TaskScript): Script {
  const { steps, result = text("the result"), on = {}, taskSupport = "required" } = script;
  const left = [...steps];
  const isNew = isStateless(revision);
  const capabilities = isNew
    ? { extensions: { [tasksId]: {} } }
    : { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const tool = { name: "render", inputSchema: { type: "object" }, ...(!isNew && { execution: { taskSupport } }) };
  return {
    offers: script.offers ?? { tools: { listChanged: true }, ...capabilities },
    on: {
      "tools/list": () => ({ tools: [tool] }),
      "tools/call": ({ params }) => {
        const state = stateOf(revision, script.begin ?? { status: "working" });
        if (isNew) return { resultType: "task", ...state };
        return params.task ? { task: state } : text("a plain result");
      },
      "tasks/get": () => {
        const step = (left.length > 1 ? left.shift() : left[0]) as Step;
        const { status, inputRequests, error } = step;
        return {
          ...stateOf(revision, step),
          ...(isNew && inputRequests && { inputRequests }),
          ...(isNew && status === "completed" && { result }),
          ...(isNew && status === "failed" && { error: error ?? { code: -32603, message: "it broke" } }),
        };
      },
      ...(isNew
        ? { "tasks/update": () => ({}), "tasks/cancel": () => ({}) }
        : {
            "tasks/result": () => ({ ...result, _meta: relatedTask }),
            "tasks/cancel": () => stateOf(revision, { status: "cancelled" }),
          }),
      ...on,
    },
  };
}

/** A state as the revision writes it. */
export function stateOf(revision: RevisionDate, { status, more }: Step): JsonObject {
  const isNew = isStateless(revision);
  return {
    taskId,
    status,
    createdAt: "2026-11-16T03:00:00Z",
    lastUpdatedAt: "2026-11-16T03:00:00Z",
    [isNew ? "ttlMs" : "ttl"]: 3_600_000,
    [isNew ? "pollIntervalMs" : "pollInterval"]: 1_000,
    ...more,
  };
}

/** A question of a task, for the extension. */
export function question(message: string): JsonObject {
  return {
    method: "elicitation/create",
    params: { mode: "form", message, requestedSchema: { type: "object", properties: { name: { type: "string" } } } },
  };
}

/** The params of a question of the core dialect. */
export function relatedQuestion(message: string): JsonObject {
  return { ...(question(message)["params"] as JsonObject), _meta: relatedTask };
}

/** Lets time pass until the promise has settled. */
export async function passing<T>(clock: ManualClock, promise: Promise<T>): Promise<T> {
  let isPending = true;
  const settled = promise.finally(() => {
    isPending = false;
  });
  settled.catch(() => {});
  while (isPending) {
    await clock.advance(100);
    for (let turns = 0; turns < 20 && isPending; turns += 1) await turn();
  }
  return settled;
}
