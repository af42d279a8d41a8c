import { useSignal } from "@preact/signals";
import type { TrustSubject } from "portolan-host";
import type { JSX } from "preact";
import type { QuestionRecord } from "../../../api.ts";
import { Note } from "../../parts/badge.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { useAnswering } from "./answering.ts";
import { consentChoices, QuestionFrame } from "./frame.tsx";

type Question = Extract<QuestionRecord, { readonly kind: "trust" }>;

/** May this server be started or connected to? */
export function TrustCard({ question }: { question: Question }): JSX.Element {
  const answering = useAnswering(question);
  const hints = useSignal(false);
  const { subject } = question;
  const isChanged = (subject.previous?.changes.length ?? 0) > 0;
  const verdict = (allow: boolean, scope: string) => ({
    allow,
    for: scope,
    ...(allow && hints.value ? { trustHints: true } : {}),
  });
  return (
    <QuestionFrame
      question={question}
      answering={answering}
      icon={isChanged ? "warn" : "shield"}
      isCaution={isChanged}
      title={
        <>
          <span class="t2">{isChanged ? "Start the changed server " : "Start the server "}</span>
          <ServerText text={subject.name} />?
        </>
      }
      spoken={`${subject.name} wants to be started${isChanged ? ", and has changed" : ""}`}
      choices={consentChoices(answering, verdict, { yes: "Start once" })}
    >
      <div class="body stack">
        <TrustFacts subject={subject} />
        <label class="row">
          <input
            type="checkbox"
            checked={hints.value}
            onChange={(event) => {
              hints.value = event.currentTarget.checked;
            }}
          />
          Also believe which of its tools only read
        </label>
      </div>
    </QuestionFrame>
  );
}

/** The exact command or address of a server, and what changed since it was trusted. */
export function TrustFacts({ subject }: { subject: TrustSubject }): JSX.Element {
  const { lines, previous } = subject;
  return (
    <>
      <dl class="kv">
        {lines.map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <ServerText text={value} />
            </dd>
          </div>
        ))}
      </dl>
      {previous && previous.changes.length > 0 && (
        <Note tone="warn">
          <p>Changed since you trusted it on {new Date(previous.trustedAt).toLocaleDateString()}:</p>
          <ul>
            {previous.changes.map(({ label, before, after }) => (
              <li key={label}>
                {label}: <ServerText class="mono" text={before ?? "nothing"} /> →{" "}
                <ServerText class="mono" text={after ?? "nothing"} />
              </li>
            ))}
          </ul>
        </Note>
      )}
    </>
  );
}
