import { useSignal } from "@preact/signals";
import type { LogLevel } from "portolan";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { LineRow } from "../../api.ts";
import { reasonOf } from "../api/client.ts";
import { Button } from "../parts/button.tsx";
import { Bones, Empty, ReadFailure } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { Segments } from "../parts/tabs.tsx";
import { VirtualList, type VirtualListHandle } from "../parts/virtual-list.tsx";
import { usePage } from "../state/console.ts";
import { useServer } from "./use-server.ts";
import { clockText, countText } from "./words.ts";

const levels: readonly LogLevel[] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const maxLines = 5_000;
const pageSize = 500;
const rowHeight = 24;

type Kind = "all" | LineRow["kind"];

const kinds: readonly { readonly name: Kind; readonly label: string }[] = [
  { name: "all", label: "All" },
  { name: "log", label: "Log" },
  { name: "stderr", label: "Standard error" },
  { name: "warning", label: "Warnings" },
];

/** The log of a server, its standard error, and the warnings of the client about it. */
export function LogTab(): JSX.Element {
  const page = usePage();
  const server = useServer();
  const [name = ""] = page.route.value.path;
  const lines = useSignal<readonly LineRow[]>([]);
  const first = useSignal(1);
  const isLoaded = useSignal(false);
  const reason = useSignal<string | undefined>(undefined);
  /** Counts the attempts to read the lines. */
  const attempt = useSignal(0);
  const kind = useSignal<Kind>("all");
  const text = useSignal("");
  const selected = useSignal(-1);
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<VirtualListHandle>(null);

  useEffect(() => {
    let isOver = false;
    const add = (rows: readonly LineRow[]) => {
      const last = lines.peek().at(-1)?.n ?? 0;
      lines.value = [...lines.peek(), ...rows.filter(({ n }) => n > last)].slice(-maxLines);
    };
    const stop = page.store.listen((event) => {
      if (event.kind === "lines" && event.server === name) add(event.rows);
    });
    page.api.read("lines", { server: name, limit: pageSize }).then(
      (given) => {
        if (isOver) return;
        first.value = given.first;
        const known = lines.peek();
        lines.value = [...given.rows.filter(({ n }) => !known.some((line) => line.n === n)), ...known].sort(
          (one, other) => one.n - other.n,
        );
        isLoaded.value = true;
        reason.value = undefined;
      },
      (error: unknown) => {
        if (!isOver) reason.value = reasonOf(error);
      },
    );
    return () => {
      isOver = true;
      stop();
    };
  }, [name, attempt.value]);
  const older = async () => {
    const before = lines.peek()[0]?.n;
    if (before === undefined) return;
    const given = await page.attempt(() => page.api.read("lines", { server: name, before, limit: pageSize }));
    if (given) lines.value = [...given.rows, ...lines.peek()];
  };
  const shown = useMemo(() => {
    const wanted = text.value.toLowerCase();
    return lines.value.filter(
      (line) =>
        (kind.value === "all" || line.kind === kind.value) &&
        (wanted === "" || line.text.toLowerCase().includes(wanted) || line.logger?.toLowerCase().includes(wanted)),
    );
  }, [lines.value, kind.value, text.value]);
  const oldest = lines.value[0]?.n ?? first.value;
  const chosen = shown[selected.value];
  return (
    <div class="log-tab">
      <div class="bar-row">
        <div class="search-row">
          <Icon name="search" />
          <input
            ref={search}
            class="in"
            type="search"
            placeholder="Search lines"
            aria-label="Search lines"
            value={text.value}
            onInput={(event) => (text.value = event.currentTarget.value)}
          />
        </div>
        <Segments label="Kind of line" choices={kinds} value={kind.value} onChange={(next) => (kind.value = next)} />
        <span class="grow" />
        {server && (
          <label class="row small t2">
            Server logs from
            <select
              class="in connection-pick"
              value={server.logLevel}
              onChange={(event) => {
                const level = event.currentTarget.value as LogLevel;
                void page.attempt(() => page.api.change("server.log-level", { server: name, level }));
              }}
            >
              {levels.map((level) => (
                <option key={level} value={level}>
                  {level}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {reason.value !== undefined && (
        <div class="in-pane">
          <ReadFailure reason={reason.value} onRetry={() => (attempt.value += 1)} />
        </div>
      )}
      {shown.length === 0 && !isLoaded.value ? (
        reason.value === undefined && (
          <div class="in-pane">
            <Bones label="Reading the lines" rows={8} />
          </div>
        )
      ) : shown.length === 0 ? (
        <Empty icon="code" title={lines.value.length === 0 ? "No lines yet" : "No line fits"}>
          <p>
            {lines.value.length === 0
              ? "What the server logs and prints to standard error appears here."
              : "Search for less, or show all kinds."}
          </p>
        </Empty>
      ) : (
        <VirtualList
          handle={list}
          class="log-lines jcode"
          label="Lines"
          count={shown.length}
          height={rowHeight}
          follows
          selected={selected.value}
          onSelect={(index) => (selected.value = index)}
          onKey={(event) => {
            if (event.key !== "/") return false;
            search.current?.focus();
            return true;
          }}
          keyOf={(index) => shown[index]?.n ?? index}
          row={(index) => {
            const line = shown[index];
            return line && <Line line={line} />;
          }}
        />
      )}
      {chosen && chosen.text.length > 120 && (
        <pre class="jcode words chosen-line">
          <ServerText text={chosen.text} lines="keep" />
        </pre>
      )}
      <div class="pane-foot small t3 num">
        {countText(shown.length)} of {countText(lines.value.length)} lines
        {oldest > first.value && (
          <Button size="small" tone="link" onClick={older}>
            Show older
          </Button>
        )}
      </div>
    </div>
  );
}

const bad = new Set<LogLevel>(["error", "critical", "alert", "emergency"]);

function Line({ line }: { line: LineRow }): JSX.Element {
  const { level, kind, logger } = line;
  const tone = level && bad.has(level) ? "c-danger" : level === "warning" || kind === "warning" ? "c-warn" : "t3";
  return (
    <div class="log-line">
      <span class="t3 num">{clockText(line.at)}</span>
      <span class={tone}>{kind === "stderr" ? "stderr" : kind === "warning" ? "odd" : (level ?? "log")}</span>
      <span class="cut">
        {logger !== undefined && (
          <span class="t3">
            <ServerText text={logger} />{" "}
          </span>
        )}
        <ServerText text={line.text.slice(0, 1_000)} />
      </span>
    </div>
  );
}
