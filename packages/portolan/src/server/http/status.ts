import type { RpcError } from "../../jsonrpc/message.ts";
import { type ErrorObject, isRequest, type Message, type RequestId } from "../../jsonrpc/message.ts";
import type { HttpHeaders, HttpReply } from "./adapter.ts";

const badRequestCodes = [-32020, -32021, -32022];

/** The status that says where an error arose: before there was a request, in finding what it asks for, or while serving it. */
export function statusOf({ stage, code }: RpcError): number {
  if (stage === "envelope") return 400;
  if (stage === "handler") return 200;
  if (code === -32601) return 404;
  return badRequestCodes.includes(code) ? 400 : 200;
}

/** The id under which messages are answered as a whole: that of a single request. */
export function idOf(messages: Message | Message[]): RequestId | undefined {
  return !Array.isArray(messages) && isRequest(messages) ? messages.id : undefined;
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
