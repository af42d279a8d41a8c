import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ActivityRow, Page } from "../../api.ts";
import { reasonOf } from "../api/client.ts";
import { countText, whenText } from "../inspect/words.ts";
import { Badge, type Tone } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Bones, Empty, ReadFailure } from "../parts/empty.tsx";
import { nodeOf } from "../parts/json/document.ts";
import { JsonTree } from "../parts/json/json-tree.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { Segments } from "../parts/tabs.tsx";
import { VirtualList, type VirtualListHandle } from "../parts/virtual-list.tsx";
import { usePage } from "../state/console.ts";

const pageSize = 200;
const rowHeight = 32;

type Shown = "all" | "call" | "question" | "sampling" | "decision";

const kinds: readonly { readonly name: Shown; readonly label: string }[] = [
  { name: "all", label: "All" },
  { name: "call", label: "Calls" },
  { name: "decision", label: "Decisions" },
  { name: "question", label: "Questions" },
  { name: "sampling", label: "Sampling" },
];

/** The log as it was written: every entry, newest first. */
export function LogView(props: {
  readonly text: string;
  readonly server: string;
  readonly onVerify: () => void;
  readonly onSearch: () => void;
}): JSX.Element {
  const { text, server } = props;
  const page = usePage();
  const rows = useSignal<readonly ActivityRow[]>([]);
  const range = useSignal<Pick<Page<ActivityRow>, "first" | "last">>({ first: 1, last: 0 });
  const isLoading = useSignal(true);
  const isEnd = useSignal(false);
  const reason = useSignal<string | undefined>(undefined);
  const kind = useSignal<Shown>("all");
  const selected = useSignal<number | undefined>(undefined);
  /** Counts the attempts to read the entries. */
  const attempt = useSignal(0);
  const list = useRef<VirtualListHandle>(null);
  const head = page.store.activity.value;
  const filter = () => ({
    ...(text !== "" && { text: text }),
    ...(server !== "" && { server: server }),
    ...(kind.peek() !== "all" && { kind: kind.peek() }),
    limit: pageSize,
  });
  const isFiltered = text !== "" || server !== "" || kind.value !== "all";

  useEffect(() => {
    const life = new AbortController();
    const timer = setTimeout(
      () => {
        page.api.read("activity", filter(), life.signal).then(
          (given) => {
            const newest = sorted(given.rows);
            // A filter that did not change only has new rows at its start.
            rows.value = newest;
            range.value = { first: given.first, last: given.last };
            isEnd.value = newest.length < pageSize;
            isLoading.value = false;
            reason.value = undefined;
            if (isFiltered) page.say(`${newest.length} entries`);
          },
          (error: unknown) => {
            if (life.signal.aborted) return;
            isLoading.value = false;
            reason.value = reasonOf(error);
          },
        );
      },
      isLoading.peek() ? 0 : 200,
    );
    return () => {
      clearTimeout(timer);
      life.abort();
    };
  }, [text, server, kind.value, head, attempt.value]);

  const isReadingMore = useRef(false);
  const more = async () => {
    const oldest = rows.peek().at(-1)?.seq;
    if (isReadingMore.current || isEnd.peek() || oldest === undefined) return;
    isReadingMore.current = true;
    const given = await page.attempt(() => page.api.read("activity", { ...filter(), before: oldest }));
    isReadingMore.current = false;
    if (!given) return;
    rows.value = [...rows.peek(), ...sorted(given.rows).filter(({ seq }) => seq < oldest)];
    isEnd.value = given.rows.length < pageSize;
  };
  const index = rows.value.findIndex(({ seq }) => seq === selected.value);
  const chosen = rows.value[index];
  return (
    <>
      <div class="bar-row">
        <Segments label="Kind of entry" choices={kinds} value={kind.value} onChange={(next) => (kind.value = next)} />
      </div>
      <div class="arow mhead small t3">
        <span>No.</span>
        <span>Time</span>
        <span>Server</span>
        <span>What happened</span>
        <span>How</span>
      </div>
      {reason.value !== undefined && (
        <div class="in-pane">
          <ReadFailure reason={reason.value} onRetry={() => (attempt.value += 1)} />
        </div>
      )}
      {isLoading.value ? (
        <div class="in-pane">
          <Bones label="Reading the log" rows={8} />
        </div>
      ) : rows.value.length === 0 && reason.value !== undefined ? null : rows.value.length === 0 ? (
        <Empty icon="shield" title={isFiltered ? "No entry fits" : "Nothing happened yet"}>
          <p>
            {isFiltered
              ? "Search for less, or show all kinds."
              : "Every call, every answer and everything that leaves this machine is written here."}
          </p>
        </Empty>
      ) : (
        <VirtualList
          handle={list}
          class="alist"
          label="Entries, newest first"
          count={rows.value.length}
          height={rowHeight}
          selected={index}
          onSelect={(at) => {
            const { seq } = rows.value[at] ?? {};
            selected.value = seq === selected.value ? undefined : seq;
          }}
          onRange={(_, last) => {
            if (last >= rows.value.length - 20) void more();
          }}
          onKey={(event) => {
            if (event.key === "/") props.onSearch();
            else if (event.key === "v" || event.key === "V") props.onVerify();
            else if (event.key === "Escape") selected.value = undefined;
            else return false;
            return true;
          }}
          keyOf={(at) => rows.value[at]?.seq ?? at}
          row={(at) => {
            const row = rows.value[at];
            return row && <Row row={row} />;
          }}
        />
      )}
      {chosen && (
        <div class="entry">
          <div class="part-head">
            <h2>
              No. {chosen.seq}, <ServerText text={chosen.title} />
            </h2>
            <span class="grow" />
            <Button
              size="small"
              tone="quiet"
              icon="x"
              label="Close the entry"
              onClick={() => (selected.value = undefined)}
            />
          </div>
          <JsonTree key={chosen.seq} label={`Entry ${chosen.seq}`} node={nodeOf(chosen.detail)} />
        </div>
      )}
      <div class="pane-foot small t3 num">
        {countText(rows.value.length)}
        {isFiltered ? " entries that fit" : ` of ${countText(Math.max(head, range.value.last))}`}, newest first
        <span class="end n-hide">
          <kbd>J</kbd> <kbd>K</kbd> move <kbd>/</kbd> search <kbd>V</kbd> verify
        </span>
      </div>
    </>
  );
}

function sorted(rows: readonly ActivityRow[]): readonly ActivityRow[] {
  return [...rows].sort((one, other) => other.seq - one.seq);
}

const tones: readonly (readonly [words: RegExp, tone: Tone])[] = [
  [/refus|denied|failed|error|never|decline|revoke|misconfigured|down/i, "danger"],
  [/changed|asks|cancel/i, "warn"],
  [/allow|done|accept|ok|given/i, "ok"],
];

function Row({ row }: { row: ActivityRow }): JSX.Element {
  const tone = row.how === undefined ? undefined : tones.find(([words]) => words.test(row.how ?? ""))?.[1];
  return (
    <div class="arow">
      <span class="t3 num">{row.seq}</span>
      <span class="num">{whenText(row.at)}</span>
      <span class="cut">{row.server !== undefined && <ServerText text={row.server} />}</span>
      <span class="cut">
        <code>{row.kind}</code>{" "}
        <span class="t2">
          <ServerText text={row.title} />
        </span>
      </span>
      <span class="cut">
        {row.how !== undefined && (
          <Badge tone={tone ?? "plain"}>
            <ServerText text={row.how} />
          </Badge>
        )}
      </span>
    </div>
  );
}
