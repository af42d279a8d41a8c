import type { JsonSchema } from "./infer.ts";
import { isObject } from "./shape.ts";
import {
  type BareNode,
  choice,
  type Direction,
  enumValues,
  impossible,
  type NumberCheck,
  narrow,
  numberSchema,
  plain,
  type TextCheck,
  textSchema,
  type UnknownMembers,
  type ZodNode,
} from "./zod-node.ts";

/** Reads a schema of zod 4, including its mini and core editions, from its `_zod`. */
export function readZod4(schema: unknown, direction: Direction): ZodNode {
  const internals = internalsOf(schema);
  const isOptional = isAbsentAllowed(internals, direction);
  const annotations = annotationsOf(schema);
  return { ...readKind(internals, direction), isOptional, ...(annotations !== undefined && { annotations }) };
}

interface Definition {
  readonly type: string;
  readonly checks?: readonly { readonly _zod: { readonly def: Check } }[];
  readonly [member: string]: unknown;
}

interface Check {
  readonly check?: string;
  readonly format?: string;
  readonly pattern?: RegExp;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly length?: number;
  readonly value?: number;
  readonly inclusive?: boolean;
  readonly prefix?: string;
  readonly suffix?: string;
  readonly includes?: string;
  readonly position?: number;
  readonly offset?: boolean;
  readonly local?: boolean;
}

interface Internals {
  readonly def: Definition;
  readonly optin?: string;
  readonly optout?: string;
  readonly values?: ReadonlySet<unknown>;
  readonly pattern?: RegExp;
}

function readKind(internals: Internals, direction: Direction): BareNode {
  const { def } = internals;
  switch (def.type) {
    case "string":
      return plain(textSchema(checksOf(def).map(textCheck)));
    case "number":
    case "int":
      return plain(numberSchema(checksOf(def).map(numberCheck)));
    case "boolean":
    case "success":
      return plain({ type: "boolean" });
    case "null":
      return plain({ type: "null" });
    case "date":
      return plain({ type: "string", format: "date-time" });
    case "any":
    case "unknown":
    case "custom":
      return plain({});
    case "never":
    case "undefined":
    case "void":
      return plain({ not: {} });
    case "literal":
      return choice(def["values"] as unknown[]);
    case "enum":
      return choice(enumValues(def["entries"] as { [name: string]: unknown }));
    case "template_literal":
      return plain(textSchema([{ pattern: internals.pattern }]));
    case "object":
      return { kind: "object", members: Object.entries(def["shape"] as object), others: othersOf(def) };
    case "array":
      return { kind: "array", item: def["element"], bounds: boundsOf(def) };
    case "tuple":
      return readTuple(def, direction);
    case "record":
      return readRecord(def, direction);
    case "union":
      return { kind: "union", options: def["options"] as unknown[] };
    case "intersection":
      return { kind: "intersection", sides: [def["left"], def["right"]] };
    case "nullable":
      return { kind: "nullable", inner: def["innerType"] };
    case "default":
      return { kind: "same", inner: def["innerType"], extra: { default: def["defaultValue"] } };
    case "prefault":
      return direction === "input"
        ? { kind: "same", inner: def["innerType"], extra: { default: def["defaultValue"] } }
        : { kind: "same", inner: def["innerType"] };
    case "optional":
    case "nonoptional":
    case "readonly":
    case "catch":
    case "promise":
      return { kind: "same", inner: def["innerType"] };
    case "lazy":
      return { kind: "same", inner: (def["getter"] as () => unknown)() };
    case "pipe":
      return { kind: "same", inner: direction === "output" || isTransform(def["in"]) ? def["out"] : def["in"] };
    case "transform":
      return impossible("the result of a transform is not known; name it with .pipe(...)");
    default:
      return impossible(`${def.type} has no JSON Schema`);
  }
}

function internalsOf(schema: unknown): Internals {
  const internals = isObject(schema) ? schema["_zod"] : undefined;
  return isObject(internals) && isObject(internals["def"])
    ? (internals as unknown as Internals)
    : { def: { type: "a value that is no zod schema" } };
}

function isAbsentAllowed({ def, optin, optout }: Internals, direction: Direction): boolean {
  if (direction === "output") return optout === "optional";
  return optin === "optional" || def.type === "catch";
}

/** Returns the annotations of `.describe()` and `.meta()`, without the id, which is for registries. */
function annotationsOf(schema: unknown): JsonSchema | undefined {
  const { meta } = schema as { meta?: unknown };
  const given: unknown = typeof meta === "function" ? meta.call(schema) : undefined;
  if (!isObject(given)) return undefined;
  const { id: _id, ...annotations } = given;
  return annotations;
}

/** Returns the checks of a schema. `z.email()` and similar schemas are checks themselves. */
function checksOf(def: Definition): Check[] {
  const own = (def.checks ?? []).map((check) => check._zod.def);
  return "check" in def ? [def as unknown as Check, ...own] : own;
}

function textCheck(check: Check): TextCheck {
  switch (check.check) {
    case "min_length":
      return { min: check.minimum };
    case "max_length":
      return { max: check.maximum };
    case "length_equals":
      return { min: check.length, max: check.length };
    case "string_format": {
      const { format, pattern, prefix, suffix, includes, position, offset, local } = check;
      return { format, pattern, startsWith: prefix, endsWith: suffix, includes, position, offset, local };
    }
    default:
      return {};
  }
}

/** Ranges of the number formats. `safeint` needs none: JSON numbers beyond it are not exact anyway. */
const ranges: { readonly [format: string]: NumberCheck } = {
  safeint: { isInteger: true },
  int32: { isInteger: true, min: -(2 ** 31), max: 2 ** 31 - 1 },
  uint32: { isInteger: true, min: 0, max: 2 ** 32 - 1 },
};

function numberCheck(check: Check): NumberCheck {
  switch (check.check) {
    case "number_format":
      return ranges[check.format ?? ""] ?? {};
    case "greater_than":
      return check.inclusive ? { min: check.value } : { above: check.value };
    case "less_than":
      return check.inclusive ? { max: check.value } : { below: check.value };
    case "multiple_of":
      return { multipleOf: check.value };
    default:
      return {};
  }
}

function boundsOf(def: Definition): JsonSchema {
  const json: JsonSchema = {};
  for (const check of checksOf(def)) {
    const { min, max } = textCheck(check);
    narrow(json, "minItems", min, Math.max);
    narrow(json, "maxItems", max, Math.min);
  }
  return json;
}

function othersOf(def: Definition): UnknownMembers {
  const { catchall } = def;
  if (catchall === undefined) return "drop";
  const { type } = internalsOf(catchall).def;
  if (type === "never") return "refuse";
  return type === "unknown" ? "keep" : { schema: catchall };
}

function readTuple(def: Definition, direction: Direction): BareNode {
  const items = def["items"] as unknown[];
  let minItems = items.length;
  while (minItems > 0 && isAbsentAllowed(internalsOf(items[minItems - 1]), direction)) minItems -= 1;
  return { kind: "tuple", items, minItems, rest: def["rest"] ?? undefined };
}

/** Reads a record. If its keys are listed, all of them are required. */
function readRecord(def: Definition, direction: Direction): BareNode {
  const { keyType: key, valueType: value } = def;
  const names = internalsOf(key).values;
  const isOptional = isAbsentAllowed(internalsOf(value), direction);
  return names === undefined || isOptional
    ? { kind: "record", key, value }
    : { kind: "record", key, value, required: [...names].map(String) };
}

function isTransform(schema: unknown): boolean {
  return internalsOf(schema).def.type === "transform";
}
