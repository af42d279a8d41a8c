import { PortolanError } from "../../../errors.ts";
import { keyIdsOf } from "../../../storage/crypto.ts";
import type { Storage } from "../../../storage/storage.ts";
import { isStorageFailure } from "../../reported-storage.ts";
import type { ServerRuntime } from "../../runtime.ts";
import { compareMs, maxKnownProcesses, processLeaseMs } from "../limits.ts";

/** A process, as the others with the same storage see it. */
interface ProcessRecord {
  readonly server: string;
  readonly version: string;
  /** The ids of its secrets, the one that seals first. Absent if its keys are in the storage. */
  readonly keys?: readonly string[];
  /** The number that the operating system gave it, if there is one. */
  readonly pid?: number;
}

const prefix = "mcp/process/";

/**
 * Tells the processes that share the storage of this one. Resolves to the function that takes it back. Rejects if another
 * process of the same server has other secrets: each would refuse the states that the other one sealed.
 */
export async function register(runtime: ServerRuntime, storage: Storage): Promise<() => Promise<void>> {
  const { kv } = storage;
  const key = prefix + crypto.randomUUID();
  const own = await recordOf(runtime);
  const write = async () => void (await kv.set(key, JSON.stringify(own), { ttlMs: processLeaseMs }));
  const remove = () => kv.delete(key).catch((cause) => void runtime.report(cause));
  const compareAll = async () => {
    await write();
    for (const other of await othersOf(storage, key)) compare(runtime, own, other);
  };
  try {
    await within(compareMs, compareAll(), (cause) => runtime.report(cause));
  } catch (cause) {
    // A storage that fails now may answer later; the processes compare themselves when the next one starts.
    if (isStorageFailure(cause)) runtime.report(cause);
    else {
      await remove();
      throw cause;
    }
  }
  const timer = setInterval(() => write().catch((cause) => runtime.report(cause)), processLeaseMs / 3);
  if (typeof timer === "object") timer.unref?.();
  return async () => {
    clearInterval(timer);
    await remove();
  };
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

async function othersOf({ kv }: Storage, ownKey: string): Promise<ProcessRecord[]> {
  const found = await kv.list(prefix, { limit: maxKnownProcesses });
  return found.filter(({ key }) => key !== ownKey).map(({ value }) => JSON.parse(value) as ProcessRecord);
}

/** Throws if two processes of one server cannot open each other's states; reports other differences. */
function compare(runtime: ServerRuntime, own: ProcessRecord, other: ProcessRecord): void {
  const whose = `process ${other.pid ?? "of unknown number"}, which uses the same storage,`;
  if (other.server !== own.server) {
    const why = `${whose} serves ${JSON.stringify(other.server)} and not ${JSON.stringify(own.server)}: give each server a storage or a prefix of its own`;
    runtime.report(new PortolanError("invalid-argument", `storage: ${why}`));
    return;
  }
  if (!isCompatible(own.keys, other.keys)) {
    const has = other.keys ? "has other secrets" : "keeps its keys in the storage";
    throw new PortolanError(
      "invalid-argument",
      `secrets: ${whose} ${has}, so that answers to its questions would be refused here. Give all processes the same secrets; to change one, append the new one in all of them, then move it to the front in all, and remove the old one after \`questionTtlMs\``,
    );
  }
  if (other.version !== own.version) {
    const why = `${whose} runs version ${other.version} of ${JSON.stringify(own.server)}, this one ${own.version}: clients may see the features of either`;
    runtime.report(new PortolanError("invalid-argument", `version: ${why}`));
  }
}

/** Returns whether each process can open what the other one seals. */
function isCompatible(own: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  if (!own || !other) return own === other;
  return own.includes(other[0] ?? "") && other.includes(own[0] ?? "");
}
