import { setTimeout } from "node:timers/promises";
import { RpcError, rpcCodes } from "portolan";
import { createServer, type Server, ToolError } from "portolan/server";
import { apps } from "portolan/server/apps";
import { tasks } from "portolan/server/tasks";
import { addDays, annotations, dayOf, daysFrom, isDay, object, textResult } from "portolan-server-kit";
import { type BookInput, book, passengerSchema } from "./book.ts";
import { calendarOf } from "./calendar.ts";
import { type City, cityNames, completePlace, findCity, weatherOf } from "./cities.ts";
import { flightBoard } from "./flight-board.ts";
import { choose, describe, type Flight, findBest, findFlight, flightsBetween } from "./flights.ts";
import * as guide from "./guide.ts";
import { hotelsIn } from "./hotels.ts";
import { Ledger } from "./ledger.ts";
import { type Offer, reserve } from "./reserve.ts";
import * as schemas from "./schemas.ts";
import { createSkills } from "./skills.ts";

/** Options of `createTravel`. */
export interface TravelOptions {
  /** Duration of each of the three steps of a booking. Default: 300 ms. */
  readonly stepMs?: number;
  /** Waits for the duration of a step instead of `stepMs`; rejects when the signal aborts. */
  readonly pause?: (signal: AbortSignal) => Promise<void>;
  /** Bookings of one caller. Default: 100. */
  readonly maxBookings?: number;
  /** Open quotes of one caller, for clients without forms. A new one takes the place of the oldest. Default: 100. */
  readonly maxQuotes?: number;
  /** Callers with bookings, and callers with open quotes. Further ones are refused. Default: 1,000. */
  readonly maxCallers?: number;
  /** How long a quote is valid, for clients without forms. Default: 15 minutes. */
  readonly quoteMs?: number;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

const calendarUri = "travel://calendar";
const itineraryUri = "travel://itinerary";
const daysAhead = 365;

interface Journey {
  readonly from: string;
  readonly to: string;
  readonly date: string;
}

const journey = {
  from: schemas.city("City of departure"),
  to: schemas.city("Destination"),
  date: schemas.date("Day of departure"),
};

interface TripInput {
  readonly origin: string;
  readonly destination: string;
  readonly date: string;
}

const tripInput = {
  origin: schemas.city("Departure city"),
  destination: schemas.city("Arrival city"),
  date: schemas.anyDate("Travel date"),
};

const confirmation = {
  type: "string",
  maxLength: 40,
  description: "The code from the first call, after the user agreed; only if the client has no forms",
} as const;

interface HotelInput {
  readonly city: string;
  readonly checkIn: string;
  readonly checkOut: string;
  readonly budget?: number;
  readonly travelers?: number;
  readonly flights?: readonly string[];
  readonly confirmation?: string;
}

/** Creates a server with invented weather, flights and a calendar, and bookings that stay in the process. */
export function createTravel(options: TravelOptions = {}): Server {
  const { stepMs = 300, maxBookings = 100, quoteMs = 900_000, now = Date.now } = options;
  const { maxQuotes = 100, maxCallers = 1_000 } = options;
  const { pause = (signal) => setTimeout(stepMs, undefined, { signal }) } = options;
  const ledger = new Ledger({ maxBookings, maxQuotes, maxCallers, quoteMs }, now);
  const today = () => dayOf(now());
  const isOpen = (date: string) => isDay(date) && date >= today() && date <= addDays(today(), daysAhead);
  const completeDate = (typed: string) => daysFrom(today(), daysAhead + 1).filter((day) => day.startsWith(typed));
  const changed = (owner: string) => {
    for (const uri of [calendarUri, itineraryUri]) server.publish("resources/updated", { uri }, { principal: owner });
  };

  function needDate(date: string): string {
    if (isOpen(date)) return date;
    throw new ToolError(
      `date: expected a day from ${today()} to ${addDays(today(), daysAhead)}, got ${JSON.stringify(date)}`,
    );
  }

  const needFlights = ({ from, to, date }: Journey) =>
    flightsOn(needCity("from", from), needCity("to", to), needDate(date));
  const findTrips = ({ origin, destination, date }: TripInput) =>
    flightsOn(needCity("origin", origin), needCity("destination", destination), needAnyDate("date", date));

  const server = createServer(
    { name: "portolan-travel", version: "0.1.0", title: "Travel" },
    {
      instructions:
        "Plans and books trips with invented data. Prices are in dollars. Read travel://preferences/{region} first; searchFlights and findBestFlight find flights for bookFlight and bookHotel.",
    },
  )
    .extend(tasks())
    .extend(apps())
    .extend(createSkills())
    .tool("forecast", {
      title: "Weather forecast",
      description: "Returns the weather in a city on a day, with local advice",
      input: object({ city: schemas.city("The city"), date: schemas.date("The day") }),
      output: schemas.weather,
      annotations: annotations.reads,
      run({ city, date }: { city: string; date: string }) {
        const weather = weatherOf(needCity("city", city), needDate(date));
        const text = `${weather.city}, ${date}: ${weather.sky}, ${weather.celsius} °C. ${weather.advice}`;
        return textResult(text, weather);
      },
    })
    .tool("searchFlights", {
      title: "Search flights",
      description: "Search for available flights. Returns the ten cheapest",
      input: object({ ...tripInput, maxPrice: schemas.maxPrice }, ["maxPrice"]),
      output: schemas.found,
      annotations: annotations.reads,
      ui: flightBoard,
      run: ({ maxPrice, ...trip }: TripInput & { maxPrice?: number }) => cheapest(findTrips(trip), maxPrice),
    })
    .tool("findBestFlight", {
      title: "Find the best flight",
      description:
        "Lets the user's model compare all flights of a day and recommend three, with reasons; takes the cheapest if the client does not support sampling",
      input: object({
        ...tripInput,
        preferences: {
          ...{ type: "string", minLength: 1, maxLength: 500 },
          description: "What matters to the user, such as: morning departure, max 1 layover",
        },
      }),
      output: schemas.best,
      annotations: annotations.reads,
      async run({ preferences, ...trip }: TripInput & { preferences: string }, ctx) {
        const best = await findBest(findTrips(trip), preferences, ctx);
        const lines = best.recommendations.map(
          ({ flight, why }, index) => `${index + 1}. ${describe(flight)}\n   ${why}`,
        );
        return textResult(lines.join("\n"), best);
      },
    })
    .tool("bookFlight", {
      title: "Book a flight",
      description: "Books a flight after the user has confirmed it in a form",
      input: object({ flight: schemas.flightId, date: schemas.anyDate("Day of departure"), confirmation }, [
        "confirmation",
      ]),
      output: schemas.reserved,
      annotations: annotations.adds,
      task: "optional",
      run({ flight: id, date, confirmation }: { flight: string; date: string; confirmation?: string }, ctx) {
        const flight = needFlight(id, needAnyDate("date", date));
        const offer = { title: describe(flight), start: date, end: date, price: flight.price, city: flight.to };
        return reserve({ ledger, pause, changed }, { ...offer, hasFlights: true, hasHotel: false }, confirmation, ctx);
      },
    })
    .tool("bookHotel", {
      title: "Book a hotel",
      description:
        "Finds the best hotel within the budget and books it, with flights if they are given, after the user has confirmed it in a form",
      input: object(
        {
          city: schemas.city("Where to stay"),
          checkIn: schemas.anyDate("First day"),
          checkOut: schemas.anyDate("Last day"),
          budget: { type: "number", minimum: 0, description: "Maximum price of everything in dollars" },
          travelers: { type: "integer", minimum: 1, maximum: 9, description: "Number of people. Default: 1" },
          flights: {
            ...{ type: "array", items: schemas.flightId, maxItems: 2 },
            description: "Flights to book with it: the first leaves on checkIn, the second on checkOut",
          },
          confirmation,
        },
        ["budget", "travelers", "flights", "confirmation"],
      ),
      output: schemas.reserved,
      annotations: annotations.adds,
      task: "optional",
      run: ({ confirmation, ...stay }: HotelInput, ctx) =>
        reserve({ ledger, pause, changed }, offerFor(stay), confirmation, ctx),
    })
    .tool("search-flights", {
      title: "Search flights (old name)",
      description: "Same as searchFlights, for days from today to a year ahead",
      input: object({ ...journey, maxPrice: schemas.maxPrice }, ["maxPrice"]),
      output: schemas.found,
      annotations: annotations.reads,
      run: ({ maxPrice, ...wanted }: Journey & { maxPrice?: number }) => cheapest(needFlights(wanted), maxPrice),
    })
    .tool("choose-flight", {
      title: "Choose a flight (old name of findBestFlight)",
      description:
        "Lets the user's model choose the flight that fits a wish best; takes the cheapest if the client does not support sampling",
      input: object({
        ...journey,
        wish: { type: "string", minLength: 1, maxLength: 500, description: "What matters to the user" },
      }),
      output: schemas.choice,
      annotations: annotations.reads,
      async run({ wish, ...wanted }: Journey & { wish: string }, ctx) {
        const choice = await choose(needFlights(wanted), wish, ctx);
        return textResult(`${describe(choice.flight)}\n${choice.why}`, choice);
      },
    })
    .tool("book", {
      title: "Book a flight (with the passenger)",
      description:
        "Books a flight after the user has confirmed it and entered the passenger in a form. If the client has no forms, the first call books nothing and returns a confirmation code for the second",
      input: object(
        {
          flight: schemas.flightId,
          date: schemas.date("Day of departure"),
          passenger: {
            ...passengerSchema,
            description: "The passenger; only with confirmation, otherwise the user is asked",
          },
          confirmation: {
            type: "string",
            maxLength: 40,
            description: "The code from the first call, after the user agreed",
          },
        },
        ["passenger", "confirmation"],
      ),
      output: schemas.booked,
      annotations: annotations.adds,
      run(input: BookInput, ctx) {
        const flight = needFlight(input.flight, needDate(input.date));
        return book({ ledger, pause, changed }, flight, input, ctx);
      },
    })
    .resource(calendarUri, {
      name: "Calendar",
      title: "Calendar",
      description: "Holidays, appointments and bookings of the next year, as JSON",
      mimeType: "application/json",
      subscribe: true,
      read: (ctx) =>
        JSON.stringify({ today: today(), events: calendarOf(today(), ledger.bookingsOf(ctx.principal.key)) }),
    })
    .resource(itineraryUri, {
      name: "Itinerary",
      title: "Itinerary",
      description: "What the user has booked, as JSON",
      mimeType: "application/json",
      subscribe: true,
      read: (ctx) => JSON.stringify({ bookings: ledger.bookingsOf(ctx.principal.key) }),
    })
    .template("travel://preferences/{region}", {
      name: "preferences",
      title: "Travel preferences",
      description: "Preferred airlines, hotels and interests in a part of the world, as JSON",
      mimeType: "application/json",
      list: () => guide.regions.map((region) => ({ uri: `travel://preferences/${region}`, name: `In ${region}` })),
      complete: { region: [...guide.regions] },
      read: ({ region }) => toJson(guide.preferencesFor(String(region))),
    })
    .template("travel://past-trips/{trip}", {
      name: "past-trips",
      title: "Past trips",
      description: "What the user liked on an earlier trip such as Spain-2023, as JSON",
      mimeType: "application/json",
      list: () => guide.pastTripNames.map((trip) => ({ uri: `travel://past-trips/${trip}`, name: trip })),
      complete: { trip: [...guide.pastTripNames] },
      read: ({ trip }) => toJson(guide.findPastTrip(String(trip))),
    })
    .template("trips://history/{trip}", {
      name: "trip-history",
      title: "Previous itineraries",
      description: "An earlier itinerary such as barcelona-2023, as JSON",
      mimeType: "application/json",
      list: () => guide.itineraryNames.map((trip) => ({ uri: `trips://history/${trip}`, name: trip })),
      complete: { trip: [...guide.itineraryNames] },
      read: ({ trip }) => toJson(guide.findItinerary(String(trip))),
    })
    .template("travel://activities/{city}/{category}", {
      name: "activities",
      title: "Activities",
      description: "Activities by city and category, as JSON",
      mimeType: "application/json",
      complete: { city: completeCity, category: [...guide.categories] },
      read: ({ city, category }) => toJson(guide.activitiesIn(String(city), String(category))),
    })
    .template("travel://flights/{origin}/{destination}", {
      name: "flight-search",
      title: "Flight Search",
      description: "Search available flights between cities",
      mimeType: "application/json",
      complete: {
        origin: completePlace,
        destination: (typed, { origin = "" }) =>
          completePlace(typed).filter((place) => findCity(place) !== findCity(origin)),
      },
      read({ origin, destination }) {
        const [start, end] = [findCity(String(origin)), findCity(String(destination))];
        if (!start || !end || start === end) return undefined;
        return JSON.stringify({ date: today(), flights: flightsOn(start, end, today()) });
      },
    })
    .template("travel://weather/{city}/{date}", {
      name: "weather",
      title: "Weather",
      description: "The weather in a city on a day, as JSON",
      mimeType: "application/json",
      list: () =>
        cityNames.map((name) => ({
          uri: `travel://weather/${encodeURIComponent(name)}/${today()}`,
          name: `${name} today`,
        })),
      complete: { city: completeCity, date: completeDate },
      read({ city, date }) {
        const found = findCity(String(city));
        return found && isOpen(String(date)) ? JSON.stringify(weatherOf(found, String(date))) : undefined;
      },
    })
    .template("travel://flights/{from}/{to}/{date}", {
      name: "flights",
      title: "Flights",
      description: "The flights between two cities on a day, as JSON",
      mimeType: "application/json",
      complete: {
        from: completeCity,
        to: (typed, { from }) => completeCity(typed).filter((name) => name !== from),
        date: completeDate,
      },
      read({ from, to, date }) {
        const [start, end] = [findCity(String(from)), findCity(String(to))];
        if (!start || !end || start === end || !isOpen(String(date))) return undefined;
        return JSON.stringify({ flights: byPrice(flightsBetween(start.name, end.name, String(date))) });
      },
    })
    .prompt("plan-vacation", {
      title: "Plan a vacation",
      description: "Plans a vacation that fits the calendar, the weather and the budget",
      arguments: {
        destination: { title: "Destination", description: "A city", required: true, complete: completeCity },
        origin: {
          ...{ title: "Origin", description: "Where the trip starts. Default: NYC, or LON for a trip to New York" },
          complete: (typed, { destination }) => completeCity(typed).filter((name) => name !== destination),
        },
        departure_date: { title: "Departure", description: "Such as 2024-06-15", complete: completeDate },
        return_date: { title: "Return", description: "Such as 2024-06-22", complete: completeDate },
        duration: {
          title: "Days",
          description: "Days, instead of return_date. Default: 7",
          complete: ["3", "7", "10", "14"],
        },
        budget: { title: "Budget", description: "In dollars", complete: ["1000", "2000", "3000", "5000"] },
        travelers: { title: "Travelers", description: "Number of people. Default: 1", complete: ["1", "2", "4"] },
        interests: { title: "Interests", description: "Such as beaches, architecture, food" },
      },
      get({ destination, origin: given, departure_date, return_date, duration, budget, travelers = "1", interests }) {
        const city = findCity(destination);
        if (!city) throw unknownDestination(destination);
        const origin = given ?? (city.code === "NYC" ? "LON" : "NYC");
        const start = departure_date ?? addDays(today(), 30);
        const days = /^\d{1,3}$/.test(duration ?? "") ? Number(duration) : 7;
        const end = return_date ?? (isDay(start) ? addDays(start, days) : undefined);
        const until = end === undefined ? "" : ` and return on ${clip(end)}`;
        const trip = `${clip(start)}${until}`;
        const wishes = [
          `Plan a vacation in ${city.name} for ${clip(travelers)} ${travelers === "1" ? "traveler" : "travelers"} from ${clip(origin)}.`,
          departure_date === undefined
            ? `Find days that are free in my calendar; if they are, I leave on ${trip}.`
            : `I leave on ${trip}.`,
          budget === undefined ? "Compare prices." : `The budget is ${clip(budget)} dollars.`,
          ...(interests === undefined ? [] : [`I like ${clip(interests)}.`]),
          `Look at travel://preferences/${city.region} and at my past trips, search flights with searchFlights or findBestFlight, check the weather, and book with bookHotel. Create a calendar event "Vacation in ${city.name}", and offer me a confirmation by e-mail.`,
        ];
        return wishes.join(" ");
      },
    });
  return server;
}

function needCity(argument: string, name: string): City {
  const city = findCity(name);
  if (city) return city;
  throw new ToolError(`${argument}: expected one of ${cityNames.join(", ")}, got ${JSON.stringify(name)}`);
}

function completeCity(typed: string): string[] {
  return cityNames.filter((name) => name.toLowerCase().startsWith(typed.toLowerCase()));
}

function needAnyDate(argument: string, date: string): string {
  if (isDay(date)) return date;
  throw new ToolError(`${argument}: expected a day such as 2024-06-15, got ${JSON.stringify(date)}`);
}

function needFlight(id: string, date: string): Flight {
  const flight = findFlight(id, date);
  if (flight) return flight;
  throw new ToolError(`No flight ${JSON.stringify(id)}; searchFlights finds flights`);
}

/** Returns all flights between two cities, cheapest first. */
function flightsOn(from: City, to: City, date: string): [Flight, ...Flight[]] {
  const [first, ...more] = byPrice(flightsBetween(from.name, to.name, date));
  if (!first) throw new ToolError("The two cities are the same city; ask the user for the destination");
  return [first, ...more];
}

const maxFound = 10;

/** Returns the cheapest flights as a result. */
function cheapest(all: readonly [Flight, ...Flight[]], maxPrice = Number.POSITIVE_INFINITY) {
  const fitting = all.filter(({ price }) => price <= maxPrice);
  if (fitting.length === 0) {
    throw new ToolError(
      `No flight for ${maxPrice} dollars; the cheapest costs ${all[0].price}: raise maxPrice or try another day`,
    );
  }
  const flights = fitting.slice(0, maxFound);
  const more = fitting.length > maxFound ? [`and ${fitting.length - maxFound} more`] : [];
  return textResult([...flights.map(describe), ...more].join("\n"), { flights, total: fitting.length });
}

/** Returns the best hotel within the budget, together with the flights. */
function offerFor({ city: name, checkIn, checkOut, budget, travelers = 1, flights: ids = [] }: HotelInput): Offer {
  const city = needCity("city", name);
  const [start, end] = [needAnyDate("checkIn", checkIn), needAnyDate("checkOut", checkOut)];
  const nights = (Date.parse(end) - Date.parse(start)) / 86_400_000;
  if (nights < 1) throw new ToolError(`checkOut: expected a day after ${start}, got ${end}`);
  const flights = ids.map((id, index) => needFlight(id, index === 0 ? start : end));
  const fares = flights.reduce((sum, { price }) => sum + price * travelers, 0);
  const rooms = Math.ceil(travelers / 2);
  const offers = hotelsIn(city, start).map((hotel) => ({ hotel, price: fares + hotel.perNight * nights * rooms }));
  const fitting = offers.find(({ price }) => budget === undefined || price <= budget);
  if (!fitting) {
    const least = Math.min(...offers.map(({ price }) => price));
    throw new ToolError(`Nothing for ${budget} dollars; the cheapest costs ${least}: raise the budget or stay shorter`);
  }
  const { hotel, price } = fitting;
  const parts = [
    `${hotel.name}, ${hotel.stars} stars, ${start} to ${end}, ${rooms} ${rooms === 1 ? "room" : "rooms"}`,
    ...flights.map(({ id, date, departs }) => `flight ${id} on ${date} at ${departs} for ${travelers}`),
  ];
  return { title: parts.join("; "), start, end, price, city: city.name, hasFlights: ids.length > 0, hasHotel: true };
}

function toJson(value: object | undefined): string | undefined {
  return value && JSON.stringify(value);
}

function byPrice(flights: Flight[]): Flight[] {
  return flights.toSorted((a, b) => a.price - b.price || (a.id < b.id ? -1 : 1));
}

/** Shortens a prompt argument, which is free text. */
function clip(text: string): string {
  return text.slice(0, 40);
}

// spec 2026-07-28: prompts#error-handling asks for -32602.
function unknownDestination(got: string): RpcError {
  return new RpcError(
    rpcCodes.invalidParams,
    `destination: expected one of ${cityNames.join(", ")}, got ${JSON.stringify(clip(got))}`,
  );
}
