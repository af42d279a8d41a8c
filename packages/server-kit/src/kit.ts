import { rpcCodes } from "portolan";
import { type Context, type FullResult, type JsonSchema, RpcError, ToolError } from "portolan/server";

// Plain JSON Schema: a server that starts often should not load a schema library first.

/** Returns a closed object schema; every property is required unless `optional` lists it. */
export function object(
  properties: { readonly [name: string]: JsonSchema },
  optional: readonly string[] = [],
): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: "object", properties, required, additionalProperties: false };
}

export function array(items: JsonSchema, description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "array", items, description, ...more };
}

export function string(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "string", description, ...more };
}

export function integer(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "integer", description, ...more };
}

/** Returns an integer schema with the minimum 0, which `more` can raise. */
export function count(description: string, more: JsonSchema = {}): JsonSchema {
  return { type: "integer", minimum: 0, description, ...more };
}

export function boolean(description: string): JsonSchema {
  return { type: "boolean", description };
}

/** Hints for hosts about the effect of a tool. */
export const annotations = {
  /** Changes nothing. */
  reads: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  /** Adds something that can be undone; every call adds again. */
  adds: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
  /** Adds or sets something; a second call changes nothing more. */
  sets: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  /** Can lose data; every call changes something again. */
  destroys: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  /** Can lose data; a second call changes nothing more. */
  overwrites: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
} as const;

/** Returns a tool result with a text for models and data for programs. */
export function textResult<T>(text: string, structuredContent: T): FullResult<T> {
  return { content: [{ type: "text", text }], structuredContent };
}

/** Turns a ToolError into an RpcError: prompts and resources have no result for errors. */
export async function toolErrorsAsInvalidParams<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (reason) {
    if (reason instanceof ToolError) throw new RpcError(rpcCodes.invalidParams, reason.message, { cause: reason });
    throw reason;
  }
}

/** Lets the event loop run: other requests are served, and a cancellation is read. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Something in a queue that callers share; `caller` is undefined where callers cannot be told apart. */
export interface QueuedItem {
  readonly caller: string | undefined;
}

/**
 * Returns the item that a full queue refuses to make room for one more of `caller`: the newest of the caller that has
 * most. Returns undefined if that is `caller` itself.
 */
export function itemToRefuse<T extends QueuedItem>(queue: readonly T[], caller: string | undefined): T | undefined {
  const counts = new Map<string | undefined, number>();
  for (const item of queue) counts.set(item.caller, (counts.get(item.caller) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  if (most <= (counts.get(caller) ?? 0) + 1) return undefined;
  return queue.findLast((item) => counts.get(item.caller) === most);
}

interface WaitingWork extends QueuedItem {
  begin(): void;
  refuse(reason: Error): void;
}

/** Too much work waits. */
export class GateFullError extends Error {
  override readonly name = "GateFullError";
}

/** Bounds the work that runs at once, and the work that waits. Callers take turns. */
export class Gate {
  readonly #atOnce: number;
  readonly #maxWaiting: number;
  #running = 0;
  #waiting: WaitingWork[] = [];
  #last: string | undefined;

  constructor(atOnce: number, maxWaiting: number) {
    this.#atOnce = atOnce;
    this.#maxWaiting = maxWaiting;
  }

  /** Runs `work` when there is room. Rejects with a GateFullError if too much waits: the newest of the caller that has most. */
  async run<T>(caller: string | undefined, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#atOnce) this.#running += 1;
    else await this.#wait(caller);
    try {
      return await work();
    } finally {
      this.#beginNext();
    }
  }

  #wait(caller: string | undefined): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting) {
      const refused = itemToRefuse(this.#waiting, caller);
      if (!refused) throw new GateFullError("Too much work of this caller waits");
      this.#waiting = this.#waiting.filter((one) => one !== refused);
      refused.refuse(new GateFullError("Too much work of this caller waits"));
    }
    return new Promise((begin, refuse) => this.#waiting.push({ caller, begin, refuse }));
  }

  /** Begins the first work of another caller than the last one; else the first. */
  #beginNext(): void {
    const next = this.#waiting.find(({ caller }) => caller !== this.#last) ?? this.#waiting[0];
    if (!next) {
      this.#running -= 1;
      return;
    }
    this.#waiting = this.#waiting.filter((one) => one !== next);
    this.#last = next.caller;
    next.begin();
  }
}

/**
 * Returns the key of an authenticated caller, with whom others share what the server has. Returns undefined on stdio and
 * without authentication, where all callers are one.
 */
export function callerOf({ principal }: Pick<Context, "principal">): string | undefined {
  return principal.key === "local" || principal.key === "anonymous" ? undefined : principal.key;
}

/** Failures of the disk that only the operator can clear, as codes of the system or of SQLite. */
const diskProblems: readonly unknown[] = ["ENOSPC", "EDQUOT", "EROFS", "EFBIG", "EIO", "SQLITE_FULL"];

/** One kind of failure is written at most this often. */
const diskReportMs = 60_000;

/**
 * Returns a function that writes failures of the disk to standard error. The model is told too, but often nobody reads
 * that. Other errors, and the same failure within one minute, are not written.
 */
export function createDiskReports(
  name: string,
  write: (line: string) => void = console.error,
): (reason: unknown) => void {
  const writtenAt = new Map<unknown, number>();
  return (reason) => {
    const { code, message } = (reason instanceof Error ? reason : {}) as { code?: unknown; message?: string };
    const now = performance.now();
    if (!diskProblems.includes(code) || now - (writtenAt.get(code) ?? Number.NEGATIVE_INFINITY) < diskReportMs) return;
    writtenAt.set(code, now);
    write(
      `${name}: a write failed: ${String(message).replaceAll(/\p{C}/gu, " ")}. Free space on the disk, or move the data`,
    );
  };
}

/** Returns a tool whose failures of the disk, the causes of its errors, are reported. */
export function reportingDisk<Tool extends { run(args: never, context: never): unknown }>(
  tool: Tool,
  report: (reason: unknown) => void,
): Tool {
  const run = async (args: never, context: never) => {
    try {
      return await tool.run(args, context);
    } catch (reason) {
      report((reason as Error | undefined)?.cause ?? reason);
      throw reason;
    }
  };
  return { ...tool, run };
}

const dayMs = 86_400_000;

/** Returns the day of a time, such as 2026-11-15. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

export function addDays(day: string, count: number): string {
  return dayOf(Date.parse(day) + count * dayMs);
}

/** Returns true for an existing day; 2026-02-30 is none. */
export function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(text);
  return !Number.isNaN(time) && dayOf(time) === text;
}

/** Returns `count` days from the first one. */
export function daysFrom(first: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => addDays(first, index));
}
