/** A measured quantity over time. */
export interface Series {
  readonly name: string;
  readonly unit: string;
  /** One value for each sample. */
  readonly values: readonly number[];
}

const levels = "▁▂▃▄▅▆▇█";

/** Draws each series as one line of text, with its first, least, greatest and last value. */
export function toText(series: readonly Series[], columns = 60): string {
  return series
    .map(({ name, unit, values }) => {
      const shown = shrink(values, columns);
      const [least, most] = [Math.min(...shown), Math.max(...shown)];
      const line = shown.map((value) => levels[Math.round(((value - least) / (most - least || 1)) * 7)]).join("");
      const numbers = `first ${round(values[0])}, least ${round(least)}, most ${round(most)}, last ${round(values.at(-1))}`;
      return `${name.padEnd(24)} ${line}  ${numbers} ${unit}`;
    })
    .join("\n");
}

/** Draws all series below each other as an SVG image. `minutes` are the times of the samples. */
export function toSvg(series: readonly Series[], minutes: readonly number[]): string {
  const [width, height, left, top] = [720, 110, 150, 20];
  const end = minutes.at(-1) || 1;
  const parts = series.map(({ name, unit, values }, at) => {
    const most = Math.max(...values, 1) * 1.1;
    const y0 = top + at * (height + 30);
    const points = values.map((value, index) => {
      const x = left + ((minutes[index] ?? 0) / end) * (width - left - 20);
      return `${x.toFixed(1)},${(y0 + height - (value / most) * height).toFixed(1)}`;
    });
    const label = (x: number, y: number, text: string) => `<text x="${x}" y="${y}">${text}</text>`;
    return [
      `<rect x="${left}" y="${y0}" width="${width - left - 20}" height="${height}" fill="none" stroke="#ccc"/>`,
      `<polyline points="${points.join(" ")}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>`,
      label(8, y0 + 14, name),
      label(8, y0 + 30, `last ${round(values.at(-1))} ${unit}`),
      label(8, y0 + 46, `most ${round(Math.max(...values))} ${unit}`),
    ].join("\n");
  });
  const total = top + series.length * (height + 30) + 10;
  const axis = `<text x="${left}" y="${total - 12}">0</text><text x="${width - 90}" y="${total - 12}">${round(end)} minutes</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${total}" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#fff"/>
${parts.join("\n")}
${axis}
</svg>
`;
}

/** Returns at most so many values: the greatest of each part. */
function shrink(values: readonly number[], count: number): number[] {
  if (values.length <= count) return [...values];
  return Array.from({ length: count }, (_, at) => {
    const part = values.slice(Math.floor((at * values.length) / count), Math.floor(((at + 1) * values.length) / count));
    return Math.max(...part);
  });
}

function round(value = 0): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

/** Returns why a series grows; undefined if it does not. The first third is left out: a fresh process has empty caches. */
export function problemOfGrowth({ name, values }: Series, slack: number): string | undefined {
  const third = Math.floor(values.length / 3);
  if (third < 2) return undefined;
  const [middle, last] = [median(values.slice(third, 2 * third)), median(values.slice(-third))];
  if (last <= middle * 1.3 + slack) return undefined;
  return `${name} grows: from ${round(middle)} to ${round(last)}`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
