import type { RpcError } from "../../jsonrpc/errors.ts";
import type { ErrorObject, RequestId } from "../../jsonrpc/message.ts";
import type { HttpHeaders, HttpReply } from "./door.ts";

const badRequestCodes = [-32020, -32021, -32022];

/** The status that says where an error arose: before there was a request, in finding what it asks for, or while serving it. */
export function statusOf({ stage, code }: RpcError): number {
  if (stage === "envelope") return 400;
  if (stage === "handler") return 200;
  if (code === -32601) return 404;
  return badRequestCodes.includes(code) ? 400 : 200;
}

/** Answers with an error, under the id of the request where it could be read. */
export function sendError(
  reply: HttpReply,
  status: number,
  error: ErrorObject,
  id?: RequestId,
  headers: HttpHeaders = {},
): void {
  const body = JSON.stringify({ jsonrpc: "2.0", ...(id !== undefined && { id }), error });
  reply.send(status, { ...headers, "content-type": "application/json" }, body);
}
