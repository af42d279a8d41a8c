import type { Answers } from "../client/options.ts";
import { RpcError, rpcCodes } from "../jsonrpc/message.ts";
import type {
  CreateMessageParams,
  CreateMessageResult,
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  Root,
} from "../protocol/types/index.ts";

/** One scripted answer: of a user, of a model, the roots, or an error that rejects the question. */
export type ScriptedAnswer = ElicitResult | CreateMessageResult | readonly Root[] | Error;

/** A question that the server asked. */
export type ReceivedQuestion =
  | { readonly method: "elicitation/create"; readonly params: ElicitFormParams | ElicitUrlParams }
  | { readonly method: "sampling/createMessage"; readonly params: CreateMessageParams }
  | { readonly method: "roots/list" };

/** Answer handlers that give scripted answers and record the questions. */
export interface ScriptedAnswers extends Answers {
  /** The questions so far, in order. */
  readonly asked: readonly ReceivedQuestion[];
  /** Throws if an answer was not used, or a question had no suitable answer. */
  done(): void;
}

/** Creates answer handlers that give these answers in order. A question without an answer fails its call. */
export function scriptedAnswers(...answers: readonly ScriptedAnswer[]): ScriptedAnswers {
  return new Script(answers);
}

class Script implements ScriptedAnswers {
  readonly asked: ReceivedQuestion[] = [];
  readonly #answers: readonly ScriptedAnswer[];
  #given = 0;
  #problem: Error | undefined;

  constructor(answers: readonly ScriptedAnswer[]) {
    this.#answers = answers;
  }

  readonly elicit = (params: ElicitFormParams): ElicitResult =>
    this.#next({ method: "elicitation/create", params }, isElicitResult, "{ action }");

  readonly openUrl = (params: ElicitUrlParams): ElicitResult =>
    this.#next({ method: "elicitation/create", params }, isElicitResult, "{ action }");

  readonly sample = (params: CreateMessageParams): CreateMessageResult =>
    this.#next({ method: "sampling/createMessage", params }, isModelResult, "{ role, content, model }");

  readonly roots = (): readonly Root[] => this.#next({ method: "roots/list" }, isRoots, "an array of roots");

  done(): void {
    if (this.#problem) throw this.#problem;
    const left = this.#answers.slice(this.#given);
    if (left.length === 0) return;
    throw new Error(
      `The script has ${left.length} more answers than there were questions (${this.asked.length}); the next one is ${JSON.stringify(left[0])}`,
    );
  }

  #next<T extends ScriptedAnswer>(
    asked: ReceivedQuestion,
    fits: (answer: ScriptedAnswer) => answer is T,
    expected: string,
  ): T {
    this.asked.push(asked);
    const answer = this.#answers[this.#given];
    if (answer === undefined) throw this.#fail(asked, `it has only ${this.#answers.length} answers`);
    this.#given += 1;
    if (answer instanceof Error) throw answer;
    if (!fits(answer)) throw this.#fail(asked, `it expects ${expected}, got ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Returns an RpcError, so that the call fails with this text in every revision. */
  #fail(asked: ReceivedQuestion, why: string): RpcError {
    const question = `question ${this.asked.length}, ${asked.method}${detailOf(asked)}`;
    const problem = new RpcError(rpcCodes.internalError, `The script cannot answer ${question}: ${why}`);
    this.#problem ??= problem;
    return problem;
  }
}

function detailOf(asked: ReceivedQuestion): string {
  return asked.method === "elicitation/create" ? ` (${asked.params.message})` : "";
}

const isElicitResult = (answer: ScriptedAnswer): answer is ElicitResult => "action" in answer;
const isModelResult = (answer: ScriptedAnswer): answer is CreateMessageResult => "role" in answer;
const isRoots = (answer: ScriptedAnswer): answer is readonly Root[] => Array.isArray(answer);
