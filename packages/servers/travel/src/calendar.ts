import { addDays } from "portolan-server-kit";
import type { Booking } from "./ledger.ts";

/** An entry of the calendar. */
export interface CalendarEvent {
  readonly date: string;
  readonly title: string;
  readonly kind: "holiday" | "appointment" | "booking";
}

/** Returns the calendar of a caller for one year, sorted by date. */
export function calendarOf(today: string, bookings: readonly Booking[]): CalendarEvent[] {
  const year = Number(today.slice(0, 4));
  const holidays = [year, year + 1].flatMap((year): CalendarEvent[] => [
    { date: `${year}-01-01`, title: "New Year", kind: "holiday" },
    { date: `${year}-05-01`, title: "Labour Day", kind: "holiday" },
    { date: `${year}-12-25`, title: "Christmas", kind: "holiday" },
  ]);
  const appointments: CalendarEvent[] = [
    { date: addDays(today, 3), title: "Dentist", kind: "appointment" },
    { date: addDays(today, 10), title: "Meeting of the team", kind: "appointment" },
    { date: addDays(today, 11), title: "Meeting of the team", kind: "appointment" },
  ];
  const booked = bookings.map(
    ({ code, start, title }): CalendarEvent => ({ date: start, title: `${code}: ${title}`, kind: "booking" }),
  );
  return [...holidays, ...appointments, ...booked]
    .filter(({ date }) => date >= today && date <= addDays(today, 365))
    .sort((a, b) => (a.date < b.date ? -1 : a.date > b.date ? 1 : 0));
}

/** Returns the age of a person on a day. */
export function ageOn(day: string, born: string): number {
  const years = Number(day.slice(0, 4)) - Number(born.slice(0, 4));
  return day.slice(5) < born.slice(5) ? years - 1 : years;
}
