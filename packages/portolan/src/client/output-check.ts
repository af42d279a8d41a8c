import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { JsonSchema } from "../protocol/types/index.ts";
import { compileJsonSchema, type JsonSchemaCheck } from "../schema/json-schema.ts";
import { toError } from "./failures.ts";

/** Stands around the calls of one tool that promised structured content. */
export interface OutputCheck {
  /** Throws when the schema cannot be used, before anything is done. */
  before(): void;
  /** Throws when the result is not what was promised. */
  after(result: JsonObject): void;
}

/** Compiles a server's output schema; nothing it refers to is ever fetched. */
export function createOutputCheck(name: string, schema: JsonSchema, warn: (error: Error) => void): OutputCheck {
  let check: JsonSchemaCheck;
  try {
    check = compileJsonSchema(schema);
  } catch (cause) {
    const why = `Tool "${name}" cannot be called: its output schema is unusable: ${toError(cause).message}`;
    const unusable = new PortolanError("invalid-definition", why, { cause });
    return {
      before() {
        throw unusable;
      },
      after() {},
    };
  }
  for (const warning of check.warnings) {
    warn(new PortolanError("invalid-definition", `Tool "${name}": output schema: ${warning}`));
  }
  return { before() {}, after: (result) => refuseUnfit(name, check, result) };
}

function refuseUnfit(name: string, check: JsonSchemaCheck, result: JsonObject): void {
  if (result["isError"] === true || result["resultType"] === "input_required") return;
  if (!("structuredContent" in result)) {
    throw new PortolanError("answer-invalid", `Tool "${name}" promised structured content and gave none`);
  }
  const [issue] = check(result["structuredContent"]);
  if (!issue) return;
  const where = issue.path === "" ? "structuredContent" : `structuredContent.${issue.path}`;
  const why = `${where}: ${issue.message}`;
  throw new PortolanError("answer-invalid", `Tool "${name}" gave what its output schema forbids: ${why}`);
}
