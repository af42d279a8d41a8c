import { handler } from "../../handlers.mjs";

// A hand-written server for these three tools: the practical limit that the others are compared with.

const META = "io.modelcontextprotocol/";
const serverInfo = { name: "bench", version: "1.0.0" };
const resultMeta = { [`${META}serverInfo`]: serverInfo };
const uncached = { ttlMs: 0, cacheScope: "private" };
const number = { type: "number" };
const string = { type: "string" };

const toolOf = (name, description, properties, outputSchema) => ({
  name,
  description,
  inputSchema: { type: "object", properties, required: Object.keys(properties) },
  ...(outputSchema && { outputSchema }),
});

/**
 * Returns a function from one request to its response (undefined for a notification), or to its promise if the handler is
 * asynchronous. Its second parameter receives the notifications about the request.
 * @param {number} extraTools how many tools to list beside echo, add and notify
 */
export function createAnswer(extraTools) {
  const tools = [
    toolOf("echo", "Says the message back", { message: string }),
    toolOf(
      "add",
      "Adds two numbers",
      { a: number, b: number },
      { type: "object", properties: { sum: number }, required: ["sum"] },
    ),
    toolOf("notify", "Reports progress n times", { n: number }),
  ];
  for (let i = 0; i < extraTools; i++) tools.push(toolOf(`extra-${i}`, `Extra tool ${i}`, { value: string }));
  const calls = new Map(tools.map((tool) => [tool.name, extra]));
  calls.set("echo", echo).set("add", add).set("notify", notify);

  return function answer(message, send) {
    if (message === null || typeof message !== "object" || message.jsonrpc !== "2.0") return invalid(null);
    const { id, method, params } = message;
    if (id === undefined) return undefined;
    if (typeof method !== "string") return invalid(id);
    switch (method) {
      case "tools/call": {
        const run = typeof params?.name === "string" ? calls.get(params.name) : undefined;
        const args = params?.arguments;
        if (run === undefined || typeof args !== "object" || args === null) return invalid(id);
        const result = run(args, { params, send });
        return result instanceof Promise ? completeLater(id, result, params) : completeCall(id, result, params);
      }
      case "tools/list":
        return complete(id, isStateless(params) ? { tools, ...uncached } : { tools }, params);
      case "initialize":
        return complete(
          id,
          { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo },
          params,
        );
      case "server/discover":
        return complete(id, { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, ...uncached }, params);
      default:
        return { jsonrpc: "2.0", id, error: { code: -32601, message: "Unknown method" } };
    }
  };
}

async function completeLater(id, result, params) {
  return completeCall(id, await result, params);
}

const completeCall = (id, result, params) => (result === undefined ? invalid(id) : complete(id, result, params));

const isStateless = (params) => typeof params?._meta?.[`${META}protocolVersion`] === "string";

function complete(id, result, params) {
  if (isStateless(params)) {
    result.resultType = "complete";
    result._meta = resultMeta;
  }
  return { jsonrpc: "2.0", id, result };
}

const invalid = (id) => ({ jsonrpc: "2.0", id, error: { code: -32602, message: "Invalid params" } });

const textOf = (text) => ({ content: [{ type: "text", text }] });

const echo = handler((args) => (typeof args.message === "string" ? textOf(args.message) : undefined));

const add = handler((args) => {
  if (typeof args.a !== "number" || typeof args.b !== "number") return undefined;
  const sum = args.a + args.b;
  return { content: [{ type: "text", text: JSON.stringify({ sum }) }], structuredContent: { sum } };
});

const notify = handler((args, { params, send }) => {
  if (typeof args.n !== "number") return undefined;
  const progressToken = params._meta?.progressToken;
  for (let progress = 1; progress <= args.n; progress++) {
    send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, progress, total: args.n } });
  }
  return textOf("done");
});

const extra = handler((args) => (typeof args.value === "string" ? textOf(args.value) : undefined));
