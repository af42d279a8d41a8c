import type { Meta } from "./base.ts";

/** A place that a client suggests a server works in. */
export interface Root {
  /** A `file:` address. */
  uri: string;
  name?: string;
  _meta?: Meta;
}

/** The answer to `roots/list`. */
export interface ListRootsResult {
  roots: Root[];
  _meta?: Meta;
}
