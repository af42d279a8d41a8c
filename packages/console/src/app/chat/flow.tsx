import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Block, QuestionRecord } from "../../api.ts";
import { Button } from "../parts/button.tsx";
import { Markdown } from "../parts/markdown.tsx";
import { ServerText } from "../parts/quoted.tsx";
import type { ConversationBlocks } from "../state/blocks.ts";
import { usePage } from "../state/console.ts";
import { AnsweredLine, EndLine, InterruptedLine, NoticeLine, Thinking, UncertainCard, UserMessage } from "./blocks.tsx";
import { QuestionCard } from "./questions/card.tsx";
import { sentencesAfter } from "./sentences.ts";
import { ToolCard } from "./tool-card.tsx";

/** Nearer to the end than this counts as at the end. */
const endPixels = 48;

/** The space above a long question. */
const questionMargin = 12;

/** Where a scrolled box stood. */
interface Place {
  readonly top: number;
  readonly height: number;
  readonly view: number;
}

function placeOf({ scrollTop, scrollHeight, clientHeight }: HTMLElement): Place {
  return { top: scrollTop, height: scrollHeight, view: clientHeight };
}

/** The parts of a conversation in their order, with questions where they belong. */
export function Flow({ blocks }: { blocks: ConversationBlocks }): JSX.Element {
  const page = usePage();
  const scroll = useRef<HTMLDivElement>(null);
  const flow = useRef<HTMLDivElement>(null);
  const isAtEnd = useSignal(true);
  const seen = useRef<Place>({ top: 0, height: 0, view: 0 });
  const ids = blocks.blocks.ids.value;
  const head = page.store.conversations.get(blocks.id).value;
  const isRunning = head?.state === "running";
  const questions = page.store.questions.all.value.filter(({ conversation }) => conversation === blocks.id);
  const calls = new Set(
    blocks.blocks.all.peek().flatMap((block) => (block.kind === "call" && !block.record.end ? [block.call] : [])),
  );
  // Such a conversation goes on when the person has decided about the call.
  const isUncertain = blocks.blocks.all.peek().some((block) => block.kind === "uncertain" && !block.isSettled);
  const loose = questions.filter(({ call }) => call === undefined || !calls.has(call));
  useLayoutEffect(() => {
    const box = scroll.current;
    const inside = flow.current;
    if (!box || !inside) return;
    let placed: { readonly asked: string | undefined; readonly view: number } | undefined;
    const toEnd = () => {
      const card = inside.querySelector<HTMLElement>("[data-question]");
      const asked = card?.dataset["question"];
      if (isAtEnd.peek()) {
        const top = card ? card.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop : 0;
        const isLong = card !== null && box.scrollHeight - top > box.clientHeight - questionMargin;
        // A long question begins at its first line. Afterwards the person moves in it.
        if (!isLong) box.scrollTop = box.scrollHeight;
        else if (asked !== placed?.asked || box.clientHeight !== placed?.view) box.scrollTop = top - questionMargin;
      }
      placed = { asked, view: box.clientHeight };
      seen.current = placeOf(box);
    };
    const observer = new ResizeObserver(toEnd);
    observer.observe(inside);
    observer.observe(box);
    toEnd();
    return () => observer.disconnect();
  }, []);
  const onScroll = () => {
    const box = scroll.current;
    if (!box) return;
    const now = placeOf(box);
    const { top, height, view } = seen.current;
    seen.current = now;
    if (now.height - now.top - now.view < endPixels) isAtEnd.value = true;
    // Where the content or the window changed, the browser moved, and not the person.
    else if (now.top < top && now.height === height && now.view === view) isAtEnd.value = false;
  };
  const onWheel = ({ deltaY }: WheelEvent) => {
    if (deltaY < 0 && (scroll.current?.scrollTop ?? 0) > endPixels) isAtEnd.value = false;
  };
  return (
    <>
      <div
        class="scroll"
        ref={scroll}
        onScroll={onScroll}
        onWheel={onWheel}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
      >
        <div class="flow" ref={flow}>
          <h1 class="hidden">{head?.title ?? "Conversation"}</h1>
          {ids.map((id, index) => (
            <FlowBlock key={id} blocks={blocks} id={id} isGrowing={isRunning && index === ids.length - 1} />
          ))}
          {loose.map((question) => (
            <QuestionCard key={question.id} question={question} />
          ))}
          {head?.state === "running" && <Working blocks={blocks} />}
          {head?.state === "interrupted" && !isUncertain && <InterruptedLine conversation={blocks.id} />}
        </div>
      </div>
      <Said blocks={blocks} />
      <WaitingStrip questions={questions} isAtEnd={isAtEnd.value} scroll={() => scroll.current} />
    </>
  );
}

function FlowBlock(props: { blocks: ConversationBlocks; id: string; isGrowing: boolean }): JSX.Element | null {
  const { blocks, id, isGrowing } = props;
  const block = blocks.blocks.get(id).value;
  if (!block) return null;
  return <ShownBlock block={block} blocks={blocks} isGrowing={isGrowing} />;
}

function ShownBlock(props: { block: Block; blocks: ConversationBlocks; isGrowing: boolean }): JSX.Element | null {
  const { block, blocks, isGrowing } = props;
  const conversation = blocks.id;
  switch (block.kind) {
    case "user":
      return <UserMessage block={block} />;
    case "text":
      return (
        <div class="ai">
          <Markdown text={block.text} isGrowing={isGrowing} />
          {block.isCut && <p class="hint">The answer was cut here.</p>}
        </div>
      );
    case "thinking":
      return <Thinking text={block.text} isGrowing={isGrowing} />;
    case "call":
      return <ToolCard record={block.record} receipts={receiptsOf(blocks, block.call)} />;
    case "notice":
      return <NoticeLine block={block} />;
    case "answered":
      // The card of its call shows it.
      return isShownWithCall(blocks, block) ? null : <AnsweredLine block={block} />;
    case "end":
      return <EndLine block={block} conversation={conversation} unanswered={lastWords(blocks, block)} />;
    case "uncertain":
      return <UncertainCard block={block} conversation={conversation} />;
    default:
      return null;
  }
}

type Answered = Extract<Block, { readonly kind: "answered" }>;

/** The answers to the questions of a call. */
function receiptsOf(blocks: ConversationBlocks, call: string): readonly Answered[] {
  // An answer never changes: the card is drawn again for new blocks, and not for each word of the model.
  void blocks.blocks.ids.value;
  return blocks.blocks.all
    .peek()
    .filter((block): block is Answered => block.kind === "answered" && block.call === call);
}

function isShownWithCall(blocks: ConversationBlocks, { call }: Answered): boolean {
  return call !== undefined && blocks.blocks.all.peek().some((block) => block.kind === "call" && block.call === call);
}

/** The text of the message before the last block. */
function lastWords(blocks: ConversationBlocks, end: Block): string {
  if (blocks.blocks.ids.value.at(-1) !== end.id) return "";
  const last = blocks.blocks.all.peek().findLast((block) => block.kind === "user");
  return last?.kind === "user" ? last.text : "";
}

/** Shown while the model has said nothing yet. */
function Working({ blocks }: { blocks: ConversationBlocks }): JSX.Element | null {
  const page = usePage();
  const last = blocks.blocks.get(blocks.blocks.ids.value.at(-1) ?? "").value;
  const starting = page.store.servers.all.value.filter(({ state }) => state === "starting").map(({ name }) => name);
  const isSilent =
    last?.kind === "user" ||
    last?.kind === "notice" ||
    last?.kind === "answered" ||
    (last?.kind === "call" && last.record.end);
  if (!isSilent) return null;
  return (
    <p class="row t3">
      <span class="spin" />
      {starting.length > 0 ? (
        <span>
          Waiting for <ServerText text={starting.join(" and ")} /> to start
        </span>
      ) : (
        "The model is working"
      )}
    </p>
  );
}

/** Says what the model writes to screen readers, sentence by sentence. */
function Said({ blocks }: { blocks: ConversationBlocks }): null {
  const page = usePage();
  const said = useRef<{ id: string; chars: number } | undefined>(undefined);
  useSignalEffect(() => {
    const id = blocks.blocks.ids.value.at(-1);
    const block = blocks.blocks.get(id ?? "").value;
    if (block?.kind !== "text") return;
    // Text that was there before is not said again.
    if (said.current === undefined) said.current = { id: block.id, chars: block.text.length };
    if (said.current.id !== block.id) said.current = { id: block.id, chars: 0 };
    const { text, end } = sentencesAfter(block.text, said.current.chars);
    if (text === "") return;
    said.current = { id: block.id, chars: end };
    page.say(text);
  });
  return null;
}

/** Says that a question waits where it cannot be seen. */
function WaitingStrip(props: {
  questions: readonly QuestionRecord[];
  isAtEnd: boolean;
  scroll: () => HTMLElement | null;
}): JSX.Element | null {
  const { questions, isAtEnd, scroll } = props;
  const isHidden = useSignal(false);
  useEffect(() => {
    const root = scroll();
    const cards = [...(root?.querySelectorAll("[data-question]") ?? [])];
    if (cards.length === 0) {
      isHidden.value = false;
      return;
    }
    const seen = new Set<Element>();
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (isIntersecting) seen.add(target);
          else seen.delete(target);
        }
        isHidden.value = seen.size === 0;
      },
      { root, rootMargin: "-24px" },
    );
    for (const card of cards) observer.observe(card);
    return () => observer.disconnect();
  }, [questions.map(({ id }) => id).join()]);
  const toEnd = () => {
    const box = scroll();
    box?.scrollTo({ top: box.scrollHeight });
  };
  if (questions.length > 0 && isHidden.value) {
    const show = () => {
      const card = scroll()?.querySelector<HTMLElement>("[data-question]");
      card?.scrollIntoView({ block: "center" });
      card?.focus({ preventScroll: true });
    };
    return (
      <div class="strip">
        <div class="strip-inner" data-tone="accent">
          <span class="grow cut">
            {questions.length === 1 ? "1 question waits" : `${questions.length} questions wait`}
          </span>
          <Button tone="quiet" size="small" onClick={show}>
            Show
          </Button>
        </div>
      </div>
    );
  }
  if (isAtEnd) return null;
  return (
    <div class="strip to-end">
      <Button size="small" icon="down" label="To the end" class="round" onClick={toEnd} />
    </div>
  );
}
