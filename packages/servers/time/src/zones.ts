import { ToolError } from "portolan/server";
import { offsetAt } from "./moment.ts";
import { readOffset } from "./reading.ts";

/** Search criteria for zones; a zone must match all that are given. */
export interface ZoneQuery {
  readonly text?: string;
  readonly country?: string;
  readonly city?: string;
  readonly offset?: string;
}

/** Returns the zones that match at a moment. */
export function searchZones({ text, country, city, offset }: ZoneQuery, at: number): string[] {
  let found: readonly string[] = zoneNames();
  if (country !== undefined) {
    found = zonesOfCountry(country);
    if (found.length === 0) {
      throw new ToolError(`No country ${quote(country)}; use two letters such as DE, or its English name`);
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
    if (Number.isNaN(wanted))
      throw new ToolError(`offset: expected an offset such as +05:30 or -8, got ${quote(offset)}`);
    found = found.filter((zone) => offsetAt(zone, at) === wanted);
  }
  return [...found].sort();
}

/** Returns the zone of a name; throws a ToolError with similar names if there is none. */
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

/** Zones that the runtime lists under an old name, with their current IANA names. */
const renamed: { readonly [old: string]: string } = {
  "Africa/Asmera": "Africa/Asmara",
  "America/Buenos_Aires": "America/Argentina/Buenos_Aires",
  "America/Catamarca": "America/Argentina/Catamarca",
  "America/Coral_Harbour": "America/Atikokan",
  "America/Cordoba": "America/Argentina/Cordoba",
  "America/Godthab": "America/Nuuk",
  "America/Indianapolis": "America/Indiana/Indianapolis",
  "America/Jujuy": "America/Argentina/Jujuy",
  "America/Louisville": "America/Kentucky/Louisville",
  "America/Mendoza": "America/Argentina/Mendoza",
  "Asia/Calcutta": "Asia/Kolkata",
  "Asia/Katmandu": "Asia/Kathmandu",
  "Asia/Rangoon": "Asia/Yangon",
  "Asia/Saigon": "Asia/Ho_Chi_Minh",
  "Atlantic/Faeroe": "Atlantic/Faroe",
  "Europe/Kiev": "Europe/Kyiv",
  "Pacific/Enderbury": "Pacific/Kanton",
  "Pacific/Ponape": "Pacific/Pohnpei",
  "Pacific/Truk": "Pacific/Chuuk",
};

let known: readonly string[] | undefined;

/** Returns all zones by their current names, sorted. */
function zoneNames(): readonly string[] {
  known ??= [...new Set(["UTC", ...Intl.supportedValuesOf("timeZone").map(presentName)])].sort();
  return known;
}

/** Finds a zone by its name in any case, also by an old name; undefined if there is none. */
export function findZone(text: string): string | undefined {
  // The runtime may also accept offsets such as +02:00, which are not zones.
  if (!/^[a-z][\w+/-]{0,63}$/i.test(text)) return undefined;
  const wanted = text.toLowerCase();
  const listed = zoneNames().find((name) => name.toLowerCase() === wanted);
  if (listed !== undefined) return listed;
  try {
    return presentName(new Intl.DateTimeFormat("en-US", { timeZone: text }).resolvedOptions().timeZone);
  } catch {
    return undefined;
  }
}

/** Completes zone names: those that start with the typed text first, then those that contain it. */
export function completeZone(typed: string): string[] {
  const wanted = plain(typed);
  const rank = (name: string) => {
    const [whole, city] = [plain(name), plain(cityOf(name))];
    return whole.startsWith(wanted) ? 0 : city.startsWith(wanted) ? 1 : whole.includes(wanted) ? 2 : 3;
  };
  const ranked = zoneNames().map((name) => ({ name, rank: rank(name) }));
  const fitting = ranked.filter((one) => one.rank < 3);
  return fitting.sort((a, b) => a.rank - b.rank).map(({ name }) => name);
}

/** Returns the city of a zone name, with spaces. */
function cityOf(zone: string): string {
  return zone.slice(zone.lastIndexOf("/") + 1).replaceAll("_", " ");
}

/** Returns the zones of a country, given by its code or by (a part of) its English name. */
function zonesOfCountry(country: string): string[] {
  const wanted = plain(country);
  const exact = countries().filter(({ code, name }) => code.toLowerCase() === wanted || plain(name) === wanted);
  const found =
    exact.length > 0 ? exact : countries().filter(({ name }) => wanted.length > 2 && plain(name).includes(wanted));
  return [...new Set(found.flatMap(({ code }) => zonesOfCode(code)))];
}

/** Normalizes a text for comparison: no case, no accents, single spaces. */
function plain(text: string): string {
  const bare = text.normalize("NFD").replace(/\p{M}/gu, "");
  return bare
    .replace(/[_\s]+/g, " ")
    .trim()
    .toLowerCase();
}

interface Country {
  readonly code: string;
  readonly name: string;
}

let listed: readonly Country[] | undefined;

function countries(): readonly Country[] {
  listed ??= readCountries();
  return listed;
}

function readCountries(): Country[] {
  const names = new Intl.DisplayNames("en", { type: "region", fallback: "none" });
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  return codes.flatMap((code) => {
    const name = names.of(code);
    return name === undefined ? [] : [{ code, name }];
  });
}

/** Returns the zones of a country code; newer runtimes have a method, older ones a property. */
function zonesOfCode(code: string): string[] {
  const locale = new Intl.Locale(`und-${code}`) as Intl.Locale & {
    readonly timeZones?: readonly string[];
    getTimeZones?(): readonly string[] | undefined;
  };
  return (locale.getTimeZones?.() ?? locale.timeZones ?? []).map(presentName);
}

function presentName(name: string): string {
  return renamed[name] ?? name;
}
