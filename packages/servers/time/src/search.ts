import { ToolError } from "portolan/server";
import { offsetAt } from "./moment.ts";
import { cityOf, completeZone, findZone, plain, zoneNames, zonesOfCountry } from "./names.ts";
import { readOffset } from "./reading.ts";

/** What zones are looked for by; all that is given must fit. */
export interface Wanted {
  readonly text?: string;
  readonly country?: string;
  readonly city?: string;
  readonly offset?: string;
}

/** The zones that fit, at a moment. */
export function searchZones({ text, country, city, offset }: Wanted, at: number): string[] {
  let found: readonly string[] = zoneNames();
  if (country !== undefined) {
    found = zonesOfCountry(country);
    if (found.length === 0) {
      throw new ToolError(`No country ${quote(country)}; give two letters such as DE, or its English name`);
    }
  }
  if (city !== undefined) found = found.filter((zone) => plain(cityOf(zone)).includes(plain(city)));
  if (text !== undefined) {
    const words = plain(text).split(" ");
    const ofCountry = new Set(zonesOfCountry(text));
    found = found.filter((zone) => ofCountry.has(zone) || words.every((word) => plain(zone).includes(word)));
  }
  if (offset !== undefined) {
    const wanted = readOffset(offset);
    if (Number.isNaN(wanted)) throw new ToolError(`offset: expected such as +05:30 or -8, got ${quote(offset)}`);
    found = found.filter((zone) => offsetAt(zone, at) === wanted);
  }
  return [...found].sort();
}

/** The zone of a name; an error that names similar ones otherwise. */
export function needZone(name: string): string {
  const zone = findZone(name);
  if (zone !== undefined) return zone;
  const similar = completeZone(cityOf(name)).slice(0, 5);
  const hint = similar.length > 0 ? `did you mean ${similar.join(", ")}?` : "the tool zones finds names by country";
  throw new ToolError(`No time zone ${quote(name)}; ${hint}`);
}

export function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
