import { nameOf, PortolanError } from "../errors.ts";
import type { Sendable } from "./channel.ts";
import { maxNestingLevels, maxPathChars } from "./limits.ts";

/** The id of a request. `1` and `"1"` differ; `0` and `""` are valid. */
export type RequestId = string | number;

/** A JSON object with unknown members. */
export type JsonObject = { [member: string]: unknown };

/** A request: it has an id, and its receiver answers with the same id. */
export interface RpcRequest {
  jsonrpc: "2.0";
  id: RequestId;
  method: string;
  params?: JsonObject;
}

/** A notification: it has no id and is not answered. */
export interface RpcNotification {
  jsonrpc: "2.0";
  method: string;
  params?: JsonObject;
}

/** The response to a request that succeeded. */
export interface RpcResult {
  jsonrpc: "2.0";
  id: RequestId;
  result: JsonObject;
}

/** The error of a response that failed. */
export interface ErrorObject {
  code: number;
  message: string;
  data?: unknown;
}

/** The response to a request that failed. */
export interface RpcFailure {
  jsonrpc: "2.0";
  /** Absent (or `null`, to peers that want it) when the id of the request could not be read. */
  id?: RequestId | null;
  error: ErrorObject;
}

/** The response to a request. */
export type RpcResponse = RpcResult | RpcFailure;
/** Any message of JSON-RPC 2.0. */
export type Message = RpcRequest | RpcNotification | RpcResponse;

/** Tells requests from notifications and responses. */
export function isRequest(message: Message): message is RpcRequest {
  return "method" in message && "id" in message;
}

export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

/** The error codes that JSON-RPC 2.0 itself defines. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
} as const;

/** Returns true for a code of the range that JSON-RPC reserves; servers choose codes of their own outside it. */
export function isReservedByJsonRpc(code: number): boolean {
  return code >= -32768 && code <= -32000;
}

/** The description of a value that is not a valid message. */
export interface Unreadable {
  code: typeof rpcCodes.parseError | typeof rpcCodes.invalidRequest;
  why: string;
  /** True if it was not read because of its size. */
  isTooLarge?: boolean;
  /** The id for an answer, if it could be read. */
  id?: RequestId;
  /** False if an answer could start a ping-pong: the value is a response, or has neither method nor id. */
  answerable: boolean;
}

/** Checks that a value is one JSON-RPC message, without copying it. Returns undefined if it is. */
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
  return { code: rpcCodes.invalidRequest, why, answerable, ...(isRequestId(id) && { id }) };
}

/** Returns JSON text without raw newlines. Throws a PortolanError "unserializable" that names the bad value. */
export function serialize(message: Sendable): string {
  if (Array.isArray(message)) return `[${message.map(serialize).join(",")}]`;
  if ("messageText" in message) return message.messageText;
  if ("resultText" in message) {
    const id = typeof message.id === "number" ? message.id : JSON.stringify(message.id);
    return `{"jsonrpc":"2.0","id":${id},"result":${message.resultText}}`;
  }
  try {
    return JSON.stringify(message);
  } catch (cause) {
    throw new PortolanError("unserializable", explain(message, cause), { cause });
  }
}

/** Returns the JSON text of a result. Throws as `serialize` does. */
export function serializeResult(result: JsonObject): string {
  try {
    return JSON.stringify(result);
  } catch (cause) {
    throw new PortolanError("unserializable", explain({ result }, cause), { cause });
  }
}

function explain(message: object, cause: unknown): string {
  const search: Search = { path: [], ancestors: [], clean: new Set(), tooDeep: undefined };
  return findIn(message, search) ?? search.tooDeep ?? `the message has no JSON form: ${reasonOf(cause)}`;
}

interface Search {
  path: (string | number)[];
  ancestors: object[];
  /** Values without a problem. Shared values are searched once. */
  clean: Set<object>;
  /** Reported only if there is no other problem. */
  tooDeep: string | undefined;
}

/** Walks like JSON.stringify and describes the first value without a JSON form. */
function findIn(holder: object, search: Search): string | undefined {
  search.ancestors.push(holder);
  let keys: string[];
  try {
    keys = Object.keys(holder);
  } catch (cause) {
    return `${pathOf(search.path)}: listing its members threw: ${reasonOf(cause)}`;
  }
  for (const key of keys) {
    search.path.push(Array.isArray(holder) ? Number(key) : key);
    const problem = findAt(holder, key, search);
    if (problem !== undefined) return problem;
    search.path.pop();
  }
  search.ancestors.pop();
  search.clean.add(holder);
  return undefined;
}

function findAt(holder: object, key: string, search: Search): string | undefined {
  let value: unknown;
  try {
    value = Reflect.get(holder, key);
  } catch (cause) {
    return `${pathOf(search.path)}: reading it threw: ${reasonOf(cause)}`;
  }
  try {
    value = toJson(value, key);
  } catch (cause) {
    return `${pathOf(search.path)}: its toJSON threw: ${reasonOf(cause)}`;
  }
  if (typeof value === "bigint" || value instanceof BigInt) {
    return `${pathOf(search.path)}: a BigInt has no JSON form; send a string`;
  }
  if (typeof value !== "object" || value === null || search.clean.has(value)) return undefined;
  const loop = search.ancestors.indexOf(value);
  if (loop !== -1) {
    const target = loop === 0 ? "the message" : pathOf(search.path.slice(0, loop));
    return `${pathOf(search.path)}: refers back to ${target}; a loop has no JSON form`;
  }
  if (search.path.length > maxNestingLevels) {
    search.tooDeep ??= `${pathOf(search.path)}: nested more than ${maxNestingLevels} levels deep`;
    return undefined;
  }
  return findIn(value, search);
}

function toJson(value: unknown, key: string): unknown {
  if (value === null || !["object", "function", "bigint"].includes(typeof value)) return value;
  const { toJSON } = value as { toJSON?: unknown };
  return typeof toJSON === "function" ? toJSON.call(value, key) : value;
}

function pathOf(path: (string | number)[]): string {
  const text = path.map(toSegment).join("").replace(/^\./, "");
  return text.length <= maxPathChars ? text : `${text.slice(0, maxPathChars / 2)}…${text.slice(-maxPathChars / 4)}`;
}

function toSegment(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : String(cause);
  return text.split("\n", 1)[0] ?? "";
}

/** The stage of a request at which an error occurred. It decides the HTTP status. */
export type ErrorStage = "envelope" | "dispatch" | "handler";

/** Options of an `RpcError`. */
export interface RpcErrorOptions extends ErrorOptions {
  /** More about the error, for programs. It must have a JSON form. */
  data?: unknown;
  /** Where the error came from. Default: "handler". */
  stage?: ErrorStage;
  /** A name for errors whose numeric code differs between protocol revisions. */
  kind?: string;
}

/** An error that is sent to the peer, or came from it, with code, message and data. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;
  readonly stage: ErrorStage;
  readonly kind: string | undefined;

  constructor(code: number, message: string, options: RpcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    // The protocol allows integers only: any other code becomes "internal error".
    this.code = Number.isInteger(code) ? code : rpcCodes.internalError;
    this.data = options.data;
    this.stage = options.stage ?? "handler";
    this.kind = options.kind;
  }

  toErrorObject(): ErrorObject {
    const { code, message, data } = this;
    return data === undefined ? { code, message } : { code, message, data };
  }
}

/** Slots of an `IdTable`: a power of two. */
const slots = 256;

/**
 * Pending requests by id. A Map that is filled and emptied for every call leaves grown tables to the garbage collector.
 * Consecutive numbers fit into fixed slots instead.
 */
export class IdTable<T> {
  readonly #ids: (RequestId | undefined)[] = new Array<RequestId | undefined>(slots).fill(undefined);
  readonly #values: (T | undefined)[] = new Array<T | undefined>(slots).fill(undefined);
  /** Ids that are strings, or whose slot is taken. */
  readonly #others = new Map<RequestId, T>();
  #taken = 0;

  get size(): number {
    return this.#taken + this.#others.size;
  }

  get(id: RequestId): T | undefined {
    const slot = slotOf(id);
    if (slot !== -1 && this.#ids[slot] === id) return this.#values[slot];
    return this.#others.size === 0 ? undefined : this.#others.get(id);
  }

  set(id: RequestId, value: T): void {
    const slot = slotOf(id);
    const holder = slot === -1 ? undefined : this.#ids[slot];
    if (slot === -1 || (holder !== undefined && holder !== id)) {
      this.#others.set(id, value);
      return;
    }
    if (holder === undefined) this.#taken += 1;
    this.#ids[slot] = id;
    this.#values[slot] = value;
  }

  delete(id: RequestId): boolean {
    const slot = slotOf(id);
    if (slot === -1 || this.#ids[slot] !== id) return this.#others.delete(id);
    this.#taken -= 1;
    this.#ids[slot] = undefined;
    this.#values[slot] = undefined;
    return true;
  }

  values(): T[] {
    return [...this.#values.filter((value) => value !== undefined), ...this.#others.values()];
  }

  clear(): void {
    this.#taken = 0;
    this.#ids.fill(undefined);
    this.#values.fill(undefined);
    this.#others.clear();
  }
}

function slotOf(id: RequestId): number {
  return typeof id === "number" ? id & (slots - 1) : -1;
}
