import type { JSX } from "preact";
import type { QuestionRecord } from "../../../api.ts";
import { Note } from "../../parts/badge.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { countText } from "../times.ts";
import { useAnswering } from "./answering.ts";
import { Findings } from "./approval.tsx";
import { DefinitionChanges } from "./definition-changes.tsx";
import { consentChoices, QuestionFrame } from "./frame.tsx";

type Question = Extract<QuestionRecord, { readonly kind: "changed" }>;

/** Is a tool whose definition changed still what the person allowed? */
export function ChangedCard({ question }: { question: Question }): JSX.Element {
  const answering = useAnswering(question);
  const { server, change, acceptedAt, findings } = question;
  const verdict = (allow: boolean, scope: string) => ({ allow, for: scope });
  return (
    <QuestionFrame
      question={question}
      answering={answering}
      icon="warn"
      isCaution
      title={
        <>
          <ServerText text={server} /> <span class="t2">changed</span> <ServerText class="tool" text={change.name} />{" "}
          <span class="t2">since you accepted it</span>
        </>
      }
      spoken={`${server} changed ${change.name} since you accepted it`}
      aside={<span class="small t3 nowrap">{countText(change.diff.length, "change")}</span>}
      choices={consentChoices(answering, verdict, { yes: "Accept the change", isOnce: true })}
    >
      <div class="body stack">
        <DefinitionChanges server={server} diff={change.diff} />
        {findings.length > 0 && (
          <Note tone="warn">
            <Findings findings={findings} />
          </Note>
        )}
        <p class="hint">
          {acceptedAt !== undefined &&
            `You accepted the definition before on ${new Date(acceptedAt).toLocaleDateString()}. `}
          After this you are asked for the call itself.
        </p>
      </div>
    </QuestionFrame>
  );
}
