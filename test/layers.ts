/** Each layer of the library and the layers it may import; `errors`, `async` and `options` are open to all. */
export const layers: { readonly [layer: string]: readonly string[] } = {
  errors: [],
  async: [],
  options: [],
  jsonrpc: [],
  schema: [],
  net: [],
  storage: [],
  throttle: [],
  auth: ["net", "storage", "throttle", "protocol"],
  protocol: ["jsonrpc", "schema"],
  http: ["jsonrpc", "schema", "protocol"],
  server: ["jsonrpc", "schema", "storage", "throttle", "protocol", "http"],
  client: ["jsonrpc", "schema", "storage", "protocol", "http"],
  otel: ["jsonrpc", "storage", "protocol", "server", "client"],
  testing: ["jsonrpc", "schema", "storage", "protocol", "server", "client"],
  index: ["jsonrpc", "protocol", "client"],
  internal: ["jsonrpc", "schema", "net", "storage", "protocol", "http", "client"],
};

/** The table as ARCHITECTURE.md shows it. */
export function drawLayers(): string {
  const rows = Object.entries(layers).map(([layer, below]) => `${layer.padEnd(9)} → ${below.join(", ") || "nothing"}`);
  return ["```text", ...rows, "```"].join("\n");
}
