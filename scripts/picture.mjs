// @ts-check
// Makes the picture in README.md: runs `npm start -- --terminal` in a pseudo-terminal, asks one question, and writes the screen as SVG.
// Run: npm run picture
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import xterm from "@xterm/headless";

const root = fileURLToPath(new URL("..", import.meta.url));
const columns = 80;
const rows = 40;

/** What is typed when the screen shows something. @type {readonly (readonly [RegExp, string])[]} */
const steps = [
  [/\n>$/, "What's the weather in Lisbon on 2027-03-01?\r"],
  [/then Enter:$/, "y\r"],
  [/°C\n>$/, ""],
];

/** @typedef {{ text: string, style: string }} Piece a part of a line in one style: names of classes in the SVG */

/** Plays the steps in a pseudo-terminal. Returns the lines of the last screen. @returns {Promise<Piece[][]>} */
export async function captureScreen() {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "portolan-picture-")));
  const command = `stty rows ${rows} cols ${columns}; '${process.execPath}' '${join(root, "scripts/start.mjs")}' --terminal`;
  const child = spawn("script", ["-qfec", command, "/dev/null"], {
    cwd: home,
    env: { PATH: process.env["PATH"], HOME: home, TERM: "xterm-256color", LANG: "C.UTF-8" },
  });
  const ended = once(child, "close");
  const screen = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true });
  try {
    await new Promise((resolve, reject) => {
      let at = 0;
      let from = 0;
      child.on("close", () =>
        reject(new Error(`npm start ended before ${steps[at]?.[0]}:\n${textOf(linesOf(screen))}`)),
      );
      child.stdout.on("data", (bytes) =>
        screen.write(bytes, () => {
          const text = textOf(linesOf(screen));
          const [what, keys] = steps[at] ?? [];
          if (!what?.test(text.slice(from))) return;
          from = text.length;
          at += 1;
          if (at === steps.length) resolve(undefined);
          else child.stdin.write(keys);
        }),
      );
    });
    return linesOf(screen);
  } finally {
    child.stdin.write("/quit\r");
    await ended;
    rmSync(home, { recursive: true, force: true });
  }
}

/** Returns the text of a screen. */
export function textOf(/** @type {readonly Piece[][]} */ lines) {
  return lines.map((line) => line.map(({ text }) => text).join("")).join("\n");
}

/** Replaces what differs each time: the name of the sandbox, and days that are counted from today. */
export function settle(/** @type {string} */ text) {
  return text.replace(/portolan-start-\w{6}/g, "portolan-start-000000").replace(/\d{4}-\d\d-\d\d/g, "2027-03-01");
}

/** @param {InstanceType<typeof xterm.Terminal>} terminal @returns {Piece[][]} */
function linesOf({ buffer: { active } }) {
  const lines = Array.from({ length: active.length }, (_, at) => piecesOf(active.getLine(at)));
  while (lines.length > 0 && lines.at(-1)?.length === 0) lines.pop();
  return lines;
}

/** @param {import("@xterm/headless").IBufferLine | undefined} line @returns {Piece[]} */
function piecesOf(line) {
  /** @type {Piece[]} */
  const pieces = [];
  const end = line?.translateToString(true).trimEnd().length ?? 0;
  for (let at = 0; at < end; at += 1) {
    const cell = line?.getCell(at);
    if (!cell) continue;
    const colour = cell.isFgPalette() ? [`c${cell.getFgColor() % 8}`] : [];
    const style = [...(cell.isBold() ? ["b"] : []), ...(cell.isDim() ? ["d"] : []), ...colour].join(" ");
    const last = pieces.at(-1);
    if (last?.style === style) last.text += cell.getChars() || " ";
    else pieces.push({ text: cell.getChars() || " ", style });
  }
  return pieces;
}

const lineHeight = 19;
const margin = 16;

/** Draws a screen. */
export function toSvg(/** @type {readonly Piece[][]} */ lines) {
  const width = Math.round(columns * 8.43 + 2 * margin);
  const height = lines.length * lineHeight + 2 * margin;
  const toXml = (/** @type {string} */ text) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const drawn = lines.map((line, at) => {
    const pieces = line.map(({ text, style }) =>
      style === "" ? toXml(text) : `<tspan class="${style}">${toXml(text)}</tspan>`,
    );
    return `<text x="${margin}" y="${margin + (at + 0.75) * lineHeight}" xml:space="preserve">${pieces.join("")}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="npm start -- --terminal">
<style>
text { font: 14px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #d7dae0; white-space: pre; }
.b { font-weight: bold; } .d { fill: #8b929e; }
.c1 { fill: #e06c75; } .c2 { fill: #98c379; } .c3 { fill: #e5c07b; } .c4 { fill: #61afef; } .c5 { fill: #c678dd; } .c6 { fill: #56b6c2; }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#1e2127"/>
${drawn.join("\n")}
</svg>
`;
}

/** Returns the text of a picture that `toSvg` has drawn. */
export function textInSvg(/** @type {string} */ svg) {
  return [...svg.matchAll(/<text [^>]*>(.*)<\/text>/g)]
    .map(([, line = ""]) => line.replace(/<[^>]*>/g, ""))
    .join("\n")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = join(root, "docs/start.svg");
  writeFileSync(file, toSvg(await captureScreen()));
  console.log(`written: ${file}`);
}
