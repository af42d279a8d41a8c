import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { MessageRow } from "../../../api.ts";
import { ServerText } from "../../parts/quoted.tsx";
import { clockText } from "../words.ts";
import { type LaneMark, marksOf } from "./lines.ts";
import type { Timeline } from "./timeline-rows.ts";

const lanes: readonly (readonly [lane: MessageRow["lane"], title: string, about: string])[] = [
  ["client", "Client", "requests we sent"],
  ["server", "Server", "questions, notices"],
  ["http", "HTTP", "exchanges"],
  ["stderr", "stderr", "lines"],
];

const steps = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];

/** A picture of the table below it: who said what when. Everything in it is in the table too. */
export function Lanes(props: {
  readonly timeline: Timeline;
  readonly version: number;
  readonly from: number;
  readonly to: number;
  readonly selected: number | undefined;
  readonly onSelect: (n: number) => void;
}): JSX.Element {
  const { timeline, version, from, to, selected, onSelect } = props;
  const marksOfLanes = useMemo(() => {
    const rows = timeline.between(from, to);
    return lanes.map(([lane]) => marksOf(rows, lane, from, to));
  }, [timeline, version, from, to]);
  const placeOf = (at: number) => Math.min(1, Math.max(0, (at - from) / (to - from))) * 100;
  const step = steps.find((each) => (to - from) / each <= 9) ?? (to - from) / 8;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at < to; at += step) ticks.push(at);
  return (
    <div class="lanes" aria-hidden="true">
      <div class="axis">
        {ticks.map((at) => (
          <span key={at} style={{ left: `${placeOf(at)}%` }}>
            {clockText(at).slice(0, step < 1_000 ? 10 : 8)}
          </span>
        ))}
      </div>
      {lanes.map(([lane, title, about], at) => {
        const marks = marksOfLanes[at] ?? [];
        if ((lane === "http" || lane === "stderr") && marks.length === 0) return null;
        const levels = Math.max(1, ...marks.map(({ level, to: end }) => (end === undefined ? 1 : level + 1)));
        const hasDots = marks.some((mark) => mark.to === undefined);
        return (
          <div
            key={lane}
            class="lane"
            style={{ height: `${12 + levels * 24 + (hasDots && lane !== "stderr" ? 12 : 0)}px` }}
          >
            <div class="lane-name">
              <b>{title}</b>
              <span class="micro t3">{about}</span>
            </div>
            <div class="track">
              {ticks.map((at) => (
                <i key={at} class="grid-line" style={{ left: `${placeOf(at)}%` }} />
              ))}
              {marks.map((mark) => (
                <Mark
                  key={mark.n}
                  lane={lane}
                  mark={mark}
                  left={placeOf(mark.from)}
                  right={mark.to === undefined ? undefined : placeOf(mark.to)}
                  dotTop={
                    lane === "stderr"
                      ? 12
                      : 10 + levels * 24 - (marks.every(({ to: end }) => end === undefined) ? 18 : 0)
                  }
                  isSelected={mark.n === selected}
                  onSelect={onSelect}
                />
              ))}
            </div>
          </div>
        );
      })}
    </div>
  );
}

function Mark(props: {
  readonly mark: LaneMark;
  readonly lane: MessageRow["lane"];
  readonly left: number;
  readonly right: number | undefined;
  readonly dotTop: number;
  readonly isSelected: boolean;
  readonly onSelect: (n: number) => void;
}): JSX.Element {
  const { mark, lane, left, right, dotTop, isSelected, onSelect } = props;
  const shared = {
    type: "button",
    tabIndex: -1,
    title: mark.words,
    "data-tone": mark.tone,
    "data-lane": lane,
    "data-selected": isSelected || undefined,
    onClick: () => onSelect(mark.n),
  } as const;
  if (right === undefined) return <button {...shared} class="tick" style={{ left: `${left}%`, top: `${dotTop}px` }} />;
  return (
    <button
      {...shared}
      class="span"
      data-open={mark.to === Number.POSITIVE_INFINITY || undefined}
      style={{ left: `${left}%`, width: `max(4px, ${right - left}%)`, top: `${8 + mark.level * 24}px` }}
    >
      {right - left > 3 && <ServerText text={mark.words} />}
    </button>
  );
}
