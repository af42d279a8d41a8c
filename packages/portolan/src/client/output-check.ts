import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { weigh } from "../jsonrpc/weigh.ts";
import type { JsonSchema, Tool } from "../protocol/types/index.ts";
import { compileJsonSchema, type JsonSchemaCheck } from "../schema/json-schema.ts";
import type { Call } from "./call.ts";
import { toError } from "./failures.ts";
import { maxOutputSchemaBytes, maxOutputSchemas } from "./limits.ts";

// Loaded late: only tools with an output schema need this file and the schema compiler.

/** Checks the structured content of one tool. */
export interface OutputCheck {
  /** The reason why the tool cannot be called: its output schema is invalid. */
  readonly invalid?: PortolanError;
  /** Makes a call fail if its structured content does not match the output schema. */
  readonly attach: (call: Call) => void;
}

interface KnownOutput {
  readonly schema: JsonSchema;
  readonly bytes: number;
  check?: OutputCheck;
}

/** The output schemas of listed tools, compiled when a tool is first called. */
export class OutputChecks {
  readonly #known = new Map<string, KnownOutput>();
  #bytes = 0;
  readonly #warn: (error: Error) => void;

  constructor(warn: (error: Error) => void) {
    this.#warn = warn;
  }

  /** Takes the definitions of a list page, which may contain invalid ones. */
  learn(tools: readonly (Tool | null)[]): void {
    for (const tool of tools) {
      const { name, outputSchema } = tool ?? ({} as Tool);
      this.#bytes -= this.#known.get(name)?.bytes ?? 0;
      this.#known.delete(name);
      if (outputSchema === undefined || this.#known.size >= maxOutputSchemas) continue;
      const bytes = weigh(outputSchema);
      if (this.#bytes + bytes > maxOutputSchemaBytes) continue;
      this.#bytes += bytes;
      this.#known.set(name, { schema: outputSchema, bytes });
    }
  }

  /** Returns the check of a tool; undefined if it has no output schema. An invalid schema fails the calls of its own tool. */
  find(name: string): OutputCheck | undefined {
    const known = this.#known.get(name);
    if (known) known.check ??= createOutputCheck(name, known.schema, this.#warn);
    return known?.check;
  }
}

/** Compiles a tool's output schema. References are never fetched. */
function createOutputCheck(name: string, schema: JsonSchema, warn: (error: Error) => void): OutputCheck {
  let check: JsonSchemaCheck;
  try {
    check = compileJsonSchema(schema);
  } catch (cause) {
    const why = `Tool "${name}" cannot be called: its output schema is invalid: ${toError(cause).message}`;
    return { invalid: new PortolanError("invalid-definition", why, { cause }), attach: () => {} };
  }
  for (const warning of check.warnings) {
    warn(new PortolanError("invalid-definition", `Tool "${name}": output schema: ${warning}`));
  }
  const inspect = (result: JsonObject) => checkStructuredContent(name, check, result);
  return {
    attach(call) {
      call.inspect = inspect;
    },
  };
}

function checkStructuredContent(name: string, check: JsonSchemaCheck, result: JsonObject): void {
  if (result["isError"] === true) return;
  if (!("structuredContent" in result)) {
    throw new PortolanError("answer-invalid", `Tool "${name}" has an output schema but returned no structured content`);
  }
  const [issue] = check(result["structuredContent"]);
  if (!issue) return;
  const where = issue.path === "" ? "structuredContent" : `structuredContent.${issue.path}`;
  const why = `${where}: ${issue.message}`;
  throw new PortolanError("answer-invalid", `Tool "${name}": the result does not match its output schema: ${why}`);
}
