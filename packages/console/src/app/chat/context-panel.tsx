import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ContextTokens, ServerRecord } from "../../api.ts";
import { Badge } from "../parts/badge.tsx";
import { Button, Switch } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { stateWords } from "../parts/mark.tsx";
import { Shares } from "../parts/meter.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { Folders } from "../shell/folders.tsx";
import { usePage } from "../state/console.ts";
import { CatalogState } from "./catalog-state.tsx";
import { ResourcePicker } from "./resource-picker.tsx";
import { isOff, type Talk, useTalk } from "./talk.ts";
import { countText, percentText } from "./times.ts";

/** The tokens, resources, tools and folders that the model gets, beside the conversation. */
export function ContextPanel({ id }: { id: string | undefined }): JSX.Element {
  const talk = useTalk(id);
  return (
    <aside class="side" aria-label="What the model gets">
      <TokenMeter key={`${id}`} talk={talk} />
      <Attached talk={talk} />
      <section>
        <h2>Tools in this conversation</h2>
        <ToolSwitches talk={talk} />
      </section>
      <Folders />
    </aside>
  );
}

function TokenMeter({ talk }: { talk: Talk }): JSX.Element {
  const page = usePage();
  const fresh = useSignal<ContextTokens | undefined>(undefined);
  const id = talk.head?.id;
  const key = `${id} ${talk.model} ${talk.off.join()} ${talk.attached.length} ${talk.head?.state}`;
  useEffect(() => {
    if (id === undefined || talk.head?.state === "running" || !page.canPreview) return;
    const ended = new AbortController();
    page.api.read("preview", { id }, ended.signal).then(
      (tokens) => {
        fresh.value = tokens;
      },
      () => {
        // The meter shows what is known. A console that cannot tell it once cannot tell it later.
        if (!ended.signal.aborted) page.canPreview = false;
      },
    );
    return () => ended.abort();
  }, [key]);
  const tools = page.store.servers.all.value.reduce(
    (sum, { name, toolTokens }) => sum + (talk.off.includes(`${name}.*`) ? 0 : toolTokens),
    0,
  );
  const limit = page.store.models.value.find((model) => model.id === talk.model)?.contextTokens ?? 0;
  const known = talk.head?.state === "running" ? talk.head.tokens : (fresh.value ?? talk.head?.tokens);
  const tokens = known ?? { system: 0, tools, conversation: 0, resources: 0, limit };
  const parts = [
    { name: "Tools", value: tokens.tools },
    { name: "Conversation", value: tokens.conversation },
    { name: "Resources", value: tokens.resources },
    { name: "Instructions", value: tokens.system },
  ];
  const sum = parts.reduce((all, { value }) => all + value, 0);
  const share = tokens.limit > 0 ? sum / tokens.limit : 0;
  return (
    <section>
      <h2>What the model gets</h2>
      <p class="row small">
        <span class="grow">
          <b class="num">{sum.toLocaleString("en")}</b> {/* The exact limit is known with the first request. */}
          <span class="t2 num">{known ? `of ${tokens.limit.toLocaleString("en")} tokens` : "tokens"}</span>
        </span>
        <span class="t3 num">{percentText(share)}</span>
      </p>
      <Shares
        label={`${Math.round(share * 100)} percent of the context`}
        shares={parts.map(({ value }) => value / Math.max(sum, tokens.limit, 1))}
      />
      <dl class="legend">
        {parts.map(({ name, value }, index) =>
          value > 0 || name === "Tools" ? (
            <div key={name}>
              <dt>
                <i data-share={index} />
                {name}
              </dt>
              <dd class="num">{value.toLocaleString("en")}</dd>
            </div>
          ) : null,
        )}
      </dl>
    </section>
  );
}

function Attached({ talk }: { talk: Talk }): JSX.Element {
  const page = usePage();
  const isPicking = useSignal(false);
  return (
    <section>
      <div class="side-head">
        <h2>Attached</h2>
        <Button
          class="end"
          tone="quiet"
          size="small"
          icon="plus"
          label="Attach a resource"
          popup="dialog"
          onClick={() => {
            isPicking.value = true;
          }}
        />
      </div>
      {talk.attached.length === 0 && (
        <p class="hint">Nothing yet. Type @ to give the model a file or a page of a server.</p>
      )}
      <ul>
        {talk.attached.map((resource) => (
          <li key={`${resource.server} ${resource.uri}`} title={resource.uri}>
            <Icon name="file" class="t3" />
            <span class="grow cut">
              <ServerText text={resource.name} />
            </span>
            {resource.isChanged && <Badge tone="warn">changed</Badge>}
            {resource.tokens !== undefined && <span class="small t3 num">{resource.tokens.toLocaleString("en")}</span>}
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
      {isPicking.value && (
        <ResourcePicker
          talk={talk}
          onClose={() => {
            isPicking.value = false;
          }}
        />
      )}
    </section>
  );
}

/** One switch for each server, and for each of its tools. */
export function ToolSwitches({ talk }: { talk: Talk }): JSX.Element {
  const page = usePage();
  const servers = page.store.servers.all.value;
  if (servers.length === 0) return <p class="hint">There is no server yet.</p>;
  return (
    <ul class="tool-switches">
      {servers.map((server) => (
        <ServerSwitch key={server.name} server={server} talk={talk} />
      ))}
    </ul>
  );
}

function ServerSwitch({ server, talk }: { server: ServerRecord; talk: Talk }): JSX.Element {
  const page = usePage();
  const isOpen = useSignal(false);
  const { name, counts, state } = server;
  const isUsable = state === "ready" || state === "idle" || state === "starting" || state === "unresponsive";
  const single = talk.off.filter((one) => one.startsWith(`${name}.`) && one !== `${name}.*`);
  const isUnread = state === "idle" && counts.tools + counts.prompts + counts.resources === 0;
  const isServerOff = talk.off.includes(`${name}.*`);
  const on = isServerOff ? 0 : Math.max(0, counts.tools - single.length);
  const others = talk.off.filter((one) => !one.startsWith(`${name}.`));
  const change = (isOn: boolean) =>
    void page.attempt(() => talk.change({ off: isOn ? others : [...others, `${name}.*`] }));
  return (
    <li class="tool-switch">
      <div class="row">
        <button
          type="button"
          class="opener cut"
          aria-expanded={isOpen.value}
          disabled={counts.tools === 0}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          <Icon name={isOpen.value ? "down" : "right"} class="t3" small />
          <span class="cut">
            <ServerText text={name} />
          </span>
        </button>
        <span class="small t3 num nowrap end">
          {isUnread ? "not started" : isUsable ? `${on} of ${counts.tools}` : stateWords(state).toLowerCase()}
        </span>
        <Switch label={`Tools of ${name}`} isOn={isUsable && !isServerOff} disabled={!isUsable} onChange={change} />
      </div>
      {isOpen.value && <SingleTools server={server} talk={talk} />}
    </li>
  );
}

function SingleTools({ server, talk }: { server: ServerRecord; talk: Talk }): JSX.Element {
  const page = usePage();
  const { name } = server;
  const catalog = page.catalogs.of(name).value;
  if (!catalog) return <CatalogState server={name} label="Reading the tools" />;
  const change = (tool: string, isOn: boolean) => {
    const all = catalog.tools.map((row) => row.name);
    const offHere = talk.off.includes(`${name}.*`) ? all : all.filter((one) => isOff(talk.off, name, one));
    const next = isOn ? offHere.filter((one) => one !== tool) : [...offHere, tool];
    const others = talk.off.filter((one) => !one.startsWith(`${name}.`));
    const off = next.length === all.length ? [`${name}.*`] : next.map((one) => `${name}.${one}`);
    void page.attempt(() => talk.change({ off: [...others, ...off] }));
  };
  return (
    <ul class="single-tools">
      {catalog.tools.map(({ name: tool, tokens, isQuarantined }) => (
        <li key={tool} class="row">
          <span class="grow cut mono">
            <ServerText text={tool} />
          </span>
          {isQuarantined && <Badge tone="warn">changed</Badge>}
          <span class="small t3 num" title={countText(tokens, "token")}>
            {tokens}
          </span>
          <Switch label={tool} isOn={!isOff(talk.off, name, tool)} onChange={(isOn) => change(tool, isOn)} />
        </li>
      ))}
    </ul>
  );
}
