import type { ErrorReport } from "./define/definition.ts";

/** Characters of a printed error: enough for its stack, and not for a document of a peer that its message quotes. */
const maxPrintedCharacters = 16 * 1024;

/** Causes of causes that are printed. */
const maxPrintedDepth = 5;

/** Errors of an `AggregateError` that are printed. */
const maxPrintedErrors = 3;

/** Returns an error for the log of the operator. */
export function toLog(error: unknown, about: ErrorReport): string {
  const origin = visible(JSON.stringify(about));
  return origin === "{}" ? toLines(error) : `${origin} ${toLines(error)}`;
}

/**
 * Returns an error with its stack and its causes as lines of a log. Peers choose parts of messages: every line but the
 * first one is indented, so that none of theirs looks like a line of the log.
 */
export function toLines(error: unknown): string {
  const text = describe(error, 0);
  const isLong = text.length > maxPrintedCharacters;
  const lines = (isLong ? `${text.slice(0, maxPrintedCharacters)}…` : text).split("\n");
  return lines.map(visible).join("\n  ");
}

/** Returns a text in which control characters are escaped: one of a peer could change what a terminal shows. */
export function visible(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (found) => `\\u{${found.codePointAt(0)?.toString(16)}}`);
}

function describe(error: unknown, depth: number): string {
  if (depth > maxPrintedDepth) return "…";
  if (!(error instanceof Error)) return typeof error === "string" ? error : toJson(error);
  const { name, message, stack = "", cause, errors, ...members } = error as Partial<AggregateError> & Error;
  const at = stack.indexOf("\n    at ");
  const inner = [cause ?? [], errors ?? []].flat().slice(0, maxPrintedErrors);
  return [
    `${name}: ${message}${at < 0 ? "" : stack.slice(at)}`,
    ...(Object.keys(members).length > 0 ? [toJson(members)] : []),
    ...inner.map((each) => `cause: ${describe(each, depth + 1)}`),
  ].join("\n");
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // A circular object has no JSON form.
    return Object.prototype.toString.call(value);
  }
}
