import type { JsonObject } from "../jsonrpc/message.ts";
import type { JsonSchema, Tool } from "../protocol/types/index.ts";
import type { OutputCheck } from "./output-check.ts";

/** As many tools as a list may have are remembered. */
const maxKnown = 100_000;

interface Known {
  readonly schema: JsonSchema;
  check?: OutputCheck;
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
      if (outputSchema === undefined) this.#known.delete(name);
      else if (this.#known.size < maxKnown || this.#known.has(name)) this.#known.set(name, { schema: outputSchema });
    }
  }

  /** Whether the results of a tool are checked. */
  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** Makes a call whose result is checked. A schema that cannot be used takes its tool with it, and no other. */
  async around(name: string, call: () => Promise<JsonObject>): Promise<JsonObject> {
    const known = this.#known.get(name);
    if (known && !known.check) {
      const { createOutputCheck } = await import("./output-check.ts");
      known.check = createOutputCheck(name, known.schema, this.#warn);
    }
    known?.check?.before();
    const result = await call();
    known?.check?.after(result);
    return result;
  }
}
