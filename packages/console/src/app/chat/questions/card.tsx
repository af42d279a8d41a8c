import type { JSX } from "preact";
import type { QuestionRecord } from "../../../api.ts";
import { usePage } from "../../state/console.ts";
import { AddressCard } from "./address.tsx";
import { ApprovalCard } from "./approval.tsx";
import { ChangedCard } from "./changed.tsx";
import { FormCard } from "./form.tsx";
import { RootsCard, SayCard } from "./others.tsx";
import { RequestCard, ResponseCard } from "./sampling.tsx";
import { TrustCard } from "./trust.tsx";

/** A question as a card, of whatever kind it is. */
export function QuestionCard({ question }: { question: QuestionRecord }): JSX.Element | null {
  switch (question.kind) {
    case "trust":
      return <TrustCard question={question} />;
    case "approve":
      return <ApprovalCard question={question} />;
    case "changed":
      return <ChangedCard question={question} />;
    case "elicit":
      return <FormCard key={question.digest} question={question} />;
    case "openUrl":
      return <AddressCard question={question} />;
    case "sample":
      return question.stage === "request" ? (
        <RequestCard key={question.digest} question={question} />
      ) : (
        <ResponseCard key={question.digest} question={question} />
      );
    case "roots":
      return <RootsCard question={question} />;
    case "say":
      return <SayCard question={question} />;
    default:
      return null;
  }
}

/** The questions of a server outside of conversations, where the person waits for it. */
export function QuestionsOf({ server }: { server: string }): JSX.Element {
  const page = usePage();
  const questions = page.store.questions.all.value.filter(
    (question) =>
      question.server === server && question.conversation === undefined && question.connection === undefined,
  );
  return (
    <>
      {questions.map((question) => (
        <QuestionCard key={question.id} question={question} />
      ))}
    </>
  );
}
