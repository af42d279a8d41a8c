// @ts-check
// How the tour looks: at most 100 columns, coloured only where somebody can see colours.
import { styleText } from "node:util";

const isColoured = process.stdout.isTTY === true && process.stdout.hasColors();
const width = 100;
const labelWidth = 16;

/** @typedef {[text: string, style?: Parameters<typeof styleText>[0]]} Piece */

/** Prints pieces of text, each in its style, on one line. */
export function line(/** @type {Piece[]} */ ...pieces) {
  console.log(pieces.map(([text, style]) => (isColoured && style ? styleText(style, text) : text)).join(""));
}

/** Prints a line with a label before it. */
export function row(/** @type {string} */ label, /** @type {Piece[]} */ ...pieces) {
  line([`    ${label}`.padEnd(labelWidth), "dim"], ...pieces);
}

/** Prints a text of any length behind a label, on as many lines as it needs. */
export function wrappedRow(/** @type {string} */ label, /** @type {Piece} */ ...[text, ...style]) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (labelWidth + longer.length > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  for (const [index, part] of lines.entries()) row(index === 0 ? label : "", [part, ...style]);
}

/** Prints rows under a header, each column as wide as its widest cell. */
export function table(/** @type {string[]} */ header, /** @type {string[][]} */ rows) {
  const widths = header.map((_, column) => Math.max(...[header, ...rows].map((cells) => cells[column]?.length ?? 0)));
  const joined = (/** @type {string[]} */ cells) =>
    cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("   ");
  line([`  ${joined(header)}`.trimEnd(), "dim"]);
  for (const cells of rows) {
    const [first = ""] = cells;
    const text = joined(cells).trimEnd();
    line([`  ${text.slice(0, first.length)}`, ["bold", "cyan"]], [text.slice(first.length)]);
  }
}
