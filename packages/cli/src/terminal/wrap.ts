/** Breaks text into lines of at most `columns`, between words if possible. */
export function wrap(text: string, columns: number): string[] {
  // The width of a tab depends on the terminal.
  const plain = text.replaceAll("\t", "    ");
  return plain.split("\n").flatMap((line) => wrapLine(line, Math.max(8, columns)));
}

/** A command at the end of a step, after its reason. */
const commandInStep = /^(.*: )((?:\S+=\S* )*(?:portolan|export|npm) .*)$/;

/** Breaks a next step into lines. A command in it stays on one line, so that it can be copied. */
export function wrapStep(step: string, columns: number): string[] {
  if (widthOf(step) <= columns || /^(?:portolan|export|eval) /.test(step)) return [step];
  const [, reason, command] = commandInStep.exec(step) ?? [];
  if (reason === undefined || command === undefined) return wrap(step, columns);
  return [...wrap(reason.trimEnd(), columns), command];
}

function wrapLine(line: string, columns: number): string[] {
  if (widthOf(line) <= columns) return [line];
  const lines: string[] = [];
  // Continuation lines keep the indentation.
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
/** Matches colour sequences. */
const sequence = new RegExp(`${escapeCode}\\[[\\d;]*m`, "g");
const pieces = new RegExp(`${escapeCode}\\[[\\d;]*m|[^${escapeCode}]`, "gu");

/** Characters without width: combining marks and joiners. */
const isNothing = /[\p{Mn}\p{Me}\u200d]/u;
const isWide =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d37f}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Returns the largest number of columns that a text may take. Wide characters take two. */
export function widthOf(text: string): number {
  let width = 0;
  let last = 0;
  for (const character of text.replace(sequence, "")) {
    // Asks for the wide emoji form of a narrow character.
    if (character === "\ufe0f") width += last === 1 ? 1 : 0;
    if (isNothing.test(character)) continue;
    last = isWide.test(character) ? 2 : 1;
    width += last;
  }
  return width;
}

/**
 * Breaks a line. The first part has `start` columns before it, the others are indented by `indent` columns. A
 * non-breaking space becomes a space.
 */
export function wrapHanging(line: string, columns: number, start: number, indent: number): string {
  const plain = line.replaceAll("\t", "    ").trim();
  const [first = ""] = wrap(plain, columns - start);
  const rest = plain.slice(first.length).trimStart();
  const lines = rest === "" ? [first] : [first, ...wrap(rest, columns - indent)];
  return lines.join(`\n${" ".repeat(indent)}`).replaceAll("\u00a0", " ");
}

/** Splits text into characters and escape sequences. */
export function piecesOf(text: string): readonly string[] {
  return text.match(pieces) ?? [];
}

/** True if the piece is an escape sequence. */
export function isSequence(piece: string): boolean {
  return piece.startsWith(escapeCode);
}
