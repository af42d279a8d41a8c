import type { JSX } from "preact";
import type { Block } from "../../api.ts";
import { revokeGrants } from "../activity/revoke.ts";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { ArgumentList } from "./arguments.tsx";

type BlockOf<K extends Block["kind"]> = Extract<Block, { readonly kind: K }>;

/** A message of the person, with its attachments. */
export function UserMessage({ block }: { block: BlockOf<"user"> }): JSX.Element {
  const { text, prompt, attached } = block;
  return (
    <div class="me">
      <h2 class="hidden">You</h2>
      {prompt && (
        <p class="row small t2">
          <Icon name="slash" />
          <span class="cut">
            <ServerText text={prompt.name} /> of <ServerText text={prompt.server} />
          </span>
        </p>
      )}
      {text !== "" && (
        <p class="words" dir="auto">
          {text}
        </p>
      )}
      {attached.length > 0 && (
        <ul class="chips">
          {attached.map(({ server, uri, name }) => (
            <li key={`${server} ${uri}`} class="chip" title={uri}>
              <Icon name="file" />
              <span class="cut">
                <ServerText text={name} />
              </span>
              <span class="t3 cut">
                <ServerText text={server} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The thoughts of a model before its answer, folded. */
export function Thinking({ text, isGrowing }: { text: string; isGrowing: boolean }): JSX.Element {
  return (
    <details class="thinking">
      <summary>
        {isGrowing ? <span class="spin" /> : <Icon name="right" />}
        {isGrowing ? "Thinking" : "Thought"}
      </summary>
      <Markdown text={text} isGrowing={isGrowing} />
    </details>
  );
}

export function NoticeLine({ block }: { block: BlockOf<"notice"> }): JSX.Element {
  return (
    <p class="notice-line">
      <Icon name="info" />
      <span>
        {block.server !== undefined && !block.text.startsWith(`${block.server} `) && (
          <>
            <ServerText text={block.server} />:{" "}
          </>
        )}
        <ServerText text={block.text} lines="keep" />
      </span>
    </p>
  );
}

/** The line that stays of a question. What the answer allowed can be taken back. */
export function AnsweredLine(props: {
  block: BlockOf<"answered">;
  /** True in the card of the call, which names the subject itself. */
  isInCard?: boolean;
}): JSX.Element {
  const { block, isInCard } = props;
  const page = usePage();
  const { summary, subject, grant, at } = block;
  const stands = grant !== undefined && page.store.grants.value.some(({ id }) => id === grant);
  const isNo = /^(refus|declin|cancel|never|not )/i.test(summary);
  const undo = async () => {
    if (grant === undefined) return;
    await revokeGrants(page, [grant], "Taken back. You will be asked again.");
  };
  return (
    <p class="answered-line">
      <Icon name={isNo ? "x" : "check"} class={isNo ? "t3" : "c-ok"} />
      <span>
        <ServerText text={summary} />
      </span>
      {subject !== undefined && !isInCard && (
        <span class="t3 mono cut" title={subject}>
          <ServerText text={subject} />
        </span>
      )}
      <time class="t3 num" dateTime={new Date(at).toISOString()}>
        {new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}
      </time>
      {stands && (
        <Button tone="link" onClick={() => void page.attempt(undo)}>
          Ask again next time
        </Button>
      )}
    </p>
  );
}

/** The words for how a run ended. An ordinary end needs none. */
const endWords: { readonly [reason: string]: string } = {
  cancelled: "You stopped the answer.",
  "max-turns": "The model took more turns than allowed.",
  "max-tokens": "The answer reached the limit of the model.",
  maxTokens: "The answer reached the limit of the model.",
  refused: "The model refused to answer.",
};

const ordinaryEnds: readonly string[] = ["done", "end", "completed", "endTurn", "stopSequence"];

export function EndLine(props: {
  block: BlockOf<"end">;
  conversation: string;
  /** The text of the message that was not answered, if this is the last block. */
  unanswered: string;
}): JSX.Element | null {
  const page = usePage();
  const { block, conversation, unanswered } = props;
  const { reason, message } = block;
  if (ordinaryEnds.includes(reason) && message === undefined) return null;
  const head = page.store.conversations.get(conversation).value;
  const canGoOn = head?.state === "failed" && unanswered !== "";
  const goOn = () => page.api.change("conversation.send", { id: conversation, text: unanswered });
  const isFailure = reason !== "cancelled";
  return (
    <div class="end-line">
      <Note tone={isFailure ? "danger" : "plain"} icon={isFailure ? "warn" : "stop"}>
        <p>
          <ServerText text={message ?? endWords[reason] ?? `The answer ended: ${reason}.`} lines="keep" />
        </p>
      </Note>
      {canGoOn && (
        <div class="row wrap">
          <Button icon="replay" onClick={() => void page.attempt(goOn)}>
            Try again
          </Button>
          <ModelHint conversation={conversation} />
        </div>
      )}
    </div>
  );
}

/** Says that the console ended in the middle of an answer, which can go on. */
export function InterruptedLine({ conversation }: { conversation: string }): JSX.Element {
  const page = usePage();
  const goOn = () => page.api.change("conversation.continue", { id: conversation });
  return (
    <div class="end-line">
      <Note icon="stop">The console ended before the answer was complete.</Note>
      <Button icon="play" onClick={() => void page.attempt(goOn)}>
        Go on
      </Button>
    </div>
  );
}

/** Offers the demo model when another model does not answer. */
function ModelHint({ conversation }: { conversation: string }): JSX.Element | null {
  const page = usePage();
  const head = page.store.conversations.get(conversation).value;
  const demo = page.store.models.value.find(({ isDemo }) => isDemo);
  if (!demo || head?.model === demo.id) return null;
  const change = () => page.api.change("conversation.change", { id: conversation, model: demo.id });
  return (
    <Button tone="quiet" onClick={() => void page.attempt(change)}>
      Use the demo model
    </Button>
  );
}

/** A call of which nobody knows whether it was carried out: the person decides. */
export function UncertainCard(props: { block: BlockOf<"uncertain">; conversation: string }): JSX.Element {
  const page = usePage();
  const { block, conversation } = props;
  const { server, tool, argumentsText, isSettled } = block;
  const settle = (uncertain: "ask-again" | "tell-model") => () =>
    void page.attempt(() => page.api.change("conversation.continue", { id: conversation, uncertain }));
  return (
    <article class="card" data-tone="danger">
      <header>
        <Icon name="warn" class="c-danger" />
        <span class="grow">
          <ServerText text={server} /> <ServerText class="tool" text={tool} /> may have run
        </span>
        {isSettled && <Badge>settled</Badge>}
      </header>
      <div class="body stack">
        <p>The console ended while this call ran. Look at {server} before you let it run again.</p>
        <ArgumentList text={argumentsText} />
      </div>
      {!isSettled && (
        <footer>
          <Button tone="primary" onClick={settle("tell-model")}>
            Go on without it
          </Button>
          <Button onClick={settle("ask-again")}>Ask me to run it again</Button>
        </footer>
      )}
    </article>
  );
}
