import type { JsonSchema } from "./infer.ts";
import { isPattern } from "./pattern.ts";

/** The side of a schema: its input, where members with a default may be absent, or its output. */
export type Direction = "input" | "output";

/** One zod schema, independent of the version of zod. Members of the type `unknown` are zod schemas. */
export type ZodNode = (
  | { readonly kind: "plain"; readonly json: JsonSchema }
  | {
      readonly kind: "object";
      readonly members: readonly (readonly [string, unknown])[];
      readonly others: UnknownMembers;
    }
  | { readonly kind: "array"; readonly item: unknown; readonly bounds: JsonSchema }
  | { readonly kind: "tuple"; readonly items: readonly unknown[]; readonly minItems: number; readonly rest?: unknown }
  | { readonly kind: "record"; readonly key: unknown; readonly value: unknown; readonly required?: readonly string[] }
  | { readonly kind: "union"; readonly options: readonly unknown[] }
  | { readonly kind: "intersection"; readonly sides: readonly unknown[] }
  | { readonly kind: "nullable"; readonly inner: unknown }
  | { readonly kind: "same"; readonly inner: unknown; readonly extra?: JsonSchema }
  | { readonly kind: "impossible"; readonly why: string }
) & {
  /** True if the value may be absent. */
  readonly isOptional: boolean;
  /** Title, description and other annotations. */
  readonly annotations?: JsonSchema;
};

/** The treatment of members that an object schema does not name. */
export type UnknownMembers = "drop" | "refuse" | "keep" | { readonly schema: unknown };

/** A node without the members that do not depend on its kind. */
export type BareNode = Bare<ZodNode>;

type Bare<Node> = Node extends ZodNode ? Omit<Node, "isOptional" | "annotations"> : never;

/** Makes a node that is already JSON Schema. */
export function plain(json: JsonSchema): BareNode {
  return { kind: "plain", json };
}

/** Makes a node for a choice among constants. */
export function choice(values: readonly unknown[]): BareNode {
  if (values.length === 1 && values[0] === undefined) return plain({ not: {} });
  const json = choiceSchema(values);
  return json === undefined ? impossible("a literal must be a JSON value") : plain(json);
}

/** Converts a choice among constants. Undefined if one of them is no JSON value. */
function choiceSchema(values: readonly unknown[]): JsonSchema | undefined {
  const types = new Set(values.map((value) => (value === null ? "null" : typeof value)));
  for (const type of types) if (!["string", "number", "boolean", "null"].includes(type)) return undefined;
  const choice = values.length === 1 ? { const: values[0] } : { enum: [...values] };
  return types.size === 1 ? { type: [...types][0], ...choice } : choice;
}

/** Makes a node that JSON Schema cannot express. */
export function impossible(why: string): BareNode {
  return { kind: "impossible", why };
}

/** One check on a string, independent of the version of zod. */
export interface TextCheck {
  readonly format?: string | undefined;
  readonly pattern?: RegExp | undefined;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly startsWith?: string | undefined;
  readonly endsWith?: string | undefined;
  readonly includes?: string | undefined;
  readonly position?: number | undefined;
  /** For a date and time: true if it may have an offset other than Z. */
  readonly offset?: boolean | undefined;
  /** For a date and time: true if it may have no offset. */
  readonly local?: boolean | undefined;
}

/** Converts the checks on a string to JSON Schema. */
export function textSchema(checks: readonly TextCheck[]): JsonSchema {
  const json: JsonSchema = { type: "string" };
  const patterns: string[] = [];
  for (const check of checks) {
    narrow(json, "minLength", check.min, Math.max);
    narrow(json, "maxLength", check.max, Math.min);
    const { pattern, ...named } = check.format === "datetime" ? dateTime(check) : (formats[check.format ?? ""] ?? {});
    Object.assign(json, named);
    if (typeof pattern === "string") patterns.push(pattern);
    if (check.startsWith !== undefined) patterns.push(`^${escapeRegExp(check.startsWith)}`);
    else if (check.endsWith !== undefined) patterns.push(`${escapeRegExp(check.endsWith)}$`);
    else if (check.includes !== undefined) patterns.push(includes(check.includes, check.position));
    else if (!(check.format !== undefined && (check.format in formats || check.format === "datetime"))) {
      // JSON Schema has no flags: zod alone checks a pattern that needs one.
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

/** Formats with a JSON Schema equivalent. The others have a pattern or nothing. */
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
  // A time of zod has no offset, which the JSON Schema format requires.
  time: { pattern: "^\\d{2}:\\d{2}(:\\d{2}(\\.\\d+)?)?$" },
};

/** Sets a limit, or makes it stricter if it is already set. */
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

/** One check on a number, independent of the version of zod. */
export interface NumberCheck {
  readonly isInteger?: boolean;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  readonly multipleOf?: number | undefined;
}

/** Converts the checks on a number to JSON Schema. */
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

/** Returns the values of a TypeScript enum object, without its reverse mapping of numbers. */
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
  return position > 0 ? `^[\\s\\S]{${position},}${escapeRegExp(text)}` : escapeRegExp(text);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
