import { nameOf, PortolanError } from "../../errors.ts";
import { checkNumbers, checkOptions, type OptionNames } from "../../options.ts";
import { missingCapability, taskMismatch, unknownTool } from "../../protocol/errors.ts";
import { taskDialectOf, tasksId } from "../../protocol/tasks.ts";
import { isObject, object, optional, record, string } from "../../schema/shape.ts";
import type { Storage } from "../../storage/storage.ts";
import type { ServedExchange } from "../call/exchange.ts";
import type { ToolDefinition } from "../define/definition.ts";
import type { Server } from "../define/server.ts";
import type { CustomMethod, ExtendedServer, ExtensionParts, ServerExtension } from "../extension.ts";
import type { TaskMode, TaskPlan, TaskRule } from "./definition.ts";
import { jobOf } from "./job.ts";
import {
  defaultLeaseMs,
  defaultMaxRunning,
  defaultMaxTtlMs,
  defaultPerCallerChars,
  defaultPerCallerOpen,
  defaultPerCallerStored,
  defaultPollMs,
  defaultTtlMs,
} from "./limits.ts";
import { mayList, TaskRequests } from "./requests.ts";
import { TaskServer } from "./task-server.ts";

/** Options of `tasks`. */
export interface ServerTasksOptions {
  /** Lifetime of a task, unless its tool says otherwise. Its work is stopped then. Default: 1 hour. */
  readonly ttlMs?: number;
  /** The longest lifetime that a client or a tool gets. Default: 24 hours. */
  readonly maxTtlMs?: number;
  /** The pause between two polls that clients are asked for. Default: 1 second. */
  readonly pollMs?: number;
  /** Limits of each caller. */
  readonly perCaller?: TasksPerCaller;
  /** Tasks that one process runs at once. Default: 10,000. */
  readonly maxRunning?: number;
  /** Time after which a process that has died has lost its tasks. Default: 15 seconds. */
  readonly leaseMs?: number;
  /** Keeps the tasks. Default: the storage of the server, or memory. */
  readonly storage?: Storage;
}

/** Limits of the tasks of one caller. */
export interface TasksPerCaller {
  /** Tasks that have not ended. Default: 100. */
  readonly open?: number;
  /** Tasks in the storage, with those that have ended and whose lifetime is not over. Default: 1,000. */
  readonly stored?: number;
  /** Characters of these tasks: their arguments, questions and results. Default: 16 Mi. */
  readonly chars?: number;
}

/** The options with their defaults. */
export interface TaskSettings extends Required<Omit<ServerTasksOptions, "perCaller" | "storage">> {
  readonly perCaller: Required<TasksPerCaller>;
  readonly storage: Storage | undefined;
}

/** The tasks extension: tools that are defined after it may have a `task`. On 2025-11-25 it serves the tasks of that revision. */
export function tasks(options: ServerTasksOptions = {}): ServerExtension {
  const settings = toSettings(options);
  const servers = new WeakMap<ExtendedServer, TaskParts>();
  const partsOf = (server: ExtendedServer): TaskParts => {
    let known = servers.get(server);
    if (!known) {
      const tasks = new TaskServer(extension, server, settings);
      known = { tasks, requests: new TaskRequests(tasks) };
      servers.set(server, known);
    }
    return known;
  };
  const extension: ServerExtension = {
    id: tasksId,
    on(revision, server) {
      const dialect = taskDialectOf(revision);
      if (dialect === "core") return coreParts(partsOf(server).requests);
      if (dialect === "extension") return extensionParts(partsOf(server).requests);
      // Clients that know no tasks are not shown the tools that need them.
      return {
        isOpen: true,
        decorate: (entry, { options }) => (ruleIn(options)?.mode === "required" ? undefined : entry),
      };
    },
    around(exchange, next, isDeclared, server) {
      if (exchange.method !== "tools/call") return next(exchange);
      const name = String(exchange.params["name"]);
      const rule = ruleIn(server.optionsOf("tool", name, exchange));
      const dialect = taskDialectOf(exchange.peer.revision);
      const isRequired = rule?.mode === "required";
      if (dialect === undefined) {
        if (isRequired) throw unknownTool(name);
        return next(exchange);
      }
      if (dialect === "core") {
        const isWanted = isObject(exchange.params["task"]);
        if (server.hasFeature("tool", name, exchange) && (isWanted ? !rule : isRequired))
          throw taskMismatch(name, isRequired);
        if (!isWanted || !rule) return next(exchange);
      } else if (!isDeclared || !rule) {
        if (isRequired) throw missingCapability({ extensions: { [tasksId]: {} } }, `Tool "${name}"`);
        return next(exchange);
      }
      return partsOf(server).tasks.call(exchange as ServedExchange, next, rule, dialect);
    },
    toolMember: { name: "task", define: addTool },
  };
  return extension;
}

/** The tasks of a served server, and what answers its clients about them. */
interface TaskParts {
  readonly tasks: TaskServer;
  readonly requests: TaskRequests;
}

const taskParams = object({ taskId: string });

/** The tasks of 2025-11-25. They are open, because that revision must not know the extension by its id. */
function coreParts(requests: TaskRequests): ExtensionParts {
  return {
    isOpen: true,
    capabilities: (principal) => ({
      tasks: { ...(mayList(principal) && { list: {} }), cancel: {}, requests: { tools: { call: {} } } },
    }),
    requests: {
      "tasks/get": { params: taskParams, handle: (exchange) => requests.get(exchange as ServedExchange, "core") },
      "tasks/result": { params: taskParams, handle: (exchange) => requests.result(exchange as ServedExchange) },
      "tasks/cancel": { params: taskParams, handle: (exchange) => requests.cancel(exchange, "core") },
      "tasks/list": {
        params: object({ cursor: optional(string) }),
        handle: (exchange) => requests.list(exchange),
      },
    },
    decorate(entry, { options }) {
      const rule = ruleIn(options);
      return rule ? { ...entry, execution: { taskSupport: rule.mode } } : entry;
    },
  };
}

function extensionParts(requests: TaskRequests): ExtensionParts {
  // The handlers look at the declaration: clients without it may look at tasks that they made on 2025-11-25.
  const method = (handle: CustomMethod["handle"], params = taskParams): CustomMethod => ({
    params,
    nameIn: "taskId",
    isOpen: true,
    handle,
  });
  return {
    settings: {},
    requests: {
      "tasks/get": method((exchange) => requests.get(exchange as ServedExchange, "extension")),
      "tasks/cancel": method((exchange) => requests.cancel(exchange, "extension")),
      "tasks/update": method(
        (exchange) => requests.update(exchange),
        object({ taskId: string, inputResponses: record() }),
      ),
    },
    listen: {
      taskIds: {
        admit: (wanted, exchange) => requests.admit(wanted, exchange),
        wants: (admitted, topic, payload) =>
          topic === "tasks" && (admitted as readonly unknown[]).includes(payload["taskId"]),
      },
    },
  };
}

function ruleIn(options: unknown): TaskRule | undefined {
  return options as TaskRule | undefined;
}

type AnyServer = Server<unknown, unknown>;
type AnyTool = ToolDefinition<unknown, unknown, unknown>;

function addTool(server: AnyServer, name: string, definition: AnyTool): AnyServer {
  const { task, ...rest } = definition;
  const rule = parseTask(`Tool "${name}"`, task, definition);
  return server.tool(name, { ...rest, extensions: { ...rest.extensions, [tasksId]: rule } });
}

const planNames: OptionNames<TaskPlan<unknown, unknown>> = { mode: 1, when: 1, quickMs: 1, ttlMs: 1, resume: 1 };
const code = "invalid-definition";

function parseTask(where: string, task: unknown, { run, asks }: AnyTool): TaskRule {
  if (task === "optional" || task === "required")
    return parseTask(where, { mode: task }, { run, ...(asks && { asks }) });
  if (!isObject(task)) throw invalid(where, `expected "optional", "required" or an object, got ${nameOf(task)}`);
  checkOptions<object>(task, planNames as never, `${where}: task`, { code });
  const { mode = "optional", quickMs = 0, ttlMs, resume, when } = task;
  if (mode !== "optional" && mode !== "required") {
    throw invalid(where, `mode: expected "optional" or "required", got ${nameOf(mode)}`);
  }
  checkNumbers(task as { [name: string]: unknown }, "quickMs", "ttlMs");
  if (when !== undefined && typeof when !== "function") {
    throw invalid(where, `when: expected a function, got ${nameOf(when)}`);
  }
  if (when !== undefined && mode === "required")
    throw invalid(where, "when: a tool that requires a task has no choice");
  if (resume === true && asks === "park") {
    throw invalid(where, 'resume: a handler that waits in memory cannot run again; omit asks: "park"');
  }
  const job = jobOf(run);
  return {
    mode: mode as TaskMode,
    when: when as TaskRule["when"],
    quickMs: quickMs as number,
    ttlMs: ttlMs as number | undefined,
    resume: resume === true || (job !== undefined && resume !== false),
    waits: asks === "park",
    stop: job?.stop && ((started) => job.stop?.(started)),
  };
}

function invalid(where: string, why: string): PortolanError {
  return new PortolanError(code, `${where}: task: ${why}`);
}

const optionNames: OptionNames<ServerTasksOptions> = {
  ttlMs: 1,
  maxTtlMs: 1,
  pollMs: 1,
  perCaller: 1,
  maxRunning: 1,
  leaseMs: 1,
  storage: 1,
};

function toSettings(options: ServerTasksOptions): TaskSettings {
  checkOptions(options, optionNames, "tasks");
  checkNumbers(options, "ttlMs", "maxTtlMs", "pollMs", "maxRunning", "leaseMs");
  const { perCaller = {} } = options;
  checkOptions(perCaller, { open: 1, stored: 1, chars: 1 }, "tasks: perCaller");
  checkNumbers(perCaller, "open", "stored", "chars");
  return {
    ttlMs: options.ttlMs ?? defaultTtlMs,
    maxTtlMs: options.maxTtlMs ?? defaultMaxTtlMs,
    pollMs: Math.max(1, Math.round(options.pollMs ?? defaultPollMs)),
    maxRunning: options.maxRunning ?? defaultMaxRunning,
    leaseMs: Math.max(1, options.leaseMs ?? defaultLeaseMs),
    storage: options.storage,
    perCaller: {
      open: perCaller.open ?? defaultPerCallerOpen,
      stored: perCaller.stored ?? defaultPerCallerStored,
      chars: perCaller.chars ?? defaultPerCallerChars,
    },
  };
}
