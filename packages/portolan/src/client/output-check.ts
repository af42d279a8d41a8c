import { nameOf, PortolanError } from "../errors.ts";
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
  /** The reason why the tool cannot be called, unless the call wants problems reported: its output schema is invalid. */
  readonly invalid?: PortolanError;
  /** Makes a call fail, or report, if its structured content does not match the output schema. */
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
    const why = problemOfSchema(cause);
    return { invalid: uncallable(name, cause), attach: (call) => report(call, () => [`Tool "${name}": ${why}`], warn) };
  }
  for (const warning of check.warnings) {
    warn(new PortolanError("invalid-definition", `Tool "${name}": output schema: ${warning}`));
  }
  const problemsOf = (result: JsonObject) => outputProblems(name, check, result);
  const inspect = (result: JsonObject) => {
    const [problem] = problemsOf(result);
    if (problem !== undefined) throw new PortolanError("answer-invalid", problem);
  };
  return {
    attach(call) {
      const { output = "refuse" } = call.options;
      if (output === "refuse") call.inspect = inspect;
      else if (output === "report") report(call, problemsOf, warn);
      else {
        const why = `output: expected "refuse" or "report", got ${nameOf(output)}`;
        throw new PortolanError("invalid-argument", `callTool "${name}": ${why}`);
      }
    },
  };
}

/** Compiles the output schema of a tool that no server lists. Throws if it is invalid. References are never fetched. */
export function compileOutput(name: string, schema: JsonSchema): (result: JsonObject) => readonly string[] {
  try {
    const check = compileJsonSchema(schema);
    return (result) => outputProblems(name, check, result);
  } catch (cause) {
    throw uncallable(name, cause);
  }
}

function uncallable(name: string, cause: unknown): PortolanError {
  const why = problemOfSchema(cause);
  return new PortolanError("invalid-definition", `Tool "${name}" cannot be called: ${why}`, { cause });
}

function problemOfSchema(cause: unknown): string {
  return `its output schema is invalid: ${toError(cause).message}`;
}

/** Makes a call report the problems of its result. */
function report(call: Call, problemsOf: (result: JsonObject) => readonly string[], warn: (error: Error) => void): void {
  call.inspect = (result) => {
    const problems = problemsOf(result);
    if (problems.length === 0) return;
    try {
      call.options.onOutputProblems?.(problems);
    } catch (thrown) {
      warn(toError(thrown));
    }
  };
}

function outputProblems(name: string, check: JsonSchemaCheck, result: JsonObject): readonly string[] {
  if (result["isError"] === true) return [];
  if (!("structuredContent" in result)) {
    return [`Tool "${name}" has an output schema but returned no structured content`];
  }
  return check(result["structuredContent"]).map(({ path, message }) => {
    const where = path === "" ? "structuredContent" : `structuredContent.${path}`;
    return `Tool "${name}": the result does not match its output schema: ${where}: ${message}`;
  });
}
