// @ts-check
// The layout of the walk-through: at most 100 columns, coloured only on a terminal with colours.
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
