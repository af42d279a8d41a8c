import { type ParamPlan, paramHeaders, planParamHeaders } from "../../http/param-headers.ts";
import type { JsonObject, RpcRequest, RpcResponse } from "../../jsonrpc/message.ts";
import { metaOf } from "../../protocol/revision.ts";
import { isObject } from "../../schema/shape.ts";
import { maxHeaderPages, maxHeaderPlans } from "./limits.ts";
import type { HttpHeaders } from "./options.ts";
import type { HttpRequests } from "./requests.ts";

/** The tool arguments that are repeated in headers, learned from the lists of tools that pass by. */
export class ToolHeaders {
  readonly #requests: HttpRequests;
  /** Sends a request that the client does not know of. */
  readonly #sendNow: (request: RpcRequest) => Promise<RpcResponse>;
  /** Tools without header parameters have no plan. */
  readonly #plans = new Map<string, ParamPlan>();
  #refresh: Promise<void> | undefined;

  constructor(requests: HttpRequests, sendNow: (request: RpcRequest) => Promise<RpcResponse>) {
    this.#requests = requests;
    this.#sendNow = sendNow;
  }

  /** Learns from a page of tools, and removes tools that must not be used over HTTP. */
  learn(result: JsonObject): void {
    const { tools } = result;
    if (!Array.isArray(tools)) return;
    const usable = tools.filter((tool) => this.#learnTool(tool));
    if (usable.length < tools.length) result["tools"] = usable;
  }

  /** Returns the headers that repeat the arguments of a call. */
  headersFor(params: JsonObject | undefined): HttpHeaders | undefined {
    const plan = this.#plans.size === 0 ? undefined : this.#plans.get(params?.["name"] as string);
    if (!plan) return undefined;
    const args = params?.["arguments"];
    return Object.fromEntries(paramHeaders(plan, isObject(args) ? args : undefined));
  }

  /** Reads the list of tools again, because the server expects other headers. Concurrent calls share one reading. */
  refresh(call: RpcRequest): Promise<void> {
    this.#refresh ??= this.#list(call).finally(() => {
      this.#refresh = undefined;
    });
    return this.#refresh;
  }

  async #list(call: RpcRequest): Promise<void> {
    const { progressToken: _, ...meta } = metaOf(call.params) ?? {};
    let cursor: unknown;
    for (let page = 0; page < maxHeaderPages; page += 1) {
      const params = { _meta: meta, ...(typeof cursor === "string" && { cursor }) };
      const id = `portolan-tools-${++this.#requests.ownIds}`;
      const response = await this.#sendNow({ jsonrpc: "2.0", id, method: "tools/list", params });
      if ("error" in response) return;
      cursor = response.result["nextCursor"];
      if (typeof cursor !== "string") return;
    }
  }

  #learnTool(tool: unknown): boolean {
    if (!isObject(tool)) return true;
    const { name, inputSchema } = tool;
    if (typeof name !== "string" || !isObject(inputSchema)) return true;
    const plan = planParamHeaders(inputSchema);
    this.#plans.delete(name);
    if ("problem" in plan) {
      this.#requests.invalid(`tool ${JSON.stringify(name.slice(0, 100))} is left out of the list: ${plan.problem}`);
      return false;
    }
    if (this.#plans.size >= maxHeaderPlans) this.#plans.clear();
    if (plan.length > 0) this.#plans.set(name, plan);
    return true;
  }
}
