import { PortolanError } from "../../../errors.ts";
import { keyIdsOf } from "../../../storage/crypto.ts";
import type { Storage } from "../../../storage/storage.ts";
import { isStorageFailure } from "../../reported-storage.ts";
import type { ServerRuntime } from "../../runtime.ts";
import { compareSecretsMs, dataMarkMs, maxKnownProcesses, processLeases } from "../limits.ts";

/** A process, as the others with the same storage see it. */
interface ProcessRecord {
  readonly server: string;
  readonly version: string;
  /** The ids of its secrets, the one that seals first. Absent if its keys are in the storage. */
  readonly keys?: readonly string[];
  /** The number that the operating system gave it, if there is one. */
  readonly pid?: number;
  /** The time since 1970 at which it last renewed this record, by its own clock. */
  readonly renewedAt?: number;
}

const prefix = "mcp/process/";
const dataKey = "mcp/data";

/** A process that the others with the same storage know of. */
export interface RegisteredProcess {
  /** Writes the record again. If another process has told of a loss, `lost` is not called for it. */
  renew(isTold?: boolean): void;
  /** Removes the record. */
  leave(): Promise<void>;
}

/**
 * Tells the processes that share the storage of this one, and looks every `leaseMs` if the storage has lost its data. Calls
 * `lost` if it has. Rejects if another
 * process of the same server has other secrets: each would refuse the states that the other one sealed. If that is noticed
 * later, because the storage failed at the start, it is reported.
 */
export async function register(
  runtime: ServerRuntime,
  storage: Storage,
  leaseMs: number,
  lost: () => void,
): Promise<RegisteredProcess> {
  const { kv } = storage;
  const ttlMs = processLeases * leaseMs;
  const key = prefix + crypto.randomUUID();
  const own = await recordOf(runtime);
  const report = (cause: unknown) => void runtime.report(cause);
  const compared = new Set<string>();
  let refuse = (difference: Error): void => {
    throw difference;
  };
  /** Renewals after which this process compares itself with the others. */
  let comparisons = 1;
  let writing: Promise<unknown> | undefined;
  const data = new DataMark(storage);
  const renew = async (isTold = false) => {
    try {
      const isLost = await data.isLost();
      writing = kv.set(key, JSON.stringify({ ...own, renewedAt: Date.now() }), { ttlMs });
      await writing;
      // Otherwise processes with a storage that keeps nothing would tell each other without end.
      if (isLost && !isTold) lost();
      if (comparisons === 0) return;
      for (const [otherKey, other] of await othersOf(storage, key)) {
        if (!compared.has(otherKey)) compare(runtime, own, other, ttlMs, refuse);
        compared.add(otherKey);
      }
      comparisons -= 1;
    } catch (cause) {
      // Twice: a storage that has lost all records gets those of the others before the second one.
      if (isStorageFailure(cause)) comparisons = 2;
      throw cause;
    }
  };
  const remove = async () => {
    // A write that arrives later would bring the record back, and refuse a process with new secrets.
    await writing?.catch(() => {});
    await kv.delete(key).catch(report);
  };
  try {
    await within(compareSecretsMs, renew(), report);
  } catch (cause) {
    // A storage that fails now may answer later.
    if (isStorageFailure(cause)) report(cause);
    else {
      await remove();
      throw cause;
    }
  }
  refuse = report;
  const renewAgain = (isTold?: boolean) => void renew(isTold).catch(report);
  const timer = setInterval(renewAgain, leaseMs);
  if (typeof timer === "object") timer.unref?.();
  return {
    renew: renewAgain,
    async leave() {
      clearInterval(timer);
      await remove();
    },
  };
}

/** The id of the data in a storage. With other data comes another one, which the first process that looks makes. */
class DataMark {
  readonly #storage: Storage;
  /** The id, as this process knows it. */
  #id: string | undefined;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Renews the mark. Resolves to whether the storage has lost its data since the last time. */
  async isLost(): Promise<boolean> {
    const { kv } = this.#storage;
    const before = this.#id;
    // Compared and renewed at once: a loss between a read and a write would never be noticed.
    if (before !== undefined && (await kv.set(dataKey, before, { ttlMs: dataMarkMs, expect: before }))) return false;
    const made = crypto.randomUUID();
    const isMade = await kv.set(dataKey, made, { ttlMs: dataMarkMs, expect: null });
    const stored = isMade ? made : await kv.get(dataKey);
    const isNews = stored !== this.#id;
    this.#id = stored;
    return isNews && before !== undefined;
  }
}

/** Waits for work, but not longer than a time: a storage that hangs must not keep the server from starting. */
async function within(ms: number, work: Promise<void>, reportLate: (cause: unknown) => void): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isLate = false;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      isLate = true;
      resolve();
    }, ms);
  });
  work.catch((cause) => isLate && reportLate(cause));
  await Promise.race([work, over]).finally(() => clearTimeout(timer));
}

async function recordOf({ snapshot }: ServerRuntime): Promise<ProcessRecord> {
  const { info, options } = snapshot;
  const { pid } = (globalThis as { process?: { pid?: number } }).process ?? {};
  return {
    server: info.name,
    version: info.version,
    ...(options.secrets && { keys: await keyIdsOf(options.secrets) }),
    ...(pid !== undefined && { pid }),
  };
}

async function othersOf({ kv }: Storage, ownKey: string): Promise<[key: string, record: ProcessRecord][]> {
  const found = await kv.list(prefix, { limit: maxKnownProcesses });
  return found.filter(({ key }) => key !== ownKey).map(({ key, value }) => [key, JSON.parse(value) as ProcessRecord]);
}

/** Calls `refuse` if two processes of one server cannot open each other's states; reports other differences. */
function compare(
  runtime: ServerRuntime,
  own: ProcessRecord,
  other: ProcessRecord,
  ttlMs: number,
  refuse: (difference: Error) => void,
): void {
  const whose = `process ${other.pid ?? "of unknown number"}, which uses the same storage,`;
  if (other.server !== own.server) {
    const why = `${whose} serves ${JSON.stringify(other.server)} and not ${JSON.stringify(own.server)}: give each server a storage or a prefix of its own`;
    runtime.report(new PortolanError("invalid-argument", `storage: ${why}`));
    return;
  }
  if (!isCompatible(own.keys, other.keys)) {
    const has = other.keys ? "has other secrets" : "keeps its keys in the storage";
    const advice =
      "Give all processes the same secrets; to change one, append the new one in all of them, then move it to the front in all, and remove the old one after `questionTtlMs`";
    const seen = other.renewedAt === undefined ? "" : `, last seen ${new Date(other.renewedAt).toISOString()},`;
    const wait = `If process ${other.pid ?? "of unknown number"}${seen} no longer runs, wait ${ttlMs / 1_000} s and start again`;
    const why = `${whose} ${has}, so that answers to its questions would be refused here. ${advice}. ${wait}`;
    refuse(new PortolanError("invalid-argument", `secrets: ${why}`));
  }
  if (other.version !== own.version) {
    const why = `${whose} runs version ${other.version} of ${JSON.stringify(own.server)}, this one ${own.version}: clients may see the features of either. Start all processes from one version, unless you are just replacing it`;
    runtime.report(new PortolanError("invalid-argument", `version: ${why}`));
  }
}

/** Returns whether each process can open what the other one seals. */
function isCompatible(own: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  if (!own || !other) return own === other;
  return own.includes(other[0] ?? "") && other.includes(own[0] ?? "");
}
