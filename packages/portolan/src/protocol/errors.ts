import { RpcError, rpcCodes } from "../jsonrpc/message.ts";
import type { ClientCapabilities } from "./types/index.ts";

/** The error codes that MCP defines beyond those of JSON-RPC, and one of our own. */
export const protocolCodes = {
  /** A resource that does not exist, before 2026-07-28; since then it is `rpcCodes.invalidParams`. */
  resourceNotFound: -32002,
  /** An HTTP header that contradicts the body. */
  headerMismatch: -32020,
  /** A request that needs a capability which the client did not declare. */
  missingCapability: -32021,
  /** A protocol version that the server does not support. */
  unsupportedVersion: -32022,
  /** A request that needs the user to visit a URL first, in 2025-11-25 only. */
  urlElicitationRequired: -32042,
  /** A request beyond a limit. Our own code, outside the range that JSON-RPC reserves. */
  limitExceeded: -31429,
  /** A proxy that lost the connection to its server. Our own code, outside the range that JSON-RPC reserves. */
  upstreamLost: -31502,
} as const;

/** Returns true for a code of the range that MCP reserves for itself. */
export function isReservedCode(code: number): boolean {
  return code <= -32020 && code >= -32099;
}

/** Returns true for a code that only servers of stateless revisions send. */
export function isStatelessCode(code: unknown): boolean {
  const { headerMismatch, missingCapability, unsupportedVersion } = protocolCodes;
  return code === headerMismatch || code === missingCapability || code === unsupportedVersion;
}

/**
 * An error whose numeric code differs between revisions. The table of a revision has its code. Another kind,
 * "question-refused", marks the client's own error to a question.
 */
export type ErrorKind = "resource-not-found" | "missing-capability";

export function methodNotFound(method: string): RpcError {
  return new RpcError(rpcCodes.methodNotFound, `Method not found: ${method}`, { stage: "dispatch" });
}

export function invalidRequest(why: string): RpcError {
  return new RpcError(rpcCodes.invalidRequest, `Invalid request: ${why}`, { stage: "envelope" });
}

export function invalidParams(why: string, data?: unknown): RpcError {
  return new RpcError(rpcCodes.invalidParams, `Invalid params: ${why}`, { stage: "dispatch", data });
}

/** A request whose `_meta` does not describe its sender as it must. */
export function missingMeta(why: string, data?: unknown): RpcError {
  return new RpcError(rpcCodes.invalidParams, `Invalid params: ${why}`, { stage: "envelope", data });
}

export function unknownTool(name: string): RpcError {
  return new RpcError(rpcCodes.invalidParams, `Unknown tool: ${name}`, { stage: "dispatch" });
}

/** A task that does not exist, has expired or belongs to another caller. The caller does not learn which. */
export function taskNotFound(): RpcError {
  return new RpcError(rpcCodes.invalidParams, "Task not found: the id is unknown, or its lifetime is over", {
    stage: "dispatch",
  });
}

/** A request that a task in its present state refuses. */
export function taskEnded(status: string): RpcError {
  return new RpcError(rpcCodes.invalidParams, `The task has ended already: its status is ${status}`, {
    stage: "dispatch",
  });
}

/** A call that must be, or must not be, a task where the client decides. */
export function taskMismatch(tool: string, isRequired: boolean): RpcError {
  const why = isRequired ? "runs only as a task: add `task` to the call" : "does not run as a task: omit `task`";
  return new RpcError(rpcCodes.methodNotFound, `Tool "${tool}" ${why}`, { stage: "dispatch" });
}

export function unknownPrompt(name: string): RpcError {
  return new RpcError(rpcCodes.invalidParams, `Unknown prompt: ${name}`, { stage: "dispatch" });
}

export function resourceNotFound(uri: string): RpcError {
  return new RpcError(rpcCodes.invalidParams, `Resource not found: ${uri}`, {
    kind: "resource-not-found",
    data: { uri },
  });
}

export function unsupportedVersion(requested: unknown, supported: readonly string[]): RpcError {
  return new RpcError(
    protocolCodes.unsupportedVersion,
    `Unsupported protocol version: ${String(requested)}; supported: ${supported.join(", ")}`,
    {
      stage: "envelope",
      data: { supported, requested: String(requested) },
    },
  );
}

/** An HTTP header that the body of its request contradicts. */
export function headerMismatch(why: string): RpcError {
  return new RpcError(protocolCodes.headerMismatch, `Header mismatch: ${why}`, { stage: "envelope" });
}

/** A request that needs a capability which the client did not declare. */
export function missingCapability(required: ClientCapabilities, doing: string): RpcError {
  return new RpcError(
    protocolCodes.missingCapability,
    `${doing} needs a capability that this client did not declare or its protocol version lacks: ${JSON.stringify(required)}`,
    {
      kind: "missing-capability",
      stage: "dispatch",
      data: { requiredCapabilities: required },
    },
  );
}

/** A `requestState` that is altered, expired, or of another call. The peer does not learn which. */
export function invalidState(): RpcError {
  return new RpcError(rpcCodes.invalidParams, "Invalid or expired requestState: repeat the call without it", {
    stage: "dispatch",
  });
}

/** Answers to a handler that no longer waits: its process ended, or its time is over. */
export function callLost(): RpcError {
  return new RpcError(rpcCodes.invalidParams, "The call that waited for these answers is gone; it was not run again", {
    stage: "dispatch",
  });
}

/** The client's answer to a server that asks too much at once. */
export function tooManyQuestions(limit: number, bytes: number): RpcError {
  const bounds = `at most ${limit}, with ${bytes} bytes in all`;
  return new RpcError(rpcCodes.internalError, `Too many open questions: ${bounds}; wait for answers first`);
}

/** The client's answer to a request that only clients send. */
export function sentBack(method: string): RpcError {
  const why = "only clients send it. A program that sends back what it reads is not an MCP server";
  return new RpcError(rpcCodes.methodNotFound, `Unexpected ${method}: ${why}`);
}

/** The client's answer to a question that its application refused, failed to answer, or answered wrongly. */
export function questionRefused(method: string, isInvalid: boolean): RpcError {
  return new RpcError(
    -1,
    isInvalid ? `The client has no valid answer to ${method}` : `The client did not answer ${method}`,
  );
}

/** The data of an error that `limitExceeded` returns. */
export interface LimitData {
  /** The owner of the limit: the caller, or the whole process. */
  readonly limit: "caller" | "process";
  /** Time after which the same request may succeed. */
  readonly retryAfterSeconds: number;
}

/** A request beyond a limit of its caller or of the server. Over HTTP its status is 429 or 503. */
export function limitExceeded(why: string, limit: LimitData["limit"] = "caller", retryAfterSeconds = 5): RpcError {
  const data: LimitData = { limit, retryAfterSeconds };
  return new RpcError(protocolCodes.limitExceeded, why, { stage: "dispatch", data });
}

/** A result that has no JSON form. Its author may well be told why. */
export function unserializableResult(why: string): RpcError {
  return new RpcError(rpcCodes.internalError, why);
}

/** A failure inside the server. The peer gets no more than a reference for the log. */
export function internalError(reference?: string): RpcError {
  return new RpcError(
    rpcCodes.internalError,
    reference === undefined ? "Internal error" : `Internal error (reference ${reference})`,
  );
}
