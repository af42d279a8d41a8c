import type { JsonObject, RpcRequest } from "portolan";
import { metaOf, type RecordedExchange, subscriptionKey } from "./exchanges.ts";

const versionKey = "io.modelcontextprotocol/protocolVersion";

/** The revision that a request is made in, where requests say so. */
export function versionOf({ params }: RpcRequest): unknown {
  return metaOf(params)[versionKey];
}

/**
 * What a recorded server says to requests that another client made, or none had to: lists hold what was used, and what
 * only sets something is taken.
 */
export function keepHouse(request: RpcRequest, exchanges: readonly RecordedExchange[]): JsonObject | undefined {
  const { method } = request;
  if (method === "ping") return {};
  const isStateless = versionOf(request) !== undefined;
  const head = isStateless ? { resultType: "complete", ttlMs: 0, cacheScope: "private" } : {};
  if (method === "server/discover") return introduce(exchanges);
  if (!isStateless && settings.has(method)) return {};
  if (method === "completion/complete") {
    return { ...(isStateless && { resultType: "complete" }), completion: { values: [] } };
  }
  const list = lists[method];
  return list && { ...head, ...list(exchanges) };
}

const settings = new Set(["logging/setLevel", "resources/subscribe", "resources/unsubscribe"]);

const lists: { readonly [method: string]: (exchanges: readonly RecordedExchange[]) => JsonObject } = {
  "tools/list": (exchanges) => ({
    tools: namesIn(exchanges, "tools/call", "name").map((name) => ({ name, inputSchema: { type: "object" } })),
  }),
  "prompts/list": (exchanges) => ({ prompts: namesIn(exchanges, "prompts/get", "name").map((name) => ({ name })) }),
  "resources/list": (exchanges) => ({
    resources: namesIn(exchanges, "resources/read", "uri").map((uri) => ({ uri, name: uri })),
  }),
  "resources/templates/list": () => ({ resourceTemplates: [] }),
};

function namesIn(exchanges: readonly RecordedExchange[], method: string, member: string): string[] {
  const names = exchanges
    .filter(({ request }) => request.method === method)
    .map(({ request }) => request.params?.[member]);
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

/** What a stateless server would say of itself: clients need not have asked. */
function introduce(exchanges: readonly RecordedExchange[]): JsonObject | undefined {
  const versions = exchanges.map(({ request }) => versionOf(request));
  const supportedVersions = [...new Set(versions.filter((version) => typeof version === "string"))];
  if (supportedVersions.length === 0) return undefined;
  const uses = (prefix: string) => exchanges.some(({ request }) => request.method.startsWith(prefix));
  const kinds = ["tools", "resources", "prompts"].filter((kind) => uses(`${kind}/`));
  const capabilities = Object.fromEntries(kinds.map((kind) => [kind, {}]));
  if (uses("completion/")) capabilities["completions"] = {};
  return { resultType: "complete", supportedVersions, capabilities, ttlMs: 0, cacheScope: "private" };
}

/** What begins a subscription that nobody made: whatever is listened for, nothing changes. */
export function acknowledge({ id, params = {} }: RpcRequest): JsonObject {
  return {
    jsonrpc: "2.0",
    method: "notifications/subscriptions/acknowledged",
    params: { notifications: params["notifications"] ?? {}, _meta: { [subscriptionKey]: id } },
  };
}
