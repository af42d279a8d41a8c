import { PortolanError } from "../../errors.ts";
import { callLost, invalidParams } from "../../protocol/errors.ts";
import type { Outcome } from "../../protocol/revision.ts";
import type { ElicitResult, InputRequest } from "../../protocol/types/index.ts";
import type { ElicitAnswer, ElicitForm, OpenUrl } from "../call/context.ts";
import type { ServedExchange } from "../call/exchange.ts";
import { attempt, type ExplicitQuestions, type HandlerRun, type Produced } from "../call/exchange.ts";
import type { Runtime } from "../subscribe/hub.ts";
import { Conversation, type Strategy } from "./conversation.ts";
import { emptyForm, type Form, form, isForm } from "./form.ts";
import { openState, roundsOf } from "./round-state.ts";

export { Connection } from "../../jsonrpc/connection.ts";
export { checkSampling } from "./conversation.ts";

const maxRounds = 16;
const manyRounds = 8;

/** The conversation of an exchange, begun when its handler first asks. */
export function conversationOf(runtime: Runtime, exchange: ServedExchange, prefers: Strategy = "replay"): Conversation {
  if (!exchange.conversation) {
    const strategy = exchange.peer.revision.questions === "requests" ? "send" : prefers;
    exchange.conversation = new Conversation(exchange, strategy, roundsOf(runtime));
  }
  return exchange.conversation;
}

/** Serves a call that comes back with answers. */
export async function retry(runtime: Runtime, exchange: ServedExchange, run: HandlerRun): Promise<Outcome> {
  const { inputResponses, requestState } = exchange.params;
  const given = new Map<string, unknown>(Object.entries(inputResponses ?? {}));
  const kept =
    requestState === undefined ? undefined : await openState(roundsOf(runtime).keeper, exchange, String(requestState));
  if (kept?.parked !== undefined) {
    const { parked } = kept;
    const conversation = roundsOf(runtime).parking.find(parked);
    if (!conversation) throw callLost();
    return new Promise((resolve) => {
      exchange.settleEarly = resolve;
      conversation.resume(exchange, given);
      roundsOf(runtime).parking.release(parked);
    });
  }
  if (kept?.rounds === manyRounds) {
    const advice = `${exchange.method} asks for the ${manyRounds}th time; many clients stop at 10: ask together`;
    runtime.report(new PortolanError("limit-reached", advice), exchange.method);
  }
  exchange.conversation = new Conversation(exchange, "replay", roundsOf(runtime), kept, given);
  return attempt(runtime, exchange, run);
}

/** Puts the questions that a handler listed itself, in the result or as requests of their own. */
export async function answerExplicitly(
  runtime: Runtime,
  exchange: ServedExchange,
  run: HandlerRun,
  questions: ExplicitQuestions,
): Promise<Outcome> {
  if (exchange.peer.revision.questions === "in-result") {
    return conversationOf(runtime, exchange).explicit(questions.requests, questions.state);
  }
  let produced: Produced = questions;
  for (let round = 1; produced.kind === "questions"; round += 1) {
    if (round > maxRounds) {
      throw new PortolanError("limit-reached", `${exchange.method}: no result after ${maxRounds} rounds of questions`);
    }
    const sender = new Conversation(exchange, "send", roundsOf(runtime));
    const answers = await Promise.all(
      Object.entries(produced.requests ?? {}).map(
        async ([key, question]) => [key, await sender.ask(key, question)] as const,
      ),
    );
    const once = exchange.conversation?.effects ?? new Map();
    const kept = { answers: new Map(), once, asked: new Map(), rounds: round };
    const remembered = produced.state === undefined ? kept : { ...kept, userState: produced.state };
    const given = new Map(answers);
    exchange.conversation = new Conversation(exchange, "send", roundsOf(runtime), remembered, given);
    produced = await run();
  }
  return produced;
}

/** The mistake of a handler that went on although its question was the answer. */
export function swallowed(exchange: ServedExchange): PortolanError {
  exchange.conversation?.giveUp();
  return new PortolanError(
    "invalid-definition",
    `The handler of ${exchange.method} went on after asking the client: await each question and let its error pass`,
  );
}

/** Puts a form to the user. */
export async function elicit<T>(
  conversation: Conversation,
  key: string,
  question: ElicitForm<T>,
): Promise<ElicitAnswer<T>> {
  const fields = isForm(question.form) ? (question.form as Form<T>) : form<T>(question.form);
  if (fields.compiled.loading) await fields.compiled.loading;
  const params = { mode: "form", message: question.message, requestedSchema: fields.schema } as const;
  const answer = await askFor<ElicitResult>(conversation, key, { method: "elicitation/create", params });
  if (answer.action !== "accept") return { action: answer.action };
  const checked = await fields.compiled.validate(answer.content ?? {});
  if (!checked.issues) return { action: "accept", content: checked.value };
  const [issue] = checked.issues;
  throw invalidParams(`answer "${key}": ${issue?.path ? `${issue.path}: ` : ""}${issue?.message}`);
}

/** Asks the user for a yes, by a form without fields. */
export async function confirm(conversation: Conversation, key: string, message: string): Promise<boolean> {
  const params = { mode: "form", message, requestedSchema: emptyForm } as const;
  const { action } = await askFor<ElicitResult>(conversation, key, { method: "elicitation/create", params });
  return action === "accept";
}

/** Sends the user to a page, and waits until it is done there. */
export async function openUrl(
  conversation: Conversation,
  exchange: ServedExchange,
  key: string,
  { message, url, ready }: OpenUrl,
): Promise<{ action: "accept" | "decline" | "cancel" }> {
  const { protocol } = new URL(url);
  if (protocol !== "https:" && protocol !== "http:") {
    throw new PortolanError("invalid-argument", `ctx.openUrl: expected an http(s) URL, got ${protocol}`);
  }
  const elicitationId = crypto.randomUUID();
  const params = { mode: "url", message, url, elicitationId } as const;
  const { action } = await askFor<ElicitResult>(conversation, key, { method: "elicitation/create", params });
  if (action !== "accept") return { action };
  await ready?.(exchange.signal);
  exchange.notify("notifications/elicitation/complete", { elicitationId });
  return { action };
}

/** Asks, and takes the answer for what the question says it is: its shape was checked against the question. */
export function askFor<T>(conversation: Conversation, key: string, question: InputRequest): Promise<T> {
  return conversation.ask(key, question) as Promise<unknown> as Promise<T>;
}
