import type { JsonObject } from "portolan";
import { maxParsedChars, maxTitleChars } from "../limits.ts";

/** The facts of a message that its row shows. */
export interface MessageFacts {
  readonly kind: "request" | "response" | "notification";
  readonly method?: string;
  /** As JSON, so that 1 and "1" differ. */
  readonly id?: string;
  readonly name?: string;
  readonly isError: boolean;
  /** The code of an error. */
  readonly code?: number;
  /** The request that a notification cancels, by its id as JSON. */
  readonly cancelledId?: string;
  /** The request that a notification belongs to, by its progress token as JSON. */
  readonly progressToken?: string;
  readonly params?: JsonObject;
}

/** Reads the facts of a message. Of a very long one only the start is read. */
export function factsOf(text: string): MessageFacts | undefined {
  if (text.length > maxParsedChars) return factsOfLong(text);
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(message)) return undefined;
  const { method, id, params, error, result } = message;
  const own = id === undefined ? {} : { id: JSON.stringify(id) };
  if (typeof method !== "string") {
    const isError = error !== undefined || (isObject(result) && result["isError"] === true);
    const code = isObject(error) && typeof error["code"] === "number" ? error["code"] : undefined;
    return { kind: "response", ...own, isError, ...(code !== undefined && { code }) };
  }
  const given = isObject(params) ? params : {};
  const meta = isObject(given["_meta"]) ? given["_meta"] : {};
  // A notification has its token as a member, the request in its `_meta`.
  const token = given["progressToken"] ?? meta["progressToken"];
  const name = nameIn(given);
  const cancelled = method === "notifications/cancelled" ? given["requestId"] : undefined;
  return {
    kind: id === undefined ? "notification" : "request",
    method: method.slice(0, maxTitleChars),
    ...own,
    ...(name !== undefined && { name: name.slice(0, maxTitleChars) }),
    ...(token !== undefined && { progressToken: JSON.stringify(token) }),
    ...(cancelled !== undefined && { cancelledId: JSON.stringify(cancelled) }),
    isError: false,
    params: given,
  };
}

/** The name of the tool, prompt or resource. */
function nameIn({ name, uri, ref }: JsonObject): string | undefined {
  if (typeof name === "string") return name;
  if (typeof uri === "string") return uri;
  return isObject(ref) ? nameIn(ref) : undefined;
}

const edgeChars = 2_000;

/** A message of megabytes is a response in practice, whose members stand at its start or its end. */
function factsOfLong(text: string): MessageFacts {
  const edges = `${text.slice(0, edgeChars)} ${text.slice(-edgeChars)}`;
  const method = /"method"\s*:\s*"([^"]{1,200})"/.exec(edges)?.[1];
  const id = /"id"\s*:\s*(-?\d{1,20}|"[^"\\]{0,200}")/.exec(edges)?.[1];
  const isError = /"isError"\s*:\s*true/.test(edges);
  return {
    kind: method === undefined ? "response" : id === undefined ? "notification" : "request",
    ...(method !== undefined && { method }),
    ...(id !== undefined && { id }),
    isError,
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
