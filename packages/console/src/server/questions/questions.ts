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

/** The open questions of the host as records, and how the last ones ended. */
export class QuestionRecords {
  readonly #base: ConsoleBase;
  readonly #placeOf: (question: HostQuestion) => QuestionPlace;
  readonly #onChange: (question: QuestionRecord, ended?: AnsweredQuestion) => void;
  readonly #open = new Map<string, QuestionRecord>();
  readonly #ended = new Map<string, AnsweredQuestion>();
  /** Questions whose answer the host is storing. */
  readonly #given = new Set<string>();

  /** `placeOf` says what a question belongs to; `onChange` is called when one is asked, and when it has ended. */
  constructor(
    base: ConsoleBase,
    placeOf: (question: HostQuestion) => QuestionPlace,
    onChange: (question: QuestionRecord, ended?: AnsweredQuestion) => void = () => {},
  ) {
    this.#base = base;
    this.#placeOf = placeOf;
    this.#onChange = onChange;
    for (const question of base.host.questions) this.#ask(question);
  }

  get all(): readonly QuestionRecord[] {
    return [...this.#open.values()];
  }

  hear(event: HostEvent): void {
    if (event.kind === "question") this.#ask(event.question);
    if (event.kind === "answered") this.#end(event);
    if (event.kind === "visited") {
      this.#base.publish({ kind: "visited", id: this.idOf({ id: event.question }) });
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
    try {
      const { grant } = await host.answer(id.slice(boot.length + 1), answer, { digest });
      return grant === undefined ? {} : { grant };
    } finally {
      // An unfit answer leaves the question open.
      this.#given.delete(id);
    }
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
    const record = { ...shown, id, ...this.#placeOf(question) } as QuestionRecord;
    this.#open.set(id, record);
    this.#base.publish({ kind: "question", question: record });
    this.#onChange(record);
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
    this.#onChange(question, ended);
  }
}
