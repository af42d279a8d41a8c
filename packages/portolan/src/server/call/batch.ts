import type { PreparedResponse } from "../../jsonrpc/channel.ts";
import {
  isRequest,
  type Message,
  type RequestId,
  type RpcError,
  type RpcResponse,
  serialize,
} from "../../jsonrpc/message.ts";
import type { Revision } from "../../protocol/revision.ts";
import { type KeptFor, roundStateOf } from "../ask/round-state.ts";
import type { ServerRuntime } from "../runtime.ts";
import { toRpcError } from "./dispatch.ts";

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

/**
 * Returns a function that takes the responses to a batch one by one, none for a cancelled request, and sends them together.
 * Until then they count as kept bytes of their caller; one for which there is no room is replaced by an error.
 */
export function collectResponses(
  runtime: ServerRuntime,
  returnPath: KeptFor["returnPath"],
  messages: readonly Message[],
  send: (responses: (RpcResponse | PreparedResponse)[]) => void,
): (response?: RpcResponse | PreparedResponse) => void {
  const responses: (RpcResponse | PreparedResponse)[] = [];
  const releases: (() => void)[] = [];
  const requests = messages.filter(isRequest).length;
  let open = requests;
  const keep = (response: RpcResponse | PreparedResponse): RpcResponse | PreparedResponse => {
    // Throws if the response has no JSON form, so that it fails alone and not with the whole batch.
    const bytes = ("resultText" in response ? response.resultText : serialize(response)).length;
    // An only response waits for no other.
    if (requests === 1) return response;
    try {
      const caller = roundStateOf(runtime).budget.take({ returnPath }, bytes, "an answer until its batch is complete");
      releases.push(() => caller.release("keptBytes", bytes));
      return response;
    } catch (cause) {
      return failure(response, toRpcError(runtime, cause, { method: "batch" }));
    }
  };
  return (response) => {
    if (response) responses.push(keep(response));
    open -= 1;
    if (open > 0) return;
    for (const release of releases) release();
    try {
      send(responses);
    } catch (cause) {
      // Together they may be longer than a string can be.
      const error = toRpcError(runtime, cause, { method: "batch" });
      send(responses.map((each) => failure(each, error)));
    }
  };
}

/** Returns the response that reports an error under the id of another response. */
export function failure({ id }: RpcResponse | PreparedResponse, error: RpcError): RpcResponse {
  return { jsonrpc: "2.0", id: id as RequestId, error: error.toErrorObject() };
}
