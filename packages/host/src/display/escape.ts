import { maxDisplayDepth } from "../limits.ts";
/** Options of `display`. */
export interface DisplayOptions {
  /** Shows at most this much of the text, and says how much is left out. Default: all. */
  readonly maxChars?: number;
  /** "keep" leaves line ends and tabs, for descriptions and results. Default: "escape", for names and values. */
  readonly lines?: "keep" | "escape";
}

/**
 * Escapes a server's text for display. Characters that are invisible, move the cursor, change the writing direction or
 * have no defined look become visible escapes such as `\u{1b}`. Two different texts never look the same because of
 * invisible characters.
 */
export function display(given: string, options: DisplayOptions = {}): string {
  const { maxChars, lines = "escape" } = options;
  // A server may send any value instead of a string.
  const text = typeof given === "string" ? given : (JSON.stringify(given) ?? String(given));
  if (maxChars === undefined || text.length <= maxChars) return escapeText(text, lines);
  const end = isBetweenHalves(text, maxChars) ? maxChars - 1 : maxChars;
  return `${escapeText(text.slice(0, end), lines)}… (${text.length - end} more characters)`;
}

/** Like `display`, for text that already escapes backslashes, such as JSON. */
export function escapeHidden(text: string, lines: "keep" | "escape"): string {
  if (!odd.test(text)) return text;
  const joined = lines === "keep" ? text.replace(/\r\n/g, "\n") : text;
  return joined.replace(lines === "keep" ? hiddenButLines : hidden, (found, at: number) =>
    escapeOne(found, at, joined),
  );
}

const tags = /[\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]|(?<!\p{Script=Han})[\u{e0100}-\u{e01ef}]/gu;

/**
 * Escapes only the characters that are invisible to people, readable as letters for models, and needed by no script.
 * Everything else stays.
 */
export function withoutTags(text: string): string {
  return text.replace(tags, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);
}

function escapeText(text: string, lines: "keep" | "escape"): string {
  // An escape in the text itself must not look like ours.
  const plain = text.includes("\\u{") ? text.replaceAll("\\u{", "\\u{5c}u{") : text;
  return escapeHidden(plain, lines);
}

/** Anything that may need an escape; other text takes the fast path. */
const odd =
  /[^\x20-\x7e\xa1-\xac\xae-\u02ff\u03a3-\u03ff\u0400-\u0482\u048a-\u052f\u3041-\u3096\u309b-\u30ff\u4e00-\u9fff]/;
/**
 * Controls, separators, lone surrogates, private use, unassigned, default-ignorable (zero-width, bidi, tags, variation
 * selectors, fillers), the blank Braille pattern, and more than six marks on one letter.
 */
const never = String.raw`[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{DI}\u2800]|(?<=\p{M}{6})\p{M}`;
const hidden = new RegExp(never, "gu");
const hiddenButLines = new RegExp(String.raw`(?![\n\t])(?:${never})`, "gu");

function escapeOne(found: string, at: number, text: string): string {
  if (isPartOfEmoji(found, at, text)) return found;
  return `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`;
}

const emojiBefore = /(?:\p{Extended_Pictographic}|[#*0-9])$/u;
const joinedBefore = /(?:\p{Extended_Pictographic}|\p{EMod})\ufe0f?$/u;
const emojiAfter = /^\p{Extended_Pictographic}/u;

/** A variation selector after its emoji and a joiner between two emoji hide nothing. */
function isPartOfEmoji(found: string, at: number, text: string): boolean {
  if (found === "\ufe0f") return emojiBefore.test(text.slice(Math.max(0, at - 2), at));
  if (found !== "\u200d") return false;
  return joinedBefore.test(text.slice(Math.max(0, at - 3), at)) && emojiAfter.test(text.slice(at + 1, at + 3));
}

function isBetweenHalves(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(at - 1, at + 1));
}

/** Options of `displayValue`. */
export interface DisplayValueOptions {
  /** Deeper levels are replaced by a note. Default: 64. */
  readonly maxDepth?: number;
}

/** Formats arguments, schemas and results as complete, indented JSON with hidden characters escaped. */
export function displayValue(value: unknown, options: DisplayValueOptions = {}): string {
  const { maxDepth = maxDisplayDepth } = options;
  return write(value, "", maxDepth);
}

function write(value: unknown, indent: string, depth: number): string {
  if (typeof value !== "object" || value === null) return writeLeaf(value);
  const isArray = Array.isArray(value);
  const [open, close] = isArray ? ["[", "]"] : ["{", "}"];
  const members = isArray ? value.map((item) => ["", item] as const) : Object.entries(value);
  if (members.length === 0) return `${open}${close}`;
  if (depth === 0) return `${open} … ${members.length} more inside, too deep to show ${close}`;
  const inner = `${indent}  `;
  const lines = members.map(([name, item]) => {
    const text = write(item, inner, depth - 1);
    return isArray ? `${inner}${text}` : `${inner}${writeLeaf(name)}: ${text}`;
  });
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`;
}

function writeLeaf(value: unknown): string {
  return escapeHidden(JSON.stringify(value) ?? String(value), "escape");
}
