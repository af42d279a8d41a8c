import { addDays, dayOf, isDay } from "portolan-server-kit";

const dayMs = 86_400_000;

/** Returns true for a local time such as 2024-06-15T14:30. */
export function isMoment(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d$/.test(text) && isDay(text.slice(0, 10));
}

/** The first and the last day of a month. */
export interface Month {
  /** Such as June-2024. */
  readonly name: string;
  readonly first: string;
  readonly last: string;
}

const names = [
  ...["January", "February", "March", "April", "May", "June"],
  ...["July", "August", "September", "October", "November", "December"],
];

/** Returns the month of a name such as June-2024 or 2024-06, in any case. Returns undefined if there is none. */
export function parseMonth(text: string): Month | undefined {
  const [, name, named] = /^([a-z]{3,9})[- ](\d{4})$/i.exec(text) ?? [];
  const [, numbered, number] = /^(\d{4})-(\d{2})$/.exec(text) ?? [];
  const index =
    name === undefined
      ? Number(number) - 1
      : names.findIndex((month) => month.toLowerCase().startsWith(name.toLowerCase()));
  const year = named ?? numbered;
  return year === undefined || names[index] === undefined ? undefined : monthAt(Number(year), index);
}

/** Returns the months that contain days from the first to the last one, at most `max`. */
export function monthsBetween(first: string, last: string, max: number): Month[] {
  const months: Month[] = [];
  let month = monthAt(Number(first.slice(0, 4)), Number(first.slice(5, 7)) - 1);
  while (month.first <= last && months.length < max) {
    months.push(month);
    month = monthAt(Number(month.last.slice(0, 4)), Number(month.last.slice(5, 7)));
  }
  return months;
}

function monthAt(year: number, index: number): Month {
  const first = dayOf(Date.UTC(year, index, 1));
  const name = `${names[Number(first.slice(5, 7)) - 1]}-${first.slice(0, 4)}`;
  return { name, first, last: dayOf(Date.UTC(year, index + 1, 0)) };
}

/** Returns the days from the first to the last one. */
export function daysBetween(first: string, last: string): string[] {
  const count = Math.round((Date.parse(last) - Date.parse(first)) / dayMs) + 1;
  return Array.from({ length: count }, (_, index) => addDays(first, index));
}
