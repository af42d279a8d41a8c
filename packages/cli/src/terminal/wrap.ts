import { piecesOf, widthOf } from "./width.ts";

/** Text in lines of at most so many columns, broken between words where that is possible. */
export function wrap(text: string, columns: number): string[] {
  // A tab would be as wide as the terminal likes, and put what follows it at the beginning of a line.
  const plain = text.replaceAll("\t", "    ");
  return plain.split("\n").flatMap((line) => wrapLine(line, Math.max(8, columns)));
}

function wrapLine(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line];
  const lines: string[] = [];
  // What is indented stays so.
  const indent = (/^ */.exec(line)?.[0] ?? "").slice(0, columns / 2);
  let current = indent;
  for (const word of line.trimStart().split(/(?<= )/)) {
    if (current.trim() !== "" && widthOf(current + word.trimEnd()) > columns) {
      lines.push(current.trimEnd());
      current = indent;
    }
    for (const piece of piecesOf(word)) {
      if (widthOf(current + piece) > columns && piece !== " ") {
        lines.push(current);
        current = indent;
      }
      current += piece;
    }
  }
  return [...lines, current.trimEnd()];
}
