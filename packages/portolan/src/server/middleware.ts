import { PortolanError } from "../errors.ts";
import type { Outcome } from "../protocol/outcome.ts";
import { type Exchange, ServedExchange } from "./exchange.ts";
import type { Middleware } from "./extension.ts";
import type { MaybePromise } from "./maybe-promise.ts";

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
    return around ? around(current, (next) => step(index + 1, next)) : handle(current);
  };
  return step(0, exchange);
}
