import type { JsonObject, RpcRequest, RpcResponse } from "../../jsonrpc/message.ts";
import { metaOf } from "../../protocol/revision.ts";
import { isObject } from "../../schema/shape.ts";
import { type ParamPlan, paramHeaders, planParamHeaders } from "../../transport/param-headers.ts";
import type { HttpHeaders } from "./options.ts";
import type { HttpRequests } from "./requests.ts";

/** More than any list has; what is forgotten is learned again when the server misses a header. */
const maxPlans = 10_000;
const maxPages = 100;

/** Which arguments of which tools are repeated in headers, learned from the lists that pass by. */
export class ToolHeaders {
  readonly #traffic: HttpRequests;
  /** Sends a request of the link's own. */
  readonly #ask: (request: RpcRequest) => Promise<RpcResponse>;
  /** Only tools that want headers. */
  readonly #plans = new Map<string, ParamPlan>();
  #lookingUp: Promise<void> | undefined;

  constructor(traffic: HttpRequests, ask: (request: RpcRequest) => Promise<RpcResponse>) {
    this.#traffic = traffic;
    this.#ask = ask;
  }

  /** Reads a page of tools and takes those out of it that must not be used over HTTP. */
  learn(result: JsonObject): void {
    const { tools } = result;
    if (!Array.isArray(tools)) return;
    const usable = tools.filter((tool) => this.#learnTool(tool));
    if (usable.length < tools.length) result["tools"] = usable;
  }

  /** The headers that repeat the arguments of a call. */
  headersFor(params: JsonObject | undefined): HttpHeaders | undefined {
    const plan = this.#plans.size === 0 ? undefined : this.#plans.get(params?.["name"] as string);
    if (!plan) return undefined;
    const args = params?.["arguments"];
    return Object.fromEntries(paramHeaders(plan, isObject(args) ? args : undefined));
  }

  /** Looks the tools up again because the server expects other headers than a call had; once for all who wait for it. */
  lookUp(call: RpcRequest): Promise<void> {
    this.#lookingUp ??= this.#list(call).finally(() => {
      this.#lookingUp = undefined;
    });
    return this.#lookingUp;
  }

  async #list(call: RpcRequest): Promise<void> {
    const { progressToken: _, ...meta } = metaOf(call.params) ?? {};
    let cursor: unknown;
    for (let page = 0; page < maxPages; page += 1) {
      const params = { _meta: meta, ...(typeof cursor === "string" && { cursor }) };
      const id = this.#traffic.ownId("tools");
      const response = await this.#ask({ jsonrpc: "2.0", id, method: "tools/list", params });
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
      this.#traffic.odd(`tool ${JSON.stringify(name.slice(0, 100))} is left out of the list: ${plan.problem}`);
      return false;
    }
    if (this.#plans.size >= maxPlans) this.#plans.clear();
    if (plan.length > 0) this.#plans.set(name, plan);
    return true;
  }
}
