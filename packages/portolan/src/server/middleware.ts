import type { Outcome } from "../protocol/outcome.ts";
import type { Exchange } from "./exchange.ts";
import type { Middleware } from "./extension.ts";
import type { MaybePromise } from "./maybe-promise.ts";

/** Runs a handler inside its middleware, the first one outermost. */
export function runAround(
  chain: readonly Middleware[],
  exchange: Exchange,
  handle: (exchange: Exchange) => MaybePromise<Outcome>,
): MaybePromise<Outcome> {
  const step = (index: number, current: Exchange): MaybePromise<Outcome> => {
    const around = chain[index];
    return around ? around(current, (next) => step(index + 1, next)) : handle(current);
  };
  return step(0, exchange);
}
