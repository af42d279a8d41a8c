import { type MaybePromise, whenDone } from "../async.ts";
import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { complete, type Outcome } from "../protocol/revision.ts";
import { type Exchange, ServedExchange } from "./call/exchange.ts";
import type { Middleware } from "./extension.ts";

/** Runs a handler inside its middleware, the first one outermost. */
export function runAround(
  chain: readonly Middleware[],
  exchange: ServedExchange,
  handle: (exchange: ServedExchange) => MaybePromise<Outcome>,
): MaybePromise<Outcome> {
  const step = (index: number, current: Exchange): MaybePromise<Outcome> => {
    if (!(current instanceof ServedExchange)) {
      throw new PortolanError(
        "invalid-argument",
        "Middleware: expected next(exchange) or next(exchange.withParams(…))",
      );
    }
    const around = chain[index];
    return around ? around(current, (next) => step(index + 1, next)) : whenDone(handle(current), open);
  };
  return step(0, exchange);
}

/** Middleware sees results and may change them, so that no text of them is kept. */
function open(outcome: Outcome): Outcome {
  if (outcome.kind === "complete" && outcome.mirror !== undefined) return { ...outcome, mirror: undefined };
  if (outcome.kind !== "prepared") return outcome;
  const { resultType: _resultType, ...result } = JSON.parse(outcome.resultText) as JsonObject;
  return complete(result);
}
