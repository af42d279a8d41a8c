import { type City, pick } from "./cities.ts";

/** A hotel with its price for a stay. */
export interface Hotel {
  readonly name: string;
  readonly stars: number;
  /** In dollars, for one night and one room. */
  readonly perNight: number;
}

const names = ["Beachfront Hotel", "Grand Hotel", "Garden House", "Station Hotel", "Harbour Rooms"];

/** Returns the invented hotels of a city for a stay, best first. */
export function hotelsIn({ name: city }: City, checkIn: string): Hotel[] {
  const hotels = names.map((name, index) => {
    const stars = [4, 5, 3, 3, 2][index] ?? 3;
    return { name: `${name} ${city}`, stars, perNight: stars * 38 + pick(`${city} ${name} ${checkIn}`, 40) };
  });
  return hotels.sort((a, b) => b.stars - a.stars || a.perNight - b.perNight);
}
