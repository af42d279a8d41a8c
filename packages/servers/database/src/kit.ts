import type { Bounds, Database, Statement } from "./database.ts";
import type { DatabaseLimits } from "./options.ts";

/** What the features of the server share. */
export interface Kit {
  readonly database: Database;
  readonly limits: DatabaseLimits;
  readonly asks: boolean;
  /** Tells clients that there are other tables now. */
  readonly schemaChanged: () => void;
}

/** The arguments that are a statement. */
export interface StatementArguments {
  readonly sql: string;
  readonly parameters?: Statement["parameters"];
}

export function toStatement({ sql, parameters }: StatementArguments): Statement {
  return { sql, ...(parameters !== undefined && { parameters }) };
}

/** The bounds of a result with at most so many rows. */
export function toBounds({ maxBytes, maxValueLength, maxBlobBytes }: DatabaseLimits, maxRows: number): Bounds {
  return { maxRows, maxBytes, maxValueLength, maxBlobBytes };
}
