import type { ServerEntry } from "portolan-host";

/** Something that is wrong, or might be: what it is, why it matters, what to do. */
export interface Finding {
  readonly id: string;
  readonly level: "error" | "warning" | "note";
  readonly server: string;
  readonly what: string;
  readonly why: string;
  readonly next: string;
}

/** A finding without the server that it is about. */
export type FindingDetails = Omit<Finding, "server">;

/** Where an entry is written, to be corrected there. */
export function entryLocation({ source }: ServerEntry): string {
  return source.kind === "file" ? `${source.path} in ${source.file}` : "the command line";
}
