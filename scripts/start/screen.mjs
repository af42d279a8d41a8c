// @ts-check
// The layout of what `npm start` prints: at most 100 columns, coloured only on a terminal with colours.
import { styleText } from "node:util";

const isColoured = process.stdout.isTTY === true && process.stdout.hasColors();
// Some terminals report 0 columns when they do not know their width.
const width = Math.min(100, process.stdout.columns || 100);
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
  for (const [index, part] of wrap(text, width - labelWidth).entries()) row(index === 0 ? label : "", [part, ...style]);
}

/** Prints a text of any length. */
export function paragraph(/** @type {Piece} */ ...[text, ...style]) {
  for (const part of wrap(text, width - 2)) line([`  ${part}`, ...style]);
}

/** Breaks a text between words. @param {string} text @param {number} columns */
function wrap(text, columns) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trimStart();
    if (longer.length > columns) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
