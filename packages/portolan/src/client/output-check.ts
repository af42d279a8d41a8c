import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { JsonSchema } from "../protocol/types/index.ts";
import { compileJsonSchema, type JsonSchemaCheck } from "../schema/json-schema.ts";
import type { Call } from "./call.ts";
import { toError } from "./failures.ts";

/** Stands around the calls of one tool that promised structured content. */
export interface OutputCheck {
  /** Why the schema cannot be used; nothing is done with such a tool. */
  readonly unusable?: PortolanError;
  /** Has the result of a call looked at, which fails when it is not what was promised. */
  readonly attach: (call: Call) => void;
}

/** Compiles a server's output schema; nothing it refers to is ever fetched. */
export function createOutputCheck(name: string, schema: JsonSchema, warn: (error: Error) => void): OutputCheck {
  let check: JsonSchemaCheck;
  try {
    check = compileJsonSchema(schema);
  } catch (cause) {
    const why = `Tool "${name}" cannot be called: its output schema is unusable: ${toError(cause).message}`;
    return { unusable: new PortolanError("invalid-definition", why, { cause }), attach: () => {} };
  }
  for (const warning of check.warnings) {
    warn(new PortolanError("invalid-definition", `Tool "${name}": output schema: ${warning}`));
  }
  const inspect = (result: JsonObject) => refuseUnfit(name, check, result);
  return {
    attach(call) {
      call.inspect = inspect;
    },
  };
}

function refuseUnfit(name: string, check: JsonSchemaCheck, result: JsonObject): void {
  if (result["isError"] === true) return;
  if (!("structuredContent" in result)) {
    throw new PortolanError("answer-invalid", `Tool "${name}" promised structured content and gave none`);
  }
  const [issue] = check(result["structuredContent"]);
  if (!issue) return;
  const where = issue.path === "" ? "structuredContent" : `structuredContent.${issue.path}`;
  const why = `${where}: ${issue.message}`;
  throw new PortolanError("answer-invalid", `Tool "${name}" gave what its output schema forbids: ${why}`);
}
