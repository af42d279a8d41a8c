import { addDays, isDay } from "portolan-server-kit";
import { isMoment } from "./days.ts";

/** An event. `startDate` and `endDate` are days, or local times such as 2024-06-15T14:30; the last day is included. */
export interface CalendarEvent {
  readonly uid: string;
  readonly title: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly location?: string;
  readonly description?: string;
}

/** Writes an event as an iCalendar file (RFC 5545), which every calendar program can open. */
export function toIcs({ uid, title, startDate, endDate, location, description }: CalendarEvent, now: number): string {
  const stamp = new Date(now).toISOString().replace(/[-:]|\.\d+/g, "");
  const lines = [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "PRODID:-//Portolan//Calendar//EN",
    "BEGIN:VEVENT",
    `UID:${uid}`,
    `DTSTAMP:${stamp}`,
    `DTSTART${toIcsTime(startDate)}`,
    // RFC 5545 excludes the last day; people, and the tool, include it.
    `DTEND${toIcsTime(isMoment(endDate) ? endDate : addDays(endDate, 1))}`,
    `SUMMARY:${escapeText(title)}`,
    ...(location === undefined ? [] : [`LOCATION:${escapeText(location)}`]),
    ...(description === undefined ? [] : [`DESCRIPTION:${escapeText(description)}`]),
    "END:VEVENT",
    "END:VCALENDAR",
  ];
  return lines.map((line) => `${fold(line)}\r\n`).join("");
}

/** Reads the events of an iCalendar file of any program. Events without a start are left out. */
export function parseIcs(text: string): CalendarEvent[] {
  const events: CalendarEvent[] = [];
  let values: Map<string, string> | undefined;
  for (const line of text.replace(/\r?\n[ \t]/g, "").split(/\r?\n/)) {
    if (line === "BEGIN:VEVENT") values = new Map();
    else if (line === "END:VEVENT" && values) {
      const event = toEvent(values);
      if (event) events.push(event);
      values = undefined;
    } else {
      const [, name, value] = /^([A-Z-]+)(?:;[^:"]*(?:"[^"]*"[^:"]*)*)?:(.*)$/i.exec(line) ?? [];
      if (values && name !== undefined && value !== undefined && !values.has(name.toUpperCase())) {
        values.set(name.toUpperCase(), value);
      }
    }
  }
  return events;
}

function toEvent(values: ReadonlyMap<string, string>): CalendarEvent | undefined {
  const startDate = fromIcsTime(values.get("DTSTART") ?? "");
  if (startDate === undefined) return undefined;
  const last = fromIcsTime(values.get("DTEND") ?? "");
  const lastIncluded = last === undefined || isMoment(last) ? last : addDays(last, -1);
  const isForward = lastIncluded !== undefined && lastIncluded >= startDate;
  const [location, description] = [values.get("LOCATION"), values.get("DESCRIPTION")];
  return {
    uid: values.get("UID") ?? "",
    title: unescapeText(values.get("SUMMARY") ?? "(no title)"),
    startDate,
    endDate: isForward ? lastIncluded : startDate,
    ...(location !== undefined && { location: unescapeText(location) }),
    ...(description !== undefined && { description: unescapeText(description) }),
  };
}

function toIcsTime(date: string): string {
  const digits = date.replace(/[-:]/g, "");
  return isMoment(date) ? `:${digits}00` : `;VALUE=DATE:${digits}`;
}

function fromIcsTime(value: string): string | undefined {
  const [, year, month, day, hour, minute] = /^(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d))?/.exec(value) ?? [];
  const date = `${year}-${month}-${day}`;
  if (!isDay(date)) return undefined;
  return hour === undefined ? date : `${date}T${hour}:${minute}`;
}

function escapeText(text: string): string {
  return text.replace(/[\\;,]/g, "\\$&").replace(/\r?\n|\r/g, "\\n");
}

function unescapeText(text: string): string {
  return text.replace(/\\([\\;,nN])/g, (_, escaped: string) => (escaped.toLowerCase() === "n" ? "\n" : escaped));
}

/** Breaks a line after at most 75 bytes, as RFC 5545 asks, and never inside a character. */
function fold(line: string): string {
  let folded = "";
  let bytes = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (bytes + size > 75) {
      folded += "\r\n ";
      bytes = 1;
    }
    folded += character;
    bytes += size;
  }
  return folded;
}
