import type { Matrix } from "../../scripts/interop/matrix.mjs";
import {
  type CoveredRow,
  chapterOf,
  chapters,
  clientCoverage,
  countsOf,
  places,
  revisions,
  serverCoverage,
  testedElsewhere,
} from "./coverage.ts";
import type { Score } from "./json-schema.ts";

/** The score of one side of an implementation in the official suite, as test/conformance/run.mjs writes it. */
export interface SuiteScore {
  /** Default: ours. */
  readonly implementation?: string;
  readonly revision: string;
  readonly side: string;
  readonly passed: number;
  readonly applicable: number;
  /** Scenarios that are known to fail, or their number. */
  readonly exceptions: number | readonly string[];
}

/** Returns the text between the markers of a part. */
export function partOf(text: string, name: string): string {
  const part = new RegExp(`<!-- ${name} -->\\n([\\s\\S]*?)\\n<!-- end ${name} -->`).exec(text)?.[1];
  if (part === undefined) throw new Error(`docs/conformance.md has no part "${name}"`);
  return part.trim();
}

/** Returns the document with a new text in one part. */
export function withPart(text: string, name: string, content: string): string {
  const before = text.indexOf(`<!-- ${name} -->`);
  const end = text.indexOf(`<!-- end ${name} -->`);
  if (before === -1 || end === -1) throw new Error(`docs/conformance.md has no part "${name}"`);
  return `${text.slice(0, before)}<!-- ${name} -->\n\n${content}\n\n${text.slice(end)}`;
}

/** Renders the scores of the official suite, one column per implementation. */
export function renderSuite(scores: readonly SuiteScore[]): string {
  const nameOf = ({ implementation = "Portolan" }: SuiteScore) => implementation;
  const names = [...new Set(["Portolan", ...scores.map(nameOf)])];
  const keys = [...new Set(scores.map(({ revision, side }) => `${revision} ${side}`))];
  const cellOf = (key: string, name: string) => {
    const score = scores.find((one) => `${one.revision} ${one.side}` === key && nameOf(one) === name);
    if (!score) return "";
    const { passed, applicable, exceptions } = score;
    const excepted = typeof exceptions === "number" ? exceptions : exceptions.length;
    return `${passed} of ${applicable}${excepted > 0 ? `, ${excepted} excepted` : ""}`;
  };
  const rows = keys.map((key) => [...key.split(" "), ...names.map((name) => cellOf(key, name))]);
  return toMarkdown(["revision", "side", ...names], rows);
}

/** Renders the scenarios that are not counted as passed, with the reasons. */
export function renderExceptions(exceptions: { readonly [scenario: string]: string }): string {
  const lines = Object.entries(exceptions).map(([name, reason]) => `- \`${name}\`: ${reason}`);
  return lines.length === 0 ? "" : `\n\nExcepted:\n\n${lines.join("\n")}`;
}

/** Renders the table of all peers, with the reasons for gaps. */
export function renderInterop({ heading, rows, reasons }: Matrix): string {
  const legend = reasons.map((reason, at) => `${at + 1}. ${reason}`).join("\n");
  return `${toMarkdown(heading, rows)}\n\nThe numbers say why a peer lacks something, or a part of it:\n\n${legend}`;
}

export function renderJsonSchema(scores: readonly Score[]): string {
  const rows = scores.map(({ validator, draft, right, wrong, refused }) =>
    [validator, draft, right + wrong + refused, right, wrong, refused].map(String),
  );
  return toMarkdown(["validator", "draft", "cases", "right", "wrong", "refused"], rows);
}

/** Renders the tested requirements with their revisions and transports. */
export function renderCoverage(): string {
  const sides = { Servers: serverCoverage(), Clients: clientCoverage() };
  return Object.entries(sides)
    .map(([side, rows]) => `### ${side}\n\n${renderSide(rows)}`)
    .join("\n\n");
}

function renderSide(rows: readonly CoveredRow[]): string {
  const tested = rows.filter(({ reason }) => reason === undefined);
  const others = rows.filter(({ reason }) => reason !== undefined);
  const letters = Object.keys(chapters).filter((letter) => rows.some(({ row }) => chapterOf(row) === letter));
  const summary = letters.map((letter) => {
    const own = tested.filter(({ row }) => chapterOf(row) === letter);
    return [`${letter} ${chapters[letter]}`, String(own.length), ...revisions.map((date) => toCounts(own, date))];
  });
  const total = ["all", String(tested.length), ...revisions.map((date) => toCounts(tested, date))];
  const details = tested.map((row) => [
    row.row,
    toRequirement(row),
    row.lacks === undefined ? row.about : `${row.about}. **Not fulfilled:** ${row.lacks}`,
    ...revisions.map((date) => toCell(row, date)),
  ]);
  const unfulfilled = tested.flatMap(({ row, lacks }) => (lacks === undefined ? [] : [[row, lacks]]));
  return [
    toMarkdown(["chapter", "requirements", ...revisions], [...summary, total]),
    `Not fulfilled, or not entirely: ${unfulfilled.length}.`,
    toMarkdown(["row", "what is missing"], unfulfilled),
    toMarkdown(["row", "requirement", "what the tests show", ...revisions], details),
    `Not tested here: ${others.length}.`,
    toMarkdown(
      ["row", "requirement", "what it is about", "why"],
      others.map((row) => [row.row, toRequirement(row), row.about, row.reason ?? ""]),
    ),
  ].join("\n\n");
}

/** Returns a requirement in the words of the specification matrix. */
function toRequirement({ requirement, extension }: CoveredRow): string {
  if (!requirement) return extension?.requirement ?? "";
  return requirement.text === "" ? requirement.requirement : `${requirement.requirement}: ${requirement.text}`;
}

/** Returns the level of a requirement on a revision, and the transports on which it is tested. */
function toCell({ row, at, requirement, extension }: CoveredRow, date: (typeof revisions)[number]): string {
  const isTested = places.some((place) => at.has(`${date} ${place}`));
  const level = requirement?.levels[date] ?? ((isTested && extension?.level) || "");
  const tested = places.filter((place) => at.has(`${date} ${place}`)).map((place) => place[0]);
  const elsewhere = testedElsewhere[row]?.[date];
  return [level, ...tested, ...(elsewhere === undefined ? [] : [`see ${elsewhere}`])].filter(Boolean).join(" ");
}

function toCounts(rows: readonly CoveredRow[], revision: (typeof revisions)[number]): string {
  const counts = countsOf(rows, revision);
  return counts.every((count) => count === 0) ? "" : counts.join(" / ");
}

function toMarkdown(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const toLine = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [toLine(heading), toLine(heading.map(() => "---")), ...rows.map(toLine)].join("\n");
}
