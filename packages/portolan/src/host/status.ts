import type { ServerProfile } from "../client/api.ts";
import type { Source } from "./entry.ts";

/** What a server is doing, as far as its user is concerned. */
export type ServerState =
  /** Switched off by the configuration or the user. */
  | "disabled"
  /** Its entry cannot be used as it is. */
  | "misconfigured"
  /** Nobody has said yet that it may be started. */
  | "untrusted"
  /** It will be started when it is needed. */
  | "idle"
  | "starting"
  | "ready"
  /** It failed: calls fail at once until it is tried again. */
  | "down"
  /** Somebody must sign in first. */
  | "login"
  /** It was removed, or the host is closed. */
  | "closed";

/** A server as an interface shows it. */
export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  readonly source: Source;
  /** Why it is in this state, and what to do, where there is something to say. */
  readonly reason?: string;
  /** Who answered, once somebody has. */
  readonly profile?: ServerProfile;
  readonly pid?: number;
  /** The end of what it wrote to its standard error. */
  readonly stderr?: string;
  /** How long the last start took. */
  readonly startMs?: number;
  /** How often it was started again after it was lost. */
  readonly restarts: number;
  /** In so many milliseconds it is tried again. */
  readonly retryInMs?: number;
}

/** Why a server is in its state, also where that needs no word beside its state. */
export function whyOf({ state, reason }: Pick<ServerStatus, "state" | "reason">): string | undefined {
  if (reason !== undefined || state !== "untrusted") return reason;
  return "nobody has agreed to it: give the host `answers.trust`, or call `host.trust`";
}

/** Why a server takes no part in a run; one without a status is not there. */
export function absence(name: string, status?: ServerStatus): string {
  if (!status) return `${name} takes no part: there is no such server`;
  const why = whyOf(status);
  return `${name} takes no part: it is ${status.state}${why === undefined ? "" : `, ${why}`}`;
}
