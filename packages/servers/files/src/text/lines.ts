/** The lines of a text, each with its own ending. */
export function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The number of the line that a place in a text is in. */
export function lineAt(text: string, index: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < index; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

export function withoutEnding(line: string): string {
  return line.replace(/\r?\n$/, "");
}
