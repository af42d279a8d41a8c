import type { JSX } from "preact";
import { QuestionCard } from "../chat/questions/card.tsx";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/empty.tsx";
import { Dialog } from "../parts/popover.tsx";
import { usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";

/** All questions that wait: those of no conversation as cards, the others with the way to them. */
export function WaitingQuestions({ onClose }: { onClose: () => void }): JSX.Element {
  const page = usePage();
  const questions = page.store.questions.all.value;
  const here = questions.filter(({ conversation }) => conversation === undefined);
  const elsewhere = [...new Set(questions.flatMap(({ conversation }) => conversation ?? []))];
  return (
    <Dialog title="Questions" isWide onClose={onClose}>
      {questions.length === 0 && (
        <Empty icon="check" title="Nothing waits for you">
          <Button onClick={onClose}>Close</Button>
        </Empty>
      )}
      {here.map((question) => (
        <QuestionCard key={question.id} question={question} />
      ))}
      {elsewhere.map((id) => {
        const count = questions.filter(({ conversation }) => conversation === id).length;
        return (
          <div key={id} class="row">
            <span class="grow cut" dir="auto">
              {page.store.conversations.get(id).value?.title ?? "A conversation"}
            </span>
            <span class="t3 small nowrap">{count === 1 ? "1 question" : `${count} questions`}</span>
            <Button
              size="small"
              onClick={() => {
                goTo(hrefOf("chat", id));
                onClose();
              }}
            >
              Show
            </Button>
          </div>
        );
      })}
    </Dialog>
  );
}
