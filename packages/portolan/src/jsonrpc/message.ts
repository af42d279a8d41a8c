import { nameOf } from "../errors.ts";

/** The id of a request: `1` and `"1"` differ, `0` and `""` are ids like any other. */
export type RequestId = string | number;

/** Any JSON object whose members are not known here. */
export type JsonObject = { [member: string]: unknown };

export interface RpcRequest {
  jsonrpc: "2.0";
  id: RequestId;
  method: string;
  params?: JsonObject;
}

export interface RpcNotification {
  jsonrpc: "2.0";
  method: string;
  params?: JsonObject;
}

export interface RpcResult {
  jsonrpc: "2.0";
  id: RequestId;
  result: JsonObject;
}

export interface ErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

export interface RpcFailure {
  jsonrpc: "2.0";
  /** Absent (or `null`, to peers that want it) when the id of the request could not be read. */
  id?: RequestId | null;
  error: ErrorObject;
}

export type RpcResponse = RpcResult | RpcFailure;
export type Message = RpcRequest | RpcNotification | RpcResponse;

/** Whether a message wants an answer. */
export function isRequest(message: Message): message is RpcRequest {
  return "method" in message && "id" in message;
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

/** What is wrong with a value that should have been a message. */
export interface Unreadable {
  code: -32700 | -32600;
  why: string;
  /** The id to answer under, when one can be read. */
  id?: RequestId;
  /** False when answering would start a ping-pong: the value is itself a response, or names neither method nor id. */
  answerable: boolean;
}

/** Checks that a parsed value is one JSON-RPC message; property tests only, nothing is copied. */
export function checkMessage(value: unknown): Unreadable | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse(value, `expected a JSON-RPC message object, got ${nameOf(value)}`);
  }
  const message = value as { [member: string]: unknown };
  if (message["jsonrpc"] !== "2.0")
    return refuse(message, `jsonrpc: expected "2.0", got ${nameOf(message["jsonrpc"])}`);
  const { id, method, params } = message;
  if (method === undefined) return checkResponse(message);
  if (typeof method !== "string") return refuse(message, `method: expected a string, got ${nameOf(method)}`);
  if (id !== undefined && !isRequestId(id)) {
    return refuse(message, `id: expected a string or an integer within ±(2^53-1), got ${nameOf(id)}`);
  }
  if (params !== undefined && (typeof params !== "object" || params === null)) {
    return refuse(message, `params: expected an object, got ${nameOf(params)}`);
  }
  return undefined;
}

function checkResponse(message: { [member: string]: unknown }): Unreadable | undefined {
  const { id, result, error } = message;
  if ((result === undefined) === (error === undefined)) {
    return refuse(message, "expected a method, or exactly one of result and error");
  }
  if (result !== undefined && !isRequestId(id))
    return refuse(message, `id: expected the id of a request, got ${nameOf(id)}`);
  if (result !== undefined && (typeof result !== "object" || result === null || Array.isArray(result))) {
    return refuse(message, `result: expected an object, got ${nameOf(result)}`);
  }
  if (error !== undefined && !isErrorObject(error)) {
    return refuse(message, "error: expected an object with an integer code and a message");
  }
  return undefined;
}

function isErrorObject(value: unknown): value is ErrorObject {
  if (typeof value !== "object" || value === null) return false;
  const { code, message } = value as { code?: unknown; message?: unknown };
  return Number.isInteger(code) && typeof message === "string";
}

function refuse(value: unknown, why: string): Unreadable {
  const { id, method, result, error } = (typeof value === "object" && value !== null ? value : {}) as {
    [member: string]: unknown;
  };
  const isReply = result !== undefined || error !== undefined;
  const answerable = !isReply && (method !== undefined || isRequestId(id));
  return { code: -32600, why, answerable, ...(isRequestId(id) && { id }) };
}
