import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { CatalogRecord, ServerRecord, SkillRow, ToolRow } from "../../../api.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Bones, Empty } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { stateWords } from "../../parts/mark.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { VirtualList, type VirtualListHandle } from "../../parts/virtual-list.tsx";
import { usePage } from "../../state/console.ts";
import { goTo, hrefOf } from "../../state/route.ts";
import { inspectState, type Loaded } from "../state.ts";
import { countText } from "../words.ts";
import { type FoundItem, itemsOf, type TryItem, type TryKind } from "./items.ts";
import { PromptPane } from "./prompt-pane.tsx";
import { ResourcePane } from "./resource-pane.tsx";
import { SkillPane } from "./skill-pane.tsx";
import { ToolPane } from "./tool-pane.tsx";

const kinds: readonly (readonly [kind: TryKind, words: string])[] = [
  ["tool", "Tools"],
  ["resource", "Resources"],
  ["prompt", "Prompts"],
  ["skill", "Skills"],
];

const noSkills: readonly SkillRow[] = [];

/** The lists that each kind is read from. */
const listsOf: { readonly [K in TryKind]: ServerRecord["cutLists"] } = {
  tool: ["tools"],
  resource: ["resources", "templates"],
  prompt: ["prompts"],
  skill: [],
};

/** All that a server offers, to be tried by hand. */
export function Try({ server }: { server: ServerRecord }): JSX.Element {
  const page = usePage();
  const state = inspectState(page);
  const { name } = server;
  const loaded = state.catalog(name, server.catalog).value;
  const catalog = loaded.value;
  const [, , kindWord, itemName] = page.route.value.path;
  const kind: TryKind = kinds.find(([each]) => each === kindWord)?.[0] ?? "tool";
  const searches = state.kept(`search:${name}:${kind}`, "");
  const listed = server.hasSkills ? state.skills(name, server.catalog).value : undefined;
  const skills = listed?.value?.skills ?? noSkills;
  const items = useMemo(() => (catalog ? itemsOf(catalog, kind, skills) : []), [catalog, kind, skills]);
  const found = useMemo(() => search(items, searches.value), [items, searches.value]);
  const chosen = items.find((item) => item.id === itemName) ?? found.find((row) => row.item)?.item;
  const isCut = listsOf[kind].some((list) => server.cutLists.includes(list));
  if (catalog === undefined) {
    if (loaded.reason !== undefined) {
      return (
        <Empty icon="plug" title="The lists of this server could not be read">
          <p>
            <ServerText text={loaded.reason} />
          </p>
          <Button onClick={() => loaded.retry?.()}>Try again</Button>
        </Empty>
      );
    }
    return (
      <div class="pad">
        <Bones label="Reading what the server offers" rows={8} />
      </div>
    );
  }
  return (
    <div class="three">
      <ItemList
        server={server}
        kind={kind}
        catalog={catalog}
        skills={skills.length}
        found={found}
        total={items.length}
        chosen={chosen}
      />
      {kind === "skill" && chosen === undefined && listed !== undefined && !listed.value ? (
        <SkillsToCome listed={listed} />
      ) : chosen === undefined ? (
        <NothingHere server={server} kind={kind} isSearching={searches.value !== ""} isCut={isCut} />
      ) : chosen.kind === "tool" ? (
        <ToolPane key={chosen.id} server={server} tool={chosen.row as ToolRow} />
      ) : chosen.kind === "prompt" ? (
        <PromptPane key={chosen.id} server={server} item={chosen} />
      ) : chosen.kind === "skill" ? (
        <SkillPane key={chosen.id} server={server} skill={chosen.row as SkillRow} />
      ) : (
        <ResourcePane key={chosen.id} server={server} item={chosen} />
      )}
    </div>
  );
}

/** The list of skills is being read, or could not be. */
function SkillsToCome({ listed: { reason, retry } }: { listed: Loaded<unknown> }): JSX.Element {
  if (reason === undefined) {
    return (
      <div class="pad">
        <Bones label="Reading the skills" rows={4} />
      </div>
    );
  }
  return (
    <Empty icon="file" title="The skills could not be read">
      <p>
        <ServerText text={reason} />
      </p>
      <Button onClick={() => retry?.()}>Try again</Button>
    </Empty>
  );
}

function NothingHere({
  server,
  kind,
  isSearching,
  isCut,
}: {
  server: ServerRecord;
  kind: TryKind;
  isSearching: boolean;
  isCut: boolean;
}): JSX.Element {
  if (isSearching) {
    return (
      <Empty icon="search" title="Nothing fits the search">
        <p>
          Fewer letters find more.
          {isCut && ` ${server.name} has more ${kind}s than are listed here, and those are not searched.`}
        </p>
      </Empty>
    );
  }
  const isRunning = server.state === "ready" || server.state === "unresponsive";
  const isKnown = isRunning && server.listProblems.length === 0;
  return (
    <Empty
      icon={kind === "tool" ? "tool" : kind === "prompt" ? "slash" : "file"}
      title={isKnown ? `${server.name} has no ${kind}s` : `The ${kind}s of ${server.name} are not known yet`}
    >
      <p>
        {isKnown
          ? "It says so itself: its list is empty."
          : isRunning
            ? "A list of this server could not be read completely, as said above."
            : `${stateWords(server.state)}. They are read when it starts.`}
      </p>
    </Empty>
  );
}

const headingHeight = 32;
const rowHeight = 48;

function ItemList(props: {
  readonly server: ServerRecord;
  readonly kind: TryKind;
  readonly catalog: CatalogRecord;
  readonly skills: number;
  readonly found: readonly FoundItem[];
  readonly total: number;
  readonly chosen: TryItem | undefined;
}): JSX.Element {
  const { server, kind, catalog, skills, found, total, chosen } = props;
  const page = usePage();
  const state = inspectState(page);
  const searches = state.kept(`search:${server.name}:${kind}`, "");
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<VirtualListHandle>(null);
  const heights = useMemo(() => (index: number) => (found[index]?.item ? rowHeight : headingHeight), [found]);
  const selected = found.findIndex(({ item }) => item !== undefined && item === chosen);
  const isFirst = useSignal(true);
  useEffect(() => {
    if (isFirst.peek() && selected >= 0) list.current?.show(selected);
    isFirst.value = false;
  }, [selected]);
  const choose = (index: number) => {
    const item = found[index]?.item;
    if (item) goTo(hrefOf("inspect", server.name, "try", kind, item.id), true);
  };
  const shown = found.filter(({ item }) => item).length;
  const counts: { readonly [K in TryKind]: number } = {
    tool: catalog.tools.length,
    resource: catalog.resources.length + catalog.templates.length,
    prompt: catalog.prompts.length,
    skill: skills,
  };
  return (
    <section class="pane" aria-label={kinds.find(([each]) => each === kind)?.[1]}>
      <div class="pane-head kinds">
        <nav class="seg" aria-label="What to try">
          {kinds.map(([each, words]) =>
            each === "skill" && !server.hasSkills ? null : (
              <a
                key={each}
                href={hrefOf("inspect", server.name, "try", each)}
                aria-current={each === kind ? "page" : undefined}
              >
                {words}
                <span class="t3 num">{countText(counts[each])}</span>
              </a>
            ),
          )}
        </nav>
      </div>
      <div class="search-row">
        <Icon name="search" />
        <input
          ref={input}
          class="in"
          type="search"
          placeholder={`Search ${kind}s`}
          aria-label={`Search ${kind}s`}
          value={searches.value}
          onInput={(event) => (searches.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "ArrowDown" && event.key !== "Enter") return;
            event.preventDefault();
            list.current?.focus();
            if (selected === -1) choose(found.findIndex(({ item }) => item));
          }}
        />
      </div>
      <VirtualList
        handle={list}
        class="items"
        label={`${kind}s`}
        count={found.length}
        height={heights}
        selected={selected}
        canSelect={(index) => found[index]?.item !== undefined}
        onSelect={choose}
        onOpen={() => document.querySelector<HTMLElement>(".try-form :is(input, textarea, select, button)")?.focus()}
        onKey={(event) => {
          if (event.key !== "/") return false;
          input.current?.focus();
          return true;
        }}
        keyOf={(index) => found[index]?.item?.id ?? `heading ${found[index]?.heading}`}
        row={(index) => {
          const row = found[index];
          return row && <ItemRow row={row} showsTokens={kind === "tool" && index === 0} />;
        }}
      />
      <div class="pane-foot small t3 num">
        <span aria-live="polite">
          {shown === total ? countText(total) : `${countText(shown)} of ${countText(total)}`} {kind}
          {total === 1 ? "" : "s"}
          {listsOf[kind].some((list) => server.cutLists.includes(list)) && ", the rest is left out"}
        </span>
        {kind === "tool" && <span class="end">{countText(server.toolTokens)} tokens</span>}
      </div>
    </section>
  );
}

function ItemRow({ row, showsTokens }: { row: FoundItem; showsTokens: boolean }): JSX.Element {
  const { item } = row;
  if (item === undefined) {
    return (
      <div class="item-heading">
        <span class="label">{row.heading}</span>
        {showsTokens && <span class="small t3 end">tokens</span>}
      </div>
    );
  }
  const tool = item.kind === "tool" ? (item.row as ToolRow) : undefined;
  return (
    <div class="item-row">
      <div class="row">
        <span class="tool cut">
          <Marked text={item.name} at={row.at} length={row.length} />
        </span>
        {tool?.isQuarantined && <Badge tone="warn">changed</Badge>}
        {tool?.isVisible === false && <Badge tone="danger">hidden</Badge>}
        {tool?.hasApp && <Badge>app</Badge>}
        {tool && <span class="small t3 end num">{countText(tool.tokens)}</span>}
      </div>
      <div class="small t3 cut">
        <ServerText text={item.about} />
      </div>
    </div>
  );
}

/** A name with the place that was searched for. */
function Marked({ text, at, length }: { text: string; at: number; length: number }): JSX.Element {
  if (length === 0 || at < 0) return <ServerText text={text} />;
  return (
    <>
      <ServerText text={text.slice(0, at)} />
      <mark>
        <ServerText text={text.slice(at, at + length)} />
      </mark>
      <ServerText text={text.slice(at + length)} />
    </>
  );
}

/** Finds items by name first, then by what is written about them; headings stay where something is below them. */
function search(items: readonly TryItem[], text: string): readonly FoundItem[] {
  const wanted = text.trim().toLowerCase();
  const rows: FoundItem[] = [];
  let heading: string | undefined;
  for (const item of items) {
    const at = wanted === "" ? -1 : item.lower.indexOf(wanted);
    if (wanted !== "" && at === -1 && !item.lowerAbout.includes(wanted)) continue;
    if (item.group !== heading) {
      heading = item.group;
      rows.push({ heading, at: -1, length: 0 });
    }
    rows.push({ item, at, length: wanted.length });
  }
  return rows;
}
