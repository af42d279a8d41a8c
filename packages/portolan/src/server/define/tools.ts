import { PortolanError } from "../../errors.ts";
import { isObjectSchema, yieldsObjects } from "../../protocol/encode.ts";
import { type CompiledSchema, compileSchema } from "../../schema/infer.ts";
import { checkDefinition } from "./check.ts";
import type { ServerOptions, ToolDefinition } from "./definition.ts";
import type { CompiledFeature } from "./snapshot.ts";

/** A tool with everything computed that does not depend on the call. */
export interface CompiledTool extends CompiledFeature {
  readonly definition: ToolDefinition<unknown, unknown, unknown>;
  readonly input: CompiledSchema<unknown> | undefined;
  readonly output: CompiledSchema<unknown> | undefined;
  /** True if it stands for a tool of another server, whose results are passed on as they are. */
  readonly isForeign: boolean | undefined;
  /** Its output is not an object: older peers get it as `{ result: … }`. */
  wrapped: boolean;
}

const anyArguments = { type: "object" };

export function compileTool(
  name: string,
  definition: ToolDefinition<unknown, unknown, unknown>,
  { app: makeApp, leaveOutInvalid: isForeign }: ServerOptions<unknown>,
): CompiledTool {
  checkDefinition("tool", `Tool "${name}"`, definition);
  const input = compilePart(name, "input", definition.input);
  const output = compilePart(name, "output", definition.output);
  const { visibleTo } = definition;
  const tool: CompiledTool = {
    key: name,
    entry: {},
    visibleTo,
    definition,
    input,
    output,
    wrapped: false,
    isForeign,
    makeApp,
    around: [],
  };
  if (input?.loading || output?.loading) {
    checkRoot(tool);
    tool.loading = load(tool);
  } else describeTool(tool);
  return tool;
}

/** Loads what the schemas need. Never rejects: an invalid tool gets a `problem`, and its neighbours are served. */
async function load(tool: CompiledTool): Promise<void> {
  const { key, input, output } = tool;
  const refuse = (part: string) => (cause: unknown) => {
    throw invalidSchema(key, part, cause);
  };
  try {
    await input?.loading?.catch(refuse("input"));
    await output?.loading?.catch(refuse("output"));
    describeTool(tool);
  } catch (problem) {
    tool.problem = problem as PortolanError;
  }
  tool.loading = undefined;
}

/** Throws unless the arguments are an object. An empty schema that is loading is not known yet. */
function checkRoot({ key, input }: CompiledTool): void {
  if (!input || isObjectSchema(input.jsonSchema)) return;
  if (input.loading && Object.keys(input.jsonSchema).length === 0) return;
  throw invalidTool(key, 'input: expected a schema whose root is { type: "object" }; nest others in it');
}

/** Computes the members that depend on the schemas. */
function describeTool(tool: CompiledTool): void {
  const { key: name, input, output } = tool;
  checkRoot(tool);
  const { title, description, annotations, icons, meta } = tool.definition;
  tool.wrapped = output !== undefined && !yieldsObjects(output.jsonSchema);
  // Members that are undefined do not reach the wire.
  tool.entry = {
    name,
    title,
    description,
    inputSchema: input?.jsonSchema ?? anyArguments,
    outputSchema: output?.jsonSchema,
    annotations,
    icons,
    _meta: meta,
  };
}

function compilePart(
  name: string,
  part: "input" | "output",
  schema: ToolDefinition<unknown, unknown, unknown>["input"],
): CompiledSchema<unknown> | undefined {
  if (schema === undefined) return undefined;
  try {
    return compileSchema(schema, part);
  } catch (cause) {
    throw invalidSchema(name, part, cause);
  }
}

function invalidSchema(name: string, part: string, cause: unknown): PortolanError {
  return invalidTool(name, `${part}: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
}

function invalidTool(name: string, why: string, cause?: unknown): PortolanError {
  return new PortolanError("invalid-definition", `Tool "${name}": ${why}`, cause === undefined ? undefined : { cause });
}
