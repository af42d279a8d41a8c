import { findCity, type Region } from "./cities.ts";

/** Preferences of the user for a part of the world. */
const preferences: { readonly [region in Region]: object } = {
  europe: {
    airlines: ["Portolan Air", "Meridian"],
    departure: "morning",
    maxStops: 1,
    hotel: "four stars, quiet, near the sea if there is one",
    interests: ["architecture", "food", "beaches"],
  },
  "north-america": { airlines: ["Azimuth"], departure: "any", maxStops: 1, hotel: "central", interests: ["museums"] },
  caribbean: {
    airlines: ["Meridian"],
    departure: "morning",
    maxStops: 2,
    hotel: "on the beach",
    interests: ["beaches"],
  },
};

export const regions: readonly string[] = Object.keys(preferences);

export function preferencesFor(region: string): object | undefined {
  const known = region.toLowerCase();
  return isRegion(known) ? { region: known, ...preferences[known] } : undefined;
}

function isRegion(text: string): text is Region {
  return Object.hasOwn(preferences, text);
}

interface Trip {
  readonly trip: string;
  readonly from: string;
  readonly to: string;
  readonly enjoyed: readonly string[];
  readonly avoid: readonly string[];
}

const pastTrips: readonly Trip[] = [
  {
    ...{ trip: "Spain-2023", from: "2023-05-06", to: "2023-05-14" },
    enjoyed: ["Barcelona: Gràcia, tapas, the beach at Bogatell", "Girona: the old walls"],
    avoid: ["hotels on the Rambla: loud at night"],
  },
  {
    ...{ trip: "Portugal-2022", from: "2022-09-10", to: "2022-09-17" },
    enjoyed: ["Lisbon: tram 28, Belém"],
    avoid: ["flights that land after midnight"],
  },
];

const itineraries: readonly Trip[] = [
  {
    ...{ trip: "barcelona-2023", from: "2023-05-06", to: "2023-05-10" },
    enjoyed: ["Sagrada Família", "Park Güell early in the morning", "dinner in Gràcia"],
    avoid: ["three museums on one day"],
  },
  {
    ...{ trip: "lisbon-2022", from: "2022-09-10", to: "2022-09-17" },
    enjoyed: ["Belém", "a day in Sintra"],
    avoid: ["the queue of the Santa Justa lift"],
  },
];

export const pastTripNames: readonly string[] = pastTrips.map(({ trip }) => trip);
export const itineraryNames: readonly string[] = itineraries.map(({ trip }) => trip);

export const findPastTrip = (name: string): object | undefined => findTrip(pastTrips, name);
export const findItinerary = (name: string): object | undefined => findTrip(itineraries, name);

function findTrip(trips: readonly Trip[], name: string): Trip | undefined {
  return trips.find(({ trip }) => trip.toLowerCase() === name.toLowerCase());
}

export const categories = ["museums", "food", "outdoors"] as const;

const activities: { readonly [city: string]: readonly (readonly string[])[] } = {
  Barcelona: [
    ["Museu Picasso", "Fundació Joan Miró", "Museu Nacional d'Art de Catalunya"],
    ["Mercat de la Boqueria", "tapas in Gràcia"],
    ["Park Güell", "the beach at Bogatell"],
  ],
  Lisbon: [["Museu Nacional do Azulejo"], ["pastéis in Belém", "Time Out Market"], ["Miradouro da Graça", "Sintra"]],
  London: [["British Museum", "Tate Modern"], ["Borough Market"], ["Hampstead Heath", "Greenwich"]],
  "New York": [["The Met", "MoMA"], ["Chelsea Market"], ["Central Park", "the High Line"]],
  Oslo: [["MUNCH", "Fram Museum"], ["Mathallen"], ["Hovedøya by ferry", "Holmenkollen"]],
  Reykjavik: [["Perlan"], ["Hlemmur Mathöll"], ["Sky Lagoon", "Thingvellir"]],
  Paris: [["Louvre", "Musée d'Orsay"], ["Marché des Enfants Rouges"], ["Canal Saint-Martin"]],
  Barbados: [["Barbados Museum"], ["Oistins fish fry"], ["Carlisle Bay", "Harrison's Cave"]],
  "San Francisco": [["SFMOMA", "Exploratorium"], ["Ferry Building"], ["Lands End", "the Golden Gate Bridge"]],
};

/** Returns what to do in a city; undefined if the city or the category is unknown. */
export function activitiesIn(city: string, category: string): object | undefined {
  const known = findCity(city);
  const index = (categories as readonly string[]).indexOf(category.toLowerCase());
  const found = known && activities[known.name]?.[index];
  return found && { city: known.name, category: categories[index], activities: found };
}
