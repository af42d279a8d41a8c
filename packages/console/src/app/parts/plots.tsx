import type { JSX } from "preact";
import { useRef } from "preact/hooks";

/** A range that was chosen in a plot, as shares of its width from 0 to 1. */
export interface BrushRange {
  readonly from: number;
  readonly to: number;
}

/** Bars of equal width over time. A person may choose a range with the pointer, or with arrow keys. */
export function RatePlot(props: {
  readonly label: string;
  readonly values: readonly number[];
  readonly brush?: BrushRange | undefined;
  readonly onBrush?: (range: BrushRange | undefined) => void;
}): JSX.Element {
  const { label, values, brush, onBrush } = props;
  const from = useRef<number | undefined>(undefined);
  const most = Math.max(1, ...values);
  const width = 1000 / Math.max(1, values.length);
  const bars = values
    .map((value, at) => (value === 0 ? "" : bar(at * width, width, Math.max(1.5, (value / most) * 100))))
    .join("");
  const placeOf = (event: PointerEvent) => {
    const { left, width: whole } = (event.currentTarget as Element).getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - left) / whole));
  };
  const shift = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -0.05, ArrowRight: 0.05 }[event.key];
    if (event.key === "Escape" && brush) onBrush?.(undefined);
    else if (step === undefined) return;
    else if (brush === undefined) onBrush?.({ from: 0.8, to: 1 });
    else if (event.shiftKey) onBrush?.({ from: brush.from, to: clamp(brush.to + step, brush.from + 0.02, 1) });
    else {
      const moved = clamp(brush.from + step, 0, 1 - (brush.to - brush.from));
      onBrush?.({ from: moved, to: moved + brush.to - brush.from });
    }
    event.preventDefault();
  };
  return (
    <svg
      class="plot rate"
      viewBox="0 0 1000 100"
      preserveAspectRatio="none"
      role={onBrush ? "slider" : "img"}
      aria-label={label}
      aria-valuenow={onBrush ? Math.round((brush?.from ?? 0) * 100) : undefined}
      aria-valuetext={
        onBrush
          ? brush
            ? `${Math.round(brush.from * 100)} to ${Math.round(brush.to * 100)} percent`
            : "all"
          : undefined
      }
      tabIndex={onBrush ? 0 : undefined}
      onKeyDown={onBrush && shift}
      onPointerDown={
        onBrush &&
        ((event) => {
          (event.currentTarget as Element).setPointerCapture(event.pointerId);
          from.current = placeOf(event);
        })
      }
      onPointerMove={
        onBrush &&
        ((event) => {
          if (from.current === undefined) return;
          const to = placeOf(event);
          if (Math.abs(to - from.current) > 0.005)
            onBrush({ from: Math.min(from.current, to), to: Math.max(from.current, to) });
        })
      }
      onPointerUp={
        onBrush &&
        ((event) => {
          // A click without a way chooses everything again.
          if (from.current !== undefined && Math.abs(placeOf(event) - from.current) <= 0.005) onBrush(undefined);
          from.current = undefined;
        })
      }
    >
      <path class="bars" d={bars} />
      {brush && (
        <rect
          class="brush"
          x={brush.from * 1000}
          y="0"
          width={Math.max(2, (brush.to - brush.from) * 1000)}
          height="100"
        />
      )}
    </svg>
  );
}

function bar(x: number, width: number, height: number): string {
  return `M${x.toFixed(2)} 100v${(-height).toFixed(2)}h${(width * 0.8).toFixed(2)}v${height.toFixed(2)}z`;
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}

/** How long each call of a tool took, in the order of their ends. */
export interface LatencySeries {
  readonly name: string;
  readonly times: readonly number[];
}

/** Dots on a scale of powers of ten, a row of colour strength for each tool. */
export function LatencyPlot({ label, series }: { label: string; series: readonly LatencySeries[] }): JSX.Element {
  const all = series.flatMap(({ times }) => times);
  const logs = all.map((time) => Math.log10(Math.max(0.1, time)));
  const low = Math.min(...logs, 9) - 0.1;
  const high = Math.max(low + 0.5, Math.max(...logs, low) + 0.1);
  return (
    <svg class="plot latency" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label={label}>
      {series.map(({ name, times }, index) => {
        const step = 1000 / Math.max(1, times.length);
        const points = times.map((time, at) => {
          const y = 94 - ((Math.log10(Math.max(0.1, time)) - low) / (high - low)) * 88;
          return `M${((at + 0.5) * step).toFixed(1)} ${y.toFixed(1)}h0`;
        });
        return <path key={name} data-series={index % 4} d={points.join("")} vector-effect="non-scaling-stroke" />;
      })}
    </svg>
  );
}
