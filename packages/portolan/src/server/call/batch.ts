import type { Prepared } from "../../jsonrpc/channel.ts";
import { isRequest, type Message, type RpcResponse, serialize } from "../../jsonrpc/message.ts";
import type { Revision } from "../../protocol/revision.ts";

/** Why a batch cannot be served; undefined when it can. */
export function problemOfBatch(messages: readonly Message[], revision: Revision | undefined): string | undefined {
  if (!revision?.batches) return "expected one message, got a batch; this protocol version has none";
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

/** Takes the responses to a batch one by one, none for a cancelled request, and sends them together. */
export function collector(
  messages: readonly Message[],
  send: (responses: (RpcResponse | Prepared)[]) => void,
): (response?: RpcResponse | Prepared) => void {
  const responses: (RpcResponse | Prepared)[] = [];
  let open = messages.filter(isRequest).length;
  return (response) => {
    if (response) responses.push(serializable(response));
    open -= 1;
    if (open === 0) send(responses);
  };
}

/** A member of a batch must not spoil the others: what has no JSON form fails here, on its own. */
function serializable(response: RpcResponse | Prepared): Prepared | RpcResponse {
  if (!("resultText" in response)) serialize(response);
  return response;
}
