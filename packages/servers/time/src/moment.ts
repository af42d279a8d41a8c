/** A moment in the local time of a zone. */
export interface Moment {
  zone: string;
  /** ISO 8601 with the offset. */
  time: string;
  weekday: string;
  offset: string;
  /** English name of the local time, if it has one. */
  name?: string;
  /** True during summer time; absent if the runtime cannot tell. */
  summerTime?: boolean;
  utc: string;
}

/** The next change of a zone's clocks. */
export interface Change {
  utc: string;
  /** Local time at that moment, with the offset before and after. */
  before: string;
  after: string;
}

const second = 1_000;
const day = 86_400_000;
const maxFormats = 128;
const formats = new Map<string, Intl.DateTimeFormat>();

/** First and last supported moment: years have four digits in every zone. */
export const earliest: number = Date.parse("0001-01-02T00:00:00Z");
export const latest: number = Date.parse("9999-12-30T00:00:00Z");

/** Returns the offset of a zone from UTC at a moment, in milliseconds. */
export function offsetAt(zone: string, at: number): number {
  const whole = Math.floor(at / second) * second;
  return wallAt(zone, whole) - whole;
}

export function momentOf(zone: string, at: number): Moment {
  const offset = offsetAt(zone, at);
  const name = nameAt(zone, at);
  const hasName = name !== undefined && !/^(GMT|UTC)[+-]/.test(name);
  return {
    zone,
    time: writeTime(at, offset),
    weekday: new Intl.DateTimeFormat("en-US", { timeZone: "UTC", weekday: "long" }).format(at + offset),
    offset: writeOffset(offset),
    // Ireland calls its summer time "Irish Standard Time".
    ...(hasName && { name, summerTime: /\b(Summer|Daylight)\b|^Irish Standard/.test(name) }),
    utc: writeUtc(at),
  };
}

/** Returns the next change of a zone's clocks within a year; undefined if there is none. */
export function nextChange(zone: string, at: number): Change | undefined {
  const before = offsetAt(zone, at);
  // Steps of 14 days: some zones interrupt summer time for only a month.
  for (let from = at; from < at + 366 * day && from + 14 * day < latest; from += 14 * day) {
    const after = offsetAt(zone, from + 14 * day);
    if (after === before) continue;
    const change = findChange(zone, from, from + 14 * day);
    return {
      utc: writeUtc(change),
      before: writeTime(change, before),
      after: writeTime(change, offsetAt(zone, change)),
    };
  }
  return undefined;
}

/** Finds the first second with another offset, between two moments with different offsets. */
function findChange(zone: string, from: number, to: number): number {
  const before = offsetAt(zone, from);
  let [low, high] = [Math.floor(from / second), Math.ceil(to / second)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(zone, middle * second) === before) low = middle;
    else high = middle;
  }
  return high * second;
}

/** Formats a time such as `2026-03-29T03:00:00+02:00`. */
export function writeTime(at: number, offset: number): string {
  return `${new Date(at + offset).toISOString().slice(0, 19)}${writeOffset(offset)}`;
}

export function writeUtc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

/** Formats an offset such as `+05:30`; with seconds for local mean time. */
export function writeOffset(offset: number): string {
  const text = new Date(Math.abs(offset)).toISOString().slice(11, 19);
  return (offset < 0 ? "-" : "+") + (text.endsWith(":00") ? text.slice(0, 5) : text);
}

/** Returns the local time as a timestamp, as if it were UTC. */
function wallAt(zone: string, at: number): number {
  const parts: { [type: string]: string } = {};
  for (const { type, value } of formatOf(zone).formatToParts(at)) parts[type] = value;
  const numbers = ["year", "month", "day", "hour", "minute", "second"].map((type) => Number(parts[type]));
  const [year = 0, month = 0, date = 0, hour = 0, minute = 0, seconds = 0] = numbers;
  const wall = new Date(Date.UTC(2000, month - 1, date, hour, minute, seconds));
  // Date.UTC maps the years 0 to 99 to 1900 to 1999.
  wall.setUTCFullYear(parts["era"] === "B" ? 1 - year : year, month - 1, date);
  return wall.getTime();
}

function nameAt(zone: string, at: number): string | undefined {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "long" });
  return format.formatToParts(at).find(({ type }) => type === "timeZoneName")?.value;
}

/** Returns a cached format: formats are expensive to create. */
function formatOf(zone: string): Intl.DateTimeFormat {
  const format = formats.get(zone) ?? createFormat(zone);
  formats.delete(zone);
  formats.set(zone, format);
  const [oldest] = formats.keys();
  if (formats.size > maxFormats && oldest !== undefined) formats.delete(oldest);
  return format;
}

function createFormat(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-US", {
    ...{ timeZone, calendar: "gregory", hourCycle: "h23", era: "narrow", year: "numeric", month: "numeric" },
    ...{ day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" },
  });
}
