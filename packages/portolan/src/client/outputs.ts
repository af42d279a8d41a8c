import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import type { JsonSchema, Tool } from "../protocol/types/index.ts";
import type { JsonSchemaCheck } from "../schema/json-schema.ts";
import { toError } from "./failures.ts";

/** As many tools as a list may have are remembered. */
const maxKnown = 100_000;

interface Known {
  readonly schema: JsonSchema;
  check?: JsonSchemaCheck;
  unusable?: PortolanError;
}

/** What the listed tools said they give, checked when they give it. */
export class Outputs {
  readonly #known = new Map<string, Known>();
  readonly #warn: (error: Error) => void;

  constructor(warn: (error: Error) => void) {
    this.#warn = warn;
  }

  /** Takes the definitions of a list page; a schema is looked at when its tool is first called. */
  learn(tools: readonly Tool[]): void {
    for (const { name, outputSchema } of tools) {
      const known = this.#known.get(name);
      if (outputSchema === undefined) this.#known.delete(name);
      else if (known?.schema !== outputSchema && this.#known.size < maxKnown) {
        this.#known.set(name, { schema: outputSchema });
      }
    }
  }

  /** Whether the results of a tool are checked. */
  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** Makes a call whose result is checked. A schema that cannot be used takes its tool with it, and no other. */
  async around(name: string, call: () => Promise<JsonObject>): Promise<JsonObject> {
    const known = this.#known.get(name);
    if (known && !known.check && !known.unusable) await this.#compile(name, known);
    if (known?.unusable) throw known.unusable;
    const result = await call();
    if (known?.check) refuseUnfit(name, known.check, result);
    return result;
  }

  async #compile(name: string, known: Known): Promise<void> {
    const { compileJsonSchema } = await import("../schema/json-schema.ts");
    try {
      known.check = compileJsonSchema(known.schema);
      for (const warning of known.check.warnings) {
        this.#warn(new PortolanError("invalid-definition", `Tool "${name}": output schema: ${warning}`));
      }
    } catch (thrown) {
      const why = `Tool "${name}" cannot be called: its output schema is unusable: ${toError(thrown).message}`;
      known.unusable = new PortolanError("invalid-definition", why, { cause: thrown });
    }
  }
}

function refuseUnfit(name: string, check: JsonSchemaCheck, result: JsonObject): void {
  if (result["isError"] === true || result["resultType"] === "input_required") return;
  if (!("structuredContent" in result)) {
    throw new PortolanError("answer-invalid", `Tool "${name}" promised structured content and gave none`);
  }
  const [issue] = check(result["structuredContent"]);
  if (!issue) return;
  const where = issue.path === "" ? "structuredContent" : `structuredContent.${issue.path}`;
  throw new PortolanError(
    "answer-invalid",
    `Tool "${name}" gave what its output schema forbids: ${where}: ${issue.message}`,
  );
}
