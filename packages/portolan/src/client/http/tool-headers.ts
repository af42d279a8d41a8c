import type { JsonObject } from "../../jsonrpc/message.ts";
import { isObject } from "../../schema/shape.ts";
import { type ParamPlan, paramHeaders, planParamHeaders } from "../../transport/param-headers.ts";

/** More than any list has; what is forgotten is learned again when the server misses a header. */
const maxPlans = 10_000;
const none: readonly [name: string, value: string][] = [];

/** Which arguments of which tools are repeated in headers, learned from the lists that pass by. */
export class ToolHeaders {
  /** Only tools that want headers. */
  readonly #plans = new Map<string, ParamPlan>();

  /** Reads a page of tools and takes those out of it that must not be used over HTTP. */
  learn(result: JsonObject, odd: (why: string) => void): void {
    const { tools } = result;
    if (!Array.isArray(tools)) return;
    const usable = tools.filter((tool) => this.#learnTool(tool, odd));
    if (usable.length < tools.length) result["tools"] = usable;
  }

  /** The headers that repeat the arguments of a call. */
  headersFor(params: JsonObject | undefined): readonly [name: string, value: string][] {
    const plan = this.#plans.size === 0 ? undefined : this.#plans.get(params?.["name"] as string);
    if (!plan) return none;
    const args = params?.["arguments"];
    return paramHeaders(plan, isObject(args) ? args : undefined);
  }

  #learnTool(tool: unknown, odd: (why: string) => void): boolean {
    if (!isObject(tool)) return true;
    const { name, inputSchema } = tool;
    if (typeof name !== "string" || !isObject(inputSchema)) return true;
    const plan = planParamHeaders(inputSchema);
    this.#plans.delete(name);
    if ("problem" in plan) {
      odd(`tool ${JSON.stringify(name.slice(0, 100))} is left out of the list: ${plan.problem}`);
      return false;
    }
    if (this.#plans.size >= maxPlans) this.#plans.clear();
    if (plan.length > 0) this.#plans.set(name, plan);
    return true;
  }
}
