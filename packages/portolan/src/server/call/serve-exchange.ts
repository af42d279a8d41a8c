import { isPromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { Prepared } from "../../jsonrpc/channel.ts";
import type { RpcResponse } from "../../jsonrpc/message.ts";
import { RpcError } from "../../jsonrpc/message.ts";
import { internalError } from "../../protocol/errors.ts";
import type { Outcome } from "../../protocol/revision.ts";
import type { Runtime } from "../subscribe/runtime.ts";
import { dispatch } from "./dispatch.ts";
import type { ServedExchange } from "./exchange.ts";

/** Takes the one answer to a request, and the error it tells of; throws when the answer has no JSON form. */
export type Reply = (response: RpcResponse | Prepared, error?: RpcError) => void;

/** Serves one request to its end: one reply, or none when it is cancelled. A promise is returned only while it runs. */
export function serveExchange(runtime: Runtime, exchange: ServedExchange, reply: Reply): Promise<void> | undefined {
  try {
    const outcome = dispatch(runtime, exchange);
    if (isPromise(outcome)) {
      return outcome.then(
        (done) => answer(runtime, exchange, done, reply),
        (cause) => fail(runtime, exchange, cause, reply),
      );
    }
    answer(runtime, exchange, outcome, reply);
  } catch (cause) {
    fail(runtime, exchange, cause, reply);
  }
  return undefined;
}

function answer(runtime: Runtime, exchange: ServedExchange, outcome: Outcome, reply: Reply): void {
  if (exchange.isCancelled) return;
  exchange.end();
  const { id, method, peer } = exchange;
  try {
    if (exchange.back.writesText || outcome.kind === "prepared") {
      reply({ id, resultText: peer.revision.encodeResultText(method, outcome, runtime.snapshot) });
    } else reply({ jsonrpc: "2.0", id, result: peer.revision.encodeResult(method, outcome, runtime.snapshot) });
  } catch (cause) {
    replyError(runtime, exchange, cause, reply);
  }
}

function fail(runtime: Runtime, exchange: ServedExchange, cause: unknown, reply: Reply): void {
  if (exchange.isCancelled) return;
  exchange.end();
  replyError(runtime, exchange, cause, reply);
}

function replyError(runtime: Runtime, { id, method, peer }: ServedExchange, cause: unknown, reply: Reply): void {
  const failure = toRpcError(runtime, cause, method);
  const error = peer.revision.encodeError(failure);
  try {
    reply({ jsonrpc: "2.0", id, error }, failure);
  } catch (unserializable) {
    // The data of an error may have no JSON form either; its code and message always do.
    runtime.report(unserializable, method);
    reply({ jsonrpc: "2.0", id, error: { code: error.code, message: error.message } }, failure);
  }
}

/** What the peer is told about an error: all of its own, and of ours no more than a reference. */
export function toRpcError(runtime: Runtime, cause: unknown, method: string): RpcError {
  if (cause instanceof RpcError) return cause;
  const reference = runtime.report(cause, method);
  if (cause instanceof PortolanError && cause.code === "unserializable") return new RpcError(-32603, cause.message);
  return internalError(reference);
}
