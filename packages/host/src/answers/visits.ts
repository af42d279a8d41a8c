import { maxOpenVisits } from "../limits.ts";
import type { SettledQuestion } from "../open-questions.ts";
import type { AnswerOf } from "../questions.ts";

/** An address that the user agreed to open, and has not come back from. */
interface OpenVisit {
  readonly server: string;
  /** The id of the question. */
  readonly question: string;
  readonly call: string | undefined;
  /** The server's own id, which it names when the user has finished. */
  readonly elicitationId: string | undefined;
}

/** Tells when the user has finished at an address: the server says so, or the call of the question has ended. */
export class Visits {
  /** The addresses that the user has not come back from. */
  readonly open: Set<OpenVisit> = new Set();
  readonly #onVisited: (server: string, question: string) => void;

  constructor(onVisited: (server: string, question: string) => void) {
    this.#onVisited = onVisited;
  }

  /** Notes an address that the user agreed to open. */
  note({ question, answer }: SettledQuestion): void {
    if (question.kind !== "openUrl" || (answer as AnswerOf["openUrl"] | undefined)?.action !== "accept") return;
    const { id, server, call, params } = question;
    const { elicitationId } = params;
    if (call === undefined && elicitationId === undefined) return;
    this.open.add({ server, question: id, call, elicitationId });
    for (const oldest of this.open) {
      if (this.open.size <= maxOpenVisits) break;
      this.open.delete(oldest);
    }
  }

  /** The server says that the user has finished. */
  complete(server: string, elicitationId: unknown): void {
    if (typeof elicitationId !== "string") return;
    this.#end((visit) => visit.server === server && visit.elicitationId === elicitationId);
  }

  /** A call has ended. */
  callEnded(call: string): void {
    this.#end((visit) => visit.call === call);
  }

  #end(isOver: (visit: OpenVisit) => boolean): void {
    for (const visit of [...this.open].filter(isOver)) {
      this.open.delete(visit);
      this.#onVisited(visit.server, visit.question);
    }
  }
}
