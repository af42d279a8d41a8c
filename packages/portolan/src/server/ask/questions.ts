import type { MaybePromise } from "../../async.ts";
import { nameOf, PortolanError } from "../../errors.ts";
import { callLost, invalidParams } from "../../protocol/errors.ts";
import type { Outcome } from "../../protocol/revision.ts";
import type { ElicitResult, InputRequest } from "../../protocol/types/index.ts";
import type { ElicitAnswer, ElicitForm, OpenUrl } from "../call/context.ts";
import type { ServedExchange } from "../call/exchange.ts";
import { type ExplicitQuestions, type HandlerRun, type Produced, runOnce } from "../call/exchange.ts";
import { manyQuestionRounds, maxQuestionRounds } from "../limits.ts";
import type { ServerRuntime } from "../runtime.ts";
import { Conversation, type Strategy } from "./conversation.ts";
import { emptyForm, type Form, fieldsOf, form, isForm } from "./form.ts";
import { emptyState, openState, roundStateOf } from "./round-state.ts";

export { PendingRequests } from "../../jsonrpc/pending-requests.ts";
export { checkAnswer, checkSampling } from "./conversation.ts";

/** Returns the conversation of an exchange, which begins with the first question of its handler. */
export function conversationOf(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  prefers: Strategy = "replay",
): Conversation {
  if (!exchange.conversation) {
    const strategy = exchange.asksByRequests ? "send" : prefers;
    exchange.conversation = new Conversation(exchange, strategy, roundStateOf(runtime), undefined, answersIn(exchange));
  }
  return exchange.conversation;
}

/** Returns the answers that a request carries, by the keys of their questions. */
function answersIn({ params }: ServedExchange): Map<string, unknown> {
  return new Map(Object.entries(params["inputResponses"] ?? {}));
}

/** Serves the retry of a call, which carries the state of the round before it. */
export async function retry(runtime: ServerRuntime, exchange: ServedExchange, run: HandlerRun): Promise<Outcome> {
  const received = answersIn(exchange);
  const { sealer, parking } = roundStateOf(runtime);
  const state = await openState(sealer, exchange, String(exchange.params["requestState"]));
  if (state.parked !== undefined) {
    const { parked } = state;
    const conversation = parking.find(parked);
    if (!conversation) throw callLost();
    if (conversation.outcome) {
      parking.release(parked);
      return conversation.outcome;
    }
    return new Promise((resolve) => {
      exchange.settleEarly = resolve;
      conversation.resume(exchange, received);
      parking.release(parked);
    });
  }
  if (state.rounds === manyQuestionRounds) {
    const advice = `${exchange.method} asked in ${manyQuestionRounds} rounds; many clients stop at 10: ask together`;
    runtime.report(new PortolanError("limit-reached", advice), exchange.origin);
  }
  exchange.conversation = new Conversation(exchange, "replay", roundStateOf(runtime), state, received);
  return runOnce(runtime, exchange, run);
}

/** Runs a handler whose rounds are kept outside its requests. */
export function continueRounds(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  run: HandlerRun,
): MaybePromise<Outcome> {
  const { rounds } = exchange;
  const strategy = exchange.asksByRequests ? "send" : "replay";
  const { state, received } = rounds ?? {};
  exchange.conversation = new Conversation(exchange, strategy, roundStateOf(runtime), state, received, rounds);
  return runOnce(runtime, exchange, run);
}

/** Asks the questions of `inputRequired`, in the result or as requests. */
export async function askExplicitly(
  runtime: ServerRuntime,
  exchange: ServedExchange,
  run: HandlerRun,
  questions: ExplicitQuestions,
): Promise<Outcome> {
  if (!exchange.asksByRequests) {
    return conversationOf(runtime, exchange).explicit(questions.requests, questions.state);
  }
  let produced: Produced = questions;
  for (let round = 1; produced.kind === "questions"; round += 1) {
    if (round > maxQuestionRounds) {
      const why = `${exchange.method}: no result after ${maxQuestionRounds} rounds of questions`;
      throw new PortolanError("limit-reached", why);
    }
    const sender = new Conversation(exchange, "send", roundStateOf(runtime));
    const answers = await Promise.all(
      Object.entries(produced.requests ?? {}).map(
        async ([key, question]) => [key, await sender.ask(key, question)] as const,
      ),
    );
    const once = exchange.conversation?.effects ?? new Map();
    const asked = new Map(answers.map(([key]) => [key, ""]));
    const state = { ...emptyState(), once, asked, rounds: round };
    const withUserState = produced.state === undefined ? state : { ...state, userState: produced.state };
    exchange.conversation = new Conversation(exchange, "send", roundStateOf(runtime), withUserState, new Map(answers));
    produced = await run();
    if (exchange.unawaitedQuestions + exchange.unansweredQuestions > 0) throw ignoredQuestion(exchange);
  }
  return produced;
}

/** Returns the error of a handler that returned although a question had suspended it. */
export function ignoredQuestion(exchange: ServedExchange): PortolanError {
  const mistake = new PortolanError(
    "invalid-definition",
    `The handler of ${exchange.method} returned although the client is being asked: ` +
      "await each question, and do not catch the error that suspends the handler",
  );
  // The client must not learn the reason, which is the author's.
  exchange.conversation?.close(new PortolanError("cancelled", "The request has failed"));
  return mistake;
}

/** Throws if a question has no key or no message. The key is easily forgotten: it comes before the message. */
function checkAsked(name: string, rest: string, key: unknown, message: unknown): void {
  const where = `ctx.${name}(key, ${rest})`;
  if (typeof key !== "string" || key === "") {
    throw new PortolanError("invalid-argument", `${where}: key: expected a name of the question, got ${nameOf(key)}`);
  }
  if (typeof message === "string") return;
  throw new PortolanError("invalid-argument", `${where}: message: expected a string, got ${nameOf(message)}`);
}

/** Asks the user to fill in a form. */
export async function elicit<T>(
  conversation: Conversation,
  key: string,
  question: ElicitForm<T>,
): Promise<ElicitAnswer<T>> {
  checkAsked("elicit", "{ message, form }", key, question?.message);
  if (question.form === undefined) {
    throw new PortolanError(
      "invalid-argument",
      "ctx.elicit(key, { message, form }): form: expected a schema, got nothing",
    );
  }
  const fields = isForm(question.form) ? (question.form as Form<T>) : form<T>(question.form);
  if (fields.compiled.loading) await fields.compiled.loading;
  const params = { mode: "form", message: question.message, requestedSchema: fields.schema } as const;
  const answer = await askFor<ElicitResult>(conversation, key, { method: "elicitation/create", params });
  if (answer.action !== "accept") return { action: answer.action };
  const checked = await fields.compiled.validate(fieldsOf(fields, answer.content ?? {}));
  if (!checked.issues) return { action: "accept", content: checked.value };
  const [issue] = checked.issues;
  throw invalidParams(`answer "${key}": ${issue?.path ? `${issue.path}: ` : ""}${issue?.message}`);
}

/** Asks the user to confirm, with a form that has no fields. */
export async function confirm(conversation: Conversation, key: string, message: string): Promise<boolean> {
  checkAsked("confirm", "message", key, message);
  const params = { mode: "form", message, requestedSchema: emptyForm } as const;
  const { action } = await askFor<ElicitResult>(conversation, key, { method: "elicitation/create", params });
  return action === "accept";
}

/** Asks the user to open a page, and waits until the user has finished there. */
export async function openUrl(
  conversation: Conversation,
  exchange: ServedExchange,
  key: string,
  page: OpenUrl,
): Promise<{ action: "accept" | "decline" | "cancel" }> {
  checkAsked("openUrl", "{ message, url }", key, page?.message);
  const { message, url, ready } = page;
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol !== "https:" && protocol !== "http:") {
    throw new PortolanError("invalid-argument", `ctx.openUrl: expected an http: or https: URL, got ${nameOf(url)}`);
  }
  const elicitationId = crypto.randomUUID();
  const params = { mode: "url", message, url, elicitationId } as const;
  const { action } = await askFor<ElicitResult>(conversation, key, { method: "elicitation/create", params });
  if (action !== "accept") return { action };
  await ready?.(exchange.signal);
  exchange.notify("notifications/elicitation/complete", { elicitationId });
  return { action };
}

/** Asks one question. `T` is the type of the answer, whose shape the conversation checks against the question. */
export function askFor<T>(conversation: Conversation, key: string, question: InputRequest): Promise<T> {
  return conversation.ask(key, question) as Promise<unknown> as Promise<T>;
}
