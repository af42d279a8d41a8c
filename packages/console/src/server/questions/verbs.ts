import { maxLongBodyBytes } from "../limits.ts";
import { anything, name } from "../takes.ts";
import { changes, type VerbTable } from "../verbs.ts";
import type { QuestionRecords } from "./questions.ts";

export function questionVerbs(questions: QuestionRecords): VerbTable<"answer"> {
  return {
    answer: changes(
      { id: name, digest: name, answer: anything },
      ({ id, digest, answer }) => questions.answer(id, digest, answer),
      maxLongBodyBytes,
    ),
  };
}
