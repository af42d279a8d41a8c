import { PortolanError } from "portolan";

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
