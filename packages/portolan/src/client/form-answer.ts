import { nameOf, PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { ElicitFormParams, ElicitResult } from "../protocol/types/index.ts";
import { type Issue, toPath } from "../schema/infer.ts";
import { isObject, oneOf } from "../schema/shape.ts";
import { maxFormProblems } from "./limits.ts";

type Field = readonly [name: string, schema: JsonObject];
type CheckField = (value: unknown) => readonly Issue[];

/**
 * Checks an answer against its form and adds the defaults of missing fields. Only an accepted answer has content. Throws
 * a PortolanError "answer-invalid" that names each wrong field, with the expected and the actual value.
 */
export async function checkFormAnswer(params: ElicitFormParams, answer: ElicitResult): Promise<ElicitResult> {
  const { content = {}, ...rest } = answer;
  const problem = oneOf("accept", "decline", "cancel")(rest.action, "action");
  if (problem !== undefined) throw invalid([problem]);
  if (rest.action !== "accept") return rest;
  if (!isObject(content)) throw invalid([`content: expected an object, got ${nameOf(content)}`]);

  const { requestedSchema: form } = params;
  // Copied without inherited members.
  const fields = Object.entries(form.properties ?? {}).map(([name, field]): Field => [name, { ...field }]);
  const required = Array.isArray(form.required) ? form.required : [];
  const { compileJsonSchema } = await import("../schema/json-schema.ts");
  const filled: [name: string, value: unknown][] = [];
  const problems: string[] = [];
  for (const [name, schema] of fields) {
    const check = checkOf(name, schema, compileJsonSchema);
    const entered = Object.hasOwn(content, name) ? content[name] : undefined;
    const value = entered === undefined ? defaultOf(schema, check) : entered;
    if (value !== undefined) {
      filled.push([name, value]);
      for (const { path, message } of check(value)) problems.push(`${toPath([name])}${path}: ${message}`);
    } else if (required.includes(name)) problems.push(`${toPath([name])}: required, got nothing`);
  }
  problems.push(...unknownFields(content, fields));
  if (problems.length > 0) throw invalid(problems);
  // Not one assignment per field: a field may be called __proto__.
  return { ...rest, content: Object.fromEntries(filled) } as ElicitResult;
}

/** The keywords of forms. A server that uses others checks them itself. */
const keywords = ["type", "enum", "minLength", "maxLength", "pattern", "minimum", "maximum", "minItems", "maxItems"];

function checkOf(name: string, field: JsonObject, compile: (schema: JsonObject) => CheckField): CheckField {
  const { format, items } = field;
  const schema = narrow(field, "oneOf");
  if (isObject(items)) schema["items"] = narrow(items, "anyOf");
  let check: CheckField;
  try {
    check = compile(schema);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PortolanError("answer-invalid", `The server's form has an invalid field: ${toPath([name])}: ${reason}`, {
      cause,
    });
  }
  return (value) => {
    const issues = check(value);
    if (issues.length > 0 || typeof value !== "string") return issues;
    const message = problemOfFormat(format, value);
    return message === undefined ? issues : [{ path: "", message }];
  };
}

/** Reduces a field or its items to the keywords that are checked. Choices with titles become an enum. */
function narrow(field: JsonObject, choices: "oneOf" | "anyOf"): JsonObject {
  const known = Object.entries(field).filter(([keyword]) => keywords.includes(keyword));
  const options = field[choices];
  const values = Array.isArray(options)
    ? options.filter(isObject).filter((option) => Object.hasOwn(option, "const"))
    : [];
  if (values.length > 0) known.push(["enum", values.map((option) => option["const"])]);
  return Object.fromEntries(known);
}

/** Returns the default of a field; undefined if the field itself refuses it. */
function defaultOf({ default: initial }: JsonObject, check: CheckField): unknown {
  return initial === undefined || check(initial).length > 0 ? undefined : initial;
}

function unknownFields(content: JsonObject, fields: readonly Field[]): string[] {
  const known = new Set(fields.map(([name]) => name));
  return Object.keys(content)
    .filter((name) => !known.has(name) && content[name] !== undefined)
    .map((name) => `${toPath([name])}: the form has no such field`);
}

function invalid(problems: readonly string[]): PortolanError {
  const shown = problems.slice(0, maxFormProblems);
  const more = problems.length > shown.length ? `; and ${problems.length - shown.length} more` : "";
  return new PortolanError("answer-invalid", `The answer does not fit the form: ${shown.join("; ")}${more}`);
}

interface Format {
  readonly expected: string;
  readonly fits: (text: string) => boolean;
}

/** The formats that a text field of a form may ask for. */
const formats = new Map<unknown, Format>([
  ["email", { expected: "an email address", fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text) }],
  ["uri", { expected: "an absolute URI", fits: (text) => /^[a-z][a-z\d+.-]*:\S+$/i.test(text) && URL.canParse(text) }],
  ["date", { expected: "a date such as 1999-12-31", fits: isDate }],
  ["date-time", { expected: "a time such as 1999-12-31T23:59:59Z", fits: isTime }],
]);

/** Returns undefined if the text fits, or the format is unknown. */
export function problemOfFormat(format: unknown, text: string): string | undefined {
  const known = formats.get(format);
  return known === undefined || known.fits(text) ? undefined : `expected ${known.expected}, got ${nameOf(text)}`;
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  // `Date` reads February 30 as a day of March.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** RFC 3339: the offset is mandatory, and second 60 is a leap second. */
function isTime(text: string): boolean {
  const [, date = "", hour, minute, second, offsetHour = 0, offsetMinute = 0] =
    /^(\d{4}-\d\d-\d\d)t(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|[+-](\d\d):(\d\d))$/i.exec(text) ?? [];
  return (
    isDate(date) &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) <= 60 &&
    Number(offsetHour) < 24 &&
    Number(offsetMinute) < 60
  );
}
