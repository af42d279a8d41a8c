import { PortolanError } from "../../errors.ts";
import type { JsonObject } from "../../jsonrpc/message.ts";
import type { FormSchema } from "../../protocol/types/index.ts";
import type { Schema } from "../../schema/infer.ts";
import { type CompiledSchema, compileSchema } from "../../schema/infer.ts";

/** A form for the user, compiled once: a flat object of strings, numbers, booleans and choices. */
export interface Form<T> {
  /** The fields that the client shows. Await `compiled.loading` before reading it. */
  readonly schema: FormSchema;
  readonly compiled: CompiledSchema<T>;
}

/** Compiles a form. Call it once at program start, so that a question converts nothing. */
export function form<T = JsonObject>(schema: Schema<T>): Form<T> {
  const known = forms.get(schema) as Form<T> | undefined;
  if (known) return known;
  const compiled = compileSchema<T>(schema, "input");
  const made = new CompiledForm(compiled);
  forms.set(schema, made);
  return made;
}

/** Compiled forms by schema: `ctx.elicit` also takes schemas. */
const forms = new WeakMap<object, Form<unknown>>();

class CompiledForm<T> implements Form<T> {
  readonly compiled: CompiledSchema<T>;
  #schema: FormSchema | undefined;

  constructor(compiled: CompiledSchema<T>) {
    this.compiled = compiled;
    // A schema that is known already is checked here, so that the error points at the form.
    if (Object.keys(compiled.jsonSchema).length > 0) this.#schema = toFormSchema(compiled.jsonSchema);
  }

  get schema(): FormSchema {
    this.#schema ??= toFormSchema(this.compiled.jsonSchema);
    return this.#schema;
  }
}

/** A form without fields: accepting it is the answer. */
export const emptyForm: FormSchema = { type: "object", properties: {} };

export function isForm(value: object): value is Form<unknown> {
  return value instanceof CompiledForm;
}

/** Drops the fields that the form does not have, because clients may add some. A schema may allow others explicitly. */
export function fieldsOf({ schema, compiled }: Form<unknown>, content: JsonObject): JsonObject {
  if (compiled.jsonSchema["additionalProperties"]) return content;
  return Object.fromEntries(Object.entries(content).filter(([name]) => Object.hasOwn(schema.properties, name)));
}

function toFormSchema(schema: JsonObject): FormSchema {
  if (schema["type"] !== "object") throw invalidForm("", 'a schema whose root is { type: "object" }');
  const properties = (schema["properties"] ?? {}) as { [name: string]: JsonObject };
  const fields = Object.entries(properties).map(([name, field]) => [name, toField(name, field)]);
  const { required } = schema;
  return {
    type: "object",
    properties: Object.fromEntries(fields),
    ...(Array.isArray(required) && required.length > 0 && { required }),
  };
}

const fieldMembers = new Set([
  "type",
  "title",
  "description",
  "default",
  "minLength",
  "maxLength",
  "format",
  "minimum",
  "maximum",
  "enum",
  "enumNames",
  "oneOf",
  "minItems",
  "maxItems",
  "items",
]);

const formats = new Set(["email", "uri", "date", "date-time"]);

/** Returns a field with the keywords that forms have. Other keywords are checked when the answer arrives. */
function toField(name: string, schema: JsonObject): JsonObject {
  const field: JsonObject = {};
  for (const [keyword, value] of Object.entries(schema)) if (fieldMembers.has(keyword)) field[keyword] = value;
  if (Array.isArray(schema["anyOf"]) && isChoice(schema["anyOf"])) field["oneOf"] = schema["anyOf"];
  if (typeof schema["const"] === "string") field["enum"] = [schema["const"]];
  if (Array.isArray(field["enum"]) || Array.isArray(field["oneOf"])) field["type"] ??= "string";
  if (!formats.has(String(field["format"]))) delete field["format"];
  const { type, items } = field as { type?: unknown; items?: JsonObject };
  if (type === "array") {
    const isSelection = items !== undefined && (Array.isArray(items["enum"]) || Array.isArray(items["anyOf"]));
    if (!isSelection) throw invalidForm(name, "an array of choices");
  } else if (type !== "string" && type !== "number" && type !== "integer" && type !== "boolean") {
    throw invalidForm(name, "a string, number, boolean or choice");
  }
  if (type === "integer") dropSafeIntegerBounds(field);
  return field;
}

function isChoice(options: unknown[]): boolean {
  return options.every((option) => typeof (option as JsonObject)?.["const"] === "string");
}

/** Removes the bounds of a safe integer, which schema libraries add; they would confuse the user. */
function dropSafeIntegerBounds(field: JsonObject): void {
  if (field["minimum"] === Number.MIN_SAFE_INTEGER) delete field["minimum"];
  if (field["maximum"] === Number.MAX_SAFE_INTEGER) delete field["maximum"];
}

function invalidForm(name: string, expected: string): PortolanError {
  const where = name === "" ? "form" : `form field "${name}"`;
  return new PortolanError(
    "invalid-definition",
    `${where}: expected ${expected}; forms are flat, without nested objects`,
  );
}
