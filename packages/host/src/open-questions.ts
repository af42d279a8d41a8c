import type { ElicitResult } from "portolan";
import { PortolanError } from "portolan";
import { checkFormAnswer } from "portolan/client";
import { isObject, nameOf, onAbort, optional, samplingParams, samplingResult, toError } from "portolan/internal";
import { sha256 } from "portolan/storage";
import { type ActivityLog, entriesDropped } from "./activity/index.ts";
import {
  maxOpenQuestionChars,
  maxOpenQuestionCharsPerServer,
  maxOpenQuestions,
  maxOpenQuestionsPerServer,
  maxSettledQuestions,
} from "./limits.ts";
import type {
  AnswerOf,
  AnswerOptions,
  AnswerReceipt,
  HostAnswers,
  HostQuestion,
  QuestionKind,
  SamplingQuestion,
} from "./questions.ts";

/** Questions that servers ask on their own; the others follow from a call. */
const serverKinds: readonly QuestionKind[] = ["elicit", "openUrl", "sample", "roots", "say"];

/** A question before it is asked. */
export type QuestionDraft<K extends QuestionKind> = Draft<Extract<HostQuestion, { kind: K }>>;
type Draft<Q> = Q extends HostQuestion ? Omit<Q, "id" | "askedAt" | "digest" | "signal"> : never;

/** Options of `OpenQuestions.ask`. */
export interface AskOptions<A> {
  /** Answers that come before those of the host. */
  readonly own?: HostAnswers | undefined;
  /** Withdraws the question. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Records the decision, and stores the grant that it makes. The answer counts only after it, and after the log is
   * written. `by` is the option of `host.answer`.
   */
  readonly record?: (answer: A, by: string | undefined) => AnswerReceipt | Promise<AnswerReceipt>;
}

/** A question that no longer needs an answer, and its answer, unless it was withdrawn. */
export interface SettledQuestion extends AnswerReceipt, Pick<AnswerOptions, "by"> {
  readonly question: HostQuestion;
  readonly answer?: AnswerOf[QuestionKind];
}

/** Parts of the host that questions use. */
export interface OpenQuestionsOptions {
  /** Contains each decision before it counts. */
  readonly activity: Pick<ActivityLog, "flush" | "lost">;
  /** Called for each question. */
  readonly onAsked: (question: HostQuestion) => void;
  /** Called when a question no longer needs an answer. */
  readonly onSettled: (settled: SettledQuestion) => void;
}

interface OpenQuestion {
  readonly server: string;
  readonly call: string | undefined;
  readonly withdrawal: AbortController;
  /** Characters that count towards the limits of open questions; undefined if the question does not count. */
  readonly chars: number | undefined;
  readonly record: AskOptions<never>["record"];
  /** Undefined until its digest is known. */
  question?: HostQuestion;
  /** Delivers the answer; only for questions that wait for `answer`. */
  settle?: (answer: Promise<CountedAnswer>) => void;
  /** A valid answer has come. Further ones are refused, also while it is being recorded. */
  isAnswered: boolean;
}

/** A valid answer whose decision is in the log. */
interface CountedAnswer extends AnswerReceipt {
  readonly answer: AnswerOf[QuestionKind];
}

/** Asks the application, and holds the questions that it answers later. */
export class OpenQuestions {
  readonly #answers: HostAnswers;
  readonly #options: OpenQuestionsOptions;
  readonly #open = new Map<string, OpenQuestion>();
  /** How the latest questions that waited for `answer` ended. */
  readonly #settled = new Map<string, "answered already" | "withdrawn">();
  #isClosed = false;

  constructor(answers: HostAnswers, options: OpenQuestionsOptions) {
    this.#answers = answers;
    this.#options = options;
  }

  /** True if the application answers questions of this kind. */
  canAsk(kind: QuestionKind, own?: HostAnswers): boolean {
    return (own?.[kind] ?? this.#answers[kind]) !== undefined;
  }

  /** True if a function of the application asks the user now, so that a question of this kind does not wait for `answer`. */
  asksNow(kind: QuestionKind): boolean {
    return typeof this.#answers[kind] === "function";
  }

  /** Questions that wait for `answer`. */
  get waiting(): readonly HostQuestion[] {
    return [...this.#open.values()].filter(isWaiting).map(({ question }) => question);
  }

  /**
   * Returns the application's answer after its decision is in the log. Rejects if the question is withdrawn or cannot be
   * asked, and if the log cannot be written.
   */
  async ask<K extends QuestionKind>(
    draft: QuestionDraft<K>,
    { own, signal, record }: AskOptions<AnswerOf[K]> = {},
  ): Promise<AnswerOf[K]> {
    const { server, call } = draft;
    const kind = draft.kind as K;
    if (own) checkAnswerers(own);
    const answerer = own?.[kind] ?? this.#answers[kind];
    if (answerer === undefined) throw unanswered(kind, `the host has no \`answers.${kind}\``);
    if (this.#isClosed) throw hostClosed();
    if (signal?.aborted) throw toError(signal.reason);
    let text: string;
    try {
      text = JSON.stringify(draft);
    } catch (reason) {
      throw unserializable(toError(reason));
    }
    const chars = answerer === "later" || serverKinds.includes(kind) ? text.length : undefined;
    if (chars !== undefined) this.#checkLimits(kind, server, chars);
    const withdrawal = new AbortController();
    const stopWaiting = signal && onAbort(signal, () => withdrawal.abort(signal.reason));
    const open: OpenQuestion = { server, call, withdrawal, chars, record, isAnswered: false };
    // Unguessable, because an application may accept answers from the network.
    const id = crypto.randomUUID();
    // In this turn, so that the question counts and can be withdrawn.
    this.#open.set(id, open);
    try {
      const digest = await sha256(text);
      if (withdrawal.signal.aborted) throw toError(withdrawal.signal.reason);
      // Made of the same text as the digest, so that a later change of the caller's objects changes neither.
      const question = { ...JSON.parse(text), id, askedAt: Date.now(), digest };
      // Not enumerable, so that JSON.stringify(question) is what a page may show.
      Object.defineProperty(question, "signal", { value: withdrawal.signal });
      open.question = question;
      const answer = answerer === "later" ? this.#wait(open) : this.#call(open, answerer as Answer);
      return (await waitForAnswer(answer, withdrawal.signal)).answer as AnswerOf[K];
    } finally {
      stopWaiting?.();
      this.#open.delete(id);
      if (!open.isAnswered) this.#withdrawn(open);
    }
  }

  /** Withdraws all questions about a server. */
  withdraw(server: string, how = "removed"): void {
    const reason = new PortolanError("cancelled", `${server} was ${how}`);
    for (const open of this.#open.values()) if (open.server === server) open.withdrawal.abort(reason);
  }

  /** Withdraws all questions that belong to a call. */
  withdrawCall(call: string, reason: Error): void {
    for (const open of this.#open.values()) if (open.call === call) open.withdrawal.abort(reason);
  }

  /** Withdraws all questions and accepts no more. */
  close(): void {
    this.#isClosed = true;
    for (const { withdrawal } of this.#open.values()) withdrawal.abort(hostClosed());
  }

  /**
   * Answers a waiting question. Rejects if there is none with this id, if the answer is invalid, and if the question is
   * not the one that was shown. Resolves when the decision is in the log.
   */
  async answer(id: string, answer: unknown, { digest, by }: AnswerOptions = {}): Promise<AnswerReceipt> {
    const { question } = this.#waiting(id);
    if (digest !== undefined && digest !== question.digest) throw questionChanged(question);
    await checkAnswer(question, answer);
    // Looked up again, because another answer may have come first.
    const open = this.#waiting(id);
    const counted = this.#count(open, answer, by);
    open.settle(counted);
    const { grant } = await counted;
    return grant === undefined ? {} : { grant };
  }

  #waiting(id: string): AskedLater {
    const open = this.#open.get(id);
    if (isWaiting(open)) return open;
    const how = this.#settled.get(id) ?? "answered or withdrawn, or belongs to another host";
    const message = `answer: no question ${JSON.stringify(id)} is waiting: it was ${how}`;
    throw new PortolanError("invalid-argument", message);
  }

  #checkLimits(kind: QuestionKind, server: string, chars: number): void {
    const all = { count: 0, chars };
    const own = { count: 0, chars };
    for (const { server: of, chars: size } of this.#open.values()) {
      if (size === undefined) continue;
      for (const sum of of === server ? [all, own] : [all]) {
        sum.count += 1;
        sum.chars += size;
      }
    }
    if (own.count >= maxOpenQuestionsPerServer)
      throw unanswered(kind, `${own.count} questions about ${server} are waiting already`);
    if (own.chars > maxOpenQuestionCharsPerServer)
      throw unanswered(
        kind,
        `the questions about ${server} have more than ${maxOpenQuestionCharsPerServer} characters`,
      );
    if (all.count >= maxOpenQuestions) throw unanswered(kind, `${all.count} questions are waiting already`);
    if (all.chars > maxOpenQuestionChars)
      throw unanswered(kind, `the waiting questions have more than ${maxOpenQuestionChars} characters`);
  }

  #wait(open: OpenQuestion): Promise<CountedAnswer> {
    return new Promise((settle) => {
      open.settle = settle;
      this.#options.onAsked(open.question as HostQuestion);
    });
  }

  async #call(open: OpenQuestion, answerer: Answer): Promise<CountedAnswer> {
    const question = open.question as HostQuestion;
    this.#options.onAsked(question);
    return this.#count(open, await answerer(question));
  }

  /** Makes an answer count: a crash may leave a decision in the log without its call, but never a call without its decision. */
  async #count(open: OpenQuestion, given: unknown, by?: string): Promise<CountedAnswer> {
    const { withdrawal, record } = open;
    const question = open.question as HostQuestion;
    const answer = parseAnswer(question, given);
    if (withdrawal.signal.aborted) throw toError(withdrawal.signal.reason);
    open.isAnswered = true;
    try {
      const { activity } = this.#options;
      const { lost } = activity;
      const receipt = (await record?.(answer as never, by)) ?? {};
      await activity.flush();
      if (activity.lost > lost) throw entriesDropped();
      if (open.settle) this.#note(question.id, "answered already");
      this.#options.onSettled({ question, answer, ...receipt, ...(by !== undefined && { by }) });
      return { answer, ...receipt };
    } catch (reason) {
      this.#withdrawn(open);
      throw notRecorded(question, reason);
    }
  }

  #withdrawn({ question, settle }: OpenQuestion): void {
    if (!question) return;
    if (settle) this.#note(question.id, "withdrawn");
    this.#options.onSettled({ question });
  }

  #note(id: string, how: "answered already" | "withdrawn"): void {
    this.#settled.set(id, how);
    if (this.#settled.size <= maxSettledQuestions) return;
    for (const oldest of this.#settled.keys()) {
      this.#settled.delete(oldest);
      return;
    }
  }
}

type Answer = (question: HostQuestion) => unknown;
type AskedLater = OpenQuestion & Required<Pick<OpenQuestion, "question" | "settle">>;

function isWaiting(open: OpenQuestion | undefined): open is AskedLater {
  return open?.settle !== undefined && !open.isAnswered && !open.withdrawal.signal.aborted;
}

function unserializable(cause: Error): PortolanError {
  const why = `the question has a value without a JSON form: ${cause.message}`;
  return new PortolanError("unserializable", `The user was not asked: ${why}`, { cause });
}

function questionChanged({ server, digest }: HostQuestion): PortolanError {
  const why = `the question about ${server} is not the one that was shown (its digest is ${digest}); show it again`;
  return new PortolanError("question-changed", `answer: ${why}`);
}

function notRecorded({ server }: HostQuestion, reason: unknown): Error {
  if (!(reason instanceof PortolanError && reason.code === "store-failed")) return toError(reason);
  const why = [reason.message, ...(reason.cause === undefined ? [] : [toError(reason.cause).message])].join(": ");
  const message = `The answer about ${server} does not count, because it was not recorded: ${why}`;
  return new PortolanError("store-failed", message, { cause: reason });
}

function unanswered(kind: QuestionKind, why: string): PortolanError {
  return new PortolanError("unanswered", `The user was not asked (${kind}): ${why}`);
}

function hostClosed(): PortolanError {
  return new PortolanError("cancelled", "The host is closed");
}

const kinds: readonly QuestionKind[] = ["trust", "approve", "changed", "elicit", "openUrl", "sample", "roots", "say"];

/** Throws if an answerer is neither a function nor "later", or its kind is unknown. */
export function checkAnswerers(answers: HostAnswers): void {
  for (const [kind, answerer] of Object.entries(answers)) {
    if (!(kinds as readonly string[]).includes(kind)) {
      const message = `answers.${kind}: unknown kind of question; expected one of ${kinds.join(", ")}`;
      throw new PortolanError("invalid-argument", message);
    }
    if (answerer === undefined || answerer === "later" || typeof answerer === "function") continue;
    const message = `answers.${kind}: expected a function or "later", got ${nameOf(answerer)}`;
    throw new PortolanError("invalid-argument", message);
  }
}

/** Rejects an answer that has the wrong type or does not match its form. */
export async function checkAnswer(question: HostQuestion, given: unknown): Promise<void> {
  const answer = parseAnswer(question, given);
  if (question.kind === "elicit") await checkFormAnswer(question.params, answer as ElicitResult);
}

/** Returns the complete answer; throws if it is invalid. */
export function parseAnswer<K extends QuestionKind>(question: HostQuestion, given: unknown): AnswerOf[K] {
  const { kind } = question;
  const isVerdict = kind !== "elicit" && kind !== "openUrl";
  if (isVerdict && typeof given === "boolean") return { allow: given } as AnswerOf[K];
  const member = isVerdict ? "allow" : "action";
  const isRight = isVerdict
    ? isObject(given) && typeof given["allow"] === "boolean"
    : isObject(given) && ["accept", "decline", "cancel"].includes(given["action"] as string);
  if (!isRight) {
    const expected = isVerdict ? "true, false or { allow }" : '{ action: "accept" | "decline" | "cancel" }';
    const got = isObject(given) ? `${member} ${nameOf(given[member])}` : nameOf(given);
    throw invalid(kind, `expected ${expected}, got ${got}`);
  }
  const answer = given as unknown as AnswerOf[K];
  if (kind === "sample") checkSampling(question, answer as AnswerOf["sample"]);
  return answer;
}

/** Checks edited parameters and results, because they go to a model or server unchanged. */
function checkSampling(question: SamplingQuestion, { params, result, model }: AnswerOf["sample"]): void {
  const problem = optional(samplingParams)(params, "params") ?? optional(samplingResult)(result, "result");
  if (problem !== undefined) throw invalid("sample", problem);
  if (question.stage !== "request" || model === undefined) return;
  const allowed = [question.model, ...question.alternatives].map(({ id }) => id);
  if (allowed.includes(model)) return;
  throw invalid("sample", `expected a model that can answer (${allowed.join(", ")}), got ${nameOf(model)}`);
}

function invalid(kind: QuestionKind, why: string): PortolanError {
  return new PortolanError("answer-invalid", `answers.${kind}: ${why}`);
}

/** Waits for the answer of a question. Hot path: one listener, which ends with the signal of the question. */
function waitForAnswer<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(toError(signal.reason));
    answer.then(resolve, reject);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
