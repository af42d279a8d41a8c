import type { JsonSchema } from "./infer.ts";
import { isPattern } from "./pattern.ts";

/** Formats that JSON Schema has a name for; the others are described by a pattern or not at all. */
const formats: { readonly [zodFormat: string]: JsonSchema } = {
  email: { format: "email" },
  url: { format: "uri" },
  uuid: { format: "uuid" },
  guid: { format: "uuid" },
  date: { format: "date" },
  duration: { format: "duration" },
  ipv4: { format: "ipv4" },
  ipv6: { format: "ipv6" },
  base64: { contentEncoding: "base64" },
  base64url: { contentEncoding: "base64url" },
  // zod's time has no offset, which the format would demand.
  time: { pattern: "^\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?$" },
};

/** One check on a text, read from any version of zod. */
export interface TextCheck {
  readonly format?: string | undefined;
  readonly pattern?: RegExp | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly startsWith?: string | undefined;
  readonly endsWith?: string | undefined;
  readonly includes?: string | undefined;
  readonly position?: number | undefined;
  /** Of a date and time: whether other offsets than Z, or none, are accepted. */
  readonly offset?: boolean | undefined;
  readonly local?: boolean | undefined;
}

/** Writes the checks on a text as keywords of JSON Schema. */
export function textSchema(checks: readonly TextCheck[]): JsonSchema {
  const json: JsonSchema = { type: "string" };
  const patterns: string[] = [];
  for (const check of checks) {
    narrow(json, "minLength", check.min, Math.max);
    narrow(json, "maxLength", check.max, Math.min);
    const { pattern, ...named } = check.format === "datetime" ? dateTime(check) : (formats[check.format ?? ""] ?? {});
    Object.assign(json, named);
    if (typeof pattern === "string") patterns.push(pattern);
    if (check.startsWith !== undefined) patterns.push(`^${literally(check.startsWith)}`);
    else if (check.endsWith !== undefined) patterns.push(`${literally(check.endsWith)}$`);
    else if (check.includes !== undefined) patterns.push(includes(check.includes, check.position));
    else if (!(check.format !== undefined && (check.format in formats || check.format === "datetime"))) {
      // JSON Schema has no flags: a pattern that needs one is left to zod.
      if (check.pattern !== undefined && !/[ims]/.test(check.pattern.flags) && isPattern(check.pattern.source)) {
        patterns.push(check.pattern.source);
      }
    }
  }
  const [first, ...others] = [...new Set(patterns)];
  if (first !== undefined) json["pattern"] = first;
  if (others.length > 0) json["allOf"] = others.map((pattern) => ({ pattern }));
  return json;
}

/** Tightens a bound that may be set more than once. */
export function narrow(
  json: JsonSchema,
  keyword: string,
  bound: number | undefined,
  tighter: (a: number, b: number) => number,
): void {
  if (bound === undefined) return;
  const known = json[keyword];
  json[keyword] = typeof known === "number" ? tighter(known, bound) : bound;
}

/** One check on a number, read from any version of zod. */
export interface NumberCheck {
  readonly isInteger?: boolean;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  readonly multipleOf?: number | undefined;
}

/** Writes the checks on a number as keywords of JSON Schema. */
export function numberSchema(checks: readonly NumberCheck[]): JsonSchema {
  const json: JsonSchema = { type: checks.some((check) => check.isInteger) ? "integer" : "number" };
  const divisors: number[] = [];
  for (const check of checks) {
    narrow(json, "minimum", check.min, Math.max);
    narrow(json, "maximum", check.max, Math.min);
    narrow(json, "exclusiveMinimum", check.above, Math.max);
    narrow(json, "exclusiveMaximum", check.below, Math.min);
    if (check.multipleOf !== undefined) divisors.push(check.multipleOf);
  }
  const [first, ...others] = divisors;
  if (first !== undefined) json["multipleOf"] = first;
  if (others.length > 0) json["allOf"] = others.map((multipleOf) => ({ multipleOf }));
  return json;
}

/** Writes a choice among values; `undefined` when one of them is no JSON value. */
export function choiceSchema(values: readonly unknown[]): JsonSchema | undefined {
  const types = new Set(values.map((value) => (value === null ? "null" : typeof value)));
  for (const type of types) if (!["string", "number", "boolean", "null"].includes(type)) return undefined;
  const choice = values.length === 1 ? { const: values[0] } : { enum: [...values] };
  return types.size === 1 ? { type: [...types][0], ...choice } : choice;
}

/** The values of a TypeScript enum object, without the names it lists again for its numbers. */
export function enumValues(entries: { readonly [name: string]: unknown }): unknown[] {
  const numbers = new Set(
    Object.values(entries)
      .filter((value) => typeof value === "number")
      .map(String),
  );
  return Object.entries(entries)
    .filter(([name]) => !numbers.has(name))
    .map(([, value]) => value);
}

function dateTime({ offset, local }: TextCheck): JsonSchema {
  if (local) return { pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}" };
  return offset ? { format: "date-time" } : { format: "date-time", pattern: "Z$" };
}

function includes(text: string, position = 0): string {
  return position > 0 ? `^[\\s\\S]{${position},}${literally(text)}` : literally(text);
}

function literally(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
