/** A duration in few characters. */
export function timeText(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1_000) return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(2)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

/** A size in few characters. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** A number with separators. */
export function countText(count: number): string {
  return count.toLocaleString("en");
}

/** "1 row", "2 rows", "no rows". */
export function countOf(count: number, noun: string): string {
  return `${count === 0 ? "no" : countText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** The time of day with milliseconds. */
export function clockText(at: number): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}

/** The time of today, or the day and the time. */
export function whenText(at: number, now: number = Date.now()): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(at);
  return isToday ? time : `${new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }).format(at)} ${time}`;
}
