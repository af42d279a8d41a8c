/** What a database server is told. */
export interface DatabaseOptions {
  /** `sqlite:<path>`, a path, or `postgres://user@host:port/name`. */
  readonly url: string;
  /** Offers the tool that changes the database; false unless said otherwise. */
  readonly write?: boolean;
  /** Whether the user is asked before a statement changes something; true unless said otherwise. */
  readonly asks?: boolean;
  /** The schemas of PostgreSQL that are shown and searched; all that the role may use unless given. */
  readonly schemas?: readonly string[];
  /** Whether a role of PostgreSQL is taken that reaches beyond the database, as a superuser; false unless said otherwise. */
  readonly trustRole?: boolean;
  readonly limits?: Partial<DatabaseLimits>;
}

/** How much one call may give, take and last. */
export interface DatabaseLimits {
  /** Rows in a result; 1,000 unless said otherwise. */
  readonly maxRows: number;
  /** Bytes of a result; 262,144 unless said otherwise. */
  readonly maxBytes: number;
  /** Characters of a value; 10,000 unless said otherwise. */
  readonly maxValueLength: number;
  /** Bytes of a blob that is shown; 4,096 unless said otherwise. */
  readonly maxBlobBytes: number;
  /** How long a statement may take; 15,000 unless said otherwise. */
  readonly timeoutMs: number;
  /** Statements that run at once; 4 unless said otherwise. */
  readonly connections: number;
  /** Statements that wait for their turn; 64 unless said otherwise. */
  readonly maxWaiting: number;
  /** Tables that are listed, or described in the schema; 500 unless said otherwise. */
  readonly maxTables: number;
  /** Characters of a statement; 100,000 unless said otherwise. */
  readonly maxSqlLength: number;
  /** Megabytes that a process with SQLite may occupy; 512 unless said otherwise. */
  readonly maxMemoryMb: number;
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
};

/** No timer waits longer than that. */
const maxTimeoutMs = 24 * 3_600_000;

/** Fills in what was not said; throws for a limit that is none. */
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
