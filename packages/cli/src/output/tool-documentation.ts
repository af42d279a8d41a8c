import type { Prompt, Tool } from "portolan";
import { type FieldSchema, resolveField, typesOf } from "../arguments/field-schema.ts";
import { quote } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";
import { wrap } from "../terminal/wrap.ts";

/** The part of a schema that only documentation shows. Servers write it, so nothing in it is certain. */
interface DocumentedSchema extends FieldSchema {
  readonly [keyword: string]: unknown;
}

/** One field of a schema, with its path as a call writes it: `place.lat`, `stops[].lat`. */
interface FieldRow {
  readonly path: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly schema: DocumentedSchema;
}

/** Formats the whole documentation of a tool: description, arguments, output, labels, and how to call it. */
export function showTool(tool: Tool, call: string, screen: Screen): string {
  const { name, title = tool.annotations?.title, description, inputSchema, outputSchema } = tool;
  const parts = [screen.style("bold", screen.safe(name))];
  if (title !== undefined && title !== name) parts.push(paragraph(String(title), 0, screen));
  if (description) parts.push("", paragraph(String(description), 0, screen));
  parts.push("", heading("arguments", screen), fieldsOf(inputSchema as DocumentedSchema, "required", screen));
  if (outputSchema !== undefined)
    parts.push("", heading("output", screen), fieldsOf(outputSchema as DocumentedSchema, "always there", screen));
  const labels = labelsOf(tool);
  if (labels.length > 0) {
    parts.push("", heading("labels, as the server states them", screen));
    for (const label of labels) parts.push(paragraph(label, 2, screen));
  }
  return [...parts, "", heading("call", screen), paragraph(call, 2, screen)].join("\n");
}

/** Formats the whole documentation of a prompt. */
export function showPrompt({ name, title, description, arguments: args = [] }: Prompt, screen: Screen): string {
  const parts = [`${screen.style("bold", `/${screen.safe(name)}`)}${title ? `  ${screen.safe(title)}` : ""}`];
  if (description) parts.push("", paragraph(description, 0, screen));
  parts.push("", heading("arguments", screen));
  if (args.length === 0) parts.push("  none");
  for (const argument of args) {
    parts.push(
      `  ${screen.style("bold", screen.safe(argument.name))}  text${argument.required ? `${between(screen)}required` : ""}`,
    );
    if (argument.description) parts.push(paragraph(argument.description, 6, screen));
  }
  return parts.join("\n");
}

/** Wraps text of a server to the width, behind a margin. Its own lines stay apart. */
export function paragraph(text: string, margin: number, screen: Screen): string {
  const space = " ".repeat(margin);
  const safe = screen.safe(text.trim(), { lines: "keep" });
  return wrap(safe, screen.columns - margin)
    .map((line) => (line === "" ? "" : space + line))
    .join("\n");
}

function heading(text: string, screen: Screen): string {
  return screen.style("dim", text);
}

function between(screen: Screen): string {
  return ` ${screen.mark("dot")} `;
}

/** Formats the fields of a schema. `required` is the word for a required field. */
function fieldsOf(schema: DocumentedSchema, required: "required" | "always there", screen: Screen): string {
  const rows = rowsOf(schema, schema);
  const lines: string[] = [];
  if (rows.length === 0) {
    // A result need not be an object.
    const type = typeName(schema, schema);
    lines.push(
      `  ${required === "required" ? "none" : [type, ...factsOf(schema)].map((fact) => screen.safe(fact)).join(between(screen))}`,
    );
  }
  for (const { path, type, isRequired, schema: field } of rows) {
    const facts = [type, ...(isRequired ? [required] : []), ...factsOf(field)].map((fact) => screen.safe(fact));
    const [first = "", ...rest] = wrap(`${screen.safe(path)}  ${facts.join(between(screen))}`, screen.columns - 8);
    const name = screen.safe(path);
    lines.push(`  ${first.startsWith(name) ? screen.style("bold", name) + first.slice(name.length) : first}`);
    for (const line of rest) lines.push(`      ${line}`);
    const about = field.description ?? field.title;
    if (about) lines.push(screen.style("dim", paragraph(String(about), 6, screen)));
  }
  return lines.join("\n");
}

/** Deeper fields are not listed; `--schema` shows them. */
const deepest = 6;

/** Lists the fields of an object, each followed by its own fields. */
function rowsOf(
  schema: DocumentedSchema,
  root: DocumentedSchema,
  prefix = "",
  refs: readonly string[] = [],
): FieldRow[] {
  if (refs.length > deepest) return [];
  const { properties } = schema;
  const required = Array.isArray(schema.required) ? schema.required : [];
  if (typeof properties !== "object" || properties === null) return [];
  return Object.entries(properties).flatMap(([name, field]) => {
    const path = prefix + name;
    const own = typeof field === "object" && field !== null ? (field as DocumentedSchema) : {};
    const resolved = { ...(resolveField(own, root) as DocumentedSchema), ...textOf(own) };
    const row = { path, isRequired: required.includes(name), type: typeName(own, root), schema: resolved };
    return [row, ...rowsBelow(own, root, path, refs)];
  });
}

/** Lists the fields inside a field: members of an object, of the items of a list, and of each alternative. */
function rowsBelow(field: DocumentedSchema, root: DocumentedSchema, path: string, refs: readonly string[]): FieldRow[] {
  const ref = typeof field.$ref === "string" ? field.$ref : "";
  // A type that contains itself is listed once.
  if (ref !== "" && refs.includes(ref)) return [];
  const known = [...refs, ref];
  const target = ref === "" ? field : (resolveField(field, root) as DocumentedSchema);
  const options = (target.anyOf ?? target.oneOf) as readonly DocumentedSchema[] | undefined;
  if (Array.isArray(options) && target.properties === undefined) {
    const objects = options.filter((option) => isObjectType(option, root));
    if (objects.length === 1) return rowsBelow(objects[0] ?? {}, root, path, known);
    return objects.flatMap((option, at) => {
      const resolved = resolveField(option, root) as DocumentedSchema;
      const name = `${path} (form ${at + 1} of ${objects.length})`;
      const row = { path: name, isRequired: false, type: typeName(option, root), schema: resolved };
      return [row, ...rowsOf(resolved, root, `${path}.`, known)];
    });
  }
  const resolved = resolveField(target, root) as DocumentedSchema;
  if (resolved.items && typesOf(resolved).includes("array"))
    return rowsBelow(resolved.items as DocumentedSchema, root, `${path}[]`, known);
  return rowsOf(resolved, root, `${path}.`, known);
}

function isObjectType(schema: DocumentedSchema, root: DocumentedSchema): boolean {
  return typesOf(resolveField(schema, root)).includes("object");
}

/** Returns the words of a field that a reference beside them would hide. */
function textOf({ description, title, default: standard, examples }: DocumentedSchema): DocumentedSchema {
  return {
    ...(description !== undefined && { description }),
    ...(title !== undefined && { title }),
    ...(standard !== undefined && { default: standard }),
    ...(examples !== undefined && { examples }),
  };
}

/** Formats a type with all values of an enumeration. */
function typeName(field: FieldSchema, root: FieldSchema, depth = 0): string {
  const schema = resolveField(field, root);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const types = typesOf(schema);
  if (types.length === 0 || depth > deepest) return "any";
  const names = types.map((type) => {
    if (type === "integer") return "int";
    if (type !== "array") return String(type);
    const item = typeName(schema.items ?? {}, root, depth + 1);
    return item.includes(" | ") ? `(${item})[]` : `${item}[]`;
  });
  return names.join(" | ");
}

/** Keywords of a schema with one value, in words. */
const keywords: readonly (readonly [keyword: string, words: (value: string) => string])[] = [
  ["format", (value) => value],
  ["exclusiveMinimum", (value) => `above ${value}`],
  ["exclusiveMaximum", (value) => `below ${value}`],
  ["multipleOf", (value) => `a multiple of ${value}`],
  ["pattern", (value) => `matches ${value}`],
  ["contentEncoding", (value) => value],
];

/** Returns the limits, the default and the examples of a field. */
function factsOf(schema: DocumentedSchema): string[] {
  const facts: string[] = [];
  const range = (least: string, most: string, unit: string) => {
    const [from, to] = [schema[least], schema[most]];
    const plural = `${unit && ` ${unit}`}`;
    if (from !== undefined && to !== undefined)
      facts.push(from === to ? `${from}${plural}` : `${from} to ${to}${plural}`);
    else if (from !== undefined) facts.push(`at least ${from}${plural}`);
    else if (to !== undefined) facts.push(`at most ${to}${plural}`);
  };
  range("minimum", "maximum", "");
  range("minLength", "maxLength", "characters");
  range("minItems", "maxItems", "items");
  for (const [keyword, words] of keywords) {
    const value = schema[keyword];
    if (value !== undefined) facts.push(words(String(value)));
  }
  if (schema["uniqueItems"] === true) facts.push("each item once");
  if (schema.default !== undefined) facts.push(`default ${JSON.stringify(schema.default)}`);
  const examples = examplesOf(schema);
  if (examples.length > 0) facts.push(`for example ${examples.map((value) => JSON.stringify(value)).join(", ")}`);
  return facts;
}

function examplesOf(schema: DocumentedSchema): readonly unknown[] {
  const examples = schema["examples"] ?? (schema["example"] === undefined ? [] : [schema["example"]]);
  return Array.isArray(examples) ? examples : [];
}

/** Returns all annotations of a tool in words. */
function labelsOf({ annotations = {}, execution }: Tool): string[] {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  // Two labels mean nothing for a read-only tool.
  const said: (readonly [boolean | undefined, string, string])[] = [
    [readOnlyHint, "read-only: it changes nothing", "not read-only: it may change something"],
    [
      readOnlyHint ? undefined : destructiveHint,
      "destructive: it may delete or overwrite",
      "not destructive: it only adds",
    ],
    [
      readOnlyHint ? undefined : idempotentHint,
      "idempotent: a repeated call changes nothing more",
      "not idempotent: a repeated call has an effect again",
    ],
    [openWorldHint, "open world: it reaches others, such as the web", "closed world: it reaches nothing outside"],
  ];
  const labels = said.flatMap(([hint, yes, no]) => (hint === true ? [yes] : hint === false ? [no] : []));
  const { taskSupport } = execution ?? {};
  return taskSupport === undefined ? labels : [...labels, `runs as a task: ${taskSupport}`];
}

/** The words that begin a command line. */
interface CallWords {
  /** Starts a command for this server alone. */
  readonly only?: string | undefined;
  /** Starts this command. Default: `portolan`. */
  readonly program?: string;
}

/**
 * Returns the command line of a call with all required arguments. `…` stands for a value that the schema leaves open.
 */
export function callOf(
  { name, inputSchema }: Tool,
  target: string,
  { only, program = "portolan" }: CallWords = {},
): string {
  const root = inputSchema as DocumentedSchema;
  const words = requiredOf(root, root).map(({ path, schema, type }) => {
    const [value = schema.default ?? schema.enum?.[0]] = examplesOf(schema);
    if (value === undefined) return quote(path) + (type.includes("object") ? ":=…" : "=…");
    if (typeof value === "string") return quote(`${path}=${value}`);
    const isPlain = type === "int" || type === "number" || type === "boolean" || schema.enum !== undefined;
    return quote(`${path}${isPlain ? "=" : ":="}${JSON.stringify(value)}`);
  });
  if (only !== undefined) return [only, quote(name), ...words].join(" ");
  const [tool, behind] = target.startsWith("-- ")
    ? [quote(name), ` ${target}`]
    : [isConfiguredName(target) ? `${target}.${quote(name)}` : `${target} ${quote(name)}`, ""];
  return `${program} call ${[tool, ...words].join(" ")}${behind}`;
}

/** True for the name of a configured server; false for an address, a file, and a name in quotes. */
function isConfiguredName(target: string): boolean {
  return /^[\w@%+-]+$/.test(target);
}

function requiredOf(schema: DocumentedSchema, root: DocumentedSchema, prefix = "", depth = 0): FieldRow[] {
  if (depth > deepest) return [];
  const names: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  return names.flatMap((name) => {
    const field = (schema.properties?.[String(name)] ?? {}) as DocumentedSchema;
    const resolved = { ...(resolveField(field, root) as DocumentedSchema), ...textOf(field) };
    const path = `${prefix}${name}`;
    const hasValue = resolved.default !== undefined || examplesOf(resolved).length > 0;
    const inside = hasValue ? [] : requiredOf(resolved, root, `${path}.`, depth + 1);
    return inside.length > 0 ? inside : [{ path, isRequired: true, type: typeName(field, root), schema: resolved }];
  });
}
