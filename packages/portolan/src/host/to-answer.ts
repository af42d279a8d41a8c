import { samplingParams, samplingResult } from "../client/answer.ts";
import { checkFormAnswer } from "../client/form-answer.ts";
import { nameOf, PortolanError } from "../errors.ts";
import type { ElicitResult } from "../protocol/types/index.ts";
import { isObject, optional } from "../schema/shape.ts";
import type { AnswerOf, HostAnswers, Question, QuestionKind, SamplingQuestion } from "./questions.ts";

const kinds: readonly QuestionKind[] = ["trust", "approve", "elicit", "visit", "sample", "roots"];

/** Throws for what nobody could be asked by. */
export function checkAnswerers(answers: HostAnswers): void {
  for (const [kind, answerer] of Object.entries(answers)) {
    if (!(kinds as readonly string[]).includes(kind)) {
      const message = `answers.${kind}: there are no such questions; there are ${kinds.join(", ")}`;
      throw new PortolanError("invalid-argument", message);
    }
    if (answerer === undefined || answerer === "later" || typeof answerer === "function") continue;
    const message = `answers.${kind}: expected a function or "later", got ${nameOf(answerer)}`;
    throw new PortolanError("invalid-argument", message);
  }
}

/** Rejects what is no answer to a question, also what does not fit its form. */
export async function checkAnswer(question: Question, given: unknown): Promise<void> {
  const answer = toAnswer(question, given);
  if (question.kind === "elicit") await checkFormAnswer(question.params, answer as ElicitResult);
}

/** The answer in full; throws for what is none. */
export function toAnswer<K extends QuestionKind>(question: Question, given: unknown): AnswerOf[K] {
  const { kind } = question;
  const isVerdict = kind !== "elicit" && kind !== "visit";
  if (isVerdict && typeof given === "boolean") return { allow: given } as AnswerOf[K];
  const member = isVerdict ? "allow" : "action";
  const isRight = isVerdict
    ? isObject(given) && typeof given["allow"] === "boolean"
    : isObject(given) && ["accept", "decline", "cancel"].includes(given["action"] as string);
  if (!isRight) {
    const wanted = isVerdict ? "true, false or { allow }" : '{ action: "accept" | "decline" | "cancel" }';
    const came = isObject(given) ? `${member} ${nameOf(given[member])}` : nameOf(given);
    throw invalid(kind, `expected ${wanted}, got ${came}`);
  }
  const answer = given as unknown as AnswerOf[K];
  if (kind === "sample") checkSampling(question, answer as AnswerOf["sample"]);
  return answer;
}

/** What was edited goes to a model or to a server as it is. */
function checkSampling(question: SamplingQuestion, { params, result, model }: AnswerOf["sample"]): void {
  const problem = optional(samplingParams)(params, "params") ?? optional(samplingResult)(result, "result");
  if (problem !== undefined) throw invalid("sample", problem);
  if (question.stage !== "request" || model === undefined) return;
  const able = [question.model, ...question.alternatives].map(({ id }) => id);
  if (able.includes(model)) return;
  throw invalid("sample", `expected a model that can answer (${able.join(", ")}), got ${nameOf(model)}`);
}

function invalid(kind: QuestionKind, why: string): PortolanError {
  return new PortolanError("answer-invalid", `answers.${kind}: ${why}`);
}
