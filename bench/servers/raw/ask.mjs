// A hand-written client for these three tools: a map of pending requests, and only the necessary checks.

const META = "io.modelcontextprotocol/";
const clientInfo = { name: "bench", version: "1.0.0" };
const perRequest = {
  [`${META}protocolVersion`]: "2026-07-28",
  [`${META}clientInfo`]: clientInfo,
  [`${META}clientCapabilities`]: {},
};

/**
 * A client over `send`; the messages of the server go to `receive`.
 * @param {"stateful" | "stateless"} era
 * @param {(message: object) => void} send
 */
export function createAsk(era, send) {
  const isStateless = era === "stateless";
  /** @type {Map<number, { resolve: (result: object) => void, reject: (reason: Error) => void, onProgress?: () => void }>} */
  const waiting = new Map();
  let lastId = 0;

  function request(method, params, onProgress) {
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      waiting.set(id, { resolve, reject, onProgress });
      if (isStateless) params._meta = onProgress ? { ...perRequest, progressToken: id } : perRequest;
      else if (onProgress) params._meta = { progressToken: id };
      send({ jsonrpc: "2.0", id, method, params });
    });
  }

  return {
    receive(message) {
      if (message === null || typeof message !== "object" || message.jsonrpc !== "2.0") return;
      if (message.method === "notifications/progress") {
        waiting.get(message.params?.progressToken)?.onProgress?.(message.params);
        return;
      }
      const call = waiting.get(message.id);
      if (call === undefined) return;
      waiting.delete(message.id);
      if (message.error) call.reject(new Error(message.error.message));
      else if (isComplete(message.result)) call.resolve(message.result);
      else call.reject(new Error("not a result"));
    },

    async hello() {
      if (isStateless) return;
      await request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
      send({ jsonrpc: "2.0", method: "notifications/initialized" });
    },

    listTools: async () => (await request("tools/list", {})).tools,

    call: (name, args, onProgress) => request("tools/call", { name, arguments: args }, onProgress),
  };
}

function isComplete(result) {
  if (typeof result !== "object" || result === null) return false;
  if (result.resultType !== undefined && result.resultType !== "complete") return false;
  return result.structuredContent === undefined || typeof result.structuredContent.sum === "number";
}
