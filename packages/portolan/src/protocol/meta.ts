import type { JsonObject } from "../jsonrpc/message.ts";
import type { ProgressToken } from "./types/index.ts";

/** The reserved `_meta` keys; nothing else in the library spells them. */
export const metaKeys = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  logLevel: "io.modelcontextprotocol/logLevel",
  serverInfo: "io.modelcontextprotocol/serverInfo",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
} as const;

/** The `_meta` of a request's params, when it is an object. */
export function metaOf(params: JsonObject | undefined): JsonObject | undefined {
  const meta = params?.["_meta"];
  return typeof meta === "object" && meta !== null ? (meta as JsonObject) : undefined;
}

/** The token under which the caller wants to hear of progress. */
export function progressTokenOf(params: JsonObject | undefined): ProgressToken | undefined {
  const token = metaOf(params)?.["progressToken"];
  return typeof token === "string" || typeof token === "number" ? token : undefined;
}
