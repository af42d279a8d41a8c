import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { AddServer } from "../shell/add-server.tsx";
import { Rose } from "../shell/rose.tsx";
import { usePage } from "../state/console.ts";
import { suggestionsFor } from "./suggestions.ts";
import { useTalk } from "./talk.ts";
import { countText } from "./times.ts";

/** Says that other programs of this machine have servers, which could be added. */
function FoundElsewhere({ onAdd }: { onAdd: () => void }): JSX.Element | null {
  const page = usePage();
  const count = useSignal(0);
  useEffect(() => {
    const ended = new AbortController();
    page.api.read("found", {}, ended.signal).then(
      ({ servers }) => {
        count.value = servers.filter(({ isKnown, problem }) => !isKnown && problem === undefined).length;
      },
      // The dialog says why they are not found.
      () => {},
    );
    return () => ended.abort();
  }, []);
  if (count.value === 0) return null;
  return (
    <p class="small t2">
      Other programs here have {countText(count.value, "server")}.{" "}
      <Button tone="link" onClick={onAdd}>
        Add them
      </Button>
    </p>
  );
}

/** A conversation without words yet: what can be asked for here. */
export function EmptyTalk({ id }: { id?: string }): JSX.Element {
  const page = usePage();
  const talk = useTalk(id);
  const isAdding = useSignal(false);
  const servers = page.store.servers.all.value;
  const model = page.store.models.value.find((one) => one.id === talk.model);
  const catalogs = servers.flatMap(({ name, counts }) =>
    counts.prompts > 0 ? (page.catalogs.of(name).value ?? []) : [],
  );
  const isSandbox = page.store.facts.value?.isSandbox === true;
  const suggestions = suggestionsFor({
    servers,
    catalogs,
    isSandbox,
    isDemo: model?.isDemo === true,
    today: new Date(),
  });
  const send = (text: string) => void page.attempt(() => talk.send({ text }));
  return (
    <div class="scroll">
      <div class="flow start">
        <Rose />
        <h1>Talk to your servers</h1>
        {servers.length === 0 ? (
          <>
            <p class="t2">
              There is no server yet. Add one by its command or its address, or take those of your editor.
            </p>
            <Button
              tone="primary"
              icon="plus"
              onClick={() => {
                isAdding.value = true;
              }}
            >
              Add a server
            </Button>
          </>
        ) : (
          <>
            <p class="t2">
              {model?.isDemo
                ? "Nothing leaves this machine: the demo model runs here. It is no language model; it calls the tools whose words you use."
                : "You are asked before a server changes anything."}{" "}
              {model?.isDemo && "You are asked before a server changes anything."}
            </p>
            <ul class="suggestions">
              {suggestions.map(({ title, text, prompt, from }) => (
                <li key={title}>
                  <button
                    type="button"
                    class="suggestion"
                    onClick={() => {
                      if (prompt) page.drafts.get(`composer ${id ?? "new"}`, "").value = `/${prompt}`;
                      else if (text !== undefined) send(text);
                    }}
                  >
                    <span class="grow">
                      <ServerText text={title} />
                    </span>
                    <span class="small t3 cut">
                      <ServerText text={from.join(", ")} />
                    </span>
                    <Icon name={prompt ? "slash" : "next"} class="t3" />
                  </button>
                </li>
              ))}
            </ul>
          </>
        )}
        {!isSandbox && (
          <FoundElsewhere
            onAdd={() => {
              isAdding.value = true;
            }}
          />
        )}
      </div>
      {isAdding.value && (
        <AddServer
          isFound={!isSandbox}
          onClose={() => {
            isAdding.value = false;
          }}
        />
      )}
    </div>
  );
}
