import type { JsonObject, RpcRequest, RpcResponse } from "portolan";
import type { RecordedMessage, Recording } from "./recording.ts";
import { redactedMark } from "./redact.ts";

/** A request of a recording, with all that the server said because of it. */
export interface RecordedExchange {
  readonly request: RpcRequest;
  /** What the server sent before it answered: progress, logs, questions. */
  readonly before: RecordedMessage[];
  answer?: RecordedMessage & { readonly message: RpcResponse };
  /** The client did not want the answer any more. */
  isCancelled?: boolean;
  /** What the server sent on its own after the answer. */
  readonly after: RecordedMessage[];
}

/** The requests of a recording in order. */
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

/** The request that a message of the server names: by its progress token, or as a subscription. */
function ownerOf(
  params: JsonObject | undefined,
  open: ReadonlyMap<unknown, RecordedExchange>,
): RecordedExchange | undefined {
  const token = params?.["progressToken"];
  if (token !== undefined) return [...open.values()].find(({ request }) => tokenOf(request) === token);
  return open.get(subscriptionOf(params));
}

/** Under which notifications say what they belong to. */
export const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

/** The subscription that a notification belongs to. */
export function subscriptionOf(params: JsonObject | undefined): unknown {
  return metaOf(params)[subscriptionKey];
}

/** A message that speaks of one request, made to speak of another. */
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

/** The token under which a request wants to hear of progress. */
export function tokenOf({ params }: RpcRequest): unknown {
  return metaOf(params)["progressToken"];
}

export function metaOf(params: JsonObject | undefined): JsonObject {
  const meta = params?.["_meta"];
  return typeof meta === "object" && meta !== null ? (meta as JsonObject) : {};
}

/** Introductions depend on who connects, and are the same to everybody. */
const introductions = new Set(["initialize", "server/discover", "ping"]);

/** What makes two requests the same: the method and what is asked, whoever asks. */
export function requestKey(request: RpcRequest): string {
  return `${request.method} ${canonical(comparableParams(request))}`;
}

/** What a request asks for, whoever asks. */
export function comparableParams({ method, params }: RpcRequest): JsonObject {
  if (introductions.has(method)) return {};
  const { _meta, ...asked } = params ?? {};
  return asked;
}

/** JSON with the members of objects in order. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** Whether a request goes on for as long as its client listens. */
export function isSubscription({ request, before }: RecordedExchange): boolean {
  const isOwn = ({ message }: RecordedMessage) => "method" in message && subscriptionOf(message.params) === request.id;
  return request.method.startsWith("subscriptions/") || before.some(isOwn);
}

/** Whether a value is as it was recorded, where secrets were taken out before: those may be any. */
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

/** Whether a text has these parts in this order, with anything between them. */
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
