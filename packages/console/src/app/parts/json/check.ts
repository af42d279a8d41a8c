// Checks a document against a schema, and says for each place what is needed and what was found. It reads numbers digit by
// digit and stays on the safe side: what it does not understand it does not refuse. The server's own check decides.
import { isNumberText, type JsonNode, type JsonPath, type JsonStep, memberOf, sameValue } from "./document.ts";
import { type FieldShape, type FormSchema, shapeOf } from "./schema.ts";

export interface JsonProblem {
  readonly path: JsonPath;
  /** For example "needs a whole number, found 1.5". */
  readonly message: string;
  /** True if the member is missing. */
  readonly isMissing?: boolean;
}

const maxProblems = 100;
/** Patterns come from servers: a long one, or one that repeats a repetition, could hold the page up. */
const longestPattern = 200;
const longestMatched = 2_000;

/** Returns where a document breaks its schema, at most 100 places. */
export function checkJson(node: JsonNode | undefined, schema: FormSchema): readonly JsonProblem[] {
  const problems: JsonProblem[] = [];
  if (node === undefined) problems.push({ path: [], message: "is needed", isMissing: true });
  else new Check(schema, problems).value(node, schema, []);
  return problems;
}

class Check {
  readonly #root: FormSchema;
  readonly #problems: JsonProblem[];

  constructor(root: FormSchema, problems: JsonProblem[]) {
    this.#root = root;
    this.#problems = problems;
  }

  value(node: JsonNode, schema: FormSchema, path: readonly JsonStep[]): void {
    if (this.#problems.length >= maxProblems || path.length > 64) return;
    if (schema === false) {
      this.#add(path, "is not allowed here");
      return;
    }
    if (schema === true) return;
    const shape = shapeOf(schema, this.#root);
    if (node.kind === "null" && shape.isNullable) return;
    if (node.kind === "number" && !isNumberText(node.text)) {
      this.#add(path, `needs ${nounOf(shape)}, found ${node.text === "" ? "nothing" : short(node)}`);
      return;
    }
    if (shape.kind === "choice") {
      if (!shape.choices.some((choice) => sameValue(choice.node, node))) {
        const names = shape.choices.slice(0, 4).map((choice) => short(choice.node));
        const more = shape.choices.length > 4 ? `, … (${shape.choices.length})` : "";
        this.#add(path, `needs ${names.length > 1 ? "one of " : ""}${names.join(", ")}${more}, found ${short(node)}`);
      }
      return;
    }
    if (shape.kind === "union") {
      this.#union(node, shape, path);
      return;
    }
    if (!isOfKind(node, shape.kind)) {
      this.#add(path, `needs ${nounOf(shape)}, found ${found(node)}`);
      return;
    }
    if (node.kind === "string") this.#string(node.value, shape, path);
    else if (node.kind === "number") this.#number(node.text, shape, path);
    else if (node.kind === "array") this.#array(node, shape, path);
    else if (node.kind === "object") this.#object(node, shape, path);
  }

  #add(path: readonly JsonStep[], message: string, isMissing?: boolean): void {
    if (this.#problems.length < maxProblems) this.#problems.push({ path, message, ...(isMissing && { isMissing }) });
  }

  #union(node: JsonNode, shape: FieldShape, path: readonly JsonStep[]): void {
    const at = variantOf(node, shape, this.#root);
    const variant = shape.variants[at];
    if (variant === undefined) {
      this.#add(path, `needs ${shape.type}, found ${found(node)}`);
      return;
    }
    this.value(node, variant.schema, path);
  }

  #string(value: string, { schema }: FieldShape, path: readonly JsonStep[]): void {
    const { minLength, maxLength, pattern, format } = schema;
    const length = value.length > 100_000 ? value.length : [...value].length;
    if (typeof minLength === "number" && length < minLength) {
      const needs = minLength === 1 ? "needs text" : `needs at least ${minLength} characters`;
      this.#add(path, `${needs}, found ${length === 0 ? "none" : length}`);
    } else if (typeof maxLength === "number" && length > maxLength) {
      this.#add(path, `needs at most ${maxLength} characters, found ${length}`);
    } else if (typeof pattern === "string" && matches(pattern, value) === false) {
      this.#add(
        path,
        `needs to match ${pattern}, found ${short({ kind: "string", value, raw: JSON.stringify(value), start: -1, end: -1 })}`,
      );
    } else if (typeof format === "string" && value !== "") {
      const example = formats[format];
      if (example !== undefined && !example.test(value)) {
        this.#add(path, `needs ${example.needs}, found ${JSON.stringify(value.slice(0, 40))}`);
      }
    }
  }

  #number(text: string, { schema, kind }: FieldShape, path: readonly JsonStep[]): void {
    if (kind === "integer" && !isWhole(text)) {
      this.#add(path, `needs a whole number, found ${text}`);
      return;
    }
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
    if (typeof minimum === "number" && compare(text, minimum) < 0)
      this.#add(path, `needs at least ${minimum}, found ${text}`);
    else if (typeof maximum === "number" && compare(text, maximum) > 0)
      this.#add(path, `needs at most ${maximum}, found ${text}`);
    else if (typeof exclusiveMinimum === "number" && compare(text, exclusiveMinimum) <= 0) {
      this.#add(path, `needs more than ${exclusiveMinimum}, found ${text}`);
    } else if (typeof exclusiveMaximum === "number" && compare(text, exclusiveMaximum) >= 0) {
      this.#add(path, `needs less than ${exclusiveMaximum}, found ${text}`);
    } else if (typeof multipleOf === "number" && multipleOf > 0 && text.length < 16) {
      const times = Number(text) / multipleOf;
      if (Math.abs(times - Math.round(times)) > 1e-9)
        this.#add(path, `needs a multiple of ${multipleOf}, found ${text}`);
    }
  }

  #array(node: JsonNode & { kind: "array" }, shape: FieldShape, path: readonly JsonStep[]): void {
    const { minItems, maxItems, uniqueItems, prefixItems } = shape.schema;
    const { length } = node.items;
    if (typeof minItems === "number" && length < minItems)
      this.#add(path, `needs at least ${minItems} items, found ${length}`);
    if (typeof maxItems === "number" && length > maxItems)
      this.#add(path, `needs at most ${maxItems} items, found ${length}`);
    if (uniqueItems === true && length <= 500) {
      const twice = node.items.findIndex((item, at) => node.items.slice(0, at).some((other) => sameValue(item, other)));
      if (twice !== -1) this.#add([...path, twice], `stands here twice: ${short(node.items[twice] as JsonNode)}`);
    }
    const first = Array.isArray(prefixItems) ? (prefixItems as FormSchema[]) : [];
    for (let at = 0; at < length && this.#problems.length < maxProblems; at++) {
      const schema = at < first.length ? (first[at] as FormSchema) : shape.items;
      if (schema !== undefined) this.value(node.items[at] as JsonNode, schema, [...path, at]);
    }
  }

  #object(node: JsonNode & { kind: "object" }, shape: FieldShape, path: readonly JsonStep[]): void {
    for (const name of shape.required) {
      if (memberOf(node, name) === undefined) this.#add([...path, name], "is needed", true);
    }
    const known = new Map(shape.properties);
    const names = new Set<string>();
    for (const { name, value } of node.members) {
      if (names.has(name)) this.#add([...path, name], "stands here twice, servers read the last");
      names.add(name);
      const schema =
        known.get(name) ?? (shape.schema["patternProperties"] === undefined ? shape.additional : undefined);
      if (schema === false) this.#add([...path, name], "is not in the schema, which allows no other members");
      else if (schema !== undefined) this.value(value, schema, [...path, name]);
    }
  }
}

/** Returns the index of the variant that a value is meant for, or -1: the one that fits best. */
export function variantOf(node: JsonNode | undefined, shape: FieldShape, root: FormSchema): number {
  if (node === undefined) return -1;
  let best = -1;
  let fewest = Infinity;
  for (const [at, { schema }] of shape.variants.entries()) {
    const inner = shapeOf(schema, root);
    if (!isOfKind(node, inner.kind) && !(inner.kind === "choice" || inner.kind === "union")) continue;
    const problems: JsonProblem[] = [];
    new Check(root, problems).value(node, schema, []);
    // A constant that tells one variant from the others counts more than what is still missing.
    const weight = problems.reduce(
      (sum, { isMissing, message }) => sum + (isMissing ? 1 : /^needs "/.test(message) ? 20 : 2),
      0,
    );
    if (weight < fewest) [best, fewest] = [at, weight];
  }
  return best;
}

function isOfKind(node: JsonNode, kind: FieldShape["kind"]): boolean {
  if (kind === "any" || kind === "union" || kind === "choice") return true;
  if (kind === "integer") return node.kind === "number";
  return node.kind === (kind === "choices" ? "array" : kind);
}

function nounOf({ kind, isNullable }: FieldShape): string {
  const nouns: { readonly [kind: string]: string } = {
    string: "text",
    number: "a number",
    integer: "a whole number",
    boolean: "true or false",
    array: "a list",
    choices: "a list",
    object: "an object",
    null: "null",
  };
  return `${nouns[kind] ?? "a value"}${isNullable ? " or null" : ""}`;
}

function found(node: JsonNode): string {
  if (node.kind === "object") return "an object";
  if (node.kind === "array") return "a list";
  return node.kind === "string" ? `the text ${short(node)}` : short(node);
}

function short(node: JsonNode): string {
  const text =
    node.kind === "string"
      ? node.raw
      : node.kind === "object"
        ? "an object"
        : node.kind === "array"
          ? "a list"
          : node.text;
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** Tells whether a number has no fraction, without rounding it. */
export function isWhole(text: string): boolean {
  const [, digits = "", fraction = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const shift = Number(exponent);
  const significant = fraction.replace(/0+$/, "");
  if (shift >= significant.length) return true;
  if (shift >= 0) return false;
  return significant === "" && (/^0+$/.test(digits) || digits.length - digits.replace(/0+$/, "").length >= -shift);
}

/** Compares a written number with a bound: below, at or above zero. */
function compare(text: string, bound: number): number {
  if (/^-?\d+$/.test(text) && Number.isInteger(bound)) {
    const difference = BigInt(text) - BigInt(bound);
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }
  return Number(text) - bound;
}

/** Tells whether a text matches a pattern of a server. Undefined: the pattern is not run. */
function matches(pattern: string, value: string): boolean | undefined {
  const isRisky = /[*+}]\)?[*+{]|\)[*+{]|\\[1-9]|\(\?[<!=]/.test(pattern);
  if (pattern.length > longestPattern || value.length > longestMatched || isRisky) return undefined;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return undefined;
  }
}

interface Format {
  readonly needs: string;
  test(value: string): boolean;
}

const isDate = (text: string) =>
  /^\d{4}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text);

const formats: { readonly [name: string]: Format | undefined } = {
  date: { needs: "a date like 2026-11-19", test: (text) => isDate(text) === true },
  time: { needs: "a time like 13:00:00Z", test: (text) => /^\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text) },
  "date-time": {
    needs: "a time like 2026-11-19T13:00:00Z",
    test: (text) =>
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i.test(text) && !Number.isNaN(Date.parse(text)),
  },
  email: { needs: "an address like name@example.com", test: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
  uri: { needs: "an address like https://example.com", test: (text) => /^[a-z][a-z\d+.-]*:[^\s]*$/i.test(text) },
  uuid: { needs: "a UUID", test: (text) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text) },
  ipv4: {
    needs: "an address like 192.0.2.1",
    test: (text) => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}$/.test(text),
  },
};
