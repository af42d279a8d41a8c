import type { HostEvent, HostQuestion } from "portolan-host";
import type { QuestionFacts, QuestionRecord } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import { ApiRefusal } from "../failure.ts";
import { maxAnsweredQuestions } from "../limits.ts";

/** The conversation, call or connection that a question belongs to. */
export type QuestionPlace = Pick<QuestionFacts, "conversation" | "call" | "connection">;

export interface AnsweredQuestion {
  readonly how: "answered" | "withdrawn" | "expired";
  readonly summary?: string;
  readonly grant?: string;
}

/** Parts of other subjects that questions use. */
export interface QuestionParts {
  /** Returns what a question belongs to. */
  readonly placeOf: (question: HostQuestion) => QuestionPlace;
  /** Returns when what a question belongs to is on the disk: after a crash nobody has seen more than is there. */
  readonly storedFor: (question: QuestionRecord) => Promise<void> | undefined;
  /** Called when a question is shown, and when it has ended. */
  readonly onChange: (question: QuestionRecord, ended?: AnsweredQuestion) => void;
  /** Called when the person opens a page for a call, with its host, and with undefined when they have finished there. */
  readonly onVisit: (call: string, host: string | undefined) => void;
}

/** The open questions of the host as records, and how the last ones ended. */
export class QuestionRecords {
  readonly #base: ConsoleBase;
  readonly #parts: QuestionParts;
  readonly #open = new Map<string, QuestionRecord>();
  readonly #ended = new Map<string, AnsweredQuestion>();
  /** Questions whose answer the host is storing. */
  readonly #given = new Set<string>();
  /** The calls of pages that the person has opened and not finished, by the questions. */
  readonly #visits = new Map<string, string>();

  constructor(base: ConsoleBase, parts: QuestionParts) {
    this.#base = base;
    this.#parts = parts;
    for (const question of base.host.questions) this.#ask(question);
  }

  get all(): readonly QuestionRecord[] {
    return [...this.#open.values()];
  }

  hear(event: HostEvent): void {
    if (event.kind === "question") this.#ask(event.question);
    if (event.kind === "answered") this.#end(event);
    if (event.kind === "visited") {
      const id = this.idOf({ id: event.question });
      this.#base.publish({ kind: "visited", id });
      this.#endVisit(id);
    }
    if (event.kind !== "lost") return;
    const waiting = this.#base.host.questions;
    for (const question of waiting) if (!this.#open.has(this.idOf(question))) this.#ask(question);
    const ids = new Set(waiting.map((question) => this.idOf(question)));
    for (const id of this.#open.keys()) if (!ids.has(id)) this.#close(id, { how: "withdrawn" });
  }

  /** Ids of another start of the console are never taken for those of this one. */
  idOf({ id }: Pick<HostQuestion, "id">): string {
    return `${this.#base.boot}.${id}`;
  }

  /** Answers a question, once. */
  async answer(id: string, digest: string, answer: unknown): Promise<{ grant?: string }> {
    const { host, boot } = this.#base;
    if (!id.startsWith(`${boot}.`)) {
      throw new ApiRefusal("expired", "The question is from before the console was started again.", {
        next: "Look for it again: if it is still needed, it was asked again.",
      });
    }
    const question = this.#open.get(id);
    if (!question || this.#given.has(id)) throw this.#missing(id);
    if (question.digest !== digest) {
      throw new ApiRefusal("changed", "The question is not the one that was answered.", { question });
    }
    this.#given.add(id);
    this.#noteVisit(question, answer);
    try {
      const { grant } = await host.answer(id.slice(boot.length + 1), answer, { digest });
      return grant === undefined ? {} : { grant };
    } catch (reason) {
      this.#endVisit(id);
      throw reason;
    } finally {
      // An unfit answer leaves the question open.
      this.#given.delete(id);
    }
  }

  #noteVisit(question: QuestionRecord, answer: unknown): void {
    if (question.kind !== "openUrl" || question.call === undefined) return;
    if ((answer as { readonly action?: unknown } | null)?.action !== "accept") return;
    this.#visits.set(question.id, question.call);
    this.#parts.onVisit(question.call, question.address.host);
  }

  #endVisit(id: string): void {
    const call = this.#visits.get(id);
    if (call === undefined) return;
    this.#visits.delete(id);
    this.#parts.onVisit(call, undefined);
  }

  #missing(id: string): ApiRefusal {
    const ended = this.#ended.get(id);
    if (!ended && !this.#given.has(id)) return new ApiRefusal("not-found", "There is no such question.");
    const { how, summary } = ended ?? { how: "answered" };
    return new ApiRefusal("answered", summary ?? `The question was ${how}.`, { how });
  }

  #ask(question: HostQuestion): void {
    const id = this.idOf(question);
    const { signal: _, call: __, ...shown } = question;
    const record = { ...shown, id, ...this.#parts.placeOf(question) } as QuestionRecord;
    this.#open.set(id, record);
    const stored = this.#parts.storedFor(record);
    // It may be withdrawn meanwhile.
    const show = () => this.#open.get(id) === record && this.#show(record);
    if (stored) stored.then(show, this.#base.onError);
    else show();
  }

  #show(question: QuestionRecord): void {
    this.#base.publish({ kind: "question", question });
    this.#parts.onChange(question);
  }

  #end({ question, how, summary, grant }: Extract<HostEvent, { kind: "answered" }>): void {
    this.#close(this.idOf(question), {
      how,
      ...(summary !== undefined && { summary }),
      ...(grant !== undefined && { grant }),
    });
  }

  #close(id: string, ended: AnsweredQuestion): void {
    const question = this.#open.get(id);
    if (!question) return;
    this.#open.delete(id);
    this.#ended.set(id, ended);
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= maxAnsweredQuestions) break;
      this.#ended.delete(oldest);
    }
    this.#base.publish({ kind: "answered", id, ...ended });
    this.#parts.onChange(question, ended);
  }
}
