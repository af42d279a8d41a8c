import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import type { QuestionRecord } from "../../../api.ts";
import { Note } from "../../parts/badge.tsx";
import { plainValue } from "../../parts/json/document.ts";
import { EditedDocument } from "../../parts/json/edited-document.ts";
import { focusProblem, SchemaForm } from "../../parts/json/form.tsx";
import type { FormSchema } from "../../parts/json/schema.ts";
import { Quoted, ServerText } from "../../parts/quoted.tsx";
import { usePage } from "../../state/console.ts";
import { membersOf } from "../arguments.tsx";
import { countText } from "../times.ts";
import { useAnswering } from "./answering.ts";
import { type AnswerChoice, QuestionFrame } from "./frame.tsx";

type Question = Extract<QuestionRecord, { readonly kind: "elicit" }>;

/** Will the person fill in this form? */
export function FormCard({ question }: { question: Question }): JSX.Element {
  const answering = useAnswering(question);
  const { server, params, secretFields } = question;
  const document = useDocument(question);
  const form = useRef<HTMLDivElement>(null);
  const isReviewing = useSignal(false);
  const showsProblems = useSignal(false);
  const sendsSecrets = useSignal(false);
  const problems = document.problems.value.length;
  const review = () => {
    if (document.check().length === 0 && document.unsendable() === undefined) {
      isReviewing.value = true;
      return;
    }
    showsProblems.value = true;
    // The fields show their problems with the next drawing.
    requestAnimationFrame(() => form.current && focusProblem(form.current));
  };
  const send = async () => {
    const node = document.node.peek();
    const content = node ? plainValue(node) : {};
    const secrets = sendsSecrets.peek() ? { sendSecrets: true } : {};
    const isTaken = await answering.send("send", { action: "accept", content, ...secrets });
    if (!isTaken) isReviewing.value = false;
  };
  const say = (name: string, action: string) => () => void answering.send(name, { action });
  const refusals: AnswerChoice[] = [
    { name: "decline", label: "Decline", key: "d", act: say("decline", "decline") },
    {
      name: "cancel",
      label: "Cancel the call",
      key: "Escape",
      tone: "quiet",
      isLast: true,
      act: say("cancel", "cancel"),
    },
  ];
  const choices: AnswerChoice[] = isReviewing.value
    ? [
        { name: "send", label: `Send to ${server}`, key: "Enter", tone: "primary", act: () => void send() },
        {
          name: "back",
          label: "Change it",
          key: "c",
          act: () => {
            isReviewing.value = false;
          },
        },
        ...refusals.slice(1),
      ]
    : [{ name: "review", label: "Review answer", key: "Enter", tone: "primary", act: review }, ...refusals];
  return (
    <QuestionFrame
      question={question}
      answering={answering}
      icon={isReviewing.value ? "eye" : "ask"}
      title={
        <>
          <ServerText text={server} /> <span class="t2">{isReviewing.value ? "gets this answer" : "asks you"}</span>
        </>
      }
      spoken={`${server} asks you to fill in a form`}
      aside={
        showsProblems.value &&
        problems > 0 && <span class="small c-danger nowrap">{countText(problems, "field")} to fix</span>
      }
      choices={choices}
    >
      <div class="body stack" ref={form}>
        <Quoted by={server} text={params.message} />
        {isReviewing.value ? (
          <Review document={document} />
        ) : (
          <div class="answer-form">
            <SchemaForm document={document} mode="answer" showsProblems={showsProblems} />
          </div>
        )}
        {secretFields.length > 0 ? (
          <Note tone="warn" icon="lock">
            <p>
              <ServerText text={secretFields.join(", ")} /> may ask for a secret. Forms must not: give it only on a page
              of the service itself.
            </p>
            <label class="row">
              <input
                type="checkbox"
                checked={sendsSecrets.value}
                onChange={(event) => {
                  sendsSecrets.value = event.currentTarget.checked;
                }}
              />
              Send it anyway
            </label>
          </Note>
        ) : (
          !isReviewing.value && (
            <p class="hint">
              Your answer goes to <ServerText text={server} /> alone. Never give a password here.
            </p>
          )
        )}
      </div>
    </QuestionFrame>
  );
}

/** The document of a form. What was typed stays over a reload, unless a field may hold a secret. */
function useDocument({ id, params, secretFields }: Question): EditedDocument {
  const page = usePage();
  const draft = secretFields.length === 0 ? page.drafts.get(`question ${id}`, "") : undefined;
  const document = useMemo(() => {
    const text = draft?.peek();
    const schema = params.requestedSchema as unknown as FormSchema;
    return new EditedDocument(schema, { fill: true, ...(text ? { text } : {}) });
  }, [id]);
  useSignalEffect(() => {
    if (document.changes.value > 0 && draft) draft.value = document.text;
  });
  return document;
}

/** The answer as it is sent, one row for each field. */
function Review({ document }: { document: EditedDocument }): JSX.Element {
  const members = membersOf(document.text) ?? [];
  if (members.length === 0) return <p>Nothing is filled in. An empty form is sent.</p>;
  return (
    <dl class="kv">
      {members.map(([name, value]) => (
        <div key={name}>
          <dt>
            <ServerText text={name} />
          </dt>
          <dd>
            <ServerText text={wordsOf(value)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A value as the form has shown it: without quotes, and a choice of Yes and No by these words. */
function wordsOf(value: string): string {
  if (value === "true") return "Yes";
  return value === "false" ? "No" : value.replace(/^"(.*)"$/s, "$1");
}
