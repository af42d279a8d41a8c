// Writes test/requirements/matrix.json from the specification matrix, and test/requirements/extensions.json from the
// requirements on extensions: the identifier, words and levels of every requirement. Both texts are beside the clone, not
// in it. Run: node scripts/requirements-matrix.mjs
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
/** The specification matrix, if it is present. */
export const source = join(root, "../shared/spec/MATRIX.md");
/** The part of it that the tests need. */
export const target = join(root, "test/requirements/matrix.json");

/** The requirements on extensions, if they are present, and the part of them that the tests need. */
export const extensionSource = join(root, "../shared/spec/EXTENSIONS.md");
export const extensionTarget = join(root, "test/requirements/extensions.json");

const revisions = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
/** The chapters whose requirements the conformance tables list. */
const chapters = "ABCDEFGHIJKMU";

/** Levels that the corrections at the start of the matrix change, or that a cell keeps without saying so. */
const corrections = {
  E2: { "2026-07-28": "MUST" },
  E22: { "2025-06-18": "MUST" },
  J8: { "2026-07-28": "MUST/SHOULD" },
};

/** Returns the requirements of the matrix by their identifiers. */
export function parseMatrix(text) {
  const rows = {};
  for (const line of text.split("\n")) {
    const cells = cellsOf(line);
    const [id, requirement = "", ...rest] = cells;
    if (!/^[A-Z]\d{1,2}$/.test(id ?? "") || !chapters.includes(id[0]) || rows[id]) continue;
    const isStateless = rest.length === 1;
    if (!isStateless && rest.length !== revisions.length) throw new Error(`${id}: expected 5 revisions: ${line}`);
    const byRevision = isStateless ? ["—", "—", "—", "—", rest[0]] : rest;
    rows[id] = {
      requirement: plain(requirement),
      text: textOf(byRevision),
      levels: { ...levelsOf(requirement, byRevision), ...corrections[id] },
    };
  }
  return rows;
}

/** The sides that the headings of tables name which have no column for them. */
const sideOfHeading = { Server: "S", Host: "H" };
const levelNames = { M: "MUST", S: "SHOULD", m: "MAY", Mn: "MUST NOT", Sn: "SHOULD NOT" };

/** Returns the requirements on extensions by their identifiers: side, level and words. */
export function parseExtensions(text) {
  const rows = {};
  let headingSide;
  let hasSides = false;
  for (const line of text.split("\n")) {
    const heading = /^#+ [\d.]+ (\w+)/.exec(line);
    if (heading) headingSide = sideOfHeading[heading[1]];
    const cells = cellsOf(line);
    if (cells[0] === "#") hasSides = cells[1] === "side";
    if (!/^X\d+$/.test(cells[0] ?? "")) continue;
    const [id, ...rest] = cells;
    const side = hasSides ? rest.shift() : headingSide;
    const [level = "", requirement = ""] = rest;
    rows[id] = { side, level: levelOf(level), requirement: plain(withLevels(requirement.replaceAll("**", ""))) };
  }
  return rows;
}

/** Writes out the levels that stand within the words of a requirement, such as `(M; S in the draft)`. */
function withLevels(text) {
  const named = (part) => part.replace(/\b(Mn|Sn|M|S|m)\b/g, (level) => levelNames[level]);
  return text.replace(/\((?:Mn|Sn|M|S|m)\b[^)]*\)|: M\.$/g, named);
}

function levelOf(level) {
  const names = level.split("/").map((part) => levelNames[part.replace(/[()]/g, "")] ?? "");
  return names.filter((name) => name !== "").join("/");
}

function cellsOf(line) {
  if (!line.startsWith("| ")) return [];
  return line
    .slice(1, line.lastIndexOf("|"))
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

const order = ["MUST", "SHOULD", "MAY"];

/** Returns the keywords of RFC 2119 in a text. */
function wordsIn(text) {
  const words = text.match(/\b(MUST|REQUIRED|SHOULD|MAY)\b/g) ?? [];
  return words.map((word) => (word === "REQUIRED" ? "MUST" : word));
}

/**
 * Returns the keywords of each revision that has the requirement. In the notation of the matrix, `=` means as before,
 * `Δ` changed, `—` absent and `R` removed. A change without a keyword keeps those of before; other words replace them.
 */
function levelsOf(requirement, cells) {
  const levels = {};
  let before = [];
  for (const [at, cell] of cells.entries()) {
    const isUnchanged = cell.startsWith("=");
    if (isAbsent(cell) || (isUnchanged && at > 0 && levels[revisions[at - 1]] === undefined)) continue;
    const own = wordsIn(cell);
    const isChange = cell.startsWith("Δ") || cell.startsWith("+");
    before = isUnchanged ? [...before, ...own] : isChange && own.length === 0 ? before : own;
    const found = [...wordsIn(requirement), ...before];
    levels[revisions[at]] = order.filter((word) => found.includes(word)).join("/");
  }
  return levels;
}

function isAbsent(cell) {
  return /^(—|unstated|dropped|n\/a)/.test(cell) || /^R\b/.test(cell);
}

/** Returns the words of the requirement, with the date of each change. A requirement of one revision needs no date. */
function textOf(cells) {
  const parts = [];
  let wasAbsent = true;
  for (const [at, cell] of cells.entries()) {
    const said = cell.replace(/^=[\s,;]*/, "");
    const isGone = isAbsent(cell);
    if (said === "" || (isGone && wasAbsent)) continue;
    const words = plain(said.replace(/^Δ\s*/, ""));
    parts.push({ since: revisions[at], words });
    wasAbsent = isGone;
  }
  const isAlways = parts.length === 1 && !isAbsent(cells[0]);
  const isOnlyNewest = parts[0]?.since === revisions.at(-1);
  if (isAlways || isOnlyNewest) return parts[0].words;
  return parts
    .filter(({ since, words }) => words !== "" || since !== revisions[0])
    .map(({ since, words }) => (since === revisions[0] ? words : `since ${since}${words === "" ? "" : `: ${words}`}`))
    .join("; ");
}

/** Replaces the short names of the matrix, outside code. */
function plain(text) {
  return text
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 1 ? part : spellOut(part)))
    .join("")
    .trim();
}

function spellOut(text) {
  return text
    .replace(/^P\b[\s:,;]*/, "")
    .replace(/^R\b/, "removed")
    .replace(/(^|[;,] )D\b/g, "$1deprecated")
    .replace(/^—/, "not in this revision")
    .replace(/\s*\((?:§|see |seed )[^)]*\)/g, "")
    .replace(/\bC→S\b/g, "client to server")
    .replace(/\bS→C\b/g, "server to client")
    .replace(/\bC\b(?!\d)/g, "client")
    .replace(/\bS\b(?!\d|256)/g, "server")
    .replace(/\bH\b(?!\d)/g, "host")
    .replace(/\bMRTR\b/g, "questions in results")
    .replace(/\b(2[4-6])-(\d\d)\b/g, (whole, year, month) => {
      return revisions.find((date) => date.startsWith(`20${year}-${month}`)) ?? whole;
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (!existsSync(source)) throw new Error(`${source} does not exist`);
  const write = (file, rows) => writeFileSync(file, `${JSON.stringify(rows, undefined, 2)}\n`);
  write(target, parseMatrix(readFileSync(source, "utf8")));
  write(extensionTarget, parseExtensions(readFileSync(extensionSource, "utf8")));
}
