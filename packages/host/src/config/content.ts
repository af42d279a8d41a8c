import type { ConfigFormat } from "./configured.ts";
import { readJson } from "./json-text.ts";
import { limits } from "./limits.ts";
import { tooMuch } from "./malformed.ts";
import { readToml } from "./toml-text.ts";
import { isTable, type Path, toTable } from "./value.ts";
import { readYaml } from "./yaml-text.ts";

/** What a text says, whatever it is written in. */
export interface Content {
  readonly value: unknown;
  /** Members that are there more than once; of these the last counts. */
  readonly repeated: readonly Path[];
}

const readers = { json: readJson, toml: readToml, yaml: readYaml };

/** Reads a text; nothing at all is an empty object, as every product takes it. */
export async function readContent(text: string, format: ConfigFormat, file: string): Promise<Content> {
  if (text.length > limits.fileBytes) throw tooMuch(file, `expected at most ${limits.fileBytes} bytes`);
  const plain = withoutMark(text);
  if (plain.trim() === "") return { value: toTable([]), repeated: [] };
  return await readers[format](plain, file);
}

/** A text without the mark of byte order that some editors begin it with. */
export function withoutMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** What another's parser made, as tables without prototypes and of bounded depth: an alias may stand inside itself. */
export function toPlain(value: unknown, file: string, depth = 0): unknown {
  if (depth > limits.depth) throw tooMuch(file, `expected at most ${limits.depth} levels`);
  const below = (one: unknown) => toPlain(one, file, depth + 1);
  if (Array.isArray(value)) return value.map(below);
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Map) return toTable([...value].map(([name, one]) => [String(name), below(one)]));
  if (isTable(value)) return toTable(Object.entries(value).map(([name, one]) => [name, below(one)]));
  return typeof value === "bigint" ? Number(value) : value;
}
