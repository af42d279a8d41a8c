/** More empty lines in a row say nothing. A server could push the rest of its text off the screen with them. */
const maxEmptyLines = 2;

/**
 * Breaks text into lines of at most `columns`, between words if possible. Blanks at a break are left out, however many,
 * and so are further empty lines. Takes time in proportion to the length of the text.
 */
export function wrap(text: string, columns: number): string[] {
  // The width of a tab depends on the terminal.
  const plain = text.replaceAll("\t", "    ");
  let empty = 0;
  return plain.split("\n").flatMap((line) => {
    empty = line.trim() === "" ? empty + 1 : 0;
    return empty > maxEmptyLines ? [] : wrapLine(line, Math.max(8, columns));
  });
}

/** A command at the end of a step, after its reason. */
const commandInStep = /^(.*: )((?:\S+=\S* )*(?:(?:npx )?portolan|export|npm) .*)$/;

/** Breaks a next step into lines. A command in it stays on one line, so that it can be copied. */
export function wrapStep(step: string, columns: number): string[] {
  if (widthOf(step) <= columns || /^(?:(?:npx )?portolan|export|eval) /.test(step)) return [step];
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
  let width = indent.length;
  let isEmpty = true;
  const breakLine = () => {
    lines.push(current);
    current = indent;
    width = indent.length;
  };
  for (const { gap, word } of wordsOf(line.trim(), columns)) {
    const gapWidth = widthOf(gap);
    const wordWidth = widthOf(word);
    if (!isEmpty && width + gapWidth + wordWidth > columns) {
      breakLine();
    } else {
      current += gap;
      width += gapWidth;
    }
    isEmpty = false;
    if (width + wordWidth <= columns) {
      current += word;
      width += wordWidth;
      continue;
    }
    // A word that no line has room for is broken.
    let last = 0;
    for (const piece of piecesOf(word)) {
      const added = isSequence(piece) ? 0 : addedWidth(piece, last);
      if (width + added > columns) breakLine();
      current += piece;
      width += added;
      if (added > 0) last = added;
    }
  }
  return [...lines, current.trimEnd()];
}

interface Word {
  /** The blanks before it. */
  readonly gap: string;
  readonly word: string;
}

/** Splits a line into words. Non-breaking spaces belong to a word, unless more of them stand together than a line has. */
function wordsOf(line: string, columns: number): Word[] {
  const words: Word[] = [];
  let gap = "";
  let word = "";
  for (const [part] of line.matchAll(/\s+|\S+/g)) {
    const isBreak = part.trim() === "" && (part.length > columns || part.replaceAll("\u00a0", "") !== "");
    if (!isBreak) word += part;
    else {
      words.push({ gap, word });
      gap = part;
      word = "";
    }
  }
  words.push({ gap, word });
  return words;
}

const escapeCode = "\u001b";
/** Matches colour sequences. */
const sequence = new RegExp(`${escapeCode}\\[[\\d;]*m`, "g");
const pieces = new RegExp(`${escapeCode}\\[[\\d;]*m|[^${escapeCode}]`, "gu");

const isPrintableAscii = /^[ -~]*$/;
/** Characters without width: combining marks and joiners. */
const isNothing = /[\p{Mn}\p{Me}\u200d]/u;
const isWide =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d37f}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Returns the largest number of columns that a text may take. Wide characters take two. */
export function widthOf(text: string): number {
  if (isPrintableAscii.test(text)) return text.length;
  let width = 0;
  let last = 0;
  for (const character of text.replace(sequence, "")) {
    const added = addedWidth(character, last);
    width += added;
    if (added > 0) last = added;
  }
  return width;
}

/** Returns the columns that a character adds. The visible character before it takes `last` columns. */
function addedWidth(character: string, last: number): number {
  // Most text, so the patterns below are left to the rest.
  if (character >= " " && character <= "~") return 1;
  // Asks for the wide emoji form of a narrow character.
  if (character === "\ufe0f") return last === 1 ? 1 : 0;
  if (isNothing.test(character)) return 0;
  return isWide.test(character) ? 2 : 1;
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

/** Joins words as in `a, b or c`. */
export function listOf(words: readonly string[], last: "and" | "or"): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${last} ${words.at(-1)}`;
}
