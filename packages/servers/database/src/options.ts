/** Options of `createDatabase` and `openDatabase`. */
export interface DatabaseOptions {
  /** `sqlite:<path>`, a path, or `postgres://user@host:port/name`. */
  readonly url: string;
  /** Offers the tool that changes the database. Default: false. */
  readonly write?: boolean;
  /** Asks the user before a statement changes something. Default: true. */
  readonly ask?: boolean;
  /** PostgreSQL schemas to show and search. Default: all that the role may use. */
  readonly schemas?: readonly string[];
  /** Accepts a PostgreSQL role that reaches beyond the database, and all functions in queries. Default: false. */
  readonly trustRole?: boolean;
  readonly limits?: Partial<DatabaseLimits>;
}

/** Limits of one call. */
export interface DatabaseLimits {
  /** Rows in a result. Default: 1,000. */
  readonly maxRows: number;
  /** Bytes of a result. Default: 262,144. */
  readonly maxBytes: number;
  /** Characters of a value; longer ones are shortened. Default: 10,000. */
  readonly maxValueLength: number;
  /** Bytes of a blob; of larger ones only the size is shown. Default: 4,096. */
  readonly maxBlobBytes: number;
  /** Time for a statement. Default: 15,000. At most 24 hours. */
  readonly timeoutMs: number;
  /** Statements that run at the same time; of one authenticated caller one less. Default: 4. */
  readonly connections: number;
  /** Statements that wait for a connection. Default: 64. */
  readonly maxWaiting: number;
  /** Tables in a list, and in the schema resource. Default: 500. */
  readonly maxTables: number;
  /** Characters of a statement. Default: 100,000. */
  readonly maxSqlLength: number;
  /** Memory of a process that runs SQLite, in megabytes. Default: 512. */
  readonly maxMemoryMb: number;
  /**
   * Temporary files of a PostgreSQL session, in megabytes. A role that may not set this limit is measured: a statement is
   * stopped when all temporary files of the database grow by more while it runs. Default: 512.
   */
  readonly maxTempMb: number;
}

const defaultLimits: DatabaseLimits = {
  maxRows: 1_000,
  maxBytes: 256 * 1024,
  maxValueLength: 10_000,
  maxBlobBytes: 4_096,
  timeoutMs: 15_000,
  connections: 4,
  maxWaiting: 64,
  maxTables: 500,
  maxSqlLength: 100_000,
  maxMemoryMb: 512,
  maxTempMb: 512,
};

/** Node's timers overflow after 24.8 days; a day is long enough for any statement. */
const maxTimeoutMs = 24 * 3_600_000;

/** Returns all limits with their defaults; throws a RangeError for a limit out of range. */
export function toLimits(given: Partial<DatabaseLimits> = {}): DatabaseLimits {
  const limits = { ...defaultLimits, ...given };
  for (const [name, value] of Object.entries(limits)) {
    const least = name === "maxWaiting" || name === "maxBlobBytes" ? 0 : 1;
    const most = name === "timeoutMs" ? maxTimeoutMs : Number.MAX_SAFE_INTEGER;
    if (Number.isInteger(value) && value >= least && value <= most) continue;
    throw new RangeError(`${name}: expected a whole number from ${least} to ${most}, got ${value}`);
  }
  return limits;
}
