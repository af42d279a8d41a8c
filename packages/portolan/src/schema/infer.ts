import { nameOf, PortolanError } from "../errors.ts";
import type { JsonSchemaCheck } from "./json-schema.ts";
import { isObject } from "./shape.ts";
import type { Direction } from "./zod-node.ts";

/** A JSON Schema as plain data. Default dialect: 2020-12. Unknown keywords are kept. */
export interface JsonSchema {
  $schema?: string;
  [keyword: string]: unknown;
}

/** One issue of a Standard Schema. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/** The result of a Standard Schema: a value or issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** The JSON Schema converters of a schema library. Both may throw. */
export interface StandardJsonSchema {
  readonly input: (options: { readonly target: string }) => JsonSchema;
  readonly output: (options: { readonly target: string }) => JsonSchema;
}

/**
 * The part of Standard Schema (version 1) that the library reads: zod, valibot, arktype and others implement it.
 * Declared here because comparing with the published interface costs authors more type instantiations.
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
 * A schema for a value of the type `T`: a Standard Schema whose output is `T`, or a plain JSON Schema.
 * A plain JSON Schema says nothing about `T`, so a type parameter that is inferred from it needs a default.
 */
export type Schema<T, Input = unknown> = StandardSchema<T, Input> | JsonSchema;

/** One problem of a value. `path` is like `rows[3].id`, and empty for the value itself. */
export interface Issue {
  readonly path: string;
  readonly message: string;
}

/** Adds a JSON Schema to a schema of a library without support for it: by a converter such as valibot's, or directly. */
export function withJsonSchema<T, S extends object, Input = unknown>(
  schema: StandardSchema<T, Input> & S,
  toJsonSchema: ((schema: S) => object) | JsonSchema,
): StandardSchema<T, Input> {
  const convert = (): JsonSchema =>
    (typeof toJsonSchema === "function" ? toJsonSchema(schema) : toJsonSchema) as JsonSchema;
  const { version, vendor, validate } = schema["~standard"];
  return { "~standard": { version, vendor, validate, jsonSchema: { input: convert, output: convert } } };
}

/** A valid value, or its issues. */
export type Validated<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly value?: undefined; readonly issues: readonly Issue[] };

/** A schema ready for use: with its JSON Schema for the peer and a function that checks values. */
export interface CompiledSchema<T> {
  /** The JSON Schema for the peer. Read it only after `loading`. */
  readonly jsonSchema: JsonSchema;
  /** Resolves when code that only some schemas need is loaded. Undefined once the schema is ready. Rejects if it is invalid. */
  readonly loading: Promise<void> | undefined;
  /** Returns a promise only if the schema has asynchronous checks. */
  validate(value: unknown): Validated<T> | Promise<Validated<T>>;
}

let conversionCount = 0;

/** Returns the number of conversions to JSON Schema in this process. It must not grow once a server is defined. */
export function conversions(): number {
  return conversionCount;
}

/**
 * Compiles a schema for one direction: "input" for arguments, where members with a default may be absent, "output" for
 * results. Throws a PortolanError "invalid-definition" if it cannot be converted to JSON Schema.
 */
export function compileSchema<T>(schema: Schema<T>, direction: Direction): CompiledSchema<T> {
  if (isStandard(schema)) return new CompiledStandard(schema, direction);
  if (isObject(schema)) {
    if (Object.values(schema).some((member) => isStandard(member as Schema<unknown>))) {
      throw invalid("expected one schema, got an object of schemas; wrap it in z.object({ … })");
    }
    return new CompiledJsonSchema(schema);
  }
  throw invalid(`expected a Standard Schema (zod, valibot, arktype…) or a JSON Schema object, got ${nameOf(schema)}`);
}

class CompiledStandard<T> implements CompiledSchema<T> {
  jsonSchema: JsonSchema = {};
  loading: Promise<void> | undefined;
  readonly #standard: StandardSchema<T>["~standard"];

  constructor(schema: StandardSchema<T>, direction: Direction) {
    this.#standard = schema["~standard"];
    const described = jsonSchemaOf(schema, direction);
    if (described) this.jsonSchema = described;
    else this.loading = this.#convert(schema, direction);
  }

  validate(value: unknown): Validated<T> | Promise<Validated<T>> {
    const result = this.#standard.validate(value);
    return result instanceof Promise ? result.then(toValidated) : toValidated(result);
  }

  /** Older versions of zod have no JSON Schema support. The converter is loaded only for them. */
  #convert(schema: StandardSchema<T>, direction: Direction): Promise<void> {
    return handled(
      import("./zod.ts").then(({ zodToJsonSchema }) => {
        this.jsonSchema = zodToJsonSchema(schema, direction);
        this.loading = undefined;
      }),
    );
  }
}

class CompiledJsonSchema<T> implements CompiledSchema<T> {
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
    // A JSON Schema says nothing about T: the author chose the type.
    return issues.length === 0 ? { value: value as T } : { issues };
  }
}

/** Prevents an unhandled rejection: a schema that is never used may fail unnoticed. */
function handled(promise: Promise<void>): Promise<void> {
  promise.catch(() => {});
  return promise;
}

/** Returns true for a Standard Schema, which can be an object or a function. */
function isStandard<T>(schema: Schema<T>): schema is StandardSchema<T> {
  return ((typeof schema === "object" && schema !== null) || typeof schema === "function") && "~standard" in schema;
}

/** Returns the JSON Schema of a schema. Undefined for a zod schema without one. */
function jsonSchemaOf<T>(schema: StandardSchema<T>, direction: Direction): JsonSchema | undefined {
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
    throw invalid(`the ${vendor} schema cannot be converted to JSON Schema: ${reason}`, cause);
  }
  throw invalid(`schemas of ${vendor} have no JSON Schema; use withJsonSchema(schema, converter)`);
}

/** Returns 2020-12 if the library can write it, else draft-07. */
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

/** Issues of a value that are kept. A schema library may find one in each of a million items. */
const maxIssues = 10;

function toValidated<T>(result: StandardResult<T>): Validated<T> {
  if (!result.issues) return result;
  const issues: Issue[] = [];
  for (const { path = [], message } of result.issues) {
    // Not path.map: the paths of arktype are no plain arrays.
    issues.push({ path: toPath(Array.from(path, (step) => (typeof step === "object" ? step.key : step))), message });
    if (issues.length === maxIssues) break;
  }
  return { issues };
}

function invalid(message: string, cause?: unknown): PortolanError {
  return new PortolanError("invalid-definition", message, cause === undefined ? undefined : { cause });
}

/** Joins keys to a path: `["rows", 3, "id"]` becomes `rows[3].id`. */
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
