/** How much the server does at once; whatever goes further is cut, and the answer says so. */
export interface Limits {
  /** Text that one read gives, in bytes. */
  readonly readBytes: number;
  /** What is no text, in one read; also a resource as a whole. */
  readonly blobBytes: number;
  /** What one write takes, and the largest file that can be edited. */
  readonly writeBytes: number;
  /** The largest file that is copied. */
  readonly copyBytes: number;
  /** Entries in one answer. */
  readonly results: number;
  /** Entries that one call looks at. */
  readonly walked: number;
  /** How deep folders are looked into. */
  readonly depth: number;
  /** How long one search may take. */
  readonly searchMs: number;
  /** How long a pattern may take over one piece of text. */
  readonly patternMs: number;
  /** Files and folders in the list of resources. */
  readonly listed: number;
  /** Files and folders that are watched below one folder. */
  readonly watched: number;
  /** Entries that one call removes. */
  readonly removed: number;
}

/** What a server of files is told. */
export interface FilesOptions {
  /** The folders to serve; nothing else exists for the server. */
  readonly folders?: readonly string[];
  /**
   * What the client's roots do: `narrow` the folders to what both name (the default), `provide` more folders, which
   * only a local client may, or nothing (`ignore`).
   */
  readonly clientRoots?: "narrow" | "provide" | "ignore";
  /** Leaves the tools out that write. */
  readonly readOnly?: boolean;
  /** Names that begin with a dot exist too. */
  readonly hidden?: boolean;
  /** Asks the user, where the client can, before something is replaced or removed; true unless said otherwise. */
  readonly ask?: boolean;
  /** Names of folders that searching and listing pass by; node_modules and .git unless said otherwise. */
  readonly ignore?: readonly string[];
  readonly limits?: Partial<Limits>;
  /** Ends all watching of files. */
  readonly signal?: AbortSignal;
}

/** The options with nothing left open. */
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
  copyBytes: 4 * 1024 * megabyte,
  results: 1_000,
  walked: 200_000,
  depth: 64,
  searchMs: 10_000,
  patternMs: 250,
  listed: 1_000,
  watched: 5_000,
  removed: 10_000,
};

export function toSettings(options: FilesOptions): Settings {
  const { clientRoots = "narrow", readOnly = false, hidden = false, ask = true, signal } = options;
  const { ignore = ["node_modules", ".git"], limits = {} } = options;
  return { clientRoots, readOnly, hidden, ask, ignore: new Set(ignore), limits: { ...defaults, ...limits }, signal };
}
