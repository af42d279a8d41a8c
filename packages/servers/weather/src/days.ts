const dayMs = 86_400_000;

/** Returns a day such as 2026-11-15. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** Returns true for an existing day; 2026-02-30 is none. */
export function isDay(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayOf(Date.parse(text)) === text;
}

/** Returns `count` days from the first one. */
export function daysFrom(first: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => dayOf(Date.parse(first) + index * dayMs));
}

/** Returns the days of a range such as 2024-06-15/2024-06-22, or of a single day. Returns undefined if it is neither. */
export function daysIn(range: string): string[] | undefined {
  const [first = "", last = first, ...more] = range.split("/").map((day) => day.trim());
  if (more.length > 0 || !isDay(first) || !isDay(last) || last < first) return undefined;
  return daysFrom(first, (Date.parse(last) - Date.parse(first)) / dayMs + 1);
}
