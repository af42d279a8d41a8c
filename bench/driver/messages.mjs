const clientInfo = { name: "bench-driver", version: "1.0.0" };
const perRequest = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": clientInfo,
  "io.modelcontextprotocol/clientCapabilities": {},
};

export const initialize = {
  jsonrpc: "2.0",
  id: "initialize",
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
};
export const initialized = { jsonrpc: "2.0", method: "notifications/initialized" };

/** Adds to the params what a peer of that era sends. */
export function paramsOf(era, params = {}) {
  return era === "stateful" ? params : { ...params, _meta: { ...params._meta, ...perRequest } };
}

export function request(era, id, method, params) {
  return { jsonrpc: "2.0", id, method, params: paramsOf(era, params) };
}

/** The params of each call and the expected content of its answer. */
export const calls = {
  echo: {
    params: { name: "echo", arguments: { message: "The quick brown fox jumps over the lazy dog" } },
    isRight: (result) => result.content[0].text === "The quick brown fox jumps over the lazy dog",
  },
  add: {
    params: { name: "add", arguments: { a: 20, b: 22 } },
    isRight: (result) => result.structuredContent.sum === 42,
  },
  // Sends one notification before its answer, which over HTTP makes the answer a stream.
  notify: {
    params: { name: "notify", arguments: { n: 1 }, _meta: { progressToken: "progress" } },
    isRight: (result) => result.content[0].text === "done",
  },
};

/** Throws unless the answer is the expected one. */
export function check(name, call, response) {
  if (!response.result || response.result.isError || !calls[call].isRight(response.result)) {
    throw new Error(`${name} answered ${call} with ${JSON.stringify(response).slice(0, 300)}`);
  }
}
