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

/** Reads a schema of zod 3 from its `_def`. */
export function readZod3(schema: unknown, direction: Direction): ZodNode {
  const definition = definitionOf(schema);
  const isOptional = mayBeAbsent(schema, direction, 0);
  const description = definition["description"];
  const annotations = typeof description === "string" ? { annotations: { description } } : {};
  return { ...readKind(definition, direction), isOptional, ...annotations };
}

interface Definition {
  readonly typeName: string;
  readonly [member: string]: unknown;
}

interface Check {
  readonly kind: string;
  readonly value?: number;
  readonly inclusive?: boolean;
  readonly regex?: RegExp;
  readonly version?: string;
  readonly position?: number;
  readonly offset?: boolean;
  readonly local?: boolean;
}

function readKind(definition: Definition, direction: Direction): BareNode {
  switch (definition.typeName) {
    case "ZodString":
      return plain(textSchema(checksOf(definition).map(textCheck)));
    case "ZodNumber":
      return plain(numberSchema(checksOf(definition).map(numberCheck)));
    case "ZodBoolean":
      return plain({ type: "boolean" });
    case "ZodNull":
      return plain({ type: "null" });
    case "ZodDate":
      return plain({ type: "string", format: "date-time" });
    case "ZodAny":
    case "ZodUnknown":
      return plain({});
    case "ZodNever":
    case "ZodUndefined":
    case "ZodVoid":
      return plain({ not: {} });
    case "ZodLiteral":
      return choice([definition["value"]]);
    case "ZodEnum":
      return choice(definition["values"] as unknown[]);
    case "ZodNativeEnum":
      return choice(enumValues(definition["values"] as { [name: string]: unknown }));
    case "ZodObject":
      return { kind: "object", members: Object.entries(shapeOf(definition)), others: othersOf(definition) };
    case "ZodArray":
      return { kind: "array", item: definition["type"], bounds: boundsOf(definition) };
    case "ZodTuple": {
      const items = definition["items"] as unknown[];
      return { kind: "tuple", items, minItems: items.length, rest: definition["rest"] ?? undefined };
    }
    case "ZodRecord":
      return { kind: "record", key: definition["keyType"], value: definition["valueType"] };
    case "ZodUnion":
    case "ZodDiscriminatedUnion":
      return { kind: "union", options: definition["options"] as unknown[] };
    case "ZodIntersection":
      return { kind: "intersection", sides: [definition["left"], definition["right"]] };
    case "ZodNullable":
      return { kind: "nullable", inner: definition["innerType"] };
    case "ZodDefault":
      return { kind: "same", inner: definition["innerType"], extra: { default: call(definition["defaultValue"]) } };
    case "ZodOptional":
    case "ZodReadonly":
    case "ZodCatch":
      return { kind: "same", inner: definition["innerType"] };
    case "ZodBranded":
    case "ZodPromise":
      return { kind: "same", inner: definition["type"] };
    case "ZodLazy":
      return { kind: "same", inner: call(definition["getter"]) };
    case "ZodEffects":
      return isTransform(definition) && direction === "output"
        ? impossible("the result of a transform is not known; name it with .pipe(...)")
        : { kind: "same", inner: definition["schema"] };
    case "ZodPipeline":
      return { kind: "same", inner: direction === "input" ? definition["in"] : definition["out"] };
    default:
      return impossible(`${definition.typeName} has no JSON Schema`);
  }
}

function definitionOf(schema: unknown): Definition {
  const definition = isObject(schema) ? schema["_def"] : undefined;
  return isObject(definition) && typeof definition["typeName"] === "string"
    ? (definition as Definition)
    : { typeName: "a value that is no zod schema" };
}

/** Returns true if the value may be absent. */
function mayBeAbsent(schema: unknown, direction: Direction, depth: number): boolean {
  const definition = definitionOf(schema);
  const inner = (next: unknown): boolean => depth < 32 && mayBeAbsent(next, direction, depth + 1);
  switch (definition.typeName) {
    case "ZodOptional":
    case "ZodAny":
    case "ZodUnknown":
    case "ZodUndefined":
    case "ZodVoid":
      return true;
    case "ZodDefault":
    case "ZodCatch":
      return direction === "input" || (definition.typeName === "ZodCatch" && inner(definition["innerType"]));
    case "ZodNullable":
    case "ZodReadonly":
      return inner(definition["innerType"]);
    case "ZodBranded":
      return inner(definition["type"]);
    case "ZodEffects":
      return inner(definition["schema"]);
    case "ZodPipeline":
      return inner(direction === "input" ? definition["in"] : definition["out"]);
    case "ZodLazy":
      return inner(call(definition["getter"]));
    case "ZodUnion":
      return (definition["options"] as unknown[]).some(inner);
    case "ZodLiteral":
      return definition["value"] === undefined;
    default:
      return false;
  }
}

function checksOf(definition: Definition): readonly Check[] {
  return (definition["checks"] ?? []) as Check[];
}

function textCheck(check: Check): TextCheck {
  const { kind, value, regex, version, position, offset, local } = check;
  switch (kind) {
    case "min":
      return { min: value };
    case "max":
      return { max: value };
    case "length":
      return { min: value, max: value };
    case "regex":
      return { pattern: regex };
    case "startsWith":
    case "endsWith":
    case "includes":
      return { [kind]: String(value), position };
    case "ip":
      return version === undefined ? {} : { format: `ip${version}` };
    default:
      return { format: kind, offset, local };
  }
}

function numberCheck({ kind, value, inclusive }: Check): NumberCheck {
  switch (kind) {
    case "int":
      return { isInteger: true };
    case "min":
      return inclusive ? { min: value } : { above: value };
    case "max":
      return inclusive ? { max: value } : { below: value };
    case "multipleOf":
      return { multipleOf: value };
    default:
      return {};
  }
}

function boundsOf(definition: Definition): JsonSchema {
  const json: JsonSchema = {};
  const bound = (name: string): number | undefined => (definition[name] as { value?: number } | null)?.value;
  narrow(json, "minItems", bound("minLength"), Math.max);
  narrow(json, "maxItems", bound("maxLength"), Math.min);
  narrow(json, "minItems", bound("exactLength"), Math.max);
  narrow(json, "maxItems", bound("exactLength"), Math.min);
  return json;
}

function shapeOf(definition: Definition): { [name: string]: unknown } {
  return call(definition["shape"]) as { [name: string]: unknown };
}

function othersOf(definition: Definition): UnknownMembers {
  if (definitionOf(definition["catchall"]).typeName !== "ZodNever") return { schema: definition["catchall"] };
  if (definition["unknownKeys"] === "strict") return "refuse";
  return definition["unknownKeys"] === "passthrough" ? "keep" : "drop";
}

function isTransform(definition: Definition): boolean {
  return (definition["effect"] as { type: string }).type === "transform";
}

function call(getter: unknown): unknown {
  return (getter as () => unknown)();
}
