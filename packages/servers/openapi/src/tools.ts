import { type Context, type FullResult, type ToolDefinition, withJsonSchema } from "portolan/server";
import { annotations } from "portolan-server-kit";
import { visible } from "portolan-server-kit/consent";
import type { ConfirmedChanges } from "portolan-server-kit/service";
import type { Api } from "./api.ts";
import { firstProblem, type Problem } from "./check-value.ts";
import { type Description, isJson, type Json, shortened } from "./description.ts";
import { type Input, inputOf } from "./input.ts";
import type { Operation } from "./operations.ts";
import type { OpenApiLimits } from "./options.ts";
import { requestOf } from "./request.ts";
import { type Output, toResult } from "./results.ts";
import { convertSchemas } from "./schemas.ts";

const maxDescription = 1_500;

/** The parts that all operations of an API share. */
export interface Operating {
  readonly description: Description;
  readonly api: Api;
  readonly changes: ConfirmedChanges;
  readonly limits: OpenApiLimits;
}

/** An operation that can be called. Its schemas are made when they are first needed. */
export class CallableOperation {
  readonly operation: Operation;
  readonly #with: Operating;
  #input: Input | undefined;
  #output: { readonly schema: Output } | undefined;

  constructor(operation: Operation, operating: Operating) {
    this.operation = operation;
    this.#with = operating;
  }

  get input(): Input {
    this.#input ??= inputOf(this.#with.description, this.operation, this.#with.limits.maxInputBytes);
    return this.#input;
  }

  /** The schema of the result; undefined if there is none that is short enough. */
  get output(): Output {
    this.#output ??= { schema: this.#toOutput() };
    return this.#output.schema;
  }

  get text(): string {
    const { summary, description, method, path, isDeprecated } = this.operation;
    const parts = [
      isDeprecated ? "Deprecated." : undefined,
      summary,
      description === summary ? undefined : description,
    ];
    const said = parts.filter((part) => part !== undefined).join("\n\n");
    return [shortened(said, maxDescription), `${method} ${path}`].filter((part) => part !== "").join("\n\n");
  }

  /** Returns the first argument that is wrong. */
  check(values: unknown): Problem | undefined {
    const { schema } = this.input;
    return firstProblem(values, schema, isJson(schema["$defs"]) ? schema["$defs"] : {});
  }

  /** Sends the request, after the user has agreed if it changes something. `output` is the schema that the tool declares. */
  async call(values: Json, context: Context, output: Output): Promise<FullResult<unknown>> {
    const { api, changes, limits } = this.#with;
    const request = requestOf(this.operation, this.input, values);
    const send = async () =>
      toResult(this.operation, this.input, await api.send(this.operation, request, context), output, limits);
    return this.operation.isReading ? send() : changes.run(context, this.#question(request.path, values), send);
  }

  /** The tool of this operation. */
  toTool(): ToolDefinition<Json, unknown, undefined> {
    const { operation, output } = this;
    const title = operation.summary;
    return {
      ...(title !== undefined && { title: shortened(title, 100) }),
      description: this.text,
      annotations: annotationsOf(operation),
      input: withJsonSchema(
        standardOf<Json>((value) => this.check(value)),
        this.input.schema,
      ),
      ...(output && {
        output: withJsonSchema(
          standardOf<unknown>(() => undefined),
          output,
        ),
      }),
      run: (values, context) => this.call(values, context, output),
    };
  }

  #toOutput(): Output {
    const { result } = this.operation;
    if (!result) return undefined;
    const { maxResultSchemaBytes } = this.#with.limits;
    const { description } = this.#with;
    // Older clients need an object at the root, and do not look behind a reference.
    const root = description.schemaOf(result.schema);
    if (!root) return undefined;
    const { schemas, definitions } = convertSchemas(description, "result", [root], maxResultSchemaBytes);
    const schema: Json = {
      ...(schemas[0]?.["properties"] !== undefined && { type: "object" }),
      ...schemas[0],
      ...(Object.keys(definitions).length > 0 && { $defs: definitions }),
    };
    // A schema whose members were left out says nothing.
    const isUseful = Object.keys(schema).some((keyword) => /^(\$ref|allOf|anyOf|properties|items)$/.test(keyword));
    return isUseful && JSON.stringify(schema).length <= maxResultSchemaBytes ? schema : undefined;
  }

  #question(path: string, values: Json): string {
    const { method, summary } = this.operation;
    const what = summary === undefined ? "" : `${shortened(summary)}\n\n`;
    const shown = JSON.stringify(values, null, 2);
    const details = shown === "{}" ? "" : `\n\n${shown}`;
    return visible(`${what}${method} ${this.#with.api.service.api}${path}${details}`);
  }
}

/** Hints about the effect of an operation, by its method. */
function annotationsOf({ isReading, method }: Operation) {
  if (isReading) return { ...annotations.reads, openWorldHint: true };
  const effect = { POST: annotations.adds, PUT: annotations.overwrites, DELETE: annotations.overwrites }[method];
  return { ...(effect ?? annotations.destroys), openWorldHint: true };
}

/** Makes a schema that the library can use, from a function that finds problems. */
function standardOf<T>(problemOf: (value: unknown) => Problem | undefined) {
  return {
    "~standard": {
      version: 1 as const,
      vendor: "portolan-openapi",
      validate: (value: unknown) => {
        const problem = problemOf(value);
        if (!problem) return { value: value as T };
        return { issues: [{ message: problem.message, path: problem.path === "" ? [] : [problem.path] }] };
      },
    },
  };
}
