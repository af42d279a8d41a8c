import type { ActivityEntry } from "portolan-host";

/** States that every use of a server passes. */
const ordinaryStates: readonly unknown[] = ["idle", "untrusted", "disabled", "starting", "ready", "closed"];

/** True for an entry about an ordinary state of a server. Such entries would hide what people look for in the log. */
export function isOrdinaryState({ kind, ...entry }: ActivityEntry): boolean {
  return kind === "server" && ordinaryStates.includes(entry["state"]);
}

/** Returns what an entry is about: a server, and its tool or resource. */
export function subjectOf({ server = "", name = "" }: ActivityEntry): string {
  return [server, name].filter(Boolean).join(".");
}

/** Returns the other members of an entry. Ids and digests are for programs. */
export function detailsOf(entry: ActivityEntry): string {
  const { seq: _seq, at: _at, kind: _kind, server: _server, name: _name, ...rest } = entry;
  const { id: _id, run: _run, digest: _digest, ...more } = rest;
  return Object.keys(more).length > 0 ? JSON.stringify(more) : "";
}
