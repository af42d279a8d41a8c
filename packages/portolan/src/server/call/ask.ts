import { isPromise, type MaybePromise } from "../../async.ts";
import { PortolanError } from "../../errors.ts";
import type { Outcome } from "../../protocol/revision.ts";
import type { InputRequests } from "../../protocol/types/index.ts";
import type { Runtime } from "../subscribe/runtime.ts";
import type { ServedExchange } from "./exchange.ts";

/** What a handler's function produced: an outcome, or questions it lists itself. */
export type Produced = Outcome | ExplicitQuestions;

/** The value of `inputRequired`: the client is asked, and the handler runs again with `ctx.answer(key)`. */
export interface ExplicitQuestions {
  readonly kind: "questions";
  readonly requests: InputRequests | undefined;
  /** JSON text. */
  readonly state: string | undefined;
}

/** Ends a handler with questions to the client; on every revision it runs again when they are answered. */
export function inputRequired(round: { requests?: InputRequests; state?: unknown }): ExplicitQuestions {
  if (round?.requests === undefined && round?.state === undefined) {
    throw new PortolanError("invalid-argument", "inputRequired: expected requests, a state, or both; got neither");
  }
  return { kind: "questions", requests: round.requests, state: JSON.stringify(round.state) };
}

/** Everything about asking; loaded when the first question or answer comes by. */
export function loadAsking(): Promise<typeof import("../ask/questions.ts")> {
  return import("../ask/questions.ts");
}

/** A handler to run, once or again after each round of answers. */
export type Run = () => MaybePromise<Produced>;

/** Runs a handler that may ask the client, in the way the client's revision allows. */
export function converse(runtime: Runtime, exchange: ServedExchange, run: Run): MaybePromise<Outcome> {
  const { inputResponses, requestState } = exchange.params;
  const isRetry = requestState !== undefined || inputResponses !== undefined;
  if (!isRetry || exchange.peer.revision.questions === "requests") return attempt(runtime, exchange, run);
  return loadAsking().then(({ retry }) => retry(runtime, exchange, run));
}

/** Runs a handler for one round; what it returns after a question that stopped it is refused loudly. */
export function attempt(runtime: Runtime, exchange: ServedExchange, run: Run): MaybePromise<Outcome> {
  const produced = run();
  if (isPromise(produced)) return pursue(runtime, exchange, run, produced);
  return finish(runtime, exchange, run, produced);
}

function finish(runtime: Runtime, exchange: ServedExchange, run: Run, produced: Produced): MaybePromise<Outcome> {
  if (exchange.conversation?.isStopped || exchange.forgotQuestion) {
    return loadAsking().then(({ swallowed }) => {
      throw swallowed(exchange);
    });
  }
  if (produced.kind !== "questions") return produced;
  return loadAsking().then(({ answerExplicitly }) => answerExplicitly(runtime, exchange, run, produced));
}

/** Waits for a handler that may be stopped, parked, or go on in a later request. */
function pursue(runtime: Runtime, exchange: ServedExchange, run: Run, produced: Promise<Produced>): Promise<Outcome> {
  return new Promise((resolve) => {
    exchange.settleEarly = resolve;
    const settle = (outcome: MaybePromise<Outcome>) => {
      if (exchange.conversation?.isAnswered && isPromise(outcome)) {
        // The questions have been the answer: nobody but the operator can hear of this.
        outcome.catch((mistake) => runtime.report(mistake, exchange.method));
        return;
      }
      const target = exchange.conversation?.current ?? exchange;
      target.settleEarly?.(outcome);
    };
    produced.then(
      (value) => settle(finish(runtime, exchange, run, value)),
      (cause) => {
        // A stopped handler ends with an error on its way out; the questions are the answer.
        if (!exchange.conversation?.isStopped) settle(Promise.reject(cause));
      },
    );
  });
}
