import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useId, useMemo, useRef } from "preact/hooks";
import type { CatalogRecord, SkillRow, Verbs } from "../../api.ts";
import { reasonOf } from "../api/client.ts";
import { clockText } from "../inspect/words.ts";
import { Badge } from "../parts/badge.tsx";
import { Bones, ReadFailure } from "../parts/empty.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Dialog } from "../parts/popover.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { type ConsolePage, usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";
import { type FindDialogs, generalActions, namedActions } from "./actions.ts";
import { type FindEntry, type FoundEntry, findEntries } from "./found.ts";

const icons: { readonly [K in FindEntry["kind"]]: IconName } = {
  action: "right",
  server: "plug",
  tool: "tool",
  resource: "file",
  prompt: "slash",
  skill: "file",
  conversation: "chat",
  message: "clock",
};

const messageWaitMs = 150;
const maxMessages = 20;

/** Finds what is known in the page at once, and messages as the console finds them. */
export function FindDialog({ onClose, dialogs }: { onClose: () => void; dialogs: FindDialogs }): JSX.Element {
  const page = usePage();
  const id = useId();
  const text = useSignal("");
  const chosen = useSignal(0);
  const catalogs = useSignal<readonly CatalogRecord[]>([]);
  const skills = useSignal<readonly FindEntry[]>([]);
  const messages = useSignal<Verbs["find"]["gives"]["rows"]>([]);
  /** Lists that are being read, and why those of some servers could not be. */
  const pending = useSignal(0);
  const unread = useSignal<{ readonly [server: string]: string }>({});
  /** Counts the attempts to read the lists. */
  const attempt = useSignal(0);
  const list = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    input.current?.focus();
    const life = new AbortController();
    const { signal } = life;
    const read = async (name: string, work: Promise<void>) => {
      pending.value += 1;
      try {
        await work;
      } catch (error) {
        // The features of this server are missing then; all others are found.
        if (!signal.aborted) unread.value = { ...unread.peek(), [name]: reasonOf(error) };
      } finally {
        if (!signal.aborted) pending.value -= 1;
      }
    };
    const skillsOf = async (server: string) => {
      const given = await page.api.read("skills", { server }, signal);
      skills.value = [...skills.peek(), ...given.skills.map((each) => skillEntry(server, each))];
    };
    const catalogOf = async (server: string) => {
      const given = await page.api.read("catalog", { server }, signal);
      catalogs.value = [...catalogs.peek(), given];
    };
    pending.value = 0;
    unread.value = {};
    catalogs.value = [];
    skills.value = [];
    for (const { name, catalog, hasSkills } of page.store.servers.all.peek()) {
      if (catalog === "") continue;
      if (hasSkills) void read(name, skillsOf(name));
      void read(name, catalogOf(name));
    }
    return () => life.abort();
  }, [attempt.value]);
  useEffect(() => {
    const wanted = text.value.trim();
    if (wanted.length < 2) {
      messages.value = [];
      return;
    }
    const life = new AbortController();
    const timer = setTimeout(() => {
      page.api.read("find", { text: wanted, limit: maxMessages }, life.signal).then(
        ({ rows }) => (messages.value = rows),
        () => (messages.value = []),
      );
    }, messageWaitMs);
    return () => {
      clearTimeout(timer);
      life.abort();
    };
  }, [text.value]);

  const entries = useMemo(
    () => [...entriesOf(page, catalogs.value, dialogs), ...skills.value],
    [catalogs.value, skills.value, page.store.servers.all.value, page.store.conversations.all.value],
  );
  const named = useMemo(() => namedActions(page, dialogs), [page.store.servers.all.value, page.store.grants.value]);
  const found = useMemo((): readonly FoundEntry[] => {
    if (text.value.trim() === "")
      return entries
        .filter(({ kind }) => kind === "action" || kind === "server")
        .map((entry) => ({ entry, hits: [], score: 0 }));
    const rows = messages.value.map(
      (row): FoundEntry => ({
        entry: {
          kind: "message",
          id: `${row.connection} ${row.n}`,
          name: [row.title, row.name].filter(Boolean).join(" "),
          from: `${row.server}, ${clockText(row.at)}`,
          href: `${hrefOf("inspect", row.server, "timeline")}?connection=${encodeURIComponent(row.connection)}${row.call === undefined ? "" : `&call=${encodeURIComponent(row.call)}`}`,
        },
        hits: [],
        score: 0,
      }),
    );
    return [...findEntries([...named, ...entries], text.value), ...rows];
  }, [entries, named, text.value, messages.value]);
  const missing = Object.entries(unread.value);
  const at = Math.min(chosen.value, found.length - 1);
  const take = (entry: FindEntry | undefined) => {
    if (entry === undefined) return;
    onClose();
    if (entry.href !== undefined) goTo(entry.href);
    entry.run?.();
  };
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      chosen.value = (at + step + found.length) % found.length;
      list.current?.children[chosen.value]?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(found[at]?.entry);
    }
  };
  return (
    <Dialog title="Find" onClose={onClose}>
      <div class="find">
        <div class="search-row">
          <Icon name="search" />
          <input
            ref={input}
            class="in"
            role="combobox"
            aria-expanded="true"
            aria-controls={`${id}-l`}
            aria-autocomplete="list"
            aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
            aria-label="Find a server, tool, message or action"
            placeholder="Find a server, tool, message or action"
            autocomplete="off"
            spellcheck={false}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
              chosen.value = 0;
            }}
            onKeyDown={move}
          />
        </div>
        <div ref={list} class="found" id={`${id}-l`} role="listbox" aria-label="Found">
          {found.map(({ entry, hits }, index) => (
            <div
              key={`${entry.kind} ${entry.id}`}
              id={`${id}-${index}`}
              class="opt"
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onMouseMove={() => (chosen.value = index)}
              onClick={() => take(entry)}
            >
              <Icon name={icons[entry.kind]} class="t3" />
              <span class={entry.kind === "action" || entry.kind === "conversation" ? "grow cut" : "grow cut mono"}>
                <Hits text={entry.name} hits={hits} />
              </span>
              <span class="small t3 cut from">
                <ServerText text={entry.from} />
              </span>
              <Badge>{entry.kind}</Badge>
            </div>
          ))}
        </div>
        {missing.length > 0 && (
          <div class="in-pane">
            <ReadFailure
              reason={missing.map(([name, why]) => `${name} is not searched: ${why}`).join("\n")}
              onRetry={() => (attempt.value += 1)}
            />
          </div>
        )}
        {found.length === 0 && pending.value > 0 && (
          <div class="in-pane">
            <Bones label="Reading what the servers offer" rows={2} />
          </div>
        )}
        {found.length === 0 && pending.value === 0 && missing.length === 0 && (
          <p class="t3 in-pane">Nothing has this name, and no message has this text.</p>
        )}
        <div class="hidden" role="status">
          {text.value === "" ? "" : `${found.length} found`}
        </div>
      </div>
    </Dialog>
  );
}

function Hits({ text, hits }: { text: string; hits: readonly number[] }): JSX.Element {
  if (hits.length === 0) return <ServerText text={text} />;
  const marked = new Set(hits);
  const pieces: { readonly text: string; readonly isHit: boolean }[] = [];
  let from = 0;
  for (let index = 1; index <= text.length; index++) {
    if (index < text.length && marked.has(index) === marked.has(from)) continue;
    pieces.push({ text: text.slice(from, index), isHit: marked.has(from) });
    from = index;
  }
  return (
    <>
      {pieces.map((piece, index) =>
        piece.isHit ? (
          <b key={index} class="hit">
            <ServerText text={piece.text} />
          </b>
        ) : (
          <ServerText key={index} text={piece.text} />
        ),
      )}
    </>
  );
}

function skillEntry(server: string, { uri, name }: SkillRow): FindEntry {
  const href = hrefOf("inspect", server, "try", "skill", uri);
  return { kind: "skill", id: `${server} ${uri}`, name, from: server, href };
}

function entriesOf(page: ConsolePage, catalogs: readonly CatalogRecord[], dialogs: FindDialogs): readonly FindEntry[] {
  const { store } = page;
  const servers = store.servers.all.value;
  const current = page.route.value.side === "inspect" ? page.route.value.path[0] : undefined;
  const name = servers.find((server) => server.name === current)?.name ?? servers[0]?.name;
  const places: FindEntry[] =
    name === undefined
      ? []
      : [
          ["timeline", "Show the timeline"],
          ["log", "Show the log and standard error"],
          ["recordings", "Record, open a recording, or compare"],
          ["saved", "Run saved calls"],
          ["sign-in", "Sign in"],
          ["doctor", "Find out why a server does not work"],
        ].map(
          ([tab = "", words = ""]): FindEntry => ({
            kind: "action",
            id: tab,
            name: words,
            from: name,
            href: hrefOf("inspect", name, tab),
          }),
        );
  return [
    ...generalActions(page, dialogs),
    ...places,
    ...servers.map(
      (server): FindEntry => ({
        kind: "server",
        id: server.name,
        name: server.name,
        from: server.state,
        href: hrefOf("inspect", server.name),
      }),
    ),
    ...store.conversations.all.value.map(
      (each): FindEntry => ({
        kind: "conversation",
        id: each.id,
        name: each.title,
        from: "chat",
        href: hrefOf("chat", each.id),
      }),
    ),
    ...catalogs.flatMap(({ server, tools, prompts, resources, templates }) => [
      ...tools.map(
        (each): FindEntry => ({
          kind: "tool",
          id: `${server} ${each.name}`,
          name: each.name,
          from: server,
          href: hrefOf("inspect", server, "try", "tool", each.name),
        }),
      ),
      ...prompts.map(
        (each): FindEntry => ({
          kind: "prompt",
          id: `${server} ${each.name}`,
          name: each.name,
          from: server,
          href: hrefOf("inspect", server, "try", "prompt", each.name),
        }),
      ),
      ...resources.map(
        (each): FindEntry => ({
          kind: "resource",
          id: `${server} ${each.uri}`,
          name: each.title ?? each.name,
          from: server,
          href: hrefOf("inspect", server, "try", "resource", each.uri),
        }),
      ),
      ...templates.map(
        (each): FindEntry => ({
          kind: "resource",
          id: `${server} ${each.uriTemplate}`,
          name: each.title ?? each.name,
          from: server,
          href: hrefOf("inspect", server, "try", "resource", each.uriTemplate),
        }),
      ),
    ]),
  ];
}
