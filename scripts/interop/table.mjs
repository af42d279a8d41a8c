/** Formats a table as plain text; the words of a heading are stacked. */
export function toTable(heading, rows) {
  const words = heading.map((title, column) => (column === 0 ? [title] : title.split(" ")));
  const height = Math.max(...words.map((list) => list.length));
  const headings = Array.from({ length: height }, (_, line) =>
    words.map((list, column) => list[column === 0 ? line - height + 1 : line] ?? ""),
  );
  const lines = [...headings, ...rows];
  const widths = heading.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? "").length)));
  const toLine = (line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  const rule = widths.map((width) => "-".repeat(width)).join("  ");
  return [...headings.map(toLine), rule, ...rows.map(toLine)].join("\n");
}
