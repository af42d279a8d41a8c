import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Bones, Empty } from "../parts/empty.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { ConversationBlocks } from "../state/blocks.ts";
import { usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";
import { Composer } from "./composer.tsx";
import { ContextPanel } from "./context-panel.tsx";
import { EmptyTalk } from "./empty-talk.tsx";
import { Flow } from "./flow.tsx";

/** The side for the person who works with a model. */
export function Chat(): JSX.Element {
  const page = usePage();
  const id = page.route.value.path[0];
  const head = id === undefined ? undefined : page.store.conversations.get(id).value;
  useEffect(() => {
    document.title = head === undefined ? "Portolan" : `${head.title} · Portolan`;
  }, [head?.title]);
  if (id !== undefined && head === undefined) return <Missing />;
  return (
    <div class="chat">
      <div class="talk">
        {id === undefined ? <EmptyTalk /> : <Conversation key={id} id={id} />}
        <Composer key={`${id}`} id={id} />
      </div>
      <ContextPanel id={id} />
    </div>
  );
}

function Conversation({ id }: { id: string }): JSX.Element {
  const page = usePage();
  const blocks = useMemo(() => new ConversationBlocks(id, page.api, page.store), [id]);
  useEffect(() => blocks.follow(), [blocks]);
  const state = blocks.state.value;
  if (state.is === "failed") {
    return (
      <div class="scroll">
        <Empty icon="warn" title="The conversation cannot be read">
          <p>
            <ServerText text={state.reason ?? ""} lines="keep" />
          </p>
          <Button icon="replay" onClick={() => void blocks.load()}>
            Try again
          </Button>
        </Empty>
      </div>
    );
  }
  if (state.is === "loading" && blocks.blocks.ids.value.length === 0) {
    return (
      <div class="scroll">
        <div class="flow">
          <Bones label="Reading the conversation" rows={6} />
        </div>
      </div>
    );
  }
  if (blocks.blocks.ids.value.length === 0) return <EmptyTalk id={id} />;
  return <Flow blocks={blocks} />;
}

/** A conversation that was removed, here or in another tab. */
function Missing(): JSX.Element {
  const [isGone, setGone] = useState(false);
  useEffect(() => {
    // A conversation that was made just now is announced a moment later.
    const timer = setTimeout(() => setGone(true), 1_000);
    return () => clearTimeout(timer);
  }, []);
  if (!isGone) return <div class="talk" />;
  return (
    <div class="talk">
      <Empty icon="chat" title="There is no such conversation">
        <p>It was removed, or it belongs to another console.</p>
        <Button tone="primary" onClick={() => goTo(hrefOf("chat"))}>
          New conversation
        </Button>
      </Empty>
    </div>
  );
}
