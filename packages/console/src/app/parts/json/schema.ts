// Reads a JSON Schema as a form needs it: which kind of field, which choices, what is written beside it.
import { emptyObject, type JsonNode, type JsonObjectNode, nodeOf, sameValue, withValue } from "./document.ts";

/** A schema that was received: nothing in it is certain. */
export type FormSchema = { readonly [keyword: string]: unknown } | boolean;

export interface FieldChoice {
  readonly node: JsonNode;
  readonly label: string;
}

export interface FieldVariant {
  readonly label: string;
  readonly schema: FormSchema;
}

/** A schema, ready to be drawn as a field. */
export interface FieldShape {
  readonly kind:
    | "string"
    | "number"
    | "integer"
    | "boolean"
    | "null"
    | "choice"
    | "choices"
    | "array"
    | "object"
    | "union"
    | "any";
  /** True if null is allowed beside other values. */
  readonly isNullable: boolean;
  /** The schema without references. */
  readonly schema: { readonly [keyword: string]: unknown };
  readonly title?: string;
  readonly description?: string;
  /** The values of a choice. */
  readonly choices: readonly FieldChoice[];
  readonly variants: readonly FieldVariant[];
  readonly properties: readonly (readonly [name: string, schema: FormSchema])[];
  readonly required: ReadonlySet<string>;
  /** The schema of members without a schema of their own. False: there are none. Undefined: the schema does not say. */
  readonly additional?: FormSchema;
  readonly items?: FormSchema;
  readonly default?: JsonNode;
  /** For example "integer 0..3". */
  readonly type: string;
}

const maxHops = 32;
const maxParts = 200;

const shapes = new WeakMap<object, WeakMap<object, FieldShape>>();
const noRoot = {};

/** Returns the shape of a schema. `root` is the schema that references lead into. */
export function shapeOf(schema: FormSchema, root: FormSchema): FieldShape {
  if (typeof schema !== "object") return describe({}, root);
  const key = typeof root === "object" ? root : noRoot;
  const known = shapes.get(key) ?? new WeakMap<object, FieldShape>();
  shapes.set(key, known);
  const shape = known.get(schema) ?? describe(flatten(schema, root, 0), root);
  known.set(schema, shape);
  return shape;
}

function isRecord(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): value is FormSchema {
  return typeof value === "boolean" || isRecord(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, maxParts) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Follows references and joins the parts of `allOf`. */
function flatten(schema: FormSchema, root: FormSchema, hops: number): { readonly [keyword: string]: unknown } {
  if (!isRecord(schema)) return {};
  let flat = schema;
  const reference = textOf(schema["$ref"]);
  if (reference !== undefined && hops < maxHops) {
    const { $ref: _, ...own } = schema;
    flat = { ...flatten(findReference(reference, root) ?? {}, root, hops + 1), ...own };
  }
  if (!Array.isArray(flat["allOf"]) || hops >= maxHops) return flat;
  const { allOf, ...own } = flat;
  return [
    ...listOf(allOf)
      .filter(isSchema)
      .map((part) => flatten(part, root, hops + 1)),
    own,
  ].reduce(join, {});
}

function join(one: { readonly [keyword: string]: unknown }, other: { readonly [keyword: string]: unknown }) {
  const joined: { [keyword: string]: unknown } = { ...one, ...other };
  if (isRecord(one["properties"]) && isRecord(other["properties"])) {
    joined["properties"] = { ...one["properties"], ...other["properties"] };
  }
  if (Array.isArray(one["required"]) && Array.isArray(other["required"])) {
    joined["required"] = [...one["required"], ...other["required"]];
  }
  return joined;
}

/** Follows a reference inside the schema: a pointer, or an anchor of a definition. Nothing is ever fetched. */
export function findReference(reference: string, root: FormSchema): FormSchema | undefined {
  if (reference === "#") return root;
  if (!isRecord(root)) return undefined;
  if (!reference.startsWith("#/")) {
    const definitions = [root["$defs"], root["definitions"]].filter(isRecord).flatMap((map) => Object.values(map));
    return definitions
      .filter(isRecord)
      .find((each) => `#${String(each["$anchor"])}` === reference || each["$id"] === reference);
  }
  let found: unknown = root;
  for (const token of reference.slice(2).split("/")) {
    const name = decode(token).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as { [name: string]: unknown })[name];
  }
  return isSchema(found) ? found : undefined;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const kinds = ["string", "number", "integer", "boolean", "null", "array", "object"] as const;

function describe(schema: { readonly [keyword: string]: unknown }, root: FormSchema): FieldShape {
  const title = textOf(schema["title"]);
  const description = textOf(schema["description"]);
  const shared = {
    schema,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...("default" in schema && { default: nodeOf(schema["default"]) }),
    choices: [],
    variants: [],
    properties: [],
    required: new Set<string>(),
  };
  const choices = choicesOf(schema, root);
  if (choices !== undefined) {
    const some = choices.filter(({ node }) => node.kind !== "null");
    const isNullable = some.length < choices.length;
    return {
      ...shared,
      kind: "choice",
      isNullable,
      choices: some,
      type: typeText(some[0]?.node.kind ?? "any", schema, isNullable),
    };
  }
  const union = listOf(schema["oneOf"] ?? schema["anyOf"]).filter(isSchema);
  if (union.length > 0) return describeUnion(schema, union, root, shared);

  const named = [schema["type"]].flat().filter((each) => kinds.includes(each as never)) as (typeof kinds)[number][];
  const isNullable = named.length > 1 && named.includes("null");
  const some = isNullable ? named.filter((each) => each !== "null") : named;
  if (some.length > 1) {
    const variants = some.map((type) => ({ label: type, schema: { ...schema, type } }));
    return {
      ...shared,
      kind: "union",
      isNullable,
      variants,
      type: [...some, ...(isNullable ? ["null"] : [])].join(" | "),
    };
  }
  const kind = some[0] ?? (isRecord(schema["properties"]) ? "object" : isSchema(schema["items"]) ? "array" : "any");
  const type = typeText(kind, schema, isNullable);
  if (kind === "object") return { ...shared, ...membersOf(schema), kind, isNullable, type };
  if (kind !== "array") return { ...shared, kind, isNullable, type };
  const items = isSchema(schema["items"]) ? schema["items"] : true;
  const each = choicesOf(flatten(items, root, 0), root);
  const itemType = isRecord(items) ? shapeOf(items, root).type : "any";
  const listType = `${type === "array" ? "list" : type} of ${each === undefined ? itemType : "choices"}`;
  if (each !== undefined) return { ...shared, kind: "choices", isNullable, choices: each, items, type: listType };
  return { ...shared, kind, isNullable, items, type: itemType === "any" ? type.replace("array", "list") : listType };
}

function membersOf(schema: { readonly [keyword: string]: unknown }) {
  const { properties, required, additionalProperties } = schema;
  const known = isRecord(properties) ? Object.entries(properties) : [];
  return {
    properties: known.filter((entry): entry is [string, FormSchema] => isSchema(entry[1])),
    required: new Set(listOf(required).filter((name) => typeof name === "string")),
    ...(isSchema(additionalProperties) && { additional: additionalProperties }),
  };
}

type SharedShape = Omit<FieldShape, "kind" | "isNullable" | "type">;

function describeUnion(
  schema: { readonly [keyword: string]: unknown },
  union: readonly FormSchema[],
  root: FormSchema,
  shared: SharedShape,
): FieldShape {
  const { oneOf: _one, anyOf: _any, ...own } = schema;
  const flat = union.map((part) => flatten(part, root, 0));
  const some = flat.filter((part) => part["type"] !== "null" && part["const"] !== null);
  const isNullable = some.length < flat.length;
  const [only] = some;
  if (only !== undefined && some.length === 1) {
    const shape = describe(join(only, own), root);
    const type = isNullable && !shape.isNullable ? `${shape.type} | null` : shape.type;
    return { ...shape, isNullable: isNullable || shape.isNullable, type };
  }
  const variants = some.map((part, at) => {
    const whole = join(own, part);
    return { schema: whole, label: labelOf(part, root) ?? `Form ${at + 1}` };
  });
  const types = [...new Set(variants.map((variant) => shapeOf(variant.schema, root).type))];
  const type = [...(types.length > 3 ? [`${variants.length} forms`] : types), ...(isNullable ? ["null"] : [])].join(
    " | ",
  );
  return { ...shared, kind: "union", isNullable, variants, type };
}

/** Names a variant: by its title, by the constant that tells it from the others, or by its type. */
function labelOf(schema: { readonly [keyword: string]: unknown }, root: FormSchema): string | undefined {
  const title = textOf(schema["title"]);
  if (title !== undefined) return title;
  const { properties } = schema;
  if (isRecord(properties)) {
    const constant = Object.entries(properties).find(([, each]) => isRecord(each) && "const" in each);
    if (constant !== undefined) return `${constant[0]}: ${String((constant[1] as { const: unknown }).const)}`;
    const names = Object.keys(properties);
    if (names.length > 0) return names.slice(0, 3).join(", ");
  }
  const { type } = describe(schema, root);
  return type === "any" ? undefined : type;
}

/** Returns the values of a schema that lists them, in one of the four ways there are. */
function choicesOf(
  schema: { readonly [keyword: string]: unknown },
  root: FormSchema,
): readonly FieldChoice[] | undefined {
  if ("const" in schema)
    return [{ node: nodeOf(schema["const"]), label: textOf(schema["title"]) ?? plain(schema["const"]) }];
  const { enum: values, enumNames } = schema;
  if (Array.isArray(values) && values.length > 0) {
    const names = listOf(enumNames);
    return values.map((value, at) => ({ node: nodeOf(value), label: textOf(names[at]) ?? plain(value) }));
  }
  const options = listOf(schema["oneOf"] ?? schema["anyOf"]).map((part) =>
    flatten(isSchema(part) ? part : {}, root, 0),
  );
  if (options.length === 0 || !options.every((option) => "const" in option)) return undefined;
  return options.map((option) => ({
    node: nodeOf(option["const"]),
    label: textOf(option["title"]) ?? plain(option["const"]),
  }));
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Writes a type with its bounds in few characters. */
function typeText(kind: string, schema: { readonly [keyword: string]: unknown }, isNullable: boolean): string {
  const format = textOf(schema["format"]);
  const [low, high] =
    kind === "string"
      ? [schema["minLength"], schema["maxLength"]]
      : kind === "array"
        ? [schema["minItems"], schema["maxItems"]]
        : [schema["minimum"] ?? schema["exclusiveMinimum"], schema["maximum"] ?? schema["exclusiveMaximum"]];
  const name = kind === "string" && format !== undefined ? format : kind;
  const isLow = typeof low === "number" && !(kind === "string" && low <= 1);
  const isHigh = typeof high === "number";
  const range =
    isLow && low === high
      ? ` ${low}`
      : isLow && isHigh
        ? ` ${low}..${high}`
        : isLow
          ? ` ≥ ${low}`
          : isHigh
            ? ` ≤ ${high}`
            : "";
  return `${name}${range}${isNullable ? " | null" : ""}`;
}

/** Returns the document that a new form begins with. `fill` puts in all defaults, else only those of required members. */
export function firstDocument(schema: FormSchema, root: FormSchema, fill: boolean): JsonObjectNode {
  const node = firstValue(schema, root, fill, 0);
  return node?.kind === "object" ? node : emptyObject;
}

/** Returns the value that a required member begins with. Undefined if nothing is known about it. */
export function firstValue(schema: FormSchema, root: FormSchema, fill: boolean, depth = 0): JsonNode | undefined {
  const shape = shapeOf(schema, root);
  if (shape.default !== undefined) return shape.default;
  if (shape.kind === "choice" && shape.choices.length === 1 && !shape.isNullable) return shape.choices[0]?.node;
  if (shape.kind !== "object" || depth > 8) return undefined;
  let node: JsonNode = emptyObject;
  for (const [name, member] of shape.properties) {
    const isRequired = shape.required.has(name);
    if (!isRequired && !(fill && shapeOf(member, root).default !== undefined)) continue;
    const first = firstValue(member, root, fill, depth + 1);
    if (first !== undefined && (first.kind !== "object" || first.members.length > 0 || isRequired)) {
      node = withValue(node, [name], first) ?? node;
    }
  }
  return node;
}

/** Returns the value that a person gets who asks for one: empty, but of the right type. */
export function blankValue(schema: FormSchema, root: FormSchema): JsonNode {
  const first = firstValue(schema, root, true);
  if (first !== undefined) return first;
  const shape = shapeOf(schema, root);
  switch (shape.kind) {
    case "string":
    case "any":
      return nodeOf("");
    case "number":
    case "integer":
      return nodeOf(typeof shape.schema["minimum"] === "number" ? shape.schema["minimum"] : 0);
    case "boolean":
      return nodeOf(false);
    case "choice":
      return shape.choices[0]?.node ?? nodeOf("");
    case "choices":
    case "array":
      return nodeOf([]);
    case "union":
      return shape.variants[0] === undefined ? nodeOf("") : blankValue(shape.variants[0].schema, root);
    default:
      return nodeOf(shape.kind === "null" ? null : {});
  }
}

/** Returns the index of the choice that a value is, or -1. */
export function choiceOf(shape: FieldShape, node: JsonNode | undefined): number {
  return node === undefined ? -1 : shape.choices.findIndex((choice) => sameValue(choice.node, node));
}
