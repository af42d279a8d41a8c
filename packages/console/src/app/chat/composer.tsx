import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Ring } from "../parts/meter.tsx";
import { Dialog } from "../parts/popover.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { ModelPicker } from "../shell/model-picker.tsx";
import { usePage } from "../state/console.ts";
import { ChangedTools } from "./changed-tools.tsx";
import { ToolSwitches } from "./context-panel.tsx";
import { PromptPalette } from "./prompt-palette.tsx";
import { ResourcePicker } from "./resource-picker.tsx";
import { type ChosenPrompt, isOff, type Talk, useTalk } from "./talk.ts";
import { percentText } from "./times.ts";

/** Where the person writes: text, a prompt, attached resources, and the model that answers. */
export function Composer({ id }: { id: string | undefined }): JSX.Element {
  const page = usePage();
  const talk = useTalk(id);
  const place = id ?? "new";
  const text = page.drafts.get(`composer ${place}`, "");
  const prompt = page.drafts.get<ChosenPrompt | undefined>(`prompt ${place}`, undefined);
  const isPicking = useSignal(false);
  const isPalette = useSignal(false);
  const showsTools = useSignal(false);
  const isSending = useSignal(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const isRunning = talk.head?.state === "running" || talk.head?.state === "waiting";
  const query = /^\/(\S*)$/.exec(text.value)?.[1];
  const isOpen = isPalette.value || query !== undefined;
  useEffect(() => {
    // On a touch screen, the keyboard would cover the conversation.
    if (matchMedia("(pointer: fine)").matches && document.activeElement === document.body) field.current?.focus();
  }, []);
  const send = async (given?: ChosenPrompt) => {
    const chosen = given ?? prompt.peek();
    const words = query === undefined ? text.peek().trim() : "";
    if ((words === "" && !chosen) || isRunning || isSending.peek()) return;
    isSending.value = true;
    await page.attempt(async () => {
      await talk.send({ ...(words === "" ? {} : { text: words }), ...(chosen ? { prompt: chosen } : {}) });
      text.value = "";
      prompt.value = undefined;
      isPalette.value = false;
    });
    isSending.value = false;
    field.current?.focus();
  };
  const closePalette = () => {
    isPalette.value = false;
    if (query !== undefined) text.value = "";
    field.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing || event.defaultPrevented) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (!isOpen) void send();
    }
  };
  const onInput = (event: InputEvent & { currentTarget: HTMLTextAreaElement }) => {
    const { value, selectionStart } = event.currentTarget;
    // An @ at the start of a word opens the resources; the sign itself is not written.
    if (event.data === "@" && /(^|\s)@$/.test(value.slice(0, selectionStart))) {
      text.value = value.slice(0, selectionStart - 1) + value.slice(selectionStart);
      isPicking.value = true;
      return;
    }
    text.value = value;
  };
  return (
    <div
      class="dock"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isOpen || event.defaultPrevented) return;
        event.preventDefault();
        closePalette();
      }}
    >
      {isOpen && (
        <PromptPalette
          query={query ?? ""}
          field={field.current}
          onClose={closePalette}
          onChoose={(chosen, isSent) => {
            closePalette();
            if (isSent) void send(chosen);
            else prompt.value = chosen;
          }}
        />
      )}
      <ChangedTools />
      <form
        class="composer"
        aria-label="Message"
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <Chips talk={talk} prompt={prompt.value} onDropPrompt={() => (prompt.value = undefined)} />
        <textarea
          ref={field}
          class="composer-text"
          data-composer
          aria-label="Message to the model"
          placeholder={
            prompt.value ? "Add words, or send the prompt" : "Write to the model, or / for prompts, @ for resources"
          }
          dir="auto"
          rows={1}
          value={text.value}
          onInput={onInput}
          onKeyDown={onKeyDown}
        />
        <div class="composer-bar">
          <Button
            tone="quiet"
            icon="clip"
            label="Attach a resource"
            popup="dialog"
            onClick={() => (isPicking.value = true)}
          />
          <Button
            tone="quiet"
            icon="slash"
            label="Prompts"
            popup="dialog"
            expanded={isOpen}
            onClick={() => {
              if (isOpen) closePalette();
              else {
                isPalette.value = true;
                field.current?.focus();
              }
            }}
          />
          <ToolsButton talk={talk} onOpen={() => (showsTools.value = true)} />
          <span class="grow" />
          <ContextRing talk={talk} />
          <ModelPicker model={talk.model} onChange={(model) => void page.attempt(() => talk.change({ model }))} />
          <SendButton
            id={id}
            isRunning={isRunning}
            isSending={isSending.value}
            isEmpty={text.value.trim() === "" && !prompt.value}
            onSend={() => void send()}
          />
        </div>
      </form>
      {isPicking.value && <ResourcePicker talk={talk} onClose={() => (isPicking.value = false)} />}
      {showsTools.value && (
        <Dialog title="Tools in this conversation" onClose={() => (showsTools.value = false)}>
          <ToolSwitches talk={talk} />
        </Dialog>
      )}
    </div>
  );
}

/** The prompt and the resources of the next message, each with a button that removes it. */
function Chips(props: { talk: Talk; prompt: ChosenPrompt | undefined; onDropPrompt: () => void }): JSX.Element | null {
  const page = usePage();
  const { talk, prompt, onDropPrompt } = props;
  if (talk.attached.length === 0 && !prompt) return null;
  return (
    <ul class="chips" aria-label="Goes with the message">
      {prompt && (
        <li class="chip" data-tone="accent">
          <Icon name="slash" />
          <span class="cut">
            <ServerText text={prompt.name} />
          </span>
          <span class="t3 cut">{Object.values(prompt.args).filter(Boolean).join(", ") || prompt.server}</span>
          <Button
            tone="quiet"
            size="small"
            icon="x"
            label={`Remove the prompt ${prompt.name}`}
            onClick={onDropPrompt}
          />
        </li>
      )}
      {talk.attached.map((resource) => (
        <li key={`${resource.server} ${resource.uri}`} class="chip" title={resource.uri}>
          <Icon name="file" />
          <span class="cut">
            <ServerText text={resource.name} />
          </span>
          <span class="t3 cut">
            <ServerText text={resource.server} />
          </span>
          <Button
            tone="quiet"
            size="small"
            icon="x"
            label={`Remove ${resource.name}`}
            onClick={() =>
              void page.attempt(() => talk.change({ attached: talk.attached.filter((other) => other !== resource) }))
            }
          />
        </li>
      ))}
    </ul>
  );
}

function ToolsButton({ talk, onOpen }: { talk: Talk; onOpen: () => void }): JSX.Element {
  const page = usePage();
  const servers = page.store.servers.all.value.filter(({ state }) => state !== "disabled");
  const all = servers.reduce((sum, { name, counts }) => (talk.off.includes(`${name}.*`) ? sum : sum + counts.tools), 0);
  const offs = talk.off
    .filter((one) => !one.endsWith(".*"))
    .filter((one) => {
      const server = servers.find(({ name }) => one.startsWith(`${name}.`));
      return server && !isOff(talk.off, server.name, "*");
    });
  return (
    <Button tone="quiet" icon="tool" popup="dialog" class="tools-button" onClick={onOpen}>
      <span class="num">{Math.max(0, all - offs.length)}</span>
      <span class="n-text">tools</span>
    </Button>
  );
}

function ContextRing({ talk }: { talk: Talk }): JSX.Element | null {
  const tokens = talk.head?.tokens;
  if (!tokens) return null;
  const { system, tools, conversation, resources, limit } = tokens;
  const sum = system + tools + conversation + resources;
  return (
    <span
      class="row small t2 num context-ring"
      title={`${sum.toLocaleString("en")} of ${limit.toLocaleString("en")} tokens`}
    >
      <Ring share={limit > 0 ? sum / limit : 0} />
      <span>{percentText(limit > 0 ? sum / limit : 0)}</span>
      <span class="hidden">of what the model can take</span>
    </span>
  );
}

function SendButton(props: {
  id: string | undefined;
  isRunning: boolean;
  isSending: boolean;
  isEmpty: boolean;
  onSend: () => void;
}): JSX.Element {
  const page = usePage();
  const { id, isRunning, isSending, isEmpty, onSend } = props;
  if (isRunning && id !== undefined) {
    const stop = () => page.api.change("conversation.cancel", { id });
    return <Button size="large" icon="stop" label="Stop the answer" onClick={() => void page.attempt(stop)} />;
  }
  return (
    <Button
      size="large"
      tone="primary"
      icon="send"
      label="Send"
      isBusy={isSending}
      class={isEmpty ? "faint" : ""}
      onClick={onSend}
    />
  );
}
