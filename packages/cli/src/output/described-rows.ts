import type { Screen } from "../terminal/screen.ts";
import { widthOf, wrap } from "../terminal/wrap.ts";

/** Formats names with their descriptions beside them, or below them if names take more than half of the width. */
export function describedRows(rows: readonly (readonly string[])[], screen: Screen): string {
  const widest = rows.reduce((most, [name = ""]) => Math.max(most, widthOf(name.trim())), 0);
  const isBeside = widest <= screen.columns / 2 - 4;
  const lines = rows.flatMap(([name = "", about = ""]) => {
    const label = name.trim();
    if (!isBeside)
      return [...wrap(`  ${label}`, screen.columns), ...(about ? wrap(`    ${about}`, screen.columns) : [])];
    const [first = "", ...rest] = wrap(about, screen.columns - widest - 4);
    const margin = " ".repeat(widest + 4);
    return [
      `  ${label}${" ".repeat(widest - widthOf(label))}  ${first}`.trimEnd(),
      ...rest.map((line) => margin + line),
    ];
  });
  return lines.join("\n");
}
