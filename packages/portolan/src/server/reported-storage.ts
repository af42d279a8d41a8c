import { PortolanError } from "../errors.ts";
import type { Storage } from "../storage/storage.ts";
import { ReportThrottle } from "../throttle.ts";
import type { ErrorReport } from "./define/definition.ts";
import { storageNoticeMs } from "./limits.ts";
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
 * for each kind, with their number. Operations that do not end are reported to the operator, and that they end again.
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
  isOverdue: boolean;
}

/** Notices operations that do not end, and that a storage answers again. */
class HangWatch {
  /** The operations that are not overdue, oldest first. */
  readonly #waiting = new Set<Operation>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The hang that goes on. */
  #hang: { readonly since: number; readonly noticedAt: number; overdue: number } | undefined;
  readonly #reports: ReportThrottle<string>;

  constructor(report: (error: Error) => void) {
    this.#reports = new ReportThrottle((message, count) => {
      const times = count === 1 ? "" : ` (${count} times since the last report)`;
      report(new PortolanError("store-failed", `${message}${times}`));
    });
  }

  begin(name: string): Operation {
    const operation: Operation = { name, since: performance.now(), isOverdue: false };
    this.#waiting.add(operation);
    if (!this.#timer) this.#lookAfter(storageNoticeMs);
    return operation;
  }

  end(operation: Operation): void {
    this.#waiting.delete(operation);
    const hang = this.#hang;
    if (!hang) return;
    if (operation.isOverdue) hang.overdue -= 1;
    // A storage that lost requests never ends them, but answers later ones.
    if (hang.overdue > 0 && operation.since < hang.noticedAt) return;
    this.#hang = undefined;
    const seconds = ((performance.now() - hang.since) / 1_000).toFixed(1);
    this.#reports.add("end", `The storage answers again after ${seconds} s`);
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const now = performance.now();
    for (const operation of this.#waiting) {
      const restMs = operation.since + storageNoticeMs - now;
      if (restMs > 0) {
        this.#lookAfter(restMs);
        return;
      }
      this.#waiting.delete(operation);
      operation.isOverdue = true;
      this.#overdue(operation, now);
    }
  };

  #overdue({ name, since }: Operation, now: number): void {
    if (this.#hang) {
      this.#hang.overdue += 1;
      return;
    }
    this.#hang = { since, noticedAt: now, overdue: 1 };
    const what = `The storage has not answered ${name} for ${storageNoticeMs / 1_000} s`;
    this.#reports.add("begin", `${what}; check that it is up and reachable. Requests that need it wait.`);
  }

  #lookAfter(ms: number): void {
    this.#timer = setTimeout(this.#look, ms);
    (this.#timer as { unref?: () => void }).unref?.();
  }
}

function watchStorage({ kv, log, bus }: Storage, report: (error: Error) => void): Storage {
  const hangs = new HangWatch(report);
  const during = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const operation = hangs.begin(name);
    try {
      return await work();
    } catch (cause) {
      throw toStoreFailure(name, cause);
    } finally {
      hangs.end(operation);
    }
  };

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
      // A reader that follows a log may wait for hours: only its failures are of interest.
      after: (key, id, options) => ({
        [Symbol.asyncIterator]() {
          const entries = log.after(key, id, options)[Symbol.asyncIterator]();
          const rename = (cause: unknown) => Promise.reject(toStoreFailure("log.after", cause));
          return {
            next: () => entries.next().catch(rename),
            return: () => entries.return?.().catch(rename) ?? Promise.resolve({ done: true, value: undefined }),
          };
        },
      }),
    },
    bus: {
      publish: (topic, value) => during("bus.publish", () => bus.publish(topic, value)),
      subscribe: async (topic, receive, lost) => {
        const stop = await during("bus.subscribe", () => bus.subscribe(topic, receive, lost));
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
