import { homedir } from "node:os";
import { join } from "node:path";

/** How a store keeps its file. */
export interface StoreOptions {
  readonly file: string;
  /** The largest file; 256 MiB unless said otherwise. */
  readonly maxFileBytes: number;
  /** How much may be added before the file is written anew; 1 MiB unless said otherwise, and never less than the rest. */
  readonly compactBytes: number;
  /** How long a change may wait for those of others; 20 s unless said otherwise. */
  readonly lockWaitMs: number;
  /** Hears what is wrong with the file; printed to standard error unless said otherwise. */
  readonly onProblem: (problem: string) => void;
}

/** How much one call may bring and get. */
export interface Limits {
  /** Entities, relations and observations in one call; 1,000 unless said otherwise. */
  readonly maxItems: number;
  /** Characters of a name or type; 256 unless said otherwise. */
  readonly maxNameLength: number;
  /** Characters of an observation; 20,000 unless said otherwise. */
  readonly maxTextLength: number;
  /** Entities of a page; 200 unless said otherwise. */
  readonly maxPage: number;
  /** Characters of a result, about; 400,000 unless said otherwise. */
  readonly maxResultLength: number;
  /** Characters of an imported text; 8 million unless said otherwise. */
  readonly maxImportLength: number;
}

/** What a memory server is told. */
export interface MemoryOptions extends Partial<StoreOptions>, Partial<Limits> {
  /** The namespace that is meant where none is named; `default` unless given. */
  readonly namespace?: string;
}

export const defaultLimits: Limits = {
  maxItems: 1_000,
  maxNameLength: 256,
  maxTextLength: 20_000,
  maxPage: 200,
  maxResultLength: 400_000,
  maxImportLength: 8_000_000,
};

/** Fills in what was not said. */
export function toStoreOptions(given: Partial<StoreOptions>): StoreOptions {
  return {
    file: given.file ?? defaultFile(),
    maxFileBytes: given.maxFileBytes ?? 256 * 1024 * 1024,
    compactBytes: given.compactBytes ?? 1024 * 1024,
    lockWaitMs: given.lockWaitMs ?? 20_000,
    onProblem: given.onProblem ?? ((problem) => console.error(`portolan-memory: ${problem}`)),
  };
}

/** Where a memory is kept by default: in the user's data folder. */
export function defaultFile(env: NodeJS.ProcessEnv = process.env): string {
  const shared = process.platform === "win32" ? env["LOCALAPPDATA"] : env["XDG_DATA_HOME"];
  // The specification of these folders says that a relative one is to be ignored.
  const folder = shared?.match(/^([/\\]|[a-z]:)/i) ? shared : join(homedir(), ".local", "share");
  return join(folder, "portolan", "memory.log");
}
