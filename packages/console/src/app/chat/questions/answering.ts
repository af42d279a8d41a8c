import { type Signal, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { QuestionRecord } from "../../../api.ts";
import { ApiFailure, reasonOf } from "../../api/client.ts";
import { type ConsolePage, usePage } from "../../state/console.ts";

/** Why an answer was not taken, and problems of single fields. */
export interface AnswerFailure {
  readonly message: string;
  readonly next?: string | undefined;
  readonly paths: readonly { readonly path: string; readonly message: string }[];
}

/** Sends the answer to one question. */
export interface Answering {
  /** The name of the answer that is being sent. */
  readonly busy: Signal<string | undefined>;
  readonly failure: Signal<AnswerFailure | undefined>;
  /** Resolves to true if the answer was taken. */
  send(name: string, answer: unknown): Promise<boolean>;
}

export function useAnswering({ id, digest }: QuestionRecord): Answering {
  const page = usePage();
  const busy = useSignal<string | undefined>(undefined);
  const failure = useSignal<AnswerFailure | undefined>(undefined);
  return useMemo(
    () => ({
      busy,
      failure,
      async send(name: string, answer: unknown): Promise<boolean> {
        if (busy.peek() !== undefined) return false;
        busy.value = name;
        failure.value = undefined;
        try {
          await page.api.change("answer", { id, digest, answer });
          page.drafts.drop(`question ${id}`);
          return true;
        } catch (error) {
          failure.value = explain(page, error);
          return false;
        } finally {
          busy.value = undefined;
        }
      },
    }),
    [id, digest],
  );
}

function explain(page: ConsolePage, error: unknown): AnswerFailure {
  if (!(error instanceof ApiFailure)) return { message: reasonOf(error), paths: [] };
  const { next, paths = [], question } = error.details;
  if (error.code === "changed" && question) {
    // The question has changed since it was answered, and is shown anew.
    page.store.questions.put(question);
    return { message: "The question changed while you looked at it.", next: "Read it again, then answer.", paths };
  }
  if (error.code === "answered") page.toast(`Answered elsewhere: ${error.message}`);
  return { message: error.message, next, paths };
}
