import { PortolanError } from "../errors.ts";
import { callLost } from "../protocol/errors.ts";
import type { Outcome } from "../protocol/outcome.ts";
import type { InputRequests } from "../protocol/types/index.ts";
import { Conversation, type Strategy } from "./conversation.ts";
import type { ServedExchange } from "./exchange.ts";
import { isPromise, type MaybePromise } from "./maybe-promise.ts";
import { openState } from "./request-state.ts";
import type { Runtime } from "./runtime.ts";

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
  if (round.requests === undefined && round.state === undefined) {
    throw new PortolanError("invalid-argument", "inputRequired: expected requests, a state, or both; got neither");
  }
  return { kind: "questions", requests: round.requests, state: JSON.stringify(round.state) };
}

const maxRounds = 16;
const manyRounds = 8;

/** Runs a handler that may ask the client, in the way the client's revision allows. */
export function converse(
  runtime: Runtime,
  exchange: ServedExchange,
  run: () => MaybePromise<Produced>,
): MaybePromise<Outcome> {
  const { inputResponses, requestState } = exchange.params;
  if (exchange.peer.revision.questions === "requests") return attempt(runtime, exchange, run);
  if (requestState === undefined && inputResponses === undefined) return attempt(runtime, exchange, run);
  return retry(runtime, exchange, run);
}

/** The conversation of an exchange, begun when its handler first asks. */
export function conversationOf(runtime: Runtime, exchange: ServedExchange, prefers: Strategy = "replay"): Conversation {
  if (!exchange.conversation) {
    const strategy = exchange.peer.revision.questions === "requests" ? "send" : prefers;
    exchange.conversation = new Conversation(exchange, strategy, runtime.keeper, runtime.parking);
  }
  return exchange.conversation;
}

async function retry(runtime: Runtime, exchange: ServedExchange, run: () => MaybePromise<Produced>): Promise<Outcome> {
  const { inputResponses, requestState } = exchange.params;
  const given = new Map<string, unknown>(Object.entries(inputResponses ?? {}));
  const kept = requestState === undefined ? undefined : await openState(runtime.keeper, exchange, String(requestState));
  if (kept?.parked !== undefined) {
    const { parked } = kept;
    const conversation = runtime.parking.find(parked);
    if (!conversation) throw callLost();
    return new Promise((resolve) => {
      exchange.settleEarly = resolve;
      conversation.resume(exchange, given);
      runtime.parking.release(parked);
    });
  }
  if (kept?.rounds === manyRounds) {
    runtime.report(
      new PortolanError(
        "limit-reached",
        `${exchange.method} asks for the ${manyRounds}th time; many clients stop at 10: ask together`,
      ),
    );
  }
  exchange.conversation = new Conversation(exchange, "replay", runtime.keeper, runtime.parking, kept, given);
  return attempt(runtime, exchange, run);
}

function attempt(runtime: Runtime, exchange: ServedExchange, run: () => MaybePromise<Produced>): MaybePromise<Outcome> {
  const produced = run();
  if (isPromise(produced)) return pursue(runtime, exchange, run, produced);
  if (exchange.conversation?.isStopped) throw exchange.conversation.swallowed();
  return produced.kind === "questions" ? answerExplicitly(runtime, exchange, run, produced) : produced;
}

/** Waits for a handler that may be stopped, parked, or go on in a later request. */
function pursue(
  runtime: Runtime,
  exchange: ServedExchange,
  run: () => MaybePromise<Produced>,
  produced: Promise<Produced>,
): Promise<Outcome> {
  return new Promise((resolve) => {
    exchange.settleEarly = resolve;
    const settle = (outcome: MaybePromise<Outcome>) => {
      const target = exchange.conversation?.current ?? exchange;
      target.settleEarly?.(outcome);
    };
    produced.then(
      (value) => {
        const { conversation } = exchange;
        if (conversation?.isStopped) {
          const mistake = conversation.swallowed();
          runtime.report(mistake);
          settle(Promise.reject(mistake));
        } else settle(value.kind === "questions" ? answerExplicitly(runtime, exchange, run, value) : value);
      },
      (cause) => {
        // A stopped handler ends with an error on its way out; the questions are the answer.
        if (!exchange.conversation?.isStopped) settle(Promise.reject(cause));
      },
    );
  });
}

async function answerExplicitly(
  runtime: Runtime,
  exchange: ServedExchange,
  run: () => MaybePromise<Produced>,
  questions: ExplicitQuestions,
): Promise<Outcome> {
  const conversation = conversationOf(runtime, exchange);
  if (exchange.peer.revision.questions === "in-result")
    return conversation.explicit(questions.requests, questions.state);
  let produced: Produced = questions;
  for (let round = 1; produced.kind === "questions"; round += 1) {
    if (round > maxRounds) {
      throw new PortolanError("limit-reached", `${exchange.method}: no result after ${maxRounds} rounds of questions`);
    }
    const entries = Object.entries(produced.requests ?? {});
    const sender = new Conversation(exchange, "send", runtime.keeper, runtime.parking);
    const answers = await Promise.all(
      entries.map(async ([key, question]) => [key, await sender.ask(key, question)] as const),
    );
    const kept = { answers: new Map(), once: new Map(), asked: new Map(), rounds: round };
    const remembered = produced.state === undefined ? kept : { ...kept, userState: produced.state };
    exchange.conversation = new Conversation(
      exchange,
      "send",
      runtime.keeper,
      runtime.parking,
      remembered,
      new Map(answers),
    );
    produced = await run();
  }
  return produced;
}
