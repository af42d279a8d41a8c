import { ToolError } from "portolan/server";

/**
 * Builds the path of a request: each value becomes one encoded segment, so that no value can lead to another path. Use it
 * as a tag: path`/repos/${owner}/${repo}/issues`.
 */
export function path(parts: TemplateStringsArray, ...values: readonly (string | number)[]): string {
  return parts.reduce((before, part, index) => `${before}${segment(values[index - 1] ?? "")}${part}`);
}

/** Encodes a path of several segments, such as the path of a file; none of them may be empty, `.` or `..`. */
export function segments(text: string): string {
  return text.split("/").map(segment).join("/");
}

function segment(value: string | number): string {
  const text = String(value);
  // Addresses with these segments name something else when they are normalized.
  if (text === "" || text === "." || text === "..") {
    throw new ToolError(`Expected a name, got ${JSON.stringify(text)}`);
  }
  return encodeURIComponent(text);
}
