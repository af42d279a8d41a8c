import type { ServerEntry } from "portolan-host";

/** A problem of a server or file: what it is, why it matters, what to do. */
export interface Finding {
  readonly id: string;
  readonly level: "error" | "warning" | "note";
  readonly server: string;
  readonly what: string;
  readonly why: string;
  readonly next: string;
  /** Where the cause is configured. */
  readonly place?: string;
  readonly repair?: Repair;
}

/** The repair of the cause of a finding, for a front end that can make it. */
export type Repair =
  /** The person gives a value for a variable of the server's environment. */
  | { readonly kind: "variable"; readonly name: string; readonly isSecret: boolean }
  /** Variables of the shell are passed to the server. */
  | { readonly kind: "pass-variables"; readonly names: readonly string[] }
  | { readonly kind: "sign-in" }
  | { readonly kind: "enable" };

/** A finding without its server. */
export type FindingDetails = Omit<Finding, "server">;

/** The steps of an examination, in order. A step that finds an error is the last one. */
export type ExaminationStep = "entry" | "trust" | "start" | "lists" | "tools" | "messages";

/** One step of an examination with what it found. */
export interface ExaminedStep {
  readonly step: ExaminationStep;
  readonly findings: readonly FindingDetails[];
}

/** Returns where an entry is written. */
export function entryLocation({ source }: ServerEntry): string {
  return source.kind === "file" ? `${source.path} in ${source.file}` : "the command line";
}
