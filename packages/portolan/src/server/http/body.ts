import { checkMessage, type Message, type RpcError, type Unreadable } from "../../jsonrpc/message.ts";
import type { Caller, Exhausted } from "../callers.ts";
import type { BodyProblem } from "./adapter.ts";
import { defaultBodyBytes, defaultBodyMs, minBodyBytesPerSecond } from "./limits.ts";
import type { HttpLimits } from "./options.ts";

/** The largest body that is read, and the time in which it has to arrive. */
export interface BodyLimits {
  readonly bytes: number;
  readonly ms: number;
}

export function bodyLimits(limits: HttpLimits): BodyLimits {
  return { bytes: limits.bodyBytes ?? defaultBodyBytes, ms: limits.bodyMs ?? defaultBodyMs };
}

export function tooLarge(limits: BodyLimits): BodyProblem {
  return { status: 413, why: `The body is too large: at most ${limits.bytes} bytes are read` };
}

export function tooSlow(limits: BodyLimits): BodyProblem {
  return { status: 408, why: `The body is too slow: at most ${limits.ms} ms are allowed` };
}

export const incomplete: BodyProblem = { status: 400, why: "The connection closed before the body arrived" };

export const alreadyRead: BodyProblem = {
  status: 400,
  why: "The body was read before; expected it as `body` of the request",
};

/** Counts bytes of a body that is still arriving. Returns the problem if its caller has no room for them. */
export function countArrived(caller: Caller | undefined, bytes: number): BodyProblem | undefined {
  const full = caller?.take("keptBytes", bytes);
  if (!full || !caller) return undefined;
  return refusedBody(full, caller.beyond("keptBytes", full));
}

/**
 * Counts a body before it is parsed, which may cost more than everything else. Returns the problem if its caller has sent
 * too much within this minute.
 */
export function countWithinMinute(caller: Caller, body: string): BodyProblem | undefined {
  const full = caller.count("bodyBytes", body.length);
  return full && refusedBody(full, caller.tooOften("bodyBytes", full));
}

function refusedBody(full: Exhausted, error: RpcError): BodyProblem {
  return { status: full === "caller" ? 429 : 503, why: error.message, error };
}

export function isTooSlow(bytes: number, elapsedMs: number, limits: BodyLimits): boolean {
  return elapsedMs > limits.ms && bytes * 1000 < minBodyBytesPerSecond * elapsedMs;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Returns the text of a whole body, without a byte order mark. */
export function decodeBody(bytes: Uint8Array): string | BodyProblem {
  try {
    return decoder.decode(bytes);
  } catch {
    return { status: 400, why: "The body is not valid UTF-8" };
  }
}

/** Parses a body. Returns undefined if it is not valid JSON. */
export function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Checks a parsed body with one message, as nearly every body is. Returns undefined for any other; `readOther` reads those. */
export function readMessage(value: unknown): Message | Unreadable | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return checkMessage(value) ?? (value as Message);
}

/** Returns whether a body is not a message: every message has a `jsonrpc` member. */
export function isUnreadable(read: Message | Message[] | Unreadable): read is Unreadable {
  return !Array.isArray(read) && !("jsonrpc" in read);
}
