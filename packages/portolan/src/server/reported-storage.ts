import { PortolanError } from "../errors.ts";
import type { Storage } from "../storage/storage.ts";
import { storageNoticeMs } from "./limits.ts";
import type { ServerRuntime } from "./runtime.ts";

// Loaded late: only servers with a storage of their own need it.

/** One for each storage of a server, so that a storage that hangs is reported once. */
const known = new WeakMap<ServerRuntime, WeakMap<Storage, Storage>>();

/**
 * Returns a storage whose errors say that the storage failed, and which part of it. An operation that does not end is
 * reported to the operator, once.
 */
export function reportedStorage(runtime: ServerRuntime, storage: Storage): Storage {
  const ofServer = known.get(runtime) ?? new WeakMap<Storage, Storage>();
  known.set(runtime, ofServer);
  let reported = ofServer.get(storage);
  if (!reported) {
    reported = watchStorage(storage, (error) => runtime.report(error, { method: "storage" }));
    ofServer.set(storage, reported);
  }
  return reported;
}

function watchStorage({ kv, log, bus }: Storage, report: (error: Error) => void): Storage {
  const waiting = new Map<object, { readonly operation: string; readonly since: number }>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isReported = false;

  const look = () => {
    timer = undefined;
    const [oldest] = waiting.values();
    if (!oldest || isReported) return;
    const restMs = oldest.since + storageNoticeMs - performance.now();
    if (restMs > 0) {
      lookAfter(restMs);
      return;
    }
    isReported = true;
    const why = `The storage has not answered ${oldest.operation} for ${storageNoticeMs / 1_000} s; check that it is up and reachable`;
    report(new PortolanError("store-failed", `${why}. Requests that need it wait.`));
  };
  const lookAfter = (ms: number) => {
    timer = setTimeout(look, ms);
    (timer as { unref?: () => void }).unref?.();
  };

  const during = async <T>(operation: string, work: () => Promise<T>): Promise<T> => {
    const key = {};
    waiting.set(key, { operation, since: performance.now() });
    if (!timer && !isReported) lookAfter(storageNoticeMs);
    try {
      return await work();
    } catch (cause) {
      throw toStoreFailure(operation, cause);
    } finally {
      waiting.delete(key);
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
  if (cause instanceof PortolanError) return cause;
  const why = cause instanceof Error ? cause.message || cause.name : String(cause);
  return new PortolanError("store-failed", `The storage failed (${operation}): ${why}`, { cause });
}
