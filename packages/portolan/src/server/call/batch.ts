import type { PreparedResponse } from "../../jsonrpc/channel.ts";
import { isRequest, type Message, type RpcResponse, serialize } from "../../jsonrpc/message.ts";
import type { Revision } from "../../protocol/revision.ts";

/** Returns why a batch cannot be served; undefined if it can. */
export function problemOfBatch(messages: readonly Message[], revision: Revision | undefined): string | undefined {
  if (!revision?.batches) return "expected one message, got a batch; this protocol version has no batches";
  if (messages.length === 0) return "expected at least one message in a batch, got none";
  if (messages.some((message) => "method" in message && message.method === "initialize")) {
    return "initialize: expected it on its own, got it in a batch";
  }
  const hasResponses = messages.some((message) => !("method" in message));
  if (hasResponses && messages.some((message) => "method" in message)) {
    return "expected either requests and notifications or responses in a batch, got both";
  }
  return undefined;
}

/** Returns a function that takes the responses to a batch one by one, none for a cancelled request, and sends them together. */
export function collectResponses(
  messages: readonly Message[],
  send: (responses: (RpcResponse | PreparedResponse)[]) => void,
): (response?: RpcResponse | PreparedResponse) => void {
  const responses: (RpcResponse | PreparedResponse)[] = [];
  let open = messages.filter(isRequest).length;
  return (response) => {
    if (response) responses.push(checkSerializable(response));
    open -= 1;
    if (open === 0) send(responses);
  };
}

/** Throws if a response has no JSON form, so that it fails alone and not with the whole batch. */
function checkSerializable(response: RpcResponse | PreparedResponse): PreparedResponse | RpcResponse {
  if (!("resultText" in response)) serialize(response);
  return response;
}
