import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ConnectionRecord, MessageRow } from "../../../api.ts";
import { Note } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Bones, Empty, ReadFailure } from "../../parts/empty.tsx";
import { Icon } from "../../parts/icon.tsx";
import { type BrushRange, LatencyPlot, RatePlot } from "../../parts/plots.tsx";
import { ServerText } from "../../parts/quoted.tsx";
import { Segments } from "../../parts/tabs.tsx";
import { VirtualList, type VirtualListHandle } from "../../parts/virtual-list.tsx";
import { usePage } from "../../state/console.ts";
import { inspectState } from "../state.ts";
import { useServer } from "../use-server.ts";
import { clockText, countOf, countText, sizeText, timeText } from "../words.ts";
import { MessageDetailPane } from "./detail.tsx";
import { Lanes } from "./lanes.tsx";
import { isRecorded, isShown, type LineFilter, lineOf, linesOf, type TimelineLine } from "./lines.ts";
import type { Timeline } from "./timeline-rows.ts";

/** Every message of a connection: plots, lanes, a table, and the message that was chosen. */
export function TimelineTab(): JSX.Element {
  const page = usePage();
  const server = useServer();
  const state = inspectState(page);
  const [name = ""] = page.route.value.path;
  const { connections } = page.store;
  const all = connections.all.value.filter((each) => each.server === name);
  const wanted = page.route.value.query["connection"];
  const connection = all.find((each) => each.id === wanted) ?? state.connectionOf(name);
  if (connection === undefined) {
    return (
      <Empty icon="clock" title="No messages yet">
        <p>The timeline begins with the first connection to {name}.</p>
        {server && (
          <Button icon="play" onClick={() => page.attempt(() => page.api.change("server.start", { server: name }))}>
            Start
          </Button>
        )}
      </Empty>
    );
  }
  return <Connection key={connection.id} connection={connection} all={all} />;
}

function connectionWords(connection: ConnectionRecord): string {
  const { isMain, revision, state } = connection;
  if (isRecorded(connection)) return ["Recording", revision].filter(Boolean).join(", ");
  const kind = isMain ? "Connection of the host" : "Second connection";
  return [kind, revision, state === "open" ? "" : state].filter(Boolean).join(", ");
}

/** Seconds in the rate plot. */
const plotSeconds = 120;
/** The range of the lanes when none is chosen. */
const laneMs = 8_000;
const rowHeight = 28;

const filters: readonly { readonly name: LineFilter; readonly label: string }[] = [
  { name: "all", label: "All" },
  { name: "calls", label: "Calls" },
  { name: "questions", label: "Questions" },
  { name: "errors", label: "Errors" },
];

function Connection({
  connection,
  all,
}: {
  connection: ConnectionRecord;
  all: readonly ConnectionRecord[];
}): JSX.Element {
  const page = usePage();
  const state = inspectState(page);
  const timeline = useMemo(() => state.timeline(connection.id), [connection.id]);
  const filter = useSignal<LineFilter>("all");
  const text = useSignal("");
  const range = useSignal<BrushRange | undefined>(undefined);
  const unit = useSignal<"messages" | "bytes">("messages");
  const paused = useSignal<number | undefined>(undefined);
  const selected = useSignal<number | undefined>(undefined);
  const found = useSignal<readonly MessageRow[] | undefined>(undefined);
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<VirtualListHandle>(null);
  const version = paused.value ?? timeline.version.value;
  // Older rows have come into the list: it is drawn again, and nothing else is computed.
  void timeline.older.value;
  const rate = useMemo(() => rateOf(timeline, unit.value), [version, unit.value, timeline]);
  const span = rate.end - rate.start;
  const chosen = range.value && { from: rate.start + range.value.from * span, to: rate.start + range.value.to * span };
  const { call } = page.route.value.query;

  // Full text is searched by the console: the tab has only the titles of messages.
  useEffect(() => {
    const wanted = text.value.trim();
    if (wanted === "") {
      found.value = undefined;
      return;
    }
    const life = new AbortController();
    const timer = setTimeout(() => {
      page.api.read("messages", { connection: connection.id, filter: { text: wanted }, limit: 500 }, life.signal).then(
        ({ rows }) => {
          found.value = rows;
          page.say(`${rows.length} messages found`);
        },
        (error: unknown) => page.fail(error),
      );
    }, 200);
    return () => {
      clearTimeout(timer);
      life.abort();
    };
  }, [text.value, connection.id]);

  const lines = useMemo(() => {
    const rows = found.value ?? rowsOf(timeline);
    const inTime = chosen ? rows.filter((row) => row.at >= chosen.from && row.at <= chosen.to) : rows;
    return linesOf(inTime).filter((line) => isShown(line, filter.value));
  }, [version, found.value, chosen?.from, chosen?.to, filter.value, timeline]);
  // Rows that are not in the tab any more come first, and are brought when they are seen.
  const isWhole = found.value === undefined && chosen === undefined && filter.value === "all";
  const older = isWhole ? Math.max(0, timeline.oldest - timeline.first) : 0;
  const count = older + lines.length;
  const lineAt = (index: number): TimelineLine | undefined => {
    if (index >= older) return lines[index - older];
    const row = timeline.at(timeline.first + index);
    return row && lineOf(row);
  };
  const index =
    selected.value === undefined
      ? -1
      : selected.value < timeline.oldest && isWhole
        ? selected.value - timeline.first
        : older + lines.findIndex(({ row, response }) => row.n === selected.value || response?.n === selected.value);
  const line = index >= older || (index >= 0 && isWhole) ? lineAt(index) : undefined;

  useEffect(() => {
    if (call === undefined || selected.peek() !== undefined) return;
    const first = lines.findIndex(({ row }) => row.call === call && row.kind === "request");
    if (first === -1) return;
    selected.value = lines[first]?.row.n;
    list.current?.show(older + first);
  }, [call, lines]);

  const errors = useMemo(() => lines.reduce((sum, each) => sum + (each.isError ? 1 : 0), 0), [lines]);
  const newest = timeline.last - (paused.value === undefined ? timeline.last : pausedAt(timeline, paused.value));
  const pause = () => (paused.value = paused.value === undefined ? timeline.version.peek() : undefined);
  const recording = page.store.recordings.all.value.find((each) => each.server === connection.server && each.isRunning);
  const isRecording = isRecorded(connection);
  const lanes = laneRange(timeline, chosen);
  return (
    <div class="timeline">
      <div class="bar-row">
        <div class="search-row">
          <Icon name="search" />
          <input
            ref={search}
            class="in"
            type="search"
            placeholder="Search in all messages"
            aria-label="Search in all messages"
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
        </div>
        <Segments
          label="What is shown"
          choices={filters.map((each) => (each.name === "errors" && errors > 0 ? { ...each, count: errors } : each))}
          value={filter.value}
          onChange={(next) => (filter.value = next)}
        />
        {all.length > 1 && (
          <select
            class="in connection-pick"
            aria-label="Connection"
            value={connection.id}
            onChange={(event) => {
              location.hash = `#/inspect/${encodeURIComponent(connection.server)}/timeline?connection=${encodeURIComponent(event.currentTarget.value)}`;
            }}
          >
            {all.map((each) => (
              <option key={each.id} value={each.id}>
                {connectionWords(each)}
              </option>
            ))}
          </select>
        )}
        {chosen && (
          <span class="chip num">
            {clockText(chosen.from).slice(0, 8)} to {clockText(chosen.to).slice(0, 8)}
            <Button
              size="small"
              tone="quiet"
              icon="x"
              label="Show all times"
              onClick={() => (range.value = undefined)}
            />
          </span>
        )}
        <span class="grow" />
        {isRecording || (
          <Button
            icon={paused.value === undefined ? "pause" : "play"}
            pressed={paused.value !== undefined}
            onClick={pause}
          >
            {paused.value === undefined ? "Pause" : newest > 0 ? `${countText(newest)} new` : "Go on"}
          </Button>
        )}
        {isRecording ? null : recording ? (
          <Button
            class="is-recording"
            icon="record"
            onClick={() => page.attempt(() => page.api.change("recording.stop", { id: recording.id }))}
          >
            Stop recording
          </Button>
        ) : (
          <Button
            icon="record"
            onClick={() => page.attempt(() => page.api.change("recording.start", { server: connection.server }))}
          >
            Record
          </Button>
        )}
      </div>
      {isRecording && (
        <div class="in-pane" role="status">
          <Note tone="accent">
            <b>This is a recording, not a connection.</b> Everything in it is over: nothing is sent, and nothing comes.
          </Note>
        </div>
      )}
      {timeline.reason.value !== undefined && (
        <div class="in-pane">
          <ReadFailure reason={timeline.reason.value} onRetry={() => timeline.refresh()} />
        </div>
      )}
      <div class="plots">
        <figure>
          <figcaption>
            <button
              type="button"
              class="label link-like"
              onClick={() => (unit.value = unit.value === "messages" ? "bytes" : "messages")}
              title="Show the other"
            >
              {unit.value === "messages" ? "Messages a second" : "Bytes a second"}
            </button>
            <span class="micro t3 num">
              peak {unit.value === "messages" ? countText(rate.most) : sizeText(rate.most)}
            </span>
          </figcaption>
          <RatePlot
            label={`${unit.value === "messages" ? "Messages" : "Bytes"} a second, last ${plotSeconds} seconds. Arrow keys choose a range.`}
            values={rate.values}
            brush={range.value}
            onBrush={(next) => {
              if (paused.peek() === undefined && next) paused.value = timeline.version.peek();
              range.value = next;
            }}
          />
        </figure>
        <Latencies timeline={timeline} version={version} />
      </div>
      <Lanes
        timeline={timeline}
        version={version}
        from={lanes.from}
        to={lanes.to}
        selected={selected.value}
        onSelect={(n) => (selected.value = n)}
      />
      <div class="split">
        <section class="pane" aria-label="Messages">
          <div class="mrow mhead small t3">
            <span>Time</span>
            <span />
            <span>Message</span>
            <span class="right">Took</span>
            <span class="right">Size</span>
          </div>
          {!timeline.isLoaded.value && timeline.reason.value !== undefined ? null : !timeline.isLoaded.value ? (
            <div class="in-pane">
              <Bones label="Reading messages" rows={6} />
            </div>
          ) : count === 0 ? (
            <Empty icon="clock" title={isWhole ? "No messages yet" : "No message fits"}>
              <p>{isWhole ? "They appear here as they are sent." : "Search for less, or show all times."}</p>
            </Empty>
          ) : (
            <VirtualList
              handle={list}
              class="messages"
              label="Messages"
              count={count}
              height={rowHeight}
              follows={paused.value === undefined && found.value === undefined}
              selected={index}
              onSelect={(at) => (selected.value = lineAt(at)?.row.n)}
              onKey={(event) => {
                if (event.key === "/") search.current?.focus();
                else if (!isRecording && (event.key === "p" || event.key === "P")) pause();
                else return false;
                return true;
              }}
              keyOf={(at) => lineAt(at)?.row.n ?? `empty ${at}`}
              row={(at) => <Line line={lineAt(at)} />}
            />
          )}
          <div class="pane-foot small t3 num">
            {countOf(lines.length + older, "line")} of {countText(Math.max(0, timeline.last - timeline.first + 1))}{" "}
            messages
            {found.value?.length === 500 && ", only the newest 500 that fit"}
            <span class="end n-hide">
              <kbd>J</kbd> <kbd>K</kbd> move <kbd>/</kbd> search {!isRecording && pauseHint}
            </span>
          </div>
        </section>
        {line ? (
          <MessageDetailPane key={line.row.n} connection={connection} line={line} />
        ) : (
          <section class="pane" aria-label="Message">
            <Empty icon="clock" title="No message chosen">
              <p>Choose one to read it, send it again, or copy it as a command.</p>
            </Empty>
          </section>
        )}
      </div>
    </div>
  );
}

const pauseHint = (
  <>
    <kbd>P</kbd> pause
  </>
);

const pauses = new WeakMap<Timeline, { readonly version: number; readonly last: number }>();

/** The last row at the time of the pause. */
function pausedAt(timeline: Timeline, version: number): number {
  const known = pauses.get(timeline);
  if (known?.version === version) return known.last;
  pauses.set(timeline, { version, last: timeline.last });
  return timeline.last;
}

function rowsOf(timeline: Timeline): readonly MessageRow[] {
  return timeline.kept();
}

function rateOf(timeline: Timeline, unit: "messages" | "bytes") {
  let newest = 0;
  let oldest = Number.POSITIVE_INFINITY;
  for (const second of timeline.seconds.keys()) {
    newest = Math.max(newest, second);
    oldest = Math.min(oldest, second);
  }
  const end = newest + 1;
  const start = Math.max(end - plotSeconds, Math.min(oldest, end - 20));
  const values: number[] = [];
  for (let second = start; second < end; second++) values.push(timeline.seconds.get(second)?.[unit] ?? 0);
  return { values, start: start * 1_000, end: end * 1_000, most: Math.max(0, ...values) };
}

function laneRange(timeline: Timeline, chosen: { readonly from: number; readonly to: number } | undefined) {
  if (chosen) return chosen;
  const last = timeline.at(timeline.last, false)?.at ?? Date.now();
  return { from: last - laneMs * 0.95, to: last + laneMs * 0.05 };
}

const shownTools = 4;

function Latencies({ timeline, version }: { timeline: Timeline; version: number }): JSX.Element {
  const series = useMemo(
    () =>
      [...timeline.latencies]
        .sort(([, one], [, other]) => other.length - one.length)
        .slice(0, shownTools)
        .map(([name, times]) => ({ name, times: times.slice(-80) })),
    [version, timeline],
  );
  return (
    <figure>
      <figcaption>
        <span class="label">Latency</span>
        <span class="micro t3">log scale</span>
      </figcaption>
      {series.length === 0 ? (
        <p class="small t3 in-plot">After the first answer.</p>
      ) : (
        <div class="latency-box">
          <LatencyPlot label={`Latency of ${series.map(({ name }) => name).join(", ")}`} series={series} />
          <ul class="micro">
            {series.map(({ name, times }, at) => (
              <li key={name} data-series={at}>
                <span class="cut">
                  <ServerText text={name} />
                </span>{" "}
                <span class="num t3">{timeText(times.at(-1) ?? 0)}</span>
              </li>
            ))}
          </ul>
        </div>
      )}
    </figure>
  );
}

const arrows = { client: "next", server: "back", http: "globe", stderr: "code" } as const;
const laneWords = { client: "from us", server: "from the server", http: "HTTP", stderr: "standard error" } as const;

function Line({ line }: { line: TimelineLine | undefined }): JSX.Element {
  if (line === undefined) return <div class="mrow t3">…</div>;
  const { row, depth, count, tookMs, bytes, isError, isCancelled, isUnsupported } = line;
  const isQuestion = row.kind === "request" && row.lane === "server";
  return (
    <div class="mrow" data-bad={isError || undefined}>
      <span class="t3 num">{clockText(row.at)}</span>
      <span class={row.lane === "client" ? "c-accent" : "t3"}>
        <Icon name={row.kind === "link" ? "plug" : arrows[row.lane]} />
        <span class="hidden">{laneWords[row.lane]}</span>
      </span>
      <span class="cut" data-depth={depth}>
        {depth > 0 && <span class="t3">└ </span>}
        <code class={isError || row.kind === "invalid" ? "c-danger" : isQuestion ? "c-warn" : undefined}>
          {count > 1 && `${count} × `}
          <ServerText text={row.kind === "link" ? `connection ${row.title}` : row.title} />
        </code>{" "}
        {row.name !== undefined && row.name !== row.title && (
          <span class="t2">
            <ServerText text={row.name} />
          </span>
        )}
        {isCancelled && tookMs !== undefined && <span class="c-warn"> cancelled</span>}
        {isUnsupported && <span class="t3"> not supported</span>}
        {isError && <span class="c-danger"> failed</span>}
      </span>
      <span class="right num">
        {tookMs !== undefined ? timeText(tookMs) : isCancelled && <span class="c-warn">cancelled</span>}
      </span>
      <span class="right num t2">{sizeText(bytes)}</span>
    </div>
  );
}
