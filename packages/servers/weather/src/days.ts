import { daysFrom, isDay } from "portolan-server-kit";

const dayMs = 86_400_000;

/** Returns the days of a range such as 2024-06-15/2024-06-22, or of a single day. Returns undefined if it is neither. */
export function daysIn(range: string): string[] | undefined {
  const [first = "", last = first, ...more] = range.split("/").map((day) => day.trim());
  if (more.length > 0 || !isDay(first) || !isDay(last) || last < first) return undefined;
  return daysFrom(first, (Date.parse(last) - Date.parse(first)) / dayMs + 1);
}
