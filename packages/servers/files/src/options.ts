/** Limits of the server; a result that was cut at a limit says so. */
export interface Limits {
  /** Bytes of text in one read. Default: 256 KiB. */
  readonly readBytes: number;
  /** Bytes of other content in one read, and of a resource. Default: 5 MiB. */
  readonly blobBytes: number;
  /** Bytes in one write, and of a file before and after each edit. Default: 10 MiB. */
  readonly writeBytes: number;
  /** Places that the edits of one call replace together. Default: 100,000. */
  readonly replaced: number;
  /** Bytes of a file that can be copied. Default: 4 GiB. */
  readonly copyBytes: number;
  /** Entries in one result. Default: 1,000. */
  readonly results: number;
  /** Entries that one call visits. Default: 200,000. */
  readonly walked: number;
  /** Depth of nested folders that one call visits. Default: 64. */
  readonly depth: number;
  /** Time for one search, by content or by name. Default: 10,000. */
  readonly searchMs: number;
  /** Time for a regular expression on one piece of text. Default: 250. */
  readonly patternMs: number;
  /** Files and folders in the list of resources. Default: 1,000. */
  readonly listed: number;
  /** Files and folders watched below one folder. Default: 5,000. */
  readonly watched: number;
  /** Files and folders watched for one authenticated caller. Default: 10,000. */
  readonly watchedPerCaller: number;
  /** Files and folders watched for all callers together. Default: 20,000. */
  readonly watchedInAll: number;
  /** Entries that one call can remove. Default: 10,000. */
  readonly removed: number;
}

/** Options of `createFiles`. */
export interface FilesOptions {
  /** Folders to serve. Nothing outside them is accessible. */
  readonly folders?: readonly string[];
  /**
   * How the client's roots are used: `narrow` serves only folders that both name, `provide` also serves the roots of a
   * local client, `ignore` ignores them. Default: `narrow`.
   */
  readonly clientRoots?: "narrow" | "provide" | "ignore";
  /** Leaves out all tools that write. Default: false. */
  readonly readOnly?: boolean;
  /** Also serves names that start with a dot. Default: false. */
  readonly hidden?: boolean;
  /** Asks the user before something is replaced or removed, if the client can ask. Default: true. */
  readonly ask?: boolean;
  /** Names of folders that searches and lists skip. Default: node_modules and .git. */
  readonly ignore?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** Stops all file watchers when aborted. */
  readonly signal?: AbortSignal;
}

/** The options with all defaults. */
export interface Settings {
  readonly clientRoots: "narrow" | "provide" | "ignore";
  readonly readOnly: boolean;
  readonly hidden: boolean;
  readonly ask: boolean;
  readonly ignore: ReadonlySet<string>;
  readonly limits: Limits;
  readonly signal: AbortSignal | undefined;
}

const kilobyte = 1024;
const megabyte = 1024 * kilobyte;

const defaults: Limits = {
  readBytes: 256 * kilobyte,
  blobBytes: 5 * megabyte,
  writeBytes: 10 * megabyte,
  replaced: 100_000,
  copyBytes: 4 * 1024 * megabyte,
  results: 1_000,
  walked: 200_000,
  depth: 64,
  searchMs: 10_000,
  patternMs: 250,
  listed: 1_000,
  watched: 5_000,
  watchedPerCaller: 10_000,
  watchedInAll: 20_000,
  removed: 10_000,
};

export function toSettings(options: FilesOptions): Settings {
  const { clientRoots = "narrow", readOnly = false, hidden = false, ask = true, signal } = options;
  const { ignore = ["node_modules", ".git"], limits = {} } = options;
  return { clientRoots, readOnly, hidden, ask, ignore: new Set(ignore), limits: { ...defaults, ...limits }, signal };
}
