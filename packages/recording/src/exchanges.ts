import type { JsonObject, RpcRequest, RpcResponse } from "portolan";
import type { RecordedMessage, Recording } from "./recording.ts";
import { redactedMark } from "./redact.ts";

/** A recorded request with all messages that belong to it. */
export interface RecordedExchange {
  readonly request: RpcRequest;
  /** Messages of the server before the answer: progress, logs, questions. */
  readonly before: RecordedMessage[];
  answer?: RecordedMessage & { readonly message: RpcResponse };
  /** The client cancelled the request. */
  isCancelled?: boolean;
  /** Messages of the server after the answer, until the next request. */
  readonly after: RecordedMessage[];
}

/** Returns the requests of a recording in order. */
export function exchangesOf({ messages }: Recording): RecordedExchange[] {
  const exchanges: RecordedExchange[] = [];
  const open = new Map<unknown, RecordedExchange>();
  for (const recorded of messages) {
    const { from, message } = recorded;
    if (from === "client") {
      if (!("method" in message)) continue;
      if (!("id" in message)) {
        const cancelled = message.method === "notifications/cancelled" && open.get(message.params?.["requestId"]);
        if (cancelled) cancelled.isCancelled = true;
        continue;
      }
      const exchange: RecordedExchange = { request: message, before: [], after: [] };
      exchanges.push(exchange);
      open.set(message.id, exchange);
    } else if ("method" in message) {
      const owner = ownerOf(message.params, open) ?? [...open.values()].at(-1);
      if (owner) owner.before.push(recorded);
      else exchanges.at(-1)?.after.push(recorded);
    } else {
      const exchange = open.get(message.id);
      if (exchange) exchange.answer = { ...recorded, message };
      open.delete(message.id);
    }
  }
  return exchanges;
}

/** Finds the request that a message of the server belongs to, by its progress token or subscription. */
function ownerOf(
  params: JsonObject | undefined,
  open: ReadonlyMap<unknown, RecordedExchange>,
): RecordedExchange | undefined {
  const token = params?.["progressToken"];
  if (token !== undefined) return [...open.values()].find(({ request }) => tokenOf(request) === token);
  return open.get(subscriptionOf(params));
}

/** The `_meta` key that links a notification to its subscription. */
export const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

/** Returns the subscription of a notification. */
function subscriptionOf(params: JsonObject | undefined): unknown {
  return metaOf(params)[subscriptionKey];
}

/** Rewrites a message about one request so that it is about another. */
export function retarget(message: JsonObject, from: RpcRequest, to: RpcRequest): JsonObject {
  const params = message["params"] as JsonObject | undefined;
  if (params === undefined) return message;
  const changed = { ...params };
  if (params["progressToken"] !== undefined && params["progressToken"] === tokenOf(from)) {
    changed["progressToken"] = tokenOf(to);
  }
  if (subscriptionOf(params) === from.id) changed["_meta"] = { ...metaOf(params), [subscriptionKey]: to.id };
  return { ...message, params: changed };
}

/** Returns the progress token of a request. */
function tokenOf({ params }: RpcRequest): unknown {
  return metaOf(params)["progressToken"];
}

export function metaOf(params: JsonObject | undefined): JsonObject {
  const meta = params?.["_meta"];
  return typeof meta === "object" && meta !== null ? (meta as JsonObject) : {};
}

/** Methods whose parameters describe the client and do not change the answer. */
const introductions = new Set(["initialize", "server/discover", "ping"]);

/** Returns a key that is equal for equal requests: the method and its comparable parameters. */
export function requestKey(request: RpcRequest): string {
  return `${request.method} ${canonical(comparableParams(request))}`;
}

/** Returns the parameters that decide the answer, without those that describe the client. */
export function comparableParams({ method, params }: RpcRequest): JsonObject {
  if (introductions.has(method)) return {};
  const { _meta, ...asked } = params ?? {};
  return asked;
}

/** Formats JSON with sorted members. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** True if the request stays open until its client ends it. */
export function isSubscription({ request, before }: RecordedExchange): boolean {
  const isOwn = ({ message }: RecordedMessage) => "method" in message && subscriptionOf(message.params) === request.id;
  return request.method.startsWith("subscriptions/") || before.some(isOwn);
}

/** Compares a value with a recorded one. Redacted parts match anything. */
export function matchesRecorded(recorded: unknown, asked: unknown): boolean {
  if (typeof recorded === "string" && recorded.includes(redactedMark)) {
    if (recorded === redactedMark) return asked !== undefined;
    return typeof asked === "string" && hasPartsInOrder(recorded.split(redactedMark), asked);
  }
  if (!isObject(recorded) || !isObject(asked)) return recorded === asked;
  if (Array.isArray(recorded) !== Array.isArray(asked)) return false;
  const names = Object.keys(recorded);
  return (
    names.length === Object.keys(asked).length &&
    names.every((name) => Object.hasOwn(asked, name) && matchesRecorded(recorded[name], asked[name]))
  );
}

/** True if a text contains these parts in order, with anything between them. */
function hasPartsInOrder(parts: readonly string[], text: string): boolean {
  const [first = "", ...rest] = parts;
  const last = rest.pop() ?? "";
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return from <= text.length - last.length;
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null;
}
