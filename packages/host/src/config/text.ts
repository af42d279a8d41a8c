import { PortolanError } from "portolan";

/** The layout of a text, so that added lines look like the others. */
export interface Layout {
  readonly eol: string;
  /** One step of indentation. */
  readonly unit: string;
  /** Everything is on one line. */
  readonly isFlat: boolean;
}

/** Returns the layout of a text. Default indentation: two spaces. */
export function layoutOf(text: string): Layout {
  const isFlat = !text.trimEnd().includes("\n");
  const [, unit = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
  return { eol: /\r\n/.test(text) ? "\r\n" : "\n", unit: unit.startsWith("\t") ? "\t" : unit.slice(0, 8), isFlat };
}

/** Returns the start of the line with this offset. */
export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** Returns the start of the next line, or the end of the text. */
export function nextLine(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  return end === -1 ? text.length : end + 1;
}

/** Returns the indentation of the line with this offset. */
export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? "";
}

/** Returns a text with one part replaced. */
export function splice(text: string, start: number, end: number, added: string): string {
  return text.slice(0, start) + added + text.slice(end);
}

/**
 * Returns the error for a file that cannot be parsed. It has the position and never the content, which can be secret.
 */
export function malformed(file: string, text: string, offset: number, reason: string): PortolanError {
  const { line, column } = positionOf(text, offset);
  return malformedAt(file, line, column, reason);
}

export function malformedAt(file: string, line: number, column: number, reason: string): PortolanError {
  return new PortolanError("invalid-argument", `${file}:${line}:${column}: ${reason}; correct the file`);
}

export function limitReached(file: string, reason: string): PortolanError {
  return new PortolanError("limit-reached", `${file}: ${reason}`);
}

function positionOf(text: string, offset: number): { readonly line: number; readonly column: number } {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf("\n"); end !== -1 && end < offset; end = text.indexOf("\n", end + 1)) {
    line++;
    start = end + 1;
  }
  return { line, column: offset - start + 1 };
}
