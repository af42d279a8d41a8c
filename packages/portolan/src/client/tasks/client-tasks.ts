import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import type { TaskDialect } from "../../protocol/tasks.ts";
import { isObject } from "../../schema/shape.ts";
import type { KeyValue } from "../../storage/storage.ts";
import type { Client } from "../api.ts";
import type { ExtendedCall, ExtendedConnection } from "../extension.ts";
import { toError } from "../failures.ts";
import type { CallOptions } from "../options.ts";
import { TaskDriver } from "./driver.ts";
import { maxTaskPages, maxTaskStreams, maxTaskTools } from "./limits.ts";
import { immediateTextOf, readState, relatedTaskOf } from "./state.ts";
import type { TaskRef } from "./tasks.ts";

/** A call of `startTool` until the server has answered it. */
export interface Starting {
  readonly ttlMs: number | undefined;
  /** False if only tools that require it are run as a task. */
  readonly takesOptional: boolean;
  created(driver: TaskDriver, ref: TaskRef, immediateText: string | undefined): void;
}

/** The tasks of one connected client. */
export class ClientTasks {
  readonly dialect: TaskDialect;
  readonly client: Client;
  readonly connection: ExtendedConnection;
  /** The calls of `startTool`, by their options. */
  readonly starting: WeakMap<object, Starting> = new WeakMap();
  readonly store: KeyValue | undefined;
  readonly #drivers = new Map<string, TaskDriver>();
  #supports: Promise<ReadonlyMap<string, string>> | undefined;
  #streams = 0;
  /** False once the server has refused to report changes of tasks. */
  #canListen = true;

  constructor(client: Client, connection: ExtendedConnection, dialect: TaskDialect, store: KeyValue | undefined) {
    this.client = client;
    this.connection = connection;
    this.dialect = dialect;
    this.store = store;
    this.#canListen = dialect === "extension";
  }

  /** The name by which refs know the server. */
  get server(): string {
    return this.client.server.info?.name ?? "";
  }

  /** Adds the wish for a task to a call of the core dialect, where the server and the tool allow it. */
  async prepare(params: JsonObject, options: object): Promise<JsonObject> {
    if (isObject(params["task"])) return params;
    const starting = this.starting.get(options);
    const support = await this.#supportOf(params["name"]);
    if (support !== "required" && !(support === "optional" && starting?.takesOptional)) return params;
    return { ...params, task: starting?.ttlMs === undefined ? {} : { ttl: starting.ttlMs } };
  }

  /** Follows the task that the server has made of a call, and returns the result of the call. */
  async created(result: JsonObject, call: ExtendedCall): Promise<JsonObject> {
    if (call.method !== "tools/call") {
      const why = `The server's result of ${call.method} is invalid: only tools/call can become a task`;
      throw new PortolanError("answer-invalid", why);
    }
    const state = readState(this.dialect === "core" ? result["task"] : result, this.dialect);
    const { questions: _, result: __, error: ___, ...plain } = state;
    const tool = String(call.params["name"]);
    const ref: TaskRef = { server: this.server, taskId: state.taskId, dialect: this.dialect, tool };
    const starting = this.starting.get(call.options);
    const driver = new TaskDriver(this, call, state.taskId, plain);
    try {
      await this.#save(ref, state.ttlMs);
    } catch (reason) {
      const error = new PortolanError(
        "store-failed",
        `The task of ${tool} could not be stored: ${toError(reason).message}`,
        { cause: reason },
      );
      if (!starting) this.connection.report(error);
      else {
        this.giveUp(state.taskId);
        throw error;
      }
    }
    starting?.created(driver, ref, immediateTextOf(result));
    return this.follow(driver);
  }

  async follow(driver: TaskDriver): Promise<JsonObject> {
    this.#drivers.set(driver.taskId, driver);
    try {
      return await driver.run();
    } finally {
      if (this.#drivers.get(driver.taskId) === driver) this.#drivers.delete(driver.taskId);
    }
  }

  isFollowed(taskId: string): boolean {
    return this.#drivers.get(taskId)?.isOver === false;
  }

  /** Returns the call in whose task a stateful server asks a question. */
  askedIn(params: JsonObject): ExtendedCall | undefined {
    const taskId = relatedTaskOf(params);
    return taskId === undefined ? undefined : this.#drivers.get(taskId)?.call;
  }

  /** Takes a notification about a task. */
  notified(params: JsonObject): void {
    const driver = this.#drivers.get(String(params["taskId"]));
    if (!driver) return;
    try {
      driver.report(readState(params, this.dialect));
    } catch (reason) {
      this.connection.report(toError(reason));
    }
  }

  toolsChanged(): void {
    this.#supports = undefined;
  }

  async cancel(taskId: string, options?: CallOptions): Promise<void> {
    if (this.dialect === "core" && !this.client.server.capabilities.tasks?.cancel) {
      throw new PortolanError(
        "capability-missing",
        "The server cannot cancel tasks (missing capability: tasks.cancel)",
      );
    }
    await this.connection.request("tasks/cancel", { taskId }, options);
  }

  /** Cancels a task that nobody waits for any more. A server that does not hear of it ends the task by its lifetime. */
  giveUp(taskId: string): void {
    this.cancel(taskId)
      .then(() => this.forget(taskId))
      .catch((reason) => this.connection.report(toError(reason)));
  }

  /** Removes the ref of a task that has ended. */
  async forget(taskId: string): Promise<void> {
    try {
      await this.store?.delete(keyOf(this.server, taskId));
    } catch (reason) {
      this.connection.report(toError(reason));
    }
  }

  /** Opens a stream that reports changes of a task. `opened` is told when it begins and ends. Returns a function that ends it. */
  listen(driver: TaskDriver, opened: (isOpen: boolean) => void): (() => void) | undefined {
    if (!this.#canListen || this.#streams >= maxTaskStreams) return undefined;
    this.#streams += 1;
    const ending = new AbortController();
    const read = async () => {
      const filter = { extensions: { taskIds: [driver.taskId] } };
      const changes = await this.client.watch(filter, { signal: ending.signal });
      const close = () => changes.close();
      ending.signal.addEventListener("abort", close, { once: true });
      if (ending.signal.aborted) await close();
      opened(true);
      // After an interruption the change has no params: then the next poll tells.
      for await (const change of changes) {
        if (change.kind === "extension" && change.params["taskId"] === undefined) driver.report(undefined);
      }
    };
    read()
      .catch(() => {
        // A server that reports no changes is polled, and not asked again.
        if (!ending.signal.aborted) this.#canListen = false;
      })
      .finally(() => {
        this.#streams -= 1;
        opened(false);
      });
    return () => ending.abort(new PortolanError("cancelled", "The task is over"));
  }

  async #save(ref: TaskRef, ttlMs: number | null): Promise<void> {
    const key = keyOf(ref.server, ref.taskId);
    await this.store?.set(key, JSON.stringify(ref), ttlMs === null ? {} : { ttlMs });
  }

  async #supportOf(tool: unknown): Promise<string | undefined> {
    if (!this.client.server.capabilities.tasks?.requests?.tools?.call) return undefined;
    this.#supports ??= this.#readSupports();
    const reading = this.#supports;
    try {
      return (await reading).get(String(tool));
    } catch (reason) {
      // Without the list no tool is known to allow it: the call is sent plainly.
      if (this.#supports === reading) this.#supports = undefined;
      this.connection.report(toError(reason));
      return undefined;
    }
  }

  async #readSupports(): Promise<ReadonlyMap<string, string>> {
    const supports = new Map<string, string>();
    let cursor: unknown;
    for (let page = 0; page < maxTaskPages; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const { tools, nextCursor } = await this.connection.request("tools/list", params);
      for (const tool of Array.isArray(tools) ? tools : []) {
        const { name, execution } = Object(tool) as { name?: unknown; execution?: unknown };
        const support = isObject(execution) ? execution["taskSupport"] : undefined;
        const allows = support === "optional" || support === "required";
        if (typeof name === "string" && allows && supports.size < maxTaskTools) supports.set(name, support);
      }
      if (typeof nextCursor !== "string" || nextCursor === cursor) break;
      cursor = nextCursor;
    }
    return supports;
  }
}

/** The key of a stored ref. */
export function keyOf(server: string, taskId = ""): string {
  return `task/${encodeURIComponent(server)}/${taskId}`;
}
