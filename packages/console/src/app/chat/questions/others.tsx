import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { QuestionRecord } from "../../../api.ts";
import { Note } from "../../parts/badge.tsx";
import { Icon } from "../../parts/icon.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { ContentView } from "../result.tsx";
import { useAnswering } from "./answering.ts";
import { Findings } from "./approval.tsx";
import { consentChoices, QuestionFrame } from "./frame.tsx";

/** May the server know these folders? */
export function RootsCard({
  question,
}: {
  question: Extract<QuestionRecord, { readonly kind: "roots" }>;
}): JSX.Element {
  const answering = useAnswering(question);
  const { server, roots } = question;
  const left = useSignal<ReadonlySet<string>>(new Set());
  const verdict = (allow: boolean, scope: string) => ({
    allow,
    for: scope,
    ...(allow && left.value.size > 0 ? { roots: roots.filter(({ uri }) => !left.value.has(uri)) } : {}),
  });
  const toggle = (uri: string, isOn: boolean) => {
    const next = new Set(left.peek());
    if (isOn) next.delete(uri);
    else next.add(uri);
    left.value = next;
  };
  return (
    <QuestionFrame
      question={question}
      answering={answering}
      icon="folder"
      title={
        <>
          <ServerText text={server} /> <span class="t2">wants to know your folders</span>
        </>
      }
      spoken={`${server} wants to know your folders`}
      choices={consentChoices(answering, verdict, { yes: "Share once" })}
    >
      <div class="body stack">
        <ul class="stack">
          {roots.map(({ uri, name }) => (
            <li key={uri}>
              <label class="row">
                <input
                  type="checkbox"
                  checked={!left.value.has(uri)}
                  onChange={(event) => toggle(uri, event.currentTarget.checked)}
                />
                <Icon name="folder" />
                {name !== undefined && <span>{name}</span>}
                <span class="mono t2 cut" title={uri}>
                  {uri}
                </span>
              </label>
            </li>
          ))}
        </ul>
        <p class="hint">The server learns their names. What it can read there depends on how it was started.</p>
      </div>
    </QuestionFrame>
  );
}

/** May an app say this to the model, as if the person had written it? */
export function SayCard({ question }: { question: Extract<QuestionRecord, { readonly kind: "say" }> }): JSX.Element {
  const answering = useAnswering(question);
  const { server, content, findings } = question;
  const verdict = (allow: boolean, scope: string) => ({ allow, for: scope });
  return (
    <QuestionFrame
      question={question}
      answering={answering}
      icon="chat"
      isCaution={findings.length > 0}
      title={
        <>
          <span class="t2">An app of</span> <ServerText text={server} />{" "}
          <span class="t2">wants to write to the model for you</span>
        </>
      }
      spoken={`An app of ${server} wants to write to the model for you`}
      choices={consentChoices(answering, verdict, { yes: "Send it", isOnce: true })}
    >
      <div class="body stack">
        {content.map((block, index) => (
          <ContentView key={index} block={block} server={server} />
        ))}
        {findings.length > 0 && (
          <Note tone="warn">
            <Findings findings={findings} />
          </Note>
        )}
      </div>
    </QuestionFrame>
  );
}
