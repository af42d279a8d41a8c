import { nameOf, PortolanError } from "../errors.ts";
import type { JsonSchemaCheck } from "./json-schema.ts";
import { isObject } from "./shape.ts";
import type { Direction } from "./zod.ts";

/** A value that passed, or what is wrong with it. */
export type Validated<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly value?: undefined; readonly issues: readonly Issue[] };

/** Any accepted schema, ready for use: described for the peer, and able to check values. */
export interface CompiledSchema<T> {
  /** How the peer sees it; not to be read while something is loading. */
  readonly jsonSchema: JsonSchema;
  /** Code that only some schemas need is on its way; undefined once the schema can be used. Rejects when it is no schema. */
  readonly loading: Promise<void> | undefined;
  /** Answers at once when the schema does; only schemas with asynchronous checks answer with a promise. */
  validate(value: unknown): Validated<T> | Promise<Validated<T>>;
}

let conversionCount = 0;

/** How many schemas this process has turned into JSON Schema; it must not grow once a server is defined. */
export function conversions(): number {
  return conversionCount;
}

/**
 * Prepares a schema for one direction: arguments are described by what goes in (defaults may be absent), results by
 * what comes out. Throws a PortolanError "invalid-definition" when there is no way to write it as JSON Schema.
 */
export function compileSchema<T>(schema: Schema<T>, direction: Direction): CompiledSchema<T> {
  if (isStandard(schema)) return new CompiledStandard(schema, direction);
  if (isObject(schema)) return new CompiledPlain(schema);
  throw invalid(`expected a Standard Schema (zod, valibot, arktype…) or a JSON Schema object, got ${nameOf(schema)}`);
}

class CompiledStandard<T> implements CompiledSchema<T> {
  jsonSchema: JsonSchema = {};
  loading: Promise<void> | undefined;
  readonly #standard: StandardSchema<T>["~standard"];

  constructor(schema: StandardSchema<T>, direction: Direction) {
    this.#standard = schema["~standard"];
    const described = describeStandard(schema, direction);
    if (described) this.jsonSchema = described;
    else this.loading = this.#convert(schema, direction);
  }

  validate(value: unknown): Validated<T> | Promise<Validated<T>> {
    const result = this.#standard.validate(value);
    return result instanceof Promise ? result.then(toValidated) : toValidated(result);
  }

  /** Older versions of zod do not say what their schemas are; what reads them is loaded for them only. */
  #convert(schema: StandardSchema<T>, direction: Direction): Promise<void> {
    return handled(
      import("./zod.ts").then(({ zodToJsonSchema }) => {
        this.jsonSchema = zodToJsonSchema(schema, direction);
        this.loading = undefined;
      }),
    );
  }
}

class CompiledPlain<T> implements CompiledSchema<T> {
  readonly jsonSchema: JsonSchema;
  loading: Promise<void> | undefined;
  #check: JsonSchemaCheck | undefined;

  constructor(schema: JsonSchema) {
    this.jsonSchema = schema;
    this.loading = handled(
      import("./json-schema.ts").then(({ compileJsonSchema }) => {
        this.#check = compileJsonSchema(schema, { trusted: true });
        this.loading = undefined;
      }),
    );
  }

  validate(value: unknown): Validated<T> | Promise<Validated<T>> {
    if (!this.#check) return Promise.resolve(this.loading).then(() => this.validate(value));
    const issues = this.#check(value);
    // The only evidence for T is the JSON Schema that just passed.
    return issues.length === 0 ? { value: value as T } : { issues };
  }
}

/** Whoever uses the schema waits for the promise and hears of a failure; nobody has to. */
function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}

/** Gives a schema of a library without JSON Schema support one: a converter such as valibot's, or the JSON Schema. */
export function withJsonSchema<T, S extends object>(
  schema: StandardSchema<T> & S,
  toJsonSchema: ((schema: S) => object) | JsonSchema,
): StandardSchema<T> {
  const convert = (): JsonSchema =>
    (typeof toJsonSchema === "function" ? toJsonSchema(schema) : toJsonSchema) as JsonSchema;
  const { version, vendor, validate } = schema["~standard"];
  return { "~standard": { version, vendor, validate, jsonSchema: { input: convert, output: convert } } };
}

/** True for a Standard Schema; some libraries make theirs functions. */
function isStandard<T>(schema: Schema<T>): schema is StandardSchema<T> {
  return ((typeof schema === "object" && schema !== null) || typeof schema === "function") && "~standard" in schema;
}

/** The JSON Schema a schema carries; undefined when it is one of zod's that carries none. */
function describeStandard<T>(schema: StandardSchema<T>, direction: Direction): JsonSchema | undefined {
  conversionCount += 1;
  const { vendor, jsonSchema } = schema["~standard"];
  const { toJsonSchema } = schema as { toJsonSchema?: unknown };
  try {
    if (jsonSchema !== undefined) return firstOf(jsonSchema[direction]);
    if (typeof toJsonSchema === "function") return toJsonSchema.call(schema) as JsonSchema;
    if (vendor === "zod") return undefined;
  } catch (cause) {
    if (cause instanceof PortolanError) throw cause;
    const reason = cause instanceof Error ? cause.message.replace(/\s+/g, " ") : String(cause);
    throw invalid(`the ${vendor} schema cannot be written as JSON Schema: ${reason}`, cause);
  }
  throw invalid(
    `schemas of ${vendor} carry no JSON Schema; wrap this one: withJsonSchema(schema, converter), where converter returns it`,
  );
}

/** Asks for the newest draft a library writes. */
function firstOf(convert: (options: { readonly target: string }) => JsonSchema): JsonSchema {
  try {
    return convert({ target: "draft-2020-12" });
  } catch (cause) {
    try {
      return convert({ target: "draft-07" });
    } catch {
      throw cause;
    }
  }
}

function toValidated<T>(result: StandardResult<T>): Validated<T> {
  if (!result.issues) return result;
  return {
    issues: result.issues.map(({ path = [], message }) => ({
      // Not path.map: arktype's paths are no plain arrays.
      path: toPath(Array.from(path, (step) => (typeof step === "object" ? step.key : step))),
      message,
    })),
  };
}

function invalid(message: string, cause?: unknown): PortolanError {
  return new PortolanError("invalid-definition", message, cause === undefined ? undefined : { cause });
}

/** A JSON Schema as plain data, of the 2020-12 dialect if `$schema` names no other. Unknown keywords are kept. */
export interface JsonSchema {
  $schema?: string;
  [keyword: string]: unknown;
}

/** What a Standard Schema says about one wrong place. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/** The answer of a Standard Schema: a value, or the issues that kept it from being one. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** How a schema library writes its schemas as JSON Schema; either function may throw. */
export interface StandardJsonSchema {
  readonly input: (options: { readonly target: string }) => JsonSchema;
  readonly output: (options: { readonly target: string }) => JsonSchema;
}

/**
 * The part of Standard Schema (version 1) that we read: zod, valibot, arktype and others carry it.
 * Written here because comparing against the published interface costs authors more type instantiations.
 */
export interface StandardSchema<Output, Input = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly jsonSchema?: StandardJsonSchema;
    readonly types?: { readonly input: Input } | undefined;
  };
}

/**
 * Whatever an author may pass for a value of type `T`: a Standard Schema whose output is `T`, or a plain JSON Schema.
 * A plain JSON Schema says nothing about `T`, so give the type parameter that is inferred from it a default.
 */
export type Schema<T, Input = unknown> = StandardSchema<T, Input> | JsonSchema;

/** One wrong place in a value; `path` reads like `rows[3].id` and is empty for the value itself. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** Joins the keys that lead to a place: `["rows", 3, "id"]` becomes `rows[3].id`. */
export function toPath(keys: readonly PropertyKey[]): string {
  let path = "";
  for (const key of keys) {
    if (typeof key === "number") path += `[${key}]`;
    else if (typeof key === "symbol" || /^[\p{ID_Start}$_][\p{ID_Continue}$-]*$/u.test(key)) {
      path += path === "" ? String(key) : `.${String(key)}`;
    } else path += `[${JSON.stringify(key)}]`;
  }
  return path;
}
