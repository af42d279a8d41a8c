export type Region = "europe" | "north-america" | "caribbean";

export interface Airport {
  /** IATA code. */
  readonly code: string;
  readonly name: string;
}

/** A city with an airport. */
export interface City {
  readonly name: string;
  readonly country: string;
  readonly region: Region;
  /** IATA code of the city, which covers all of its airports. */
  readonly code: string;
  readonly airports: readonly Airport[];
  /** Mean temperature of the year in degrees Celsius; `swing` is how far January is below it. */
  readonly mean: number;
  readonly swing: number;
  /** Dry days out of ten. */
  readonly dry: number;
  readonly advice: string;
}

/** At most nine: ids of flights have one digit for each city. */
export const cities: readonly City[] = [
  {
    ...{ name: "Barcelona", country: "Spain", region: "europe", code: "BCN" },
    airports: [{ code: "BCN", name: "Josep Tarradellas Barcelona-El Prat" }],
    ...{ mean: 18, swing: 8, dry: 8, advice: "Book the Sagrada Família days ahead." },
  },
  {
    ...{ name: "Lisbon", country: "Portugal", region: "europe", code: "LIS" },
    airports: [{ code: "LIS", name: "Humberto Delgado" }],
    ...{ mean: 17, swing: 6, dry: 7, advice: "Take tram 28 early in the morning." },
  },
  {
    ...{ name: "London", country: "United Kingdom", region: "europe", code: "LON" },
    airports: [
      { code: "LHR", name: "Heathrow" },
      { code: "LGW", name: "Gatwick" },
    ],
    ...{ mean: 12, swing: 7, dry: 4, advice: "Most museums cost nothing." },
  },
  {
    ...{ name: "New York", country: "United States", region: "north-america", code: "NYC" },
    airports: [
      { code: "JFK", name: "John F. Kennedy International" },
      { code: "LGA", name: "LaGuardia" },
      { code: "EWR", name: "Newark Liberty International" },
    ],
    ...{ mean: 13, swing: 13, dry: 6, advice: "The Staten Island ferry is free." },
  },
  {
    ...{ name: "Oslo", country: "Norway", region: "europe", code: "OSL" },
    airports: [{ code: "OSL", name: "Gardermoen" }],
    ...{ mean: 7, swing: 11, dry: 5, advice: "Ferries to the islands leave from pier 4." },
  },
  {
    ...{ name: "Reykjavik", country: "Iceland", region: "europe", code: "REK" },
    airports: [{ code: "KEF", name: "Keflavik International" }],
    ...{ mean: 5, swing: 6, dry: 3, advice: "Bring a swimsuit in every season." },
  },
  {
    ...{ name: "Paris", country: "France", region: "europe", code: "PAR" },
    airports: [
      { code: "CDG", name: "Charles de Gaulle" },
      { code: "ORY", name: "Orly" },
    ],
    ...{ mean: 12, swing: 8, dry: 5, advice: "Museums are quiet on Thursday evenings." },
  },
  {
    ...{ name: "Barbados", country: "Barbados", region: "caribbean", code: "BGI" },
    airports: [{ code: "BGI", name: "Grantley Adams International" }],
    ...{ mean: 27, swing: 1, dry: 7, advice: "Share a taxi van along the coast." },
  },
  {
    ...{ name: "San Francisco", country: "United States", region: "north-america", code: "SFO" },
    airports: [{ code: "SFO", name: "San Francisco International" }],
    ...{ mean: 15, swing: 4, dry: 7, advice: "Bring a jacket, also in July." },
  },
];

export const cityNames: readonly string[] = cities.map(({ name }) => name);

const byName = new Map(
  cities.flatMap((city) => [
    ...[city.name, city.code, labelOf(city)].map((name) => [name.toLowerCase(), city] as const),
    ...city.airports.flatMap((airport) =>
      [airport.code, labelOfAirport(airport)].map((name) => [name.toLowerCase(), city] as const),
    ),
  ]),
);

/** Finds a city by its name, its code or one of its airports: `New York`, `NYC`, `JFK`; also by a completion. */
export function findCity(name: string): City | undefined {
  return byName.get(name.trim().toLowerCase());
}

/** Completes a place to fly from or to: `bar` to `Barcelona (BCN)`, `nyc` to the city and its airports. */
export function completePlace(typed: string): string[] {
  const wanted = typed.trim().toLowerCase();
  const isFitting = (...texts: string[]) => texts.some((text) => text.toLowerCase().startsWith(wanted));
  return cities.flatMap((city) => {
    const label = labelOf(city);
    const isCity = isFitting(label, city.code);
    // A city with one airport is the same place as its airport.
    const airports = city.airports.length > 1 ? city.airports : [];
    const isWhole = wanted === city.code.toLowerCase();
    const named = airports.filter((airport) => isWhole || (wanted !== "" && isFitting(airport.code, airport.name)));
    return [...(isCity ? [label] : []), ...named.map(labelOfAirport)];
  });
}

function labelOf({ name, code }: City): string {
  return `${name} (${code})`;
}

function labelOfAirport({ code, name }: Airport): string {
  return `${code} - ${name}`;
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
