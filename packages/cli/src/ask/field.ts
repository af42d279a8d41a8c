import type { PrimitiveSchema } from "portolan";
import { PortolanError } from "portolan";
import { checkFormAnswer } from "portolan/client";
import { type FieldSchema, limitsOf } from "../arguments/field-schema.ts";
import type { CommandContext } from "../command.ts";
import type { Completer } from "../terminal/terminal.ts";

/** A value to ask for, from a form or from the arguments of a tool. */
export interface Field {
  readonly name: string;
  readonly schema: FieldSchema;
  readonly isRequired: boolean;
  /** The input is not echoed. */
  readonly isSecret?: boolean;
  readonly complete?: Completer;
  /** The value entered before. */
  readonly before?: unknown;
  /** The person can go back to a previous field. */
  readonly hasBack?: boolean;
}

interface Option {
  readonly value: unknown;
  readonly label: string;
}

/** Asks until the value is valid. Returns undefined for an optional field left empty. */
export async function askField(context: CommandContext, field: Field): Promise<unknown> {
  const { terminal, screen } = context;
  const { name, schema, isRequired, isSecret = false, before, hasBack = false } = field;
  const options = optionsOf(schema);
  const isList = schema.type === "array" && options.length > 0;
  describe(context, field, options);
  const complete = field.complete ?? completeOptions(options, isList);
  const entered = before === undefined || isSecret ? "" : textOf(before, options);
  // Readline writes it unescaped, and the label of an option is text of the server.
  const initial = screen.safe(entered) === entered ? entered : "";
  for (;;) {
    const text = await terminal.line({ isSecret, initial, hasBack, ...(complete && { complete }) });
    const typed = isSecret ? text : text.trim();
    if (typed === "" && schema.default === undefined) {
      if (!isRequired) return undefined;
      terminal.say(`  ${screen.style("red", "a value is required")}`);
      continue;
    }
    const value = typed === "" ? schema.default : toValue(typed, schema, options, isList);
    const problem = await problemOf(name, schema, value);
    if (problem === undefined) return value;
    const shown = isSecret ? "not a valid value" : (askAgain(typed, schema, options, value) ?? problem);
    // The message of the problem quotes the input.
    terminal.say(`  ${screen.style("red", screen.safe(shown))}`);
  }
}

function describe({ terminal, screen }: CommandContext, field: Field, options: readonly Option[]): void {
  const { name, schema, isRequired } = field;
  const range = rangeOf(schema, options);
  // The range of a number says that it is one.
  const kind = range !== "" && schema.type !== "string" ? "" : kindOf(schema, options);
  const notes = [isRequired ? "required" : "optional", kind, range];
  if (schema.default !== undefined) notes.push(`Enter for ${labelOf(schema.default, options)}`);
  const about = notes
    .filter(Boolean)
    .map((note) => screen.safe(note))
    .join(", ");
  terminal.say(`  ${screen.style("bold", screen.safe(schema.title ?? name))} ${screen.style("dim", `(${about})`)}`);
  if (schema.description !== undefined) terminal.quote(schema.description);
  for (const [at, { label }] of options.entries()) terminal.say(`    ${at + 1} ${screen.safe(label)}`);
}

function kindOf({ type, format }: FieldSchema, options: readonly Option[]): string {
  if (options.length > 0) return type === "array" ? "numbers or names, separated by commas" : "number or name";
  if (type === "boolean") return "y or n";
  if (type === "string") return typeof format === "string" ? format : "";
  return typeof type === "string" ? (type === "object" || type === "array" ? "JSON" : type) : "";
}

/** Returns the limits of a number, or of the length of a text: `18 to 99`, `at least 3 characters`. */
function rangeOf(schema: FieldSchema, options: readonly Option[]): string {
  if (options.length > 0) return "";
  const { minimum, maximum, minLength, maxLength, exclusiveMinimum, exclusiveMaximum } = schema;
  const isText = schema.type === "string";
  const [least, most] = isText ? [minLength, maxLength] : [minimum, maximum];
  const isPlain = exclusiveMinimum === undefined && exclusiveMaximum === undefined;
  if (isPlain && typeof least === "number" && typeof most === "number") {
    return `${least} to ${most}${isText ? " characters" : ""}`;
  }
  return limitsOf(schema, isText)
    .map(({ words }) => words)
    .join(" and ");
}

/** Returns what to type instead, in the words of the field; undefined if only the problem itself says it. */
function askAgain(typed: string, schema: FieldSchema, options: readonly Option[], value: unknown): string | undefined {
  if (options.length > 0) {
    if (schema.type === "array") return undefined;
    return options.length === 1 ? "Type 1, or its name." : `Type 1 to ${options.length}, or a name.`;
  }
  if (schema.type === "boolean") return "Please answer y or n.";
  const isNumber = schema.type === "number" || schema.type === "integer";
  if (isNumber && typeof value !== "number") return `A number, please (you typed ${typed}).`;
  if (schema.type === "integer" && !Number.isInteger(value)) return `A whole number, please (you typed ${typed}).`;
  const size = typeof value === "number" ? value : [...typed].length;
  const isKept = limitsOf(schema, !isNumber).every((limit) => limit.isKept(size));
  if (isKept) return undefined;
  const range = rangeOf(schema, options);
  return `${range.charAt(0).toUpperCase()}${range.slice(1)}, please (you typed ${typed}).`;
}

function labelOf(value: unknown, options: readonly Option[]): string {
  const one = (it: unknown) => options.find((option) => option.value === it)?.label ?? String(it);
  if (typeof value === "boolean") return value ? "y" : "n";
  return Array.isArray(value) ? value.map(one).join(", ") : one(value);
}

/** Returns what the person would type for a value. */
function textOf(value: unknown, options: readonly Option[]): string {
  const isPlain = options.length > 0 || typeof value !== "object";
  return isPlain ? labelOf(value, options) : JSON.stringify(value);
}

/** Returns the options of a field, in each form that schemas have for them. */
function optionsOf(schema: FieldSchema): readonly Option[] {
  const { items, enumNames } = schema;
  if (schema.type === "array") return items ? optionsOf({ ...items, type: "string", oneOf: items.anyOf ?? [] }) : [];
  if (Array.isArray(schema.enum)) {
    return schema.enum.map((value, at) => ({ value, label: enumNames?.[at] ?? String(value) }));
  }
  return (Array.isArray(schema.oneOf) ? schema.oneOf : [])
    .filter((option) => option?.const !== undefined)
    .map((option) => ({ value: option.const, label: option.title ?? String(option.const) }));
}

function completeOptions(options: readonly Option[], isList: boolean): Completer | undefined {
  if (options.length === 0) return undefined;
  return async (line) => {
    const part = isList ? line.slice(line.lastIndexOf(",") + 1).trimStart() : line;
    const labels = options.map(({ label }) => label);
    return [labels.filter((label) => label.toLowerCase().startsWith(part.toLowerCase())), part];
  };
}

function toValue(text: string, schema: FieldSchema, options: readonly Option[], isList: boolean): unknown {
  if (isList) return text.split(",").map((word) => chosen(word.trim(), options));
  if (options.length > 0) return chosen(text, options);
  switch (schema.type) {
    case "boolean":
      return /^(y|yes|true)$/i.test(text) ? true : /^(n|no|false)$/i.test(text) ? false : text;
    case "number":
    case "integer":
      return Number.isFinite(Number(text)) ? Number(text) : text;
    case "string":
      return text;
    default:
      return jsonOr(text, schema.type === undefined);
  }
}

/** Finds an option by its number, its text in any case, or the beginning that only its text has. */
function chosen(text: string, options: readonly Option[]): unknown {
  const exact = options.find(({ value, label }) => label === text || String(value) === text);
  const found = exact ?? (/^\d+$/.test(text) ? options[Number(text) - 1] : byBeginning(text, options));
  return found?.value ?? text;
}

function byBeginning(text: string, options: readonly Option[]): Option | undefined {
  const typed = text.toLowerCase();
  const wordsOf = ({ value, label }: Option) => [label, String(value)].map((word) => word.toLowerCase());
  const whole = options.filter((option) => wordsOf(option).includes(typed));
  const begun =
    whole.length > 0 ? whole : options.filter((option) => wordsOf(option).some((it) => it.startsWith(typed)));
  return begun.length === 1 ? begun[0] : undefined;
}

function jsonOr(text: string, mayBeText: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (mayBeText) return text;
    return cause;
  }
}

/** Returns the problem of a value. Types that a form cannot hold are left to the server. */
async function problemOf(name: string, schema: FieldSchema, value: unknown): Promise<string | undefined> {
  if (value instanceof SyntaxError) return "expected JSON";
  const isSimple =
    ["string", "number", "integer", "boolean"].includes(String(schema.type)) || optionsOf(schema).length > 0;
  if (!isSimple) return undefined;
  try {
    await checkFormAnswer(
      {
        message: "",
        requestedSchema: { type: "object", properties: { [name]: schema as PrimitiveSchema }, required: [name] },
      },
      { action: "accept", content: { [name]: value as string } },
    );
    return undefined;
  } catch (reason) {
    if (!(reason instanceof PortolanError)) throw reason;
    // The message stands below the field, so it does not repeat its name.
    const problem = reason.message.replace(/^The answer does not fit the form: /, "");
    return problem.startsWith(`${name}: `) ? problem.slice(name.length + 2) : problem;
  }
}
