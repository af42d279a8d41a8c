import type { ServerEntry } from "portolan-host";

/** A problem of a server or file: what it is, why it matters, what to do. */
export interface Finding {
  readonly id: string;
  readonly level: "error" | "warning" | "note";
  readonly server: string;
  readonly what: string;
  readonly why: string;
  readonly next: string;
}

/** A finding without its server. */
export type FindingDetails = Omit<Finding, "server">;

/** Returns where an entry is written. */
export function entryLocation({ source }: ServerEntry): string {
  return source.kind === "file" ? `${source.path} in ${source.file}` : "the command line";
}
