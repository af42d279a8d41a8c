/** A JSON Schema as plain data; keywords nobody here knows survive untouched. */
export interface JsonSchema {
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
