import { earliest, latest, offsetAt, writeOffset } from "./moment.ts";

/** A parsed time: a moment, or a local time. */
export type ParsedTime = { readonly at: number } | { readonly wall: number };

/** The moments at which the clocks of a zone show a local time. */
export interface Reading {
  /** How often the clocks show it. */
  readonly shown: "once" | "twice" | "never";
  /** The usual meaning first. */
  readonly moments: readonly { readonly at: number; readonly means: string }[];
}

const day = 86_400_000;
const pattern =
  /^(?:(?<date>\d{4}-\d{2}-\d{2})[T ])?(?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:[.,]\d{1,9})?)?(?<offset>Z|[+-]\d{2}:?\d{2})?$/i;

/** Parses `14:30`, `2026-03-29T02:30` or `2026-03-29T02:30:00+01:00`; undefined if the text is not a time. */
export function readTime(text: string, today: string): ParsedTime | undefined {
  const found = pattern.exec(text.trim())?.groups;
  if (!found) return undefined;
  const { date = today, hour = "", minute = "", second = "00", offset } = found;
  const wall = Date.parse(`${date}T${hour}:${minute}:${second}Z`);
  // Date.parse accepts February 30 as a day in March, and 24:00 as the next day.
  if (Number.isNaN(wall) || hour === "24" || new Date(wall).toISOString().slice(0, 10) !== date) return undefined;
  const at = offset === undefined ? wall : wall - readOffset(offset);
  if (at - day < earliest || at + day > latest) return undefined;
  return offset === undefined ? { wall } : { at };
}

/** Parses `+05:30`, `-8` or `Z` into milliseconds. */
export function readOffset(text: string): number {
  const [, sign, hours, minutes = "0"] = /^(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?$/i.exec(text.trim()) ?? [];
  if (sign === undefined) return /^(Z|UTC|GMT)$/i.test(text.trim()) ? 0 : Number.NaN;
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** Finds when the clocks of a zone show a local time; if never, returns the meanings with the offsets before and after. */
export function readWall(zone: string, wall: number): Reading {
  // Offsets are less than a day, so every possible offset applies somewhere within a day before or after.
  const probes = [-24, -12, 0, 12, 24].map((hours) => offsetAt(zone, wall + hours * 3_600_000));
  const offsets = [...new Set(probes)];
  const found = offsets.filter((offset) => offsetAt(zone, wall - offset) === offset).map((offset) => wall - offset);
  found.sort((a, b) => a - b);
  const [first, last] = [found[0], found.at(-1)];
  if (first === undefined || last === undefined) return readGap(wall, probes);
  if (first === last) return { shown: "once", moments: [{ at: first, means: "the only one" }] };
  const means = (what: string, at: number) => `${what}, with the offset ${writeOffset(wall - at)}`;
  return {
    shown: "twice",
    moments: [
      { at: first, means: means("the first time, before the clocks are set back", first) },
      { at: last, means: means("the second time, after the clocks were set back", last) },
    ],
  };
}

function readGap(wall: number, probes: readonly number[]): Reading {
  const [before = 0, after = 0] = [probes[0], probes.at(-1)];
  return {
    shown: "never",
    moments: [
      { at: wall - before, means: `as if the clocks had not been set forward, with the offset ${writeOffset(before)}` },
      {
        at: wall - after,
        means: `as if the clocks had been set forward before, with the offset ${writeOffset(after)}`,
      },
    ],
  };
}
