import { layoutOf, nextLine, splice } from "./text.ts";
import { findTables, type TomlTable } from "./toml-tables.ts";
import { loadToml } from "./toml-text.ts";
import { type Table, toTable } from "./value.ts";

/** A TOML text with this server's table added, replaced or removed; every other line stays as it is. */
export async function editToml(
  text: string,
  at: readonly string[],
  name: string,
  value: Table | undefined,
): Promise<string> {
  const { stringify } = await loadToml();
  const path = [...at, name];
  const tables = findTables(text);
  const own = regionsOf(
    text,
    tables.filter((table) => startsWith(table.path, path)),
  );
  const { eol } = layoutOf(text);
  const printed =
    value && stringify(path.reduceRight<unknown>((below, one) => toTable([[one, below]]), value) as Table);
  const lines = printed === undefined ? "" : `${printed.trimEnd().replaceAll("\n", eol)}${eol}`;
  const [first, ...others] = own;
  if (!first) return printed === undefined ? text : insert(text, tables, at, lines, eol);
  // From the end, so that the places before stay where they are.
  const shorter = others.toReversed().reduce((edited, region) => remove(edited, region), text);
  return printed === undefined ? remove(shorter, first) : splice(shorter, first.start, first.end, lines);
}

interface Region {
  readonly start: number;
  readonly end: number;
}

/** Tables with nothing between them are one. */
function regionsOf(text: string, tables: readonly TomlTable[]): readonly Region[] {
  const regions: Region[] = [];
  for (const { start, end } of tables) {
    const last = regions.at(-1);
    if (last && text.slice(last.end, start).trim() === "") regions[regions.length - 1] = { start: last.start, end };
    else regions.push({ start, end });
  }
  return regions;
}

/** It goes with the empty line before it, as it came; the first in a file with those after it. */
function remove(text: string, { start, end }: Region): string {
  const before = /(?<=\n)\r?\n$/.exec(text.slice(0, start))?.[0].length;
  return splice(text, start - (before ?? 0), before === undefined ? endOfGap(text, end) : end, "");
}

/** After the last server, or at the end. */
function insert(text: string, tables: readonly TomlTable[], at: readonly string[], lines: string, eol: string): string {
  const last = tables.findLast((table) => startsWith(table.path, at));
  const place = last ? endOfRemarks(text, last.end) : text.length;
  const before = text.slice(0, place);
  const gap = before === "" ? "" : before.endsWith("\n") ? eol : eol + eol;
  return splice(text, place, place, gap + lines);
}

/** Comments right after a table are about it, unless they are right before something else. */
function endOfRemarks(text: string, end: number): number {
  let at = end;
  while (/^[ \t]*#/.test(text.slice(at, nextLine(text, at)))) at = nextLine(text, at);
  return text.slice(at, nextLine(text, at)).trim() === "" ? at : end;
}

/** The empty lines after a table go with it. */
function endOfGap(text: string, end: number): number {
  let gap = end;
  while (gap < text.length && text.slice(gap, nextLine(text, gap)).trim() === "") gap = nextLine(text, gap);
  return gap;
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((name, index) => path[index] === name);
}
