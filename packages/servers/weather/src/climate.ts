/** A place with a climate. */
export interface Place {
  readonly name: string;
  readonly latitude: number;
  readonly longitude: number;
  /** Mean temperature of the year in degrees Celsius. */
  readonly mean: number;
  /** Degrees that January is below the mean; negative in the southern hemisphere. */
  readonly swing: number;
  /** Dry days out of ten. */
  readonly dry: number;
}

const table: readonly (readonly [string, number, number, number, number, number])[] = [
  ["Barbados", 13.1, -59.6, 27, 1, 7],
  ["Barcelona", 41.4, 2.2, 18, 8, 8],
  ["Berlin", 52.5, 13.4, 10, 10, 5],
  ["Buenos Aires", -34.6, -58.4, 18, -7, 7],
  ["Cairo", 30.0, 31.2, 22, 8, 10],
  ["Cape Town", -33.9, 18.4, 17, -4, 7],
  ["Delhi", 28.6, 77.2, 25, 10, 7],
  ["Lisbon", 38.7, -9.1, 17, 6, 7],
  ["London", 51.5, -0.1, 12, 7, 4],
  ["Madrid", 40.4, -3.7, 15, 10, 8],
  ["Mexico City", 19.4, -99.1, 17, 3, 6],
  ["Nairobi", -1.3, 36.8, 19, -1, 7],
  ["New York", 40.7, -74.0, 13, 13, 6],
  ["Oslo", 59.9, 10.8, 7, 11, 5],
  ["Paris", 48.9, 2.4, 12, 8, 5],
  ["Park City", 40.6, -111.5, 6, 13, 6],
  ["Reykjavik", 64.1, -21.9, 5, 6, 3],
  ["Rome", 41.9, 12.5, 16, 9, 7],
  ["San Francisco", 37.8, -122.4, 15, 4, 7],
  ["Singapore", 1.4, 103.8, 28, 1, 4],
  ["Sydney", -33.9, 151.2, 18, -5, 6],
  ["Tokyo", 35.7, 139.7, 16, 11, 6],
  ["Toronto", 43.7, -79.4, 9, 13, 6],
];

const places: readonly Place[] = table.map(([name, latitude, longitude, mean, swing, dry]) => ({
  ...{ name, latitude, longitude },
  ...{ mean, swing, dry },
}));

export const placeNames: readonly string[] = places.map(({ name }) => name);

/** Finds a place by its name, by an address that contains its name, or by `latitude,longitude`. */
export function findPlace(text: string): Place | undefined {
  const wanted = text.trim().toLowerCase();
  const exact = places.find(({ name }) => name.toLowerCase() === wanted);
  if (exact) return exact;
  const coordinates = /^(-?\d{1,3}(?:\.\d+)?)\s*,\s*(-?\d{1,3}(?:\.\d+)?)$/.exec(wanted);
  if (coordinates) return placeAt(Number(coordinates[1]), Number(coordinates[2]));
  // The longest name wins, and names count only as whole words.
  const words = ` ${wanted.replace(/[^\p{L}\p{N}]+/gu, " ")} `;
  return places
    .filter(({ name }) => words.includes(` ${name.toLowerCase()} `))
    .toSorted((a, b) => b.name.length - a.name.length)[0];
}

/** Returns the nearest known place within about a hundred kilometres, else a climate derived from the latitude. */
function placeAt(latitude: number, longitude: number): Place | undefined {
  if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180) return undefined;
  const shrink = Math.cos((latitude * Math.PI) / 180);
  const near = places.find(
    (place) => Math.hypot(place.latitude - latitude, (place.longitude - longitude) * shrink) < 0.9,
  );
  if (near) return near;
  const swing = Math.sign(latitude) * Math.min(15, Math.abs(latitude) / 4);
  const mean = Math.round(28 - (Math.abs(latitude) / 90) ** 1.5 * 50);
  return { name: `${latitude},${longitude}`, latitude, longitude, mean, swing, dry: 6 };
}

export type Sky = "sunny" | "partly cloudy" | "cloudy" | "rain" | "snow";
export const skies: readonly Sky[] = ["sunny", "partly cloudy", "cloudy", "rain", "snow"];
const winds = ["north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest"] as const;

/** The weather of a place on a day. */
export interface Weather {
  readonly city: string;
  readonly date: string;
  readonly sky: Sky;
  /** Degrees Celsius. */
  readonly high: number;
  readonly low: number;
  /** Kilometres per hour. */
  readonly wind: number;
  readonly windFrom: string;
  /** Percent. */
  readonly humidity: number;
}

/** Returns invented weather: always the same for a place and a day, and plausible for the season. */
export function weatherOf({ name, mean, swing, dry }: Place, date: string): Weather {
  const yearDay = (Date.parse(date) / 86_400_000) % 365.25;
  const luck = pick(`${name} ${date}`, 10);
  const season = mean - swing * Math.cos(((yearDay - 15) / 365.25) * 2 * Math.PI);
  const high = Math.round(season + 2 + pick(`${name} ${date} high`, 5));
  const isWet = luck >= dry;
  return {
    city: name,
    date,
    sky: isWet ? (high <= 1 ? "snow" : "rain") : (skies[luck % 3] ?? "sunny"),
    high,
    low: high - 6 - pick(`${name} ${date} low`, 4),
    wind: 3 + pick(`${name} ${date} wind`, isWet ? 40 : 20),
    windFrom: winds[pick(`${name} ${date} from`, winds.length)] ?? "west",
    humidity: (isWet ? 70 : 40) + pick(`${name} ${date} humidity`, 26),
  };
}

/** Returns a pseudo-random number below `count` derived from a text. */
function pick(text: string, count: number): number {
  let hash = 2_166_136_261;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619);
  hash ^= hash >>> 15;
  return (Math.imul(hash, 2_246_822_519) >>> 8) % count;
}
