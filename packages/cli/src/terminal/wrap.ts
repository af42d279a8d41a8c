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

const escapeCode = "\u001b";
/** What colours a text. */
const sequence = new RegExp(`${escapeCode}\\[[\\d;]*m`, "g");
const pieces = new RegExp(`${escapeCode}\\[[\\d;]*m|[^${escapeCode}]`, "gu");

/** What takes no room: marks on other letters, and what joins signs to one. */
const isNothing = /[\p{Mn}\p{Me}\u200d]/u;
const isWide =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d37f}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** How many columns a text takes at most; wide characters take two, and terminals that join signs take fewer. */
export function widthOf(text: string): number {
  let width = 0;
  let last = 0;
  for (const character of text.replace(sequence, "")) {
    // Behind a narrow sign this asks for the coloured, wide one.
    if (character === "\ufe0f") width += last === 1 ? 1 : 0;
    if (isNothing.test(character)) continue;
    last = isWide.test(character) ? 2 : 1;
    width += last;
  }
  return width;
}

/** A text in its characters and its sequences, none of which can be cut in two. */
export function piecesOf(text: string): readonly string[] {
  return text.match(pieces) ?? [];
}

/** Whether a piece colours what follows it. */
export function isSequence(piece: string): boolean {
  return piece.startsWith(escapeCode);
}
