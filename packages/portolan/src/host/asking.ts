import { toError } from "../client/failures.ts";
import { nameOf, PortolanError } from "../errors.ts";
import { isObject } from "../schema/shape.ts";
import type { AnswerOf, HostAnswers, Question, QuestionKind } from "./questions.ts";

/** How many questions may wait for the user: for one server, and in all. */
const maxWaitingOfServer = 20;
const maxWaiting = 200;

/** A question of some kind before it has a name. */
export type Draft<K extends QuestionKind> = DraftOf<Extract<Question, { kind: K }>>;
type DraftOf<Q> = Q extends Question ? Omit<Q, "id" | "signal"> : never;

/** For whom a question is asked. */
export interface AskOptions {
  /** Answers before those of the host. */
  readonly own?: HostAnswers | undefined;
  /** Takes the question back. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiting {
  readonly question: Question;
  readonly settle: (answer: unknown) => void;
}

/** Puts questions to the application, and keeps those that it answers later. */
export class Asking {
  readonly #answers: HostAnswers;
  readonly #asked: (question: Question) => void;
  readonly #settled: (question: Question) => void;
  readonly #waiting = new Map<string, Waiting>();
  /** How to take each question back. */
  readonly #open = new Set<AbortController>();
  #count = 0;

  /** `asked` hears of each question, `settled` when one needs no answer any more. */
  constructor(
    answers: HostAnswers,
    { asked, settled }: { asked: (question: Question) => void; settled: (question: Question) => void },
  ) {
    this.#answers = answers;
    this.#asked = asked;
    this.#settled = settled;
  }

  /** Whether anybody answers such questions. */
  answers(kind: QuestionKind, own?: HostAnswers): boolean {
    return (own?.[kind] ?? this.#answers[kind]) !== undefined;
  }

  /** The questions that wait for `answer`. */
  get waiting(): readonly Question[] {
    return [...this.#waiting.values()].map(({ question }) => question);
  }

  /** The application's answer; rejects when the question is taken back or cannot be put. */
  async ask<K extends QuestionKind>(draft: Draft<K>, { own, signal }: AskOptions = {}): Promise<AnswerOf[K]> {
    const kind = draft.kind as K;
    const answerer = own?.[kind] ?? this.#answers[kind];
    if (answerer === undefined) throw unanswered(kind, "nobody answers such questions here");
    if (signal?.aborted) throw toError(signal.reason);
    this.#count += 1;
    const taken = new AbortController();
    const question = { ...draft, id: `q${this.#count}`, signal: taken.signal } as Question;
    const takeBack = () => taken.abort(signal?.reason);
    signal?.addEventListener("abort", takeBack, { once: true });
    this.#open.add(taken);
    try {
      const answer = answerer === "later" ? this.#wait(question) : this.#call(answerer as Answer, question);
      return toAnswer(kind, await untilAborted(answer, taken.signal));
    } finally {
      signal?.removeEventListener("abort", takeBack);
      this.#open.delete(taken);
      this.#waiting.delete(question.id);
      this.#settled(question);
    }
  }

  /** Takes every question back. */
  close(): void {
    for (const taken of this.#open) taken.abort(new PortolanError("cancelled", "The host is closed"));
  }

  /** Answers a question that waits; throws when there is none, or the answer is none. */
  answer(id: string, answer: unknown): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) {
      throw new PortolanError("invalid-argument", `answer: no question ${JSON.stringify(id)} waits for an answer`);
    }
    toAnswer(waiting.question.kind, answer);
    this.#waiting.delete(id);
    waiting.settle(answer);
  }

  #wait(question: Question): Promise<unknown> {
    const ofServer = this.waiting.filter(({ server }) => server === question.server).length;
    if (ofServer >= maxWaitingOfServer || this.#waiting.size >= maxWaiting) {
      throw unanswered(question.kind, `${ofServer} questions about ${question.server} wait already`);
    }
    return new Promise((settle) => {
      this.#waiting.set(question.id, { question, settle });
      this.#asked(question);
    });
  }

  async #call(answerer: Answer, question: Question): Promise<unknown> {
    this.#asked(question);
    return answerer(question);
  }
}

type Answer = (question: Question) => unknown;

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(toError(signal.reason));
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** The answer in full; throws for what is none. */
function toAnswer<K extends QuestionKind>(kind: K, given: unknown): AnswerOf[K] {
  const isVerdict = kind !== "elicit" && kind !== "visit";
  if (isVerdict && typeof given === "boolean") return { allow: given } as AnswerOf[K];
  const member = isVerdict ? "allow" : "action";
  const isRight = isVerdict
    ? isObject(given) && typeof given["allow"] === "boolean"
    : isObject(given) && ["accept", "decline", "cancel"].includes(given["action"] as string);
  if (isRight) return given as unknown as AnswerOf[K];
  const wanted = isVerdict ? "true, false or { allow }" : '{ action: "accept" | "decline" | "cancel" }';
  const came = isObject(given) ? `${member} ${nameOf(given[member])}` : nameOf(given);
  throw new PortolanError("answer-invalid", `answers.${kind}: expected ${wanted}, got ${came}`);
}

function unanswered(kind: QuestionKind, why: string): PortolanError {
  return new PortolanError("unanswered", `A question (${kind}) was not put to the user: ${why}`);
}
