import { nameOf, PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import { checkNumbers, checkOptions, type OptionNames } from "../../options.ts";
import { type TaskDialect, taskDialectOf, tasksId } from "../../protocol/tasks.ts";
import type { CallToolResult } from "../../protocol/types/index.ts";
import { isObject, object, oneOf, string } from "../../schema/shape.ts";
import type { KeyValue } from "../../storage/storage.ts";
import type { Client } from "../api.ts";
import type { ClientExtension, WatchedMember } from "../extension.ts";
import type { CallOptions } from "../options.ts";
import { ClientTasks, keyOf, type Starting } from "./client-tasks.ts";
import { TaskDriver } from "./driver.ts";
import { maxListedTasks, maxTaskPages } from "./limits.ts";
import { readState, type TaskState } from "./state.ts";

/** Options of `tasks`. */
export interface ClientTasksOptions {
  /** Keeps the ref of each running task, so that another process can wait for it. Default: none are kept. */
  readonly store?: KeyValue;
}

/** The address of a task, as plain JSON. Whoever has it can wait for the task again. */
export interface TaskRef {
  /** The name that the server gives itself. */
  readonly server: string;
  readonly taskId: string;
  /** How the protocol version of its creation has tasks. */
  readonly dialect: TaskDialect;
  readonly tool: string;
}

/** Options of `startTool`. */
export interface StartToolOptions extends CallOptions {
  /** The wanted lifetime of the task. Servers of 2026-07-28 choose it themselves. Default: the server's choice. */
  readonly ttlMs?: number;
  /** `false`: on 2025-11-25 only a tool that requires it is run as a task. Default: `true`. */
  readonly optional?: boolean;
}

/** Options of `resumeTask`. */
export interface ResumeTaskOptions extends Pick<CallOptions, "signal" | "answers" | "capabilities" | "label"> {}

/** A tool call that has begun. */
export interface ToolTask {
  /** Undefined if the server has answered without a task: then `result` is settled. */
  readonly ref: TaskRef | undefined;
  /** The result of the tool. Rejects with "task-detached" after `detach`, and with "task-lost" if the server has no such task. */
  readonly result: Promise<CallToolResult>;
  /** The newest known state; undefined until the server has told one. */
  readonly state: TaskState | undefined;
  /** A text of the server for the model, which may go on without the result. */
  readonly immediateText: string | undefined;
  /** The states from now on. A reader that is slow misses states, but not the last one. */
  readonly events: AsyncIterable<TaskState>;
  /** Asks the server to cancel the task. Afterwards `result` rejects with "cancelled". */
  cancel(): Promise<void>;
  /** Stops waiting and leaves the task running. */
  detach(): void;
}

/**
 * Lets tools run as tasks: calls that outlive their request, their connection and this process. For
 * `connect({ extensions: [tasks()] })`.
 */
export function tasks(options: ClientTasksOptions = {}): ClientExtension {
  checkOptions(options, { store: 1 } satisfies OptionNames<ClientTasksOptions>, "tasks");
  const { store } = options;
  return {
    id: tasksId,
    on(revision) {
      const dialect = taskDialectOf(revision);
      if (!dialect) return undefined;
      let all: ClientTasks | undefined;
      const notified = (params: JsonObject) => all?.notified(params);
      return {
        connected(client, connection) {
          all = new ClientTasks(client, connection, dialect, store);
          tasksOf.set(client, all);
        },
        results: { task: async (result, call) => (await mustBe(all)).created(result, call) },
        ...(dialect === "extension" && {
          notifications: { "notifications/tasks": notified },
          listen: { taskIds: watchedIds },
        }),
        ...(dialect === "core" && {
          notifications: {
            "notifications/tasks/status": notified,
            "notifications/tools/list_changed": () => all?.toolsChanged(),
          },
          prepare: (method, params, { options: given }) =>
            method === "tools/call" && all ? all.prepare(params, given) : params,
          askedIn: (params) => all?.askedIn(params),
        }),
      };
    },
  };
}

/**
 * Calls a tool and resolves when the server has answered: with a task, or with the result itself. The ref of the task is
 * stored by then.
 */
export async function startTool<S>(
  client: Client<S>,
  name: string,
  args: JsonObject = {},
  options: StartToolOptions = {},
): Promise<ToolTask> {
  const { ttlMs, optional = true, ...call } = options;
  checkNumbers({ ttlMs }, "ttlMs");
  const plain = client as unknown as Client;
  const all = tasksOf.get(client);
  let begin: (task: ToolTask) => void = () => {};
  const created = new Promise<ToolTask>((resolve) => {
    begin = resolve;
  });
  // The options are the same object in all that follows: they tell the tasks of this client which call it is.
  const starting: Starting = {
    ttlMs,
    takesOptional: optional,
    created: (driver, ref, immediateText) => begin(new FollowedTask(driver, ref, result, immediateText)),
  };
  all?.starting.set(call, starting);
  const result = plain.callTool(name, args, call) as Promise<CallToolResult>;
  return Promise.race([created, result.then(() => answered(result))]);
}

/** Waits for a task again, also one that another process started. `result` rejects with "task-lost" if it is gone. */
export function resumeTask<S>(client: Client<S>, ref: TaskRef, options: ResumeTaskOptions = {}): ToolTask {
  checkOptions(options, { signal: 1, answers: 1, capabilities: 1, label: 1 }, "resumeTask");
  const problem = refShape(ref, "ref");
  if (problem !== undefined) throw new PortolanError("invalid-argument", `resumeTask: ${problem}`);
  const all = needTasks(client, "resumeTask");
  if (ref.server !== all.server) {
    const why = `resumeTask: expected a task of the server ${nameOf(all.server)}, got one of ${nameOf(ref.server)}`;
    throw new PortolanError("invalid-argument", why);
  }
  if (all.isFollowed(ref.taskId)) {
    throw new PortolanError("invalid-argument", `resumeTask: this client waits for task ${ref.taskId} already`);
  }
  let driver: TaskDriver | undefined;
  const result = all.connection.resume("tools/call", { name: ref.tool }, options, (call) => {
    driver = new TaskDriver(all, call, ref.taskId);
    return all.follow(driver);
  });
  // `resume` has called it: only a connection that is lost, or a signal that is aborted, leaves it undefined.
  return driver ? new FollowedTask(driver, ref, result as unknown as Promise<CallToolResult>) : failed(ref, result);
}

/** Returns the tasks that a server of 2025-11-25 lists. Rejects with "capability-missing" where there is no such list. */
export async function listTasks<S>(client: Client<S>, options: CallOptions = {}): Promise<TaskState[]> {
  const all = needTasks(client, "listTasks");
  if (all.dialect !== "core" || !client.server.capabilities.tasks?.list) {
    throw new PortolanError(
      "capability-missing",
      "The server does not list its tasks (missing capability: tasks.list)",
    );
  }
  const found: TaskState[] = [];
  let cursor: unknown;
  for (let page = 0; page < maxTaskPages; page += 1) {
    const result = await all.connection.request("tasks/list", cursor === undefined ? {} : { cursor }, options);
    for (const task of Array.isArray(result["tasks"]) ? result["tasks"] : []) found.push(readState(task, "core"));
    if (found.length > maxListedTasks) break;
    if (typeof result["nextCursor"] !== "string" || result["nextCursor"] === cursor) return found;
    cursor = result["nextCursor"];
  }
  throw new PortolanError("limit-reached", `The server lists more than ${maxListedTasks} tasks`);
}

/** Returns the refs of this server's tasks that the store keeps: those that have not ended, as far as is known. */
export async function storedTasks<S>(client: Client<S>): Promise<TaskRef[]> {
  const { store, server } = needTasks(client, "storedTasks");
  const found: TaskRef[] = [];
  let after: string | undefined;
  while (store && found.length < maxListedTasks) {
    const entries = await store.list(keyOf(server), after === undefined ? {} : { after });
    for (const { value } of entries) {
      const ref = parseRef(value);
      if (ref) found.push(ref);
    }
    after = entries.at(-1)?.key;
    if (after === undefined) break;
  }
  return found;
}

/** Tells if a client was connected with `tasks()`, to a server whose protocol version has tasks. */
export function hasTasks<S>(client: Client<S>): boolean {
  return tasksOf.has(client);
}

const tasksOf = new WeakMap<object, ClientTasks>();

const refShape = object({ server: string, taskId: string, dialect: oneOf("core", "extension"), tool: string });

const watchedIds: WatchedMember = {
  notification: "notifications/tasks",
  covers: (wanted, { taskId }) => Array.isArray(wanted) && wanted.includes(taskId),
  keyOf: ({ taskId }) => String(taskId),
};

function needTasks(client: object, where: string): ClientTasks {
  const all = tasksOf.get(client);
  if (all) return all;
  const why = "the client was connected without tasks(), or its server's protocol version has no tasks";
  throw new PortolanError("capability-missing", `${where}: ${why}`);
}

/** A server cannot answer before the connection is there. */
async function mustBe(all: ClientTasks | undefined): Promise<ClientTasks> {
  if (!all)
    throw new PortolanError("answer-invalid", "The server answered with a task before the connection was ready");
  return all;
}

function parseRef(text: string): TaskRef | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && refShape(value, "") === undefined ? (value as unknown as TaskRef) : undefined;
  } catch {
    return undefined;
  }
}

class FollowedTask implements ToolTask {
  readonly ref: TaskRef;
  readonly result: Promise<CallToolResult>;
  readonly immediateText: string | undefined;
  readonly #driver: TaskDriver;

  constructor(driver: TaskDriver, ref: TaskRef, result: Promise<CallToolResult>, immediateText?: string) {
    this.#driver = driver;
    this.ref = ref;
    this.result = result;
    this.immediateText = immediateText;
    // A caller that only reads the events, or detaches, need not look at the result.
    result.catch(() => {});
  }

  get state(): TaskState | undefined {
    return this.#driver.isKnown ? this.#driver.state : undefined;
  }

  get events(): AsyncIterable<TaskState> {
    return this.#driver.states();
  }

  cancel(): Promise<void> {
    return this.#driver.cancel();
  }

  detach(): void {
    this.#driver.detach();
  }
}

/** A call that the server answered without a task. */
function answered(result: Promise<CallToolResult>, ref?: TaskRef): ToolTask {
  return {
    ref,
    result,
    state: undefined,
    immediateText: undefined,
    events: noStates(),
    cancel: async () => {},
    detach: () => {},
  };
}

function failed(ref: TaskRef, result: Promise<unknown>): ToolTask {
  result.catch(() => {});
  return answered(result as Promise<CallToolResult>, ref);
}

async function* noStates(): AsyncGenerator<TaskState> {}
