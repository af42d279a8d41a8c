import { readFileSync } from "node:fs";
import type { ExtensionRequirement } from "../../scripts/requirements-matrix.mjs";
import { exceptions } from "../http/server/exceptions.ts";
import { scopeOf as scopeOverHttp } from "../http/server/requirement.ts";
import { manifest as serverHttp } from "../http/server/rows/index.ts";
import { sections as serverHttpSections } from "../http/server/sections/index.ts";
import { type RevisionDate, revisions } from "../kit/revisions.ts";
import { scopeOf as scopeOfHttpClient } from "../requirements/client/http/requirement.ts";
import { manifest as clientHttp } from "../requirements/client/http/rows/index.ts";
import { sections as clientHttpSections } from "../requirements/client/http/sections/index.ts";
import { manifest as client } from "../requirements/client/manifest.ts";
import { scopeOf as scopeOfClient } from "../requirements/client/requirement.ts";
import { sections as clientSections } from "../requirements/client/sections/index.ts";
import { type Row, manifest as server } from "../requirements/manifest.ts";
import { scopeOf } from "../requirements/requirement.ts";
import { sections as serverSections } from "../requirements/sections/index.ts";

/** The transports, in the order of the tables. */
export const places = ["memory", "stdio", "http"] as const;

export type Place = (typeof places)[number];

/** One requirement with the revisions and transports that tests cover. */
export interface CoveredRow {
  readonly row: string;
  readonly about: string;
  readonly at: ReadonlySet<`${RevisionDate} ${Place}`>;
  /** The reason why no test covers it; undefined if one does. */
  readonly reason: string | undefined;
  /** The part that is not fulfilled. */
  readonly lacks: string | undefined;
  /** The requirement in the words of the specification matrix; undefined for a requirement of our own. */
  readonly requirement: MatrixRow | undefined;
  /** The requirement on an extension in the words of its digest, with its level. */
  readonly extension: ExtensionRequirement | undefined;
}

/** A requirement of the specification matrix. */
export interface MatrixRow {
  readonly requirement: string;
  readonly text: string;
  /** The keywords of RFC 2119 in each revision that has the requirement, such as `MUST/SHOULD`. */
  readonly levels: { readonly [revision: string]: string };
}

/** The specification matrix, as scripts/requirements-matrix.mjs writes it. */
export const matrix: { readonly [id: string]: MatrixRow } = JSON.parse(
  readFileSync(new URL("../requirements/matrix.json", import.meta.url), "utf8"),
);

/** The requirements on extensions, by `X` and a number. */
const extensionRequirements: { readonly [id: string]: ExtensionRequirement } = JSON.parse(
  readFileSync(new URL("../requirements/extensions.json", import.meta.url), "utf8"),
);

/** Returns the identifier of a row in the specification matrix. Rows of our own have none. */
export function matrixId(row: string): string | undefined {
  const id = row.replace(/^C-/, "");
  return /^[A-SU-W]\d+$/.test(id) ? id : undefined;
}

/** Revisions of a row that another row tests. */
export const testedElsewhere: { readonly [row: string]: { readonly [revision: string]: string } } = {
  D4: { "2025-03-26": "E20", "2025-06-18": "E20", "2025-11-25": "E20", "2026-07-28": "E20" },
  E1: { "2026-07-28": "F20" },
  E19: { "2026-07-28": "F5" },
  K16: { "2025-11-25": "E22" },
  "C-E4": { "2026-07-28": "C-F21" },
  // A client that meets such a server opens with a handshake, so that it speaks an older revision.
  "C-B17": { "2026-07-28": "the older revisions" },
};

/** The chapters of the requirements, by the first letter of their rows. Rows of extensions are X and a number. */
export const chapters: { readonly [letter: string]: string } = {
  A: "Base protocol",
  B: "Lifecycle and versions",
  C: "stdio",
  D: "HTTP+SSE",
  E: "Streamable HTTP with sessions",
  F: "HTTP without sessions",
  G: "Tools",
  H: "Resources, prompts, completion",
  I: "Content and schemas",
  J: "Utilities",
  K: "Roots, sampling, elicitation",
  M: "Questions in rounds",
  U: "Subscriptions",
  T: "Threats",
  X: "What the specification leaves open",
  "X…": "Extensions",
};

/** Returns the letter of a row's chapter. */
export function chapterOf(row: string): string {
  const own = row.replace(/^C-/, "");
  if (/^X\d/.test(own)) return "X…";
  const letter = own.startsWith("X-") ? "X" : own.replace(/^X/, "")[0];
  if (letter === undefined || !(letter in chapters)) throw new Error(`the row ${row} is in no chapter`);
  return letter;
}

type Covered = Map<string, Set<`${RevisionDate} ${Place}`>>;

function cover(covered: Covered, row: string, on: readonly RevisionDate[], over: readonly Place[]): void {
  const at = covered.get(row) ?? new Set();
  for (const revision of on) for (const place of over) at.add(`${revision} ${place}`);
  covered.set(row, at);
}

/** Returns every requirement on servers. */
export function serverCoverage(): CoveredRow[] {
  const covered: Covered = new Map();
  for (const requirement of Object.values(serverSections).flat()) {
    const { row, says } = requirement;
    const { on, over } = scopeOf(requirement);
    cover(covered, row, on, over);
    if (!over.includes("memory")) continue;
    // The same test also runs over HTTP, unless HTTP has its own rule.
    const excepted = exceptions.filter((one) => one.row === row && one.says === says).flatMap((one) => one.on);
    const others = on.filter((revision) => !excepted.includes(revision));
    cover(covered, row, others, ["http"]);
  }
  for (const requirement of Object.values(serverHttpSections).flat()) {
    cover(covered, requirement.row, scopeOverHttp(requirement), ["http"]);
  }
  return join([server, serverHttp], covered);
}

/** Returns every requirement on clients. */
export function clientCoverage(): CoveredRow[] {
  const covered: Covered = new Map();
  for (const requirement of Object.values(clientSections).flat()) {
    const { on, over } = scopeOfClient(requirement);
    cover(covered, requirement.row, on, over);
  }
  for (const requirement of Object.values(clientHttpSections).flat()) {
    cover(covered, requirement.row, scopeOfHttpClient(requirement), ["http"]);
  }
  return join([client, clientHttp], covered);
}

/** Merges the rows of several manifests in the order of their chapters. */
function join(manifests: readonly { readonly [row: string]: Row }[], covered: Covered): CoveredRow[] {
  const names = [...new Set(manifests.flatMap((manifest) => Object.keys(manifest)))];
  const letters = Object.keys(chapters);
  const place = (row: string) => letters.indexOf(chapterOf(row));
  return names
    .sort((one, other) => place(one) - place(other))
    .map((row) => {
      const entries = manifests.flatMap((manifest) => manifest[row] ?? []);
      const at = covered.get(row) ?? new Set();
      const lacks = entries.flatMap((entry) => ("on" in entry && entry.lacks !== undefined ? [entry.lacks] : []));
      return {
        row,
        about: entries[0]?.about ?? "",
        at,
        reason: at.size > 0 ? undefined : reasonOf(entries),
        lacks: lacks[0],
        requirement: matrix[matrixId(row) ?? ""],
        extension: extensionRequirements[row.replace(/^C-/, "")],
      };
    });
}

function reasonOf(entries: readonly Row[]): string {
  const [entry] = entries;
  if (entry && "untestable" in entry) return entry.untestable;
  if (entry && "later" in entry) return `belongs to ${entry.later}`;
  return "no test";
}

/** Returns the number of covered rows on a revision, for each transport. */
export function countsOf(rows: readonly CoveredRow[], revision: RevisionDate): number[] {
  return places.map((place) => rows.filter(({ at }) => at.has(`${revision} ${place}`)).length);
}

export { revisions };
