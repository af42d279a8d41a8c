import { escapeHidden } from "./escape.ts";

/** How much of a value `displayValue` shows. */
export interface DisplayValueOptions {
  /** Deeper levels are replaced by a note that says so; 64 unless given. */
  readonly maxDepth?: number;
}

/** Arguments, schemas and results as indented JSON, whole, with everything hidden made visible. */
export function displayValue(value: unknown, options: DisplayValueOptions = {}): string {
  const { maxDepth = 64 } = options;
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
