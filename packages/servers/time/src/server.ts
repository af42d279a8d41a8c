import { createServer, type JsonSchema, type Server, ToolError } from "portolan/server";
import { annotations, textResult } from "portolan-server-kit";
import { type Change, type Moment, momentOf, nextChange } from "./moment.ts";
import { type Reading, readTime, readWall } from "./reading.ts";
import * as schemas from "./schemas.ts";
import { completeZone, findZone, needZone, quote, searchZones, type ZoneQuery } from "./zones.ts";

/** Options of `createTime`. */
export interface TimeOptions {
  /** Zone of calls that name none. Default: the zone of the machine. */
  readonly zone?: string;
  /** Zones in one call. Default: 50. */
  readonly maxZones?: number;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Creates a server that knows the time in every zone. */
export function createTime(options: TimeOptions = {}): Server {
  const { maxZones = 50, now = Date.now } = options;
  const home = homeOf(options.zone);
  const zoneList = (description: string): JsonSchema => ({
    ...{ type: "array", items: schemas.zone, minItems: 1, maxItems: maxZones, description },
  });
  return createServer(
    { name: "portolan-time", version: "0.1.0", title: "Time" },
    { instructions: `Times without a zone are in ${home}. The tool zones finds zone names.` },
  )
    .tool("now", {
      title: "Current time",
      description: "Returns the current time in one or more zones, and when their clocks next change",
      input: {
        type: "object",
        properties: { zones: zoneList(`Zone names. Default: ${home}`) },
        additionalProperties: false,
      },
      output: schemas.nowOutput,
      annotations: annotations.reads,
      run({ zones = [home] }: { zones?: string[] }) {
        const at = now();
        const times = zones.map((name) => withChange(needZone(name), at));
        return textResult(times.map(describe).join("\n"), { times });
      },
    })
    .tool("convert", {
      title: "Convert a time",
      description:
        "Converts a time in one zone to others. If summer time makes clocks show the time twice or never, returns both meanings and says so",
      input: {
        type: "object",
        properties: {
          time: {
            type: "string",
            maxLength: 40,
            description: "14:30 (today), 2026-03-29T14:30, or with an offset: 2026-03-29T14:30:00+02:00",
          },
          from: { ...schemas.zone, description: `Zone of the time. Default: ${home}` },
          to: zoneList("Zones to convert to"),
        },
        required: ["time", "to"],
        additionalProperties: false,
      },
      output: schemas.convertOutput,
      annotations: annotations.reads,
      run({ time, from = home, to }: { time: string; from?: string; to: string[] }) {
        const zone = needZone(from);
        const targets = to.map(needZone);
        const { shown, moments } = readIn(zone, time, now());
        const readings = moments.map(({ at, means }) => ({
          means,
          from: momentOf(zone, at),
          to: targets.map((target) => momentOf(target, at)),
        }));
        const note = noteOn(shown, time, zone);
        const lines = readings.flatMap((reading) => [
          ...(readings.length > 1 ? [`${reading.means}:`] : []),
          `${describe(reading.from)} is`,
          ...reading.to.map(describe),
        ]);
        const text = [...(note === undefined ? [] : [note]), ...lines].join("\n");
        return textResult(text, { shown, ...(note !== undefined && { note }), readings });
      },
    })
    .tool("zones", {
      title: "Find time zones",
      description: "Finds IANA zone names by text, country, city or offset; a zone must match all given arguments",
      input: {
        type: "object",
        properties: {
          text: { type: "string", maxLength: 100, description: "Words in the zone name, or a country" },
          country: { type: "string", maxLength: 100, description: "Two letters (DE) or the English name (Germany)" },
          city: {
            type: "string",
            maxLength: 100,
            description: "City in the zone name: only one or a few per zone",
          },
          offset: { type: "string", maxLength: 12, description: "Offset from UTC: +05:30, -8, Z" },
          at: {
            type: "string",
            maxLength: 40,
            description: "Time of the offset, in UTC if it has no offset. Default: now",
          },
          from: { type: "integer", minimum: 0, description: "Number to skip: `next` of the previous page" },
          limit: { type: "integer", minimum: 1, maximum: maxZones, description: "Maximum number. Default: 20" },
        },
        additionalProperties: false,
      },
      output: schemas.zonesOutput,
      annotations: annotations.reads,
      run({ at: when, from = 0, limit = Math.min(20, maxZones), ...wanted }: ZonesInput) {
        const at = when === undefined ? now() : (readIn("UTC", when, now()).moments[0]?.at ?? now());
        const found = searchZones(wanted, at);
        if (found.length === 0) {
          throw new ToolError(
            "No zone matches; remove an argument, or search by country: few zones are named after a city",
          );
        }
        const zones = found.slice(from, from + limit).map((zone) => momentOf(zone, at));
        const next = from + zones.length < found.length ? from + zones.length : undefined;
        const more = next === undefined ? [] : [`${found.length - next} more: call again with from ${next}`];
        return textResult([...zones.map(describe), ...more].join("\n") || "No more zones", {
          zones,
          total: found.length,
          ...(next !== undefined && { next }),
        });
      },
    })
    .template("time://{+zone}", {
      name: "time",
      title: "Time in a zone",
      description: "The current time in a zone, as JSON",
      mimeType: "application/json",
      list: () => [...new Set([home, "UTC"])].map((zone) => ({ uri: `time://${zone}`, name: zone })),
      complete: { zone: (typed) => completeZone(typed) },
      read({ zone }) {
        const known = findZone(String(zone));
        return known === undefined ? undefined : JSON.stringify(withChange(known, now()));
      },
    });
}

interface ZonesInput extends ZoneQuery {
  readonly at?: string;
  readonly from?: number;
  readonly limit?: number;
}

function homeOf(given: string | undefined): string {
  const home = findZone(given ?? new Intl.DateTimeFormat().resolvedOptions().timeZone);
  if (home !== undefined) return home;
  if (given === undefined) return "UTC";
  throw new RangeError(`zone: expected an IANA name such as Europe/Berlin, got ${quote(given)}`);
}

function withChange(zone: string, at: number): Moment & { nextChange?: Change } {
  const change = nextChange(zone, at);
  return { ...momentOf(zone, at), ...(change && { nextChange: change }) };
}

/** The moments a written time may mean; a time with an offset means one, whatever the zone. */
function readIn(zone: string, text: string, now: number): Reading {
  const written = readTime(text, momentOf(zone, now).time.slice(0, 10));
  if (written === undefined) {
    throw new ToolError(`time: expected 14:30, 2026-03-29T14:30 or 2026-03-29T14:30:00+02:00, got ${quote(text)}`);
  }
  if ("wall" in written) return readWall(zone, written.wall);
  return { shown: "once", moments: [{ at: written.at, means: "the only one" }] };
}

function noteOn(shown: Reading["shown"], time: string, zone: string): string | undefined {
  if (shown === "once") return undefined;
  return shown === "twice"
    ? `The clocks of ${zone} show ${time} twice, because they are set back; ask the user which one is meant if it matters`
    : `The clocks of ${zone} never show ${time}, because they are set forward; ask the user what is meant if it matters`;
}

function describe({ zone, time, weekday, name }: Moment): string {
  return `${weekday} ${time} ${zone}${name === undefined ? "" : ` (${name})`}`;
}
