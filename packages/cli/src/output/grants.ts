import type { Grant } from "portolan-host";
import { Failure } from "../failure.ts";
import type { Screen } from "../terminal/screen.ts";

const idLength = 8;
/** Fewer characters could be a typing mistake. */
const minIdLength = 4;

/** Sorts grants by server, then by what they are for. */
export function sortGrants(grants: readonly Grant[]): Grant[] {
  return grants.toSorted((a, b) => order(a.server, b.server) || order(a.kind, b.kind) || order(a.subject, b.subject));
}

/** True for a grant that tells a person something: labels that are not trusted are as they were before. */
export function isInformative({ kind, subject, allow }: Grant): boolean {
  return kind !== "trust" || subject !== "hints" || allow;
}

/** Formats grants and denials as a table. */
export function grantsTable(grants: readonly Grant[], screen: Screen): string {
  const head = ["id", "", "what", "server", "until"].map((title) => screen.style("dim", title));
  const rows = grants.map((grant) => describe(grant, screen));
  return screen.table([head, ...rows], { isTitled: true });
}

/** Says what changes when a grant is revoked. */
export function revokedText(grant: Grant, screen: Screen): string {
  const { kind, subject, server } = grant;
  if (kind === "trust" && subject === "hints") return `the read-only labels of ${screen.safe(server)} count no more`;
  if (kind === "trust") return `${screen.safe(server)} will be asked for before it starts`;
  return `${screen.safe(grantName(grant))} will be asked for again`;
}

/** Returns the name by which a person can revoke a grant: `server.tool`, or `server.sampling`. */
export function grantName({ server, subject, kind }: Pick<Grant, "server" | "subject" | "kind">): string {
  return `${server}.${subject || kind}`;
}

/**
 * Finds the grants to revoke: one by its id or the first characters of it, or all of one name, such as `files.write`.
 * `next` is the command that lists them.
 */
export function findGrants(grants: readonly Grant[], wanted: string, next: string): readonly Grant[] {
  const named = grants.filter((grant) => grantName(grant) === wanted);
  if (named.length > 0 && named.every(({ kind }) => kind === named[0]?.kind)) return named;
  const found = wanted.length < minIdLength ? [] : grants.filter(({ id }) => id.startsWith(wanted));
  if (found.length === 1) return found;
  const isAmbiguous = found.length > 1 || named.length > 0;
  const problem = isAmbiguous ? "several grants match" : "no grant has the id or name";
  throw new Failure("usage", `${problem} ${JSON.stringify(wanted)}`, { next });
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function describe({ id, allow, kind, subject, server, args, expiresAt, scope }: Grant, screen: Screen): string[] {
  const what = kind === "trust" ? (subject === "hints" ? "--yes-read-only covers it" : "start") : `${kind} ${subject}`;
  return [
    id.slice(0, idLength),
    allow ? screen.style("green", "allowed") : screen.style("red", "denied"),
    `${screen.safe(what.trim())}${args === undefined ? "" : " (certain arguments)"}`,
    screen.safe(server),
    scope === "session" ? "end of session" : expiresAt === undefined ? "" : dayOf(expiresAt),
  ];
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
