import type { TaskRef } from "portolan/client/tasks";
import { isObject, object, string } from "portolan/internal";
import { type KeyValue, sha256 } from "portolan/storage";
import { maxStoredTasks, taskIdChars, taskRecordMs, tasksPerPage } from "../limits.ts";
import type { HostTaskState } from "./tasks.ts";

/** The record of a task, from which any process can follow it again. */
export interface StoredTask {
  readonly id: string;
  /** The host's name of the server. */
  readonly server: string;
  /** Digest of the server's configuration: the id of a task goes to no other server. */
  readonly serverDigest: string;
  readonly ref: TaskRef;
  /** The id of the call in the log. */
  readonly call: string;
  readonly state: HostTaskState;
  readonly startedAt: string;
  readonly changedAt: string;
  readonly expiresAt?: string;
  readonly run?: string;
  readonly callId?: string;
}

/** The records of a host's tasks, apart for each server. */
export class TaskStore {
  readonly #kv: KeyValue;
  #queue: Promise<void> = Promise.resolve();

  constructor(kv: KeyValue) {
    this.#kv = kv;
  }

  /** Returns the host's id of a task: a digest, because the server's id gives access to the task. */
  async idOf(server: string, { dialect, taskId }: TaskRef): Promise<string> {
    const digest = await sha256(JSON.stringify([server, dialect, taskId]));
    return digest
      .replace(/[^a-zA-Z0-9]/g, "")
      .slice(0, taskIdChars)
      .toLowerCase();
  }

  async read(): Promise<readonly StoredTask[]> {
    const found: StoredTask[] = [];
    let after: string | undefined;
    while (found.length < maxStoredTasks) {
      const options = { limit: tasksPerPage, ...(after !== undefined && { after }) };
      const entries = await this.#kv.list(prefix, options);
      found.push(...entries.flatMap(({ value }) => parse(value)));
      after = entries.at(-1)?.key;
      if (after === undefined) break;
    }
    return found;
  }

  /** Writes a record. It expires with the task. */
  write(task: StoredTask): Promise<void> {
    return this.#enqueue(async () => {
      const left = task.expiresAt === undefined ? taskRecordMs : Date.parse(task.expiresAt) - Date.now();
      const ttlMs = Math.max(1, Math.min(left, taskRecordMs));
      await this.#kv.set(keyOf(task), JSON.stringify(task), { ttlMs });
    });
  }

  delete(task: StoredTask): Promise<void> {
    return this.#enqueue(() => this.#kv.delete(keyOf(task)));
  }

  /** Resolves when everything is written. */
  async settle(): Promise<void> {
    await this.#queue;
  }

  /** Writes one after the other, so that the last one stays. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return done;
  }
}

const prefix = "task/";

function keyOf({ server, id }: StoredTask): string {
  return `${prefix}${encodeURIComponent(server)}/${id}`;
}

const shape = object({
  id: string,
  server: string,
  serverDigest: string,
  call: string,
  state: string,
  startedAt: string,
  changedAt: string,
  ref: object({ server: string, taskId: string, dialect: string, tool: string }),
});

/** A record that is damaged is left out. */
function parse(text: string): StoredTask[] {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && shape(value, "") === undefined ? [value as unknown as StoredTask] : [];
  } catch {
    return [];
  }
}
