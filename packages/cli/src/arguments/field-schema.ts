/** The part of a field's JSON Schema that the command reads. Servers write it, so nothing in it is certain. */
export interface FieldSchema {
  readonly type?: unknown;
  readonly title?: string;
  readonly description?: string;
  readonly format?: unknown;
  readonly minimum?: unknown;
  readonly maximum?: unknown;
  readonly exclusiveMinimum?: unknown;
  readonly exclusiveMaximum?: unknown;
  readonly minLength?: unknown;
  readonly maxLength?: unknown;
  readonly properties?: { readonly [name: string]: FieldSchema };
  readonly required?: readonly string[];
  readonly items?: FieldSchema;
  readonly prefixItems?: readonly FieldSchema[];
  readonly enum?: readonly unknown[];
  readonly enumNames?: readonly string[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly FieldSchema[];
  readonly oneOf?: readonly FieldSchema[];
  readonly additionalProperties?: unknown;
  readonly patternProperties?: unknown;
  readonly $ref?: unknown;
}

const deepest = 8;

/** Returns the types that a field may have. Empty if the schema names none. */
export function typesOf({ type }: FieldSchema = {}): readonly unknown[] {
  if (type === undefined) return [];
  return Array.isArray(type) ? type : [type];
}

/**
 * Resolves a field: follows `$ref` within its schema, and joins alternatives into one field with several types. Many
 * servers write an optional number as "a number or null".
 */
export function resolveField(field: FieldSchema, root: FieldSchema): FieldSchema {
  return resolve(field, root, new Map(), 0);
}

/** Resolves each field of `known` once: alternatives that refer to each other would multiply with each level. */
function resolve(
  field: FieldSchema,
  root: FieldSchema,
  known: Map<FieldSchema, FieldSchema>,
  depth: number,
): FieldSchema {
  if (typeof field !== "object" || field === null || depth > deepest) return {};
  const before = known.get(field);
  if (before) return before;
  // A field that is an alternative of itself accepts anything.
  known.set(field, {});
  const resolved = resolveOnce(field, root, (inner) => resolve(inner, root, known, depth + 1));
  known.set(field, resolved);
  return resolved;
}

function resolveOnce(field: FieldSchema, root: FieldSchema, next: (inner: FieldSchema) => FieldSchema): FieldSchema {
  if (typeof field.$ref === "string") return next(resolvePointer(root, field.$ref));
  if (field.const !== undefined) return { type: typeof field.const, enum: [field.const] };
  const options = field.anyOf ?? field.oneOf;
  if (field.type !== undefined || !Array.isArray(options)) return field;
  const each = [...new Set(options.map(next))];
  // If one alternative accepts anything, so does the field.
  if (each.some((option) => typesOf(option).length === 0)) return {};
  const real = each.filter((option) => !typesOf(option).includes("null"));
  const items = real.find((option) => option.items)?.items;
  const choices = real.every((option) => option.enum) ? real.flatMap((option) => option.enum ?? []) : [];
  const [only] = real;
  return {
    ...(real.length === 1 && only),
    type: [...new Set(each.flatMap(typesOf))],
    ...(items && { items }),
    ...(choices.length > 0 && { enum: choices }),
  };
}

/** Returns the schema at a pointer such as `#/$defs/Size`. */
export function resolvePointer(root: FieldSchema, pointer: string): FieldSchema {
  // Text after `#` without a slash is the name of an anchor.
  let at: unknown = pointer === "#" || pointer.startsWith("#/") ? root : undefined;
  for (const name of pointer.split("/").slice(1)) {
    const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
    const isThere = typeof at === "object" && at !== null && Object.hasOwn(at, key);
    at = isThere ? (at as { [key: string]: unknown })[key] : undefined;
  }
  return (at ?? {}) as FieldSchema;
}

/** A limit of a field: the words for it, and whether a value keeps it. */
interface Limit {
  readonly words: string;
  readonly isKept: (value: number) => boolean;
}

/** Returns the limits of a number, or of the length of a text. */
export function limitsOf(schema: FieldSchema, isText = false): readonly Limit[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength } = schema;
  const limit = (bound: unknown, words: string, isKept: (value: number, bound: number) => boolean): Limit[] => {
    if (typeof bound !== "number") return [];
    const unit = isText ? ` ${bound === 1 ? "character" : "characters"}` : "";
    return [{ words: `${words} ${bound}${unit}`, isKept: (value) => isKept(value, bound) }];
  };
  return isText
    ? [
        ...limit(minLength, "at least", (value, bound) => value >= bound),
        ...limit(maxLength, "at most", (value, bound) => value <= bound),
      ]
    : [
        ...limit(minimum, "at least", (value, bound) => value >= bound),
        ...limit(exclusiveMinimum, "more than", (value, bound) => value > bound),
        ...limit(maximum, "at most", (value, bound) => value <= bound),
        ...limit(exclusiveMaximum, "less than", (value, bound) => value < bound),
      ];
}
