import { toError } from "../client/failures.ts";
import { PortolanError } from "../errors.ts";
import type { AnswerOf, HostAnswers, Question, QuestionKind } from "./questions.ts";
import { checkAnswer, checkAnswerers, toAnswer } from "./to-answer.ts";
import { waitFor } from "./wait-for.ts";

/** How many questions may wait for the user: about one server, and in all. */
const maxOfServer = 20;
const maxWaiting = 200;
/** What servers ask when they like; the rest is asked because somebody uses them. */
const ofServers: readonly QuestionKind[] = ["elicit", "visit", "sample", "roots"];

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

interface Open {
  readonly question: Question;
  readonly taken: AbortController;
  /** Whether it takes one of the places that there are. */
  readonly isCounted: boolean;
  /** Answers it, where `answer` is waited for. */
  settle?: (answer: unknown) => void;
}

/** Puts questions to the application, and keeps those that it answers later. */
export class Asking {
  readonly #answers: HostAnswers;
  readonly #asked: (question: Question) => void;
  readonly #settled: (question: Question) => void;
  readonly #open = new Map<string, Open>();
  #count = 0;
  #isClosed = false;

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
    return [...this.#open.values()].filter(isWaiting).map(({ question }) => question);
  }

  /** The application's answer; rejects when the question is taken back or cannot be put. */
  async ask<K extends QuestionKind>(draft: Draft<K>, { own, signal }: AskOptions = {}): Promise<AnswerOf[K]> {
    const kind = draft.kind as K;
    if (own) checkAnswerers(own);
    const answerer = own?.[kind] ?? this.#answers[kind];
    if (answerer === undefined) throw unanswered(kind, "nobody answers such questions here");
    if (this.#isClosed) throw closed();
    if (signal?.aborted) throw toError(signal.reason);
    const isCounted = answerer === "later" || ofServers.includes(kind);
    if (isCounted) this.#checkRoom(kind, draft.server);
    this.#count += 1;
    const taken = new AbortController();
    const question = { ...draft, id: `q${this.#count}`, signal: taken.signal } as Question;
    const takeBack = () => taken.abort(signal?.reason);
    signal?.addEventListener("abort", takeBack, { once: true });
    const open: Open = { question, taken, isCounted };
    this.#open.set(question.id, open);
    try {
      const answer = answerer === "later" ? this.#wait(open) : this.#call(answerer as Answer, question);
      return toAnswer<K>(question, await waitFor(answer, taken.signal));
    } finally {
      signal?.removeEventListener("abort", takeBack);
      this.#open.delete(question.id);
      this.#settled(question);
    }
  }

  /** Takes every question about a server back. */
  withdraw(server: string): void {
    const reason = new PortolanError("cancelled", `${server} was removed`);
    for (const { question, taken } of this.#open.values()) if (question.server === server) taken.abort(reason);
  }

  /** Takes every question back, and puts no more. */
  close(): void {
    this.#isClosed = true;
    for (const { taken } of this.#open.values()) taken.abort(closed());
  }

  /** Answers a question that waits; rejects when there is none, or the answer is none. */
  async answer(id: string, answer: unknown): Promise<void> {
    const { question } = this.#waiting(id);
    await checkAnswer(question, answer);
    // Looked for again: another answer may have been faster.
    const { settle } = this.#waiting(id);
    this.#open.delete(id);
    settle(answer);
  }

  #waiting(id: string): Required<Open> {
    const open = this.#open.get(id);
    if (isWaiting(open)) return open;
    throw new PortolanError(
      "invalid-argument",
      `answer: no question ${JSON.stringify(id)} waits for an answer: it was answered or taken back, or is none of this host`,
    );
  }

  #checkRoom(kind: QuestionKind, server: string): void {
    const counted = [...this.#open.values()].filter(({ isCounted }) => isCounted);
    const ofServer = counted.filter(({ question }) => question.server === server).length;
    if (ofServer >= maxOfServer) throw unanswered(kind, `${ofServer} questions about ${server} wait already`);
    if (counted.length >= maxWaiting) throw unanswered(kind, `${counted.length} questions wait already`);
  }

  #wait(open: Open): Promise<unknown> {
    return new Promise((settle) => {
      open.settle = settle;
      this.#asked(open.question);
    });
  }

  async #call(answerer: Answer, question: Question): Promise<unknown> {
    this.#asked(question);
    return answerer(question);
  }
}

type Answer = (question: Question) => unknown;

function isWaiting(open: Open | undefined): open is Required<Open> {
  return open?.settle !== undefined && !open.taken.signal.aborted;
}

function unanswered(kind: QuestionKind, why: string): PortolanError {
  return new PortolanError("unanswered", `A question (${kind}) was not put to the user: ${why}`);
}

function closed(): PortolanError {
  return new PortolanError("cancelled", "The host is closed");
}
