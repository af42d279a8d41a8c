import { PortolanError } from "../errors.ts";
import type { Storage } from "../storage/storage.ts";
import { ReportThrottle } from "../throttle.ts";
import type { ErrorReport } from "./define/definition.ts";
import { storageNoticeMs, storageTimeoutMs } from "./limits.ts";
import { reportError, type ServerRuntime } from "./runtime.ts";

// Loaded late: only servers with a storage of their own need it.

/** One for each storage of a server, so that a storage that hangs is reported once. */
const known = new WeakMap<ServerRuntime, WeakMap<Storage, Storage>>();

/** The operations that failed, by the error that they rejected with. */
const failedOperations = new WeakMap<Error, string>();

/** Returns whether an error is a failure of a storage that `reportedStorage` watches. */
export function isStorageFailure(error: unknown): boolean {
  return error instanceof Error && failedOperations.has(error);
}

/**
 * Returns a storage whose errors say that the storage failed, and which part of it. Its failures are reported once a minute
 * for each kind, with their number. Operations that do not end are reported to the operator; they reject after a while, so
 * that a storage which loses a request holds nobody for ever. The end of both is reported, too.
 */
export function reportedStorage(runtime: ServerRuntime, storage: Storage): Storage {
  let ofServer = known.get(runtime);
  if (!ofServer) {
    ofServer = new WeakMap();
    known.set(runtime, ofServer);
    runtime.takeOver = throttleFailures(runtime);
  }
  let reported = ofServer.get(storage);
  if (!reported) {
    reported = watchStorage(storage, (error) => runtime.report(error, { method: "storage" }));
    ofServer.set(storage, reported);
  }
  return reported;
}

/** Returns the function that reports failures of a storage once a minute for each operation and cause. */
function throttleFailures(runtime: ServerRuntime): (error: unknown, about: ErrorReport) => boolean {
  const reports = new ReportThrottle<{ readonly error: Error; readonly about: ErrorReport }>(
    ({ error, about }, count) => reportError(runtime.snapshot.options, error, { ...about, count }),
  );
  return (error, about) => {
    const operation = error instanceof Error ? failedOperations.get(error) : undefined;
    if (operation === undefined) return false;
    const { code, cause } = error as PortolanError;
    // Not by its message, which may name any key.
    reports.add(`${operation} ${code} ${(cause as { code?: unknown } | undefined)?.code}`, {
      error: error as Error,
      about,
    });
    return true;
  };
}

/** An operation that has not ended. */
interface Operation {
  readonly name: string;
  /** By the monotonic clock. */
  readonly since: number;
  /** Rejects the promise of the operation. Does nothing after its end. */
  readonly fail: (error: Error) => void;
  isOverdue: boolean;
}

/** The operations that tell whether a storage works, by what they need: one that refuses all writes may still be read. */
const needs: { readonly [operation: string]: "reads" | "writes" } = {
  "kv.get": "reads",
  "kv.list": "reads",
  "log.after": "reads",
  "kv.set": "writes",
  "log.append": "writes",
};

/** Notices operations that do not end, and that a storage works again. Fails operations that take too long. */
class HangWatch {
  /** The operations that are not overdue, oldest first. */
  readonly #waiting = new Set<Operation>();
  /** The overdue ones that have not failed, oldest first. */
  readonly #overdue = new Set<Operation>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #nextLook = Number.POSITIVE_INFINITY;
  /** The hang that goes on. */
  #hang: { readonly since: number; readonly noticedAt: number; overdue: number } | undefined;
  /** The kinds of operations that have failed and not worked again. */
  #outage: { readonly since: number; readonly failing: Set<"reads" | "writes"> } | undefined;
  readonly #reports: ReportThrottle<string>;

  constructor(report: (error: Error) => void) {
    this.#reports = new ReportThrottle((message, count) => {
      const times = count === 1 ? "" : ` (${count} times since the last report)`;
      report(new PortolanError("store-failed", `${message}${times}`));
    });
  }

  begin(name: string, fail: (error: Error) => void): Operation {
    const operation: Operation = { name, since: performance.now(), fail, isOverdue: false };
    this.#waiting.add(operation);
    this.#lookAt(operation.since + storageNoticeMs);
    return operation;
  }

  end(operation: Operation): void {
    this.#waiting.delete(operation);
    this.#overdue.delete(operation);
    const hang = this.#hang;
    if (!hang) return;
    if (operation.isOverdue) hang.overdue -= 1;
    // A storage that lost requests never ends them, but answers later ones.
    if (hang.overdue > 0 && operation.since < hang.noticedAt) return;
    this.#hang = undefined;
    this.#reportEnd(hang.since);
  }

  /** Notes a failure. The server reports it. */
  failed(name: string): void {
    const need = needs[name];
    if (need === undefined) return;
    this.#outage ??= { since: performance.now(), failing: new Set() };
    this.#outage.failing.add(need);
  }

  /** Notes a success. Reports the end of failures that went on for a while. */
  succeeded(name: string): void {
    const outage = this.#outage;
    const need = needs[name];
    if (!outage || need === undefined) return;
    // A storage that takes writes can be read.
    if (need === "writes") outage.failing.clear();
    outage.failing.delete(need);
    if (outage.failing.size > 0) return;
    this.#outage = undefined;
    if (performance.now() - outage.since >= storageNoticeMs) this.#reportEnd(outage.since);
  }

  #reportEnd(since: number): void {
    const seconds = ((performance.now() - since) / 1_000).toFixed(1);
    this.#reports.add("end", `The storage answers again after ${seconds} s`);
  }

  readonly #look = (): void => {
    this.#nextLook = Number.POSITIVE_INFINITY;
    const now = performance.now();
    for (const operation of this.#waiting) {
      if (operation.since + storageNoticeMs > now) break;
      this.#waiting.delete(operation);
      this.#overdue.add(operation);
      operation.isOverdue = true;
      this.#notice(operation, now);
    }
    for (const operation of this.#overdue) {
      if (operation.since + storageTimeoutMs > now) break;
      this.#overdue.delete(operation);
      const why = `has not answered ${operation.name} within ${storageTimeoutMs / 1_000} s`;
      operation.fail(new PortolanError("store-failed", `The storage ${why}`));
    }
    const [next] = this.#waiting;
    const [late] = this.#overdue;
    if (next) this.#lookAt(next.since + storageNoticeMs);
    if (late) this.#lookAt(late.since + storageTimeoutMs);
  };

  #notice({ name, since }: Operation, now: number): void {
    if (this.#hang) {
      this.#hang.overdue += 1;
      return;
    }
    this.#hang = { since, noticedAt: now, overdue: 1 };
    const what = `The storage has not answered ${name} for ${storageNoticeMs / 1_000} s`;
    const consequence = `Requests that need it wait, and fail after ${storageTimeoutMs / 1_000} s`;
    this.#reports.add("begin", `${what}; check that it is up and reachable. ${consequence}`);
  }

  /** Looks at the operations at this time, unless it does so earlier. */
  #lookAt(time: number): void {
    if (this.#nextLook <= time) return;
    this.#nextLook = time;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#look, time - performance.now());
    (this.#timer as { unref?: () => void }).unref?.();
  }
}

function watchStorage({ kv, log, bus }: Storage, report: (error: Error) => void): Storage {
  const hangs = new HangWatch(report);
  /** @param late receives a result that comes after the operation has failed */
  const during = <T>(name: string, work: () => Promise<T>, late?: (value: T) => void): Promise<T> =>
    new Promise((resolve, reject) => {
      let hasFailed = false;
      const operation = hangs.begin(name, (error) => {
        hasFailed = true;
        reject(toStoreFailure(name, error));
      });
      const running = (async () => work())();
      running.then(
        (value) => {
          hangs.end(operation);
          hangs.succeeded(name);
          if (hasFailed) late?.(value);
          else resolve(value);
        },
        (cause) => {
          hangs.end(operation);
          const failure = toStoreFailure(name, cause);
          if ((failure as PortolanError).code === "store-failed") hangs.failed(name);
          reject(failure);
        },
      );
    });

  return {
    kv: {
      get: (key) => during("kv.get", () => kv.get(key)),
      set: (key, value, options) => during("kv.set", () => kv.set(key, value, options)),
      delete: (key) => during("kv.delete", () => kv.delete(key)),
      list: (prefix, options) => during("kv.list", () => kv.list(prefix, options)),
    },
    log: {
      append: (key, value, options) => during("log.append", () => log.append(key, value, options)),
      delete: (key) => during("log.delete", () => log.delete(key)),
      after: (key, id, options) => ({
        [Symbol.asyncIterator]() {
          const entries = log.after(key, id, options)[Symbol.asyncIterator]();
          const rename = (cause: unknown) => Promise.reject(toStoreFailure("log.after", cause));
          const none = { done: true, value: undefined } as const;
          return {
            // A reader that follows a log may wait for hours: only its failures are of interest.
            next: () => (options?.follow ? entries.next().catch(rename) : during("log.after", () => entries.next())),
            return: () => during("log.after", async () => (await entries.return?.()) ?? none),
          };
        },
      }),
    },
    bus: {
      publish: (topic, value) => during("bus.publish", () => bus.publish(topic, value)),
      subscribe: async (topic, receive, lost) => {
        const begin = () => bus.subscribe(topic, receive, lost);
        // A subscription that begins after it has failed would receive everything twice beside the next one.
        const stop = await during("bus.subscribe", begin, (late) => void late().catch(() => {}));
        return () => during("bus.unsubscribe", stop);
      },
    },
  };
}

/** Errors of our own have a code already, such as "limit-reached" of a full storage. */
function toStoreFailure(operation: string, cause: unknown): Error {
  const why = cause instanceof Error ? cause.message || cause.name : String(cause);
  const failure =
    cause instanceof PortolanError
      ? cause
      : new PortolanError("store-failed", `The storage failed (${operation}): ${why}`, { cause });
  if (failure.code === "store-failed" || failure.code === "limit-reached") failedOperations.set(failure, operation);
  return failure;
}
