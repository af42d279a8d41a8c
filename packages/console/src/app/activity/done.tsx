import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { DoneRow, ServerRecord } from "../../api.ts";
import { reasonOf } from "../api/client.ts";
import { countOf, timeText, whenText } from "../inspect/words.ts";
import { Badge, type Tone } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Bones, Empty, ReadFailure } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { Quoted, ServerText } from "../parts/quoted.tsx";
import { type ConsolePage, usePage } from "../state/console.ts";
import { hrefOf } from "../state/route.ts";

const firstRows = 100;
const maxRows = 1_000;

/** The calls that were carried out for the person, as sentences, by conversation. */
export function DoneView({ text, server, head }: { text: string; server: string; head: number }): JSX.Element {
  const page = usePage();
  const given = useSignal<{ readonly rows: readonly DoneRow[]; readonly hasMore: boolean } | undefined>(undefined);
  const reason = useSignal<string | undefined>(undefined);
  const limit = useSignal(firstRows);
  /** Counts the attempts to read the rows. */
  const attempt = useSignal(0);
  const isChangesOnly = useSignal(false);
  useEffect(() => {
    const life = new AbortController();
    const takes = { limit: limit.value, ...(text !== "" && { text }), ...(server !== "" && { server }) };
    const timer = setTimeout(
      () => {
        page.api.read("activity.done", takes, life.signal).then(
          (reply) => {
            given.value = reply;
            reason.value = undefined;
          },
          (error: unknown) => {
            if (!life.signal.aborted) reason.value = reasonOf(error);
          },
        );
      },
      given.peek() ? 200 : 0,
    );
    return () => {
      clearTimeout(timer);
      life.abort();
    };
  }, [text, server, limit.value, head, attempt.value]);
  if (reason.value !== undefined) {
    return (
      <div class="in-pane">
        <ReadFailure reason={reason.value} onRetry={() => (attempt.value += 1)} />
      </div>
    );
  }
  if (!given.value) {
    return (
      <div class="in-pane">
        <Bones label="Reading what was done" rows={8} />
      </div>
    );
  }
  const { hasMore } = given.value;
  const rows = given.value.rows.filter((row) => !isChangesOnly.value || mayChange(row));
  if (given.value.rows.length === 0) {
    const isFiltered = text !== "" || server !== "";
    return (
      <Empty icon="shield" title={isFiltered ? "Nothing that was done fits" : "Nothing was done yet"}>
        <p>
          {isFiltered
            ? "Search for less, or show all servers."
            : "Each call of a tool that was carried out for you is told here, with who allowed it."}
        </p>
      </Empty>
    );
  }
  return (
    <div class="done-list scroll">
      <label class="row">
        <input
          type="checkbox"
          checked={isChangesOnly.value}
          onChange={(event) => (isChangesOnly.value = event.currentTarget.checked)}
        />
        Only what may have changed something
      </label>
      {rows.length === 0 && <p class="t2">These calls only read, as their servers say.</p>}
      {groupsOf(rows).map((group) => (
        <section key={group.key} aria-label={titleOf(page, group)}>
          <header class="row">
            <h2 class="cut">
              <GroupTitle group={group} />
            </h2>
            <span class="small t3 num">{summaryOf(group.rows)}</span>
          </header>
          <ol>
            {group.rows.map((row) => (
              <Sentence key={row.seq} row={row} />
            ))}
          </ol>
        </section>
      ))}
      {hasMore && limit.value < maxRows && (
        <div>
          <Button onClick={() => (limit.value = Math.min(maxRows, limit.value * 3))}>Show earlier calls</Button>
        </div>
      )}
      {hasMore && limit.value >= maxRows && <p class="t2">Earlier calls are in the log.</p>}
    </div>
  );
}

interface Group {
  readonly key: string;
  readonly rows: readonly DoneRow[];
}

/** The calls of one conversation, of one run without a conversation, or by hand. The group of the newest call is first. */
function groupsOf(rows: readonly DoneRow[]): readonly Group[] {
  const groups = new Map<string, DoneRow[]>();
  for (const row of rows) {
    const key = row.conversation ?? row.run ?? row.by;
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  return [...groups].map(([key, each]) => ({ key, rows: each }));
}

function titleOf(page: ConsolePage, { rows: [row] }: Group): string {
  if (row?.conversation !== undefined) {
    return page.store.conversations.all.value.find(({ id }) => id === row.conversation)?.title ?? "A conversation";
  }
  if (row?.run !== undefined) return "A run outside of the conversations";
  return row?.by === "user" ? "By hand" : row?.by === "app" ? "By apps of servers" : "Other calls";
}

function GroupTitle({ group }: { group: Group }): JSX.Element {
  const page = usePage();
  const title = <ServerText text={titleOf(page, group)} />;
  const conversation = group.rows[0]?.conversation;
  return conversation === undefined ? title : <a href={hrefOf("chat", conversation)}>{title}</a>;
}

function summaryOf(rows: readonly DoneRow[]): string {
  const changes = rows.filter(mayChange).length;
  return `${countOf(rows.length, "call")}${changes === 0 ? "" : `, ${changes} may have changed something`}`;
}

function mayChange({ effect }: DoneRow): boolean {
  return effect !== "reads";
}

const ends: { readonly [K in DoneRow["how"]]: readonly [words: string, tone: Tone] } = {
  done: ["done", "ok"],
  failed: ["failed", "danger"],
  cancelled: ["cancelled", "warn"],
  running: ["running", "accent"],
  unknown: ["end not known", "warn"],
};

const allowances: { readonly [K in DoneRow["allowed"]]: string } = {
  hand: "You ran it by hand",
  once: "You allowed it once",
  session: "You allowed it for the session",
  always: "You allowed it for always",
  grant: "Allowed by a grant",
  rule: "Allowed by a rule, without a question",
};

function Sentence({ row }: { row: DoneRow }): JSX.Element {
  const page = usePage();
  const { server, tool, words, how, allowed, effect, ms, reason, at } = row;
  const [ended, tone] = ends[how];
  const record: ServerRecord | undefined = page.store.servers.all.value.find(({ name }) => name === server);
  return (
    <li class="done-row" data-changes={mayChange(row) || undefined}>
      <Icon name={mayChange(row) ? "edit" : "eye"} class={mayChange(row) ? "c-accent" : "t3"} />
      <div class="grow">
        <p>
          {row.by === "user" ? "You called " : row.by === "app" ? "An app called " : "The model called "}
          <code>
            <ServerText text={tool} />
          </code>{" "}
          of {row.app !== undefined && "an app of "}
          {record ? (
            <a href={hrefOf("inspect", server)}>
              <ServerText text={server} />
            </a>
          ) : (
            <ServerText text={server} />
          )}
          {words === "" ? (
            "."
          ) : (
            <>
              {" "}
              with{" "}
              <span class="mono">
                <ServerText text={words} />
              </span>
              {words.endsWith(".") ? "" : "."}
            </>
          )}
        </p>
        {reason &&
          (reason.by === "server" ? (
            <Quoted by={server} text={reason.text} />
          ) : (
            <p class="c-danger">
              <ServerText text={reason.text} />
            </p>
          ))}
        <p class="small t3">
          <span class="num">{whenText(at)}</span>. {allowances[allowed]}.{" "}
          {effect === "reads"
            ? "Its server says it only reads."
            : effect === "changes"
              ? "It may have changed something."
              : "Its server does not say what it changes."}
        </p>
      </div>
      <Badge tone={tone}>
        {ended}
        {how === "done" && ms !== undefined ? ` in ${timeText(ms)}` : ""}
      </Badge>
    </li>
  );
}
