import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { JsonSchema } from "../protocol/types/index.ts";
import { compileJsonSchema, type JsonSchemaCheck } from "../schema/json-schema.ts";
import type { Call } from "./call.ts";
import { toError } from "./failures.ts";

// Loaded late: only calls of tools with an output schema need this file and the schema compiler.

/** Checks the structured content of one tool. */
export interface OutputCheck {
  /** The reason why the tool cannot be called: its output schema is invalid. */
  readonly invalid?: PortolanError;
  /** Makes a call fail if its structured content does not match the output schema. */
  readonly attach: (call: Call) => void;
}

/** Compiles a tool's output schema. References are never fetched. */
export function createOutputCheck(name: string, schema: JsonSchema, warn: (error: Error) => void): OutputCheck {
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
