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

  /** The check of a tool that has been called before; undefined when it is yet to be made. */
  made(name: string): OutputCheck | undefined {
    return this.#known.get(name)?.check;
  }

  /** The check of a tool. A schema that cannot be used takes its tool with it, and no other. */
  async make(name: string): Promise<OutputCheck | undefined> {
    const known = this.#known.get(name);
    if (!known) return undefined;
    const { createOutputCheck } = await import("./output-check.ts");
    known.check ??= createOutputCheck(name, known.schema, this.#warn);
    return known.check;
  }
}
