import { PortolanError } from "portolan";

/** How a text is laid out, so that what is added looks like the rest. */
export interface Layout {
  readonly eol: string;
  /** One step of indentation. */
  readonly unit: string;
  /** All on one line. */
  readonly isFlat: boolean;
}

/** The layout of a text; two spaces where it does not say. */
export function layoutOf(text: string): Layout {
  const isFlat = !text.trimEnd().includes("\n");
  const [, unit = "  "] = /^([ \t]+)\S/m.exec(text) ?? [];
  return { eol: /\r\n/.test(text) ? "\r\n" : "\n", unit: unit.startsWith("\t") ? "\t" : unit.slice(0, 8), isFlat };
}

/** Where the line begins that this offset is on. */
export function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

/** Where the next line begins; the end of the text if there is none. */
export function nextLine(text: string, offset: number): number {
  const end = text.indexOf("\n", offset);
  return end === -1 ? text.length : end + 1;
}

/** The white space that the line of this offset begins with. */
export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? "";
}

/** A text with a part of it replaced. */
export function splice(text: string, start: number, end: number, added: string): string {
  return text.slice(0, start) + added + text.slice(end);
}

/** The one error of a file that cannot be read at all; it says where, and nothing of what stands there. */
export function malformed(file: string, text: string, offset: number, reason: string): PortolanError {
  const { line, column } = positionOf(text, offset);
  return malformedAt(file, line, column, reason);
}

export function malformedAt(file: string, line: number, column: number, reason: string): PortolanError {
  return new PortolanError("invalid-argument", `${file}:${line}:${column}: ${reason}; correct the file`);
}

export function tooMuch(file: string, reason: string): PortolanError {
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
