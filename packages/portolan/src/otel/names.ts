/**
 * Names of the OpenTelemetry semantic conventions for MCP and generative AI, as of November 2026. Their status is
 * "development", and packages that contain them are experimental, so they are written out here.
 */
export const attribute = {
  method: "mcp.method.name",
  protocolVersion: "mcp.protocol.version",
  sessionId: "mcp.session.id",
  resourceUri: "mcp.resource.uri",
  toolName: "gen_ai.tool.name",
  promptName: "gen_ai.prompt.name",
  operation: "gen_ai.operation.name",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  requestId: "jsonrpc.request.id",
  errorType: "error.type",
  statusCode: "rpc.response.status_code",
  transport: "network.transport",
  protocolName: "network.protocol.name",
  serverAddress: "server.address",
  serverPort: "server.port",
  httpStatus: "http.response.status_code",
  /** Our own, because the conventions have none for these. */
  limit: "portolan.limit",
  storageOperation: "portolan.storage.operation",
} as const;

export const metric = {
  serverDuration: "mcp.server.operation.duration",
  clientDuration: "mcp.client.operation.duration",
  serverSession: "mcp.server.session.duration",
  clientSession: "mcp.client.session.duration",
  /** Our own, because the conventions have none for these. */
  sessions: "portolan.http.sessions",
  streams: "portolan.http.streams",
  calls: "portolan.http.calls",
  keptBytes: "portolan.http.kept_bytes",
  refusals: "portolan.http.refusals",
  storageDuration: "portolan.storage.operation.duration",
} as const;

/** The value of `error.type` for a result with `isError`. */
export const toolError = "tool_error";

/** Seconds: the bounds that the conventions give for durations of operations. */
export const durationBounds: number[] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/** Seconds: operations of a storage are shorter. */
export const storageBounds: number[] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

/** The members of `_meta` that carry the W3C trace context (spec 2026-07-28: basic#_meta). */
export const contextMembers: readonly string[] = ["traceparent", "tracestate", "baggage"];
