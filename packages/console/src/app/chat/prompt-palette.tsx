import { useSignal } from "@preact/signals";
import type { GetPromptResult, Prompt } from "portolan";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { reasonOf } from "../api/client.ts";
import { Badge, Note } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Bones, Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { Quoted, ServerText } from "../parts/quoted.tsx";
import { commandKey, isCommand } from "../shell/keys.ts";
import { usePage } from "../state/console.ts";
import { CatalogState } from "./catalog-state.tsx";
import { CompletedField } from "./completion.tsx";
import { type FuzzyMatch, fuzzyMatch } from "./match.ts";
import { Matched } from "./matched.tsx";
import { QuestionsOf } from "./questions/card.tsx";
import type { ChosenPrompt } from "./talk.ts";
import { countText } from "./times.ts";

interface FoundPrompt {
  readonly server: string;
  readonly prompt: Prompt;
  readonly match: FuzzyMatch;
}

const mostShown = 50;
const previewMs = 250;

/** Finds a prompt of any server, takes its arguments, and shows the messages that it inserts. */
export function PromptPalette(props: {
  readonly query: string;
  /** The field whose arrow keys choose. */
  readonly field: HTMLTextAreaElement | null;
  readonly onClose: () => void;
  readonly onChoose: (prompt: ChosenPrompt, isSent: boolean) => void;
}): JSX.Element {
  const page = usePage();
  const { query, field, onClose, onChoose } = props;
  const chosen = useSignal(0);
  const box = useRef<HTMLDivElement>(null);
  const servers = page.store.servers.all.value.filter(({ counts }) => counts.prompts > 0);
  const catalogs = servers.flatMap(({ name }) => page.catalogs.of(name).value ?? []);
  const unread = servers.filter(({ name }) => page.catalogs.of(name).value === undefined);
  const all = catalogs.reduce((sum, { prompts }) => sum + prompts.length, 0);
  const found = catalogs
    .flatMap(({ server, prompts }) =>
      prompts.flatMap((prompt): FoundPrompt[] => {
        const match = fuzzyMatch(query, prompt.name) ?? (prompt.title ? titleMatch(query, prompt.title) : undefined);
        return match ? [{ server, prompt, match }] : [];
      }),
    )
    .sort((a, b) => (query === "" ? 0 : b.match.score - a.match.score))
    .slice(0, mostShown);
  const current = found[Math.min(chosen.value, found.length - 1)];
  const isStarting = page.store.servers.all.value.some(({ state }) => state === "starting");
  useEffect(() => page.wake(), []);
  // The field of the message keeps the focus, so that the choice is said.
  useEffect(() => {
    if (current) page.say(`${current.prompt.title ?? current.prompt.name}, ${current.server}`);
  }, [current?.prompt]);
  useEffect(() => {
    chosen.value = 0;
  }, [query]);
  useEffect(() => {
    if (!field) return;
    const onKey = (event: KeyboardEvent) => {
      if (event.isComposing) return;
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step !== undefined && found.length > 0) {
        event.preventDefault();
        chosen.value = (chosen.value + step + found.length) % found.length;
      } else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && current) {
        event.preventDefault();
        const input = box.current?.querySelector<HTMLElement>("input");
        if (input) input.focus();
        else if (event.key === "Enter")
          onChoose({ server: current.server, name: current.prompt.name, args: {} }, isCommand(event));
      }
    };
    field.addEventListener("keydown", onKey, { capture: true });
    return () => field.removeEventListener("keydown", onKey, { capture: true });
  });
  useEffect(() => {
    const leave = (event: PointerEvent) => {
      const { target } = event;
      if (target instanceof Node && !box.current?.parentElement?.contains(target)) onClose();
    };
    document.addEventListener("pointerdown", leave);
    return () => document.removeEventListener("pointerdown", leave);
  }, []);
  return (
    <div ref={box} class="palette pop" role="dialog" aria-label="Prompts">
      <div class="palette-list">
        <p class="label">
          {found.length === all ? countText(all, "prompt") : `${found.length} of ${countText(all, "prompt")}`}
        </p>
        <ul id="prompt-list" role="listbox" aria-label="Prompts">
          {found.map(({ server, prompt, match }, index) => (
            // biome-ignore lint/a11y/useFocusableInteractive: the field of the message keeps the focus.
            <li
              key={`${server} ${prompt.name}`}
              class="opt"
              role="option"
              aria-selected={prompt === current?.prompt}
              ref={(element) => {
                if (prompt === current?.prompt) element?.scrollIntoView({ block: "nearest" });
              }}
              onClick={() => {
                chosen.value = index;
              }}
            >
              <span class="grow">
                <span class="row">
                  <span class="grow cut tool">
                    <Matched text={prompt.name} match={match} />
                  </span>
                  <span class="small t3">
                    <ServerText text={server} />
                  </span>
                </span>
                <span class="small t2 cut block">
                  <ServerText text={prompt.title ?? prompt.description ?? ""} />
                </span>
              </span>
            </li>
          ))}
        </ul>
        {isStarting && unread.length === 0 && <Bones label="Reading the prompts" />}
        {unread.map(({ name }) => (
          <CatalogState key={name} server={name} label="Reading the prompts" />
        ))}
      </div>
      <div class="palette-detail">
        {current ? (
          <PromptDetail key={`${current.server} ${current.prompt.name}`} found={current} onChoose={onChoose} />
        ) : isStarting ? (
          <Empty icon="slash" title="The servers are starting">
            <p>Their prompts appear here.</p>
          </Empty>
        ) : unread.length > 0 && all === 0 ? null : servers.length === 0 ? (
          <Empty icon="slash" title="No prompts yet">
            <p>None of your servers has a prompt.</p>
          </Empty>
        ) : (
          <Empty icon="search" title={`No prompt is called "${query}"`}>
            <Button onClick={onClose} keys="Esc">
              Close
            </Button>
          </Empty>
        )}
      </div>
      <footer class="n-hide">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> choose
        </span>
        <span>
          <kbd>Tab</kbd> arguments
        </span>
        <span>
          <kbd>⏎</kbd> insert
        </span>
        <span>
          <kbd>{commandKey} ⏎</kbd> insert and send
        </span>
        <span class="end">
          <kbd>Esc</kbd> close
        </span>
      </footer>
    </div>
  );
}

/** Titles find, but their characters are not those of the name that is shown. */
function titleMatch(query: string, title: string): FuzzyMatch | undefined {
  const match = fuzzyMatch(query, title);
  return match && { score: match.score - 500, at: [] };
}

function PromptDetail(props: {
  found: FoundPrompt;
  onChoose: (prompt: ChosenPrompt, isSent: boolean) => void;
}): JSX.Element {
  const { server, prompt } = props.found;
  const args = useSignal<{ readonly [name: string]: string }>({});
  const isPressed = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  const given = prompt.arguments ?? [];
  const missing = given.filter(({ name, required }) => required && !args.value[name]);
  const choose = (isSent: boolean) => {
    isPressed.value = true;
    if (missing.length > 0) {
      form.current
        ?.querySelector<HTMLElement>(`[data-argument="${CSS.escape(missing[0]?.name ?? "")}"] input`)
        ?.focus();
      return;
    }
    const filled = Object.entries(args.peek()).filter(([, value]) => value !== "");
    props.onChoose({ server, name: prompt.name, args: Object.fromEntries(filled) }, isSent);
  };
  return (
    <form
      ref={form}
      class="prompt-form"
      onSubmit={(event) => {
        event.preventDefault();
        choose(false);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !isCommand(event)) return;
        event.preventDefault();
        choose(true);
      }}
    >
      <div class="row wrap">
        <h3 class="tool">
          <ServerText text={prompt.name} />
        </h3>
        <span class="t3">
          from <ServerText text={server} />
        </span>
      </div>
      {prompt.description !== undefined && <Quoted by={server} text={prompt.description} />}
      {given.map(({ name, description, required }) => (
        <div key={name} data-argument={name}>
          <CompletedField
            server={server}
            of={{ type: "ref/prompt", name: prompt.name }}
            name={name}
            hint={description}
            isRequired={required === true}
            isInvalid={isPressed.value && required === true && !args.value[name]}
            value={args.value[name] ?? ""}
            known={args.value}
            onChange={(value) => {
              args.value = { ...args.peek(), [name]: value };
            }}
          />
        </div>
      ))}
      {missing.length === 0 && <PromptPreview server={server} name={prompt.name} args={args.value} />}
      <div class="row wrap prompt-acts">
        <Button tone="primary" icon="send" onClick={() => choose(true)}>
          Insert and send
        </Button>
        <Button onClick={() => choose(false)}>Insert</Button>
      </div>
    </form>
  );
}

/** The messages that a prompt inserts with these arguments. */
function PromptPreview(props: {
  server: string;
  name: string;
  args: { readonly [name: string]: string };
}): JSX.Element | null {
  const page = usePage();
  const { server, name, args } = props;
  const shown = useSignal<{ readonly result: GetPromptResult; readonly tokens: number } | undefined>(undefined);
  const failure = useSignal<string | undefined>(undefined);
  const key = JSON.stringify(args);
  useEffect(() => {
    const ended = new AbortController();
    const timer = setTimeout(() => {
      const filled = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== ""));
      page.api.read("prompt.get", { server, name, args: filled }, ended.signal).then(
        (reply) => {
          shown.value = reply;
          failure.value = undefined;
        },
        (error: unknown) => {
          if (!ended.signal.aborted) failure.value = reasonOf(error);
        },
      );
    }, previewMs);
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [key]);
  if (failure.value !== undefined) return <Note tone="warn">{failure.value}</Note>;
  if (!shown.value) {
    return (
      <>
        <QuestionsOf server={server} />
        <Bones label="Reading the messages" />
      </>
    );
  }
  const { result, tokens } = shown.value;
  return (
    <div class="stack">
      <p class="row">
        <span class="label">Inserts</span>
        <Badge>{countText(tokens, "token")}</Badge>
      </p>
      <Quoted by={`${countText(result.messages.length, "message")}, written by ${server}`} says="">
        {result.messages.map(({ role, content }, index) => (
          <div key={index}>
            <p class="label">{role}</p>
            {content.type === "text" ? (
              <div class="words">
                <ServerText text={content.text.slice(0, 4_000)} lines="keep" />
              </div>
            ) : (
              <p class="row">
                <Icon name={content.type === "image" ? "image" : "file"} />
                <span class="mono cut">
                  <ServerText
                    text={
                      "uri" in content ? content.uri : content.type === "resource" ? content.resource.uri : content.type
                    }
                  />
                </span>
              </p>
            )}
          </div>
        ))}
      </Quoted>
    </div>
  );
}
