import { useSignal } from "@preact/signals";
import type { CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage } from "portolan";
import type { JSX } from "preact";
import type { QuestionRecord } from "../../../api.ts";
import { Badge, Note } from "../../parts/badge.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { countText } from "../times.ts";
import { useAnswering } from "./answering.ts";
import { type AnswerChoice, QuestionFrame } from "./frame.tsx";

type RequestQuestion = Extract<QuestionRecord, { readonly kind: "sample"; readonly stage: "request" }>;
type ResponseQuestion = Extract<QuestionRecord, { readonly kind: "sample"; readonly stage: "response" }>;

/** May this request of a server go to the person's model? Every part of it can be edited. */
export function RequestCard({ question }: { question: RequestQuestion }): JSX.Element {
  const answering = useAnswering(question);
  const { server, params, model, alternatives, inputTokens, left } = question;
  const edited = useSignal<CreateMessageParams>(params);
  const chosen = useSignal(model.id);
  const isEdited = edited.value !== params || chosen.value !== model.id;
  const models = [model, ...alternatives.filter(({ id }) => id !== model.id)];
  const ask = () =>
    void answering.send("ask", {
      allow: true,
      ...(edited.peek() === params ? {} : { params: edited.peek() }),
      ...(chosen.peek() === model.id ? {} : { model: chosen.peek() }),
    });
  const undo: AnswerChoice = {
    name: "undo",
    label: "Undo edits",
    key: "u",
    act: () => {
      edited.value = params;
      chosen.value = model.id;
    },
  };
  const choices: AnswerChoice[] = [
    { name: "ask", label: "Ask the model", key: "Enter", tone: "primary", act: ask },
    ...(isEdited ? [undo] : []),
    refusal(() => void answering.send("refuse", { allow: false })),
  ];
  const message = (at: number, content: SamplingMessage["content"]) => {
    const messages = edited.peek().messages.map((one, index) => (index === at ? { ...one, content } : one));
    edited.value = { ...edited.peek(), messages };
  };
  const { systemPrompt, messages, maxTokens, includeContext, tools } = edited.value;
  return (
    <QuestionFrame
      question={question}
      answering={answering}
      icon="spark"
      title={
        <>
          <ServerText text={server} /> <span class="t2">wants to ask your model</span>
        </>
      }
      spoken={`${server} wants to ask your model`}
      aside={isEdited && <Badge tone="accent">edited by you</Badge>}
      choices={choices}
    >
      <Steps now={1} note="nothing is sent to the model yet" />
      <div class="body stack">
        {params.systemPrompt !== undefined && (
          <EditedText
            label={`System prompt, from ${server}`}
            text={systemPrompt ?? ""}
            onChange={(text) => {
              edited.value = { ...edited.peek(), systemPrompt: text };
            }}
          />
        )}
        {messages.map(({ role, content }, at) => (
          <EditedContent
            key={at}
            label={`${role === "user" ? "User message" : "Answer of the model"}, from ${server}`}
            content={content}
            onChange={(changed) => message(at, changed)}
          />
        ))}
        <div class="sample-facts">
          <label class="field">
            <span class="label">Model</span>
            <select
              class="in"
              value={chosen.value}
              onChange={(event) => {
                chosen.value = event.currentTarget.value;
              }}
            >
              {models.map(({ id, notice }) => (
                <option key={id} value={id}>
                  {notice === undefined ? id : `${id} (${notice})`}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            <span class="label">At most, in tokens</span>
            <input
              class="in"
              type="number"
              min={1}
              value={maxTokens}
              onInput={(event) => {
                const number = event.currentTarget.valueAsNumber;
                if (number >= 1) edited.value = { ...edited.peek(), maxTokens: Math.floor(number) };
              }}
            />
          </label>
          <p class="hint">
            About {countText(inputTokens, "token")} to the model. {countText(left.requests, "request")} and{" "}
            {countText(left.tokens, "token")} are left for this server.
            {includeContext !== undefined &&
              includeContext !== "none" &&
              " It also asks for parts of your conversation."}
            {tools !== undefined && tools.length > 0 && ` The model may use ${countText(tools.length, "tool")} of it.`}
          </p>
        </div>
      </div>
    </QuestionFrame>
  );
}

/** May the answer of the model go to the server? It can be edited, too. */
export function ResponseCard({ question }: { question: ResponseQuestion }): JSX.Element {
  const answering = useAnswering(question);
  const { server, params, result } = question;
  const isAlone = params.includeContext === undefined || params.includeContext === "none";
  const edited = useSignal<CreateMessageResult>(result);
  const isEdited = edited.value !== result;
  const send = () => void answering.send("send", { allow: true, ...(isEdited ? { result: edited.peek() } : {}) });
  const choices: AnswerChoice[] = [
    { name: "send", label: `Send to ${server}`, key: "Enter", tone: "primary", act: send },
    ...(isEdited
      ? [
          {
            name: "undo",
            label: "Undo edits",
            key: "u",
            act: () => {
              edited.value = result;
            },
          },
        ]
      : []),
    refusal(() => void answering.send("refuse", { allow: false })),
  ];
  return (
    <QuestionFrame
      question={question}
      answering={answering}
      icon="spark"
      title={
        <>
          <ServerText text={server} /> <span class="t2">gets this answer from your model</span>
        </>
      }
      spoken={`The model has answered ${server}. May the answer be sent?`}
      aside={isEdited && <Badge tone="accent">edited by you</Badge>}
      choices={choices}
    >
      <Steps now={2} note={`${server} has not seen this yet`} />
      <div class="body stack">
        <EditedContent
          label={`Answer, from ${result.model}`}
          content={edited.value.content}
          onChange={(content) => {
            edited.value = { ...edited.peek(), content };
          }}
        />
        {isAlone && <Note tone="ok">The model saw the request alone, and nothing of your conversation or files.</Note>}
      </div>
    </QuestionFrame>
  );
}

function refusal(act: () => void): AnswerChoice {
  return { name: "refuse", label: "Refuse", key: "n", tone: "quiet danger", isLast: true, act };
}

function Steps({ now, note }: { now: 1 | 2; note: string }): JSX.Element {
  return (
    <div class="sample-steps small">
      <span class={now === 1 ? "c-accent" : "c-ok"} aria-current={now === 1 ? "step" : undefined}>
        1 Request
      </span>
      <span class="t3" aria-hidden="true">
        ›
      </span>
      <span class={now === 2 ? "c-accent" : "t3"} aria-current={now === 2 ? "step" : undefined}>
        2 Response
      </span>
      <span class="end t3">{note}</span>
    </div>
  );
}

function EditedText(props: { label: string; text: string; onChange: (text: string) => void }): JSX.Element {
  const { label, text, onChange } = props;
  return (
    <label class="field">
      <span class="label">
        <ServerText text={label} />
      </span>
      <textarea class="in grows" dir="auto" value={text} onInput={(event) => onChange(event.currentTarget.value)} />
    </label>
  );
}

/** The texts of a message can be edited; its pictures and sounds are named. */
function EditedContent(props: {
  label: string;
  content: SamplingContent | SamplingContent[];
  onChange: (content: SamplingContent | SamplingContent[]) => void;
}): JSX.Element {
  const { label, content, onChange } = props;
  const blocks = [content].flat();
  const change = (at: number, text: string) => {
    const changed = blocks.map((block, index) => (index === at && block.type === "text" ? { ...block, text } : block));
    const [only] = changed;
    onChange(Array.isArray(content) || !only ? changed : only);
  };
  return (
    <>
      {blocks.map((block, index) =>
        block.type === "text" ? (
          <EditedText key={index} label={label} text={block.text} onChange={(text) => change(index, text)} />
        ) : (
          <Note key={index}>
            <ServerText text={label} />:{" "}
            {block.type === "image" || block.type === "audio" ? (
              <ServerText text={`${block.type}, ${block.mimeType}`} />
            ) : (
              block.type.replace("_", " ")
            )}
          </Note>
        ),
      )}
    </>
  );
}
