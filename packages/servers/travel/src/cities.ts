/** A city with an airport. */
export interface City {
  readonly name: string;
  readonly country: string;
  /** Mean temperature of the year in degrees Celsius; `swing` is how far January is below it. */
  readonly mean: number;
  readonly swing: number;
  /** Dry days out of ten. */
  readonly dry: number;
  readonly advice: string;
}

export const cities: readonly City[] = [
  { name: "Barcelona", country: "Spain", mean: 18, swing: 8, dry: 8, advice: "Book the Sagrada Família days ahead." },
  { name: "Lisbon", country: "Portugal", mean: 17, swing: 6, dry: 7, advice: "Take tram 28 early in the morning." },
  { name: "London", country: "United Kingdom", mean: 12, swing: 7, dry: 4, advice: "Most museums cost nothing." },
  {
    name: "New York",
    country: "United States",
    mean: 13,
    swing: 13,
    dry: 6,
    advice: "The Staten Island ferry is free.",
  },
  { name: "Oslo", country: "Norway", mean: 7, swing: 11, dry: 5, advice: "Ferries to the islands leave from pier 4." },
  { name: "Reykjavik", country: "Iceland", mean: 5, swing: 6, dry: 3, advice: "Bring a swimsuit in every season." },
];

export const cityNames: readonly string[] = cities.map(({ name }) => name);

const byName = new Map(cities.map((city) => [city.name.toLowerCase(), city]));

/** Finds a city by its name, in any case. */
export function findCity(name: string): City | undefined {
  return byName.get(name.trim().toLowerCase());
}

export interface Weather {
  readonly city: string;
  readonly date: string;
  readonly sky: "sunny" | "cloudy" | "rain" | "snow";
  readonly celsius: number;
  readonly advice: string;
}

/** Returns invented weather: the same for each day and city, and plausible for the season. */
export function weatherOf({ name, mean, swing, dry, advice }: City, date: string): Weather {
  const yearDay = (Date.parse(date) / 86_400_000) % 365.25;
  const luck = pick(`${name} ${date}`, 10);
  const celsius = Math.round(mean - swing * Math.cos(((yearDay - 15) / 365.25) * 2 * Math.PI) + (luck % 5) - 2);
  const wet = celsius <= 0 ? "snow" : "rain";
  const sky = luck >= dry ? wet : luck % 2 === 0 ? "sunny" : "cloudy";
  return { city: name, date, sky, celsius, advice };
}

/** Returns a pseudo-random number below `count` derived from a text. */
export function pick(text: string, count: number): number {
  let hash = 2_166_136_261;
  for (const character of text) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 16_777_619);
  hash ^= hash >>> 15;
  return (Math.imul(hash, 2_246_822_519) >>> 8) % count;
}
