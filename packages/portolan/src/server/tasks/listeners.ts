import type { Revision } from "../../protocol/revision.ts";
import { revisions } from "../../protocol/revisions/index.ts";
import { taskDialectOf } from "../../protocol/tasks.ts";
import type { ExtendedServer } from "../extension.ts";
import { audienceOf, coreView, detailedView, hasEnded, type TaskRecord } from "./record.ts";
import type { TaskServer } from "./task-server.ts";

/** Tells the clients of this process of changes of tasks. */
export class TaskListeners {
  readonly #tasks: TaskServer;
  readonly #server: ExtendedServer;
  /** Tasks that listeners of this process hear of, with the version that they know, until the tasks have ended. */
  readonly #versions = new Map<string, string>();

  constructor(tasks: TaskServer, server: ExtendedServer) {
    this.#tasks = tasks;
    this.#server = server;
  }

  /** Tells of the task from now on, also if another process changes it. */
  add(key: string, record: TaskRecord): void {
    if (this.#tasks.store.isShared && !hasEnded(record)) this.#versions.set(key, versionOf(record));
  }

  /** Another process has changed a task, or may have changed any. */
  changedElsewhere(key: string | undefined): void {
    const changed = key === undefined ? [...this.#versions.keys()] : this.#versions.has(key) ? [key] : [];
    for (const each of changed) this.#tellOf(each).catch((cause) => this.#tasks.report(cause));
  }

  /** Tells of a change that this process has made. */
  publish(before: TaskRecord | undefined, after: TaskRecord): void {
    const isSame = before?.status === after.status && before.message === after.message;
    if (isSame && Object.keys(before.pending ?? {}).join() === Object.keys(after.pending ?? {}).join()) return;
    const audience = audienceOf(after);
    this.#tellListeners(after);
    if (after.dialect === "core" && audience) this.#server.publish("tasks/status", coreView(after), audience);
  }

  /** Tells the listeners of this process. Those of others are told by their processes, which hear of the change. */
  #tellListeners(record: TaskRecord): void {
    if (!extensionRevision) return;
    const view = detailedView(record, extensionRevision, this.#tasks.runtime.snapshot);
    this.#tasks.runtime.hub.publish("tasks", view, { principal: record.principal.key });
  }

  /** Tells the listeners of this process of a change that another one made. */
  async #tellOf(key: string): Promise<void> {
    const record = await this.#tasks.store.read(key);
    if (!record || hasEnded(record)) this.#versions.delete(key);
    if (!record) return;
    const version = versionOf(record);
    if (this.#versions.get(key) === version) return;
    if (!hasEnded(record)) this.#versions.set(key, version);
    this.#tellListeners(record);
  }
}

/** The newest revision with the extension, in whose form its listeners are told of changes. */
const extensionRevision: Revision | undefined = revisions.find((revision) => taskDialectOf(revision) === "extension");

/** Returns a text that changes with what clients see of a task. */
function versionOf({ status, updatedAt, message }: TaskRecord): string {
  return `${status} ${updatedAt} ${message}`;
}
