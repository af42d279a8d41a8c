import { homedir } from "node:os";
import { join } from "node:path";

/** Options of a memory store. */
export interface StoreOptions {
  readonly file: string;
  /** Size limit of the file. Default: 256 MiB. */
  readonly maxFileBytes: number;
  /** Bytes to append before the file is compacted, at least as many as it had after the last compaction. Default: 1 MiB. */
  readonly compactBytes: number;
  /** How long a change waits for the lock of another process. Default: 40 s, longer than the lock of a dead one holds. */
  readonly lockWaitMs: number;
  /** Changes that wait to be written; callers share them. Default: 1,000. */
  readonly maxWaiting: number;
  /** Called for problems with the file. Default: prints to standard error. */
  readonly onProblem: (problem: string) => void;
}

/** Limits of one call. */
export interface Limits {
  /** Entities, relations or observations in one call. Default: 1,000. */
  readonly maxItems: number;
  /** Characters of a name or type. Default: 256. */
  readonly maxNameLength: number;
  /** Characters of an observation. Default: 20,000. */
  readonly maxTextLength: number;
  /** Entities on a page. Default: 200. */
  readonly maxPage: number;
  /** Approximate characters of a result. Default: 400,000. */
  readonly maxResultLength: number;
  /** Characters of an import. Default: 8 million. */
  readonly maxImportLength: number;
  /** Characters of an import over HTTP, whose callers share the server. Default: 500,000. */
  readonly maxHttpImportLength: number;
  /** Entities, relations and observations in one call over HTTP, together. Default: 20,000. */
  readonly maxHttpItems: number;
}

/** Options of `createMemory`. */
export interface MemoryOptions extends Partial<StoreOptions>, Partial<Limits> {
  /** Namespace of calls that name none. Default: `default`. */
  readonly namespace?: string;
}

export const defaultLimits: Limits = {
  maxItems: 1_000,
  maxNameLength: 256,
  maxTextLength: 20_000,
  maxPage: 200,
  maxResultLength: 400_000,
  maxImportLength: 8_000_000,
  maxHttpImportLength: 500_000,
  maxHttpItems: 20_000,
};

/** Returns the options with all defaults. */
export function toStoreOptions(given: Partial<StoreOptions>): StoreOptions {
  return {
    file: given.file ?? defaultFile(),
    maxFileBytes: given.maxFileBytes ?? 256 * 1024 * 1024,
    compactBytes: given.compactBytes ?? 1024 * 1024,
    lockWaitMs: given.lockWaitMs ?? 40_000,
    maxWaiting: given.maxWaiting ?? 1_000,
    onProblem: given.onProblem ?? ((problem) => console.error(`portolan-memory: ${problem}`)),
  };
}

/** Returns the default path of the file, in the user's data folder. */
export function defaultFile(env: NodeJS.ProcessEnv = process.env): string {
  const shared = process.platform === "win32" ? env["LOCALAPPDATA"] : env["XDG_DATA_HOME"];
  // The XDG specification says to ignore a relative path.
  const folder = shared?.match(/^([/\\]|[a-z]:)/i) ? shared : join(homedir(), ".local", "share");
  return join(folder, "portolan", "memory.log");
}
