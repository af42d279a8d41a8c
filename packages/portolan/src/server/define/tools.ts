import { PortolanError } from "../../errors.ts";
import { isObjectSchema } from "../../protocol/encode.ts";
import { type CompiledSchema, compileSchema } from "../../schema/infer.ts";
import type { Middleware } from "../extension.ts";
import { expectFunctionIn } from "./check.ts";
import type { ServerOptions, ToolDefinition } from "./definition.ts";
import type { Feature } from "./snapshot.ts";

/** A tool with everything computed that does not depend on the call. */
export interface CompiledTool extends Feature {
  readonly definition: ToolDefinition<unknown, unknown, unknown>;
  readonly input: CompiledSchema<unknown> | undefined;
  readonly output: CompiledSchema<unknown> | undefined;
  /** Its output is no object, so that older peers get it in a box. */
  boxed: boolean;
  readonly makeApp: ServerOptions<unknown>["app"];
  /** Middleware of the mounted server it comes from. */
  readonly around: readonly Middleware[];
}

const anyArguments = { type: "object" };

export function compileTool(
  name: string,
  definition: ToolDefinition<unknown, unknown, unknown>,
  makeApp: ServerOptions<unknown>["app"],
): CompiledTool {
  expectFunctionIn(`Tool "${name}"`, definition, "run");
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
    boxed: false,
    makeApp,
    around: [],
  };
  if (input?.loading || output?.loading) {
    checkRoot(tool);
    tool.loading = load(tool);
    // Whoever serves the tool waits for it and hears of a failure.
    tool.loading.catch(() => {});
  } else describeTool(tool);
  return tool;
}

async function load(tool: CompiledTool): Promise<void> {
  const { key, input, output } = tool;
  await Promise.all([
    input?.loading?.catch((cause) => Promise.reject(unfitPart(key, "input", cause))),
    output?.loading?.catch((cause) => Promise.reject(unfitPart(key, "output", cause))),
  ]);
  describeTool(tool);
  tool.loading = undefined;
}

/** Arguments are named; an empty schema is one that is not known yet. */
function checkRoot({ key, input }: CompiledTool): void {
  if (!input || isObjectSchema(input.jsonSchema)) return;
  if (input.loading && Object.keys(input.jsonSchema).length === 0) return;
  throw unfit(key, 'input: expected a schema whose root is { type: "object" }; arguments are always named');
}

/** Fills in what follows from the schemas. */
function describeTool(tool: CompiledTool): void {
  const { key: name, input, output } = tool;
  checkRoot(tool);
  const { title, description, annotations, icons, meta } = tool.definition;
  tool.boxed = output !== undefined && !isObjectSchema(output.jsonSchema);
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
    throw unfitPart(name, part, cause);
  }
}

function unfitPart(name: string, part: string, cause: unknown): PortolanError {
  return unfit(name, `${part}: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
}

function unfit(name: string, why: string, cause?: unknown): PortolanError {
  return new PortolanError("invalid-definition", `Tool "${name}": ${why}`, cause === undefined ? undefined : { cause });
}
