import { setTimeout } from "node:timers/promises";
import { type PromptMessage, RpcError, rpcCodes } from "portolan";
import { createServer, type Server, ToolError } from "portolan/server";
import { annotations, object, textResult } from "portolan-server-kit";
import { type BookInput, book, passengerSchema } from "./book.ts";
import { addDays, calendarOf, dayOf, daysFrom, isDay } from "./calendar.ts";
import { type City, cityNames, findCity, weatherOf } from "./cities.ts";
import { choose, describe, type Flight, findFlight, flightsBetween } from "./flights.ts";
import { Ledger } from "./ledger.ts";
import * as schemas from "./schemas.ts";

/** Options of `createTravel`. */
export interface TravelOptions {
  /** Duration of each of the three steps of a booking. Default: 300 ms. */
  readonly stepMs?: number;
  /** Waits for the duration of a step instead of `stepMs`; rejects when the signal aborts. */
  readonly pause?: (signal: AbortSignal) => Promise<void>;
  /** Bookings of one caller. Default: 100. */
  readonly maxBookings?: number;
  /** Callers with bookings, and open quotes. Default: 1,000. */
  readonly maxKept?: number;
  /** How long a quote is valid, for clients without forms. Default: 15 minutes. */
  readonly quoteMs?: number;
  /** Returns the current time in milliseconds. Default: `Date.now`. */
  readonly now?: () => number;
}

const calendarUri = "travel://calendar";
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

/** Creates a server with invented weather, flights and a calendar, and bookings that stay in the process. */
export function createTravel(options: TravelOptions = {}): Server {
  const { stepMs = 300, maxBookings = 100, maxKept = 1_000, quoteMs = 900_000, now = Date.now } = options;
  const { pause = (signal) => setTimeout(stepMs, undefined, { signal }) } = options;
  const ledger = new Ledger({ maxBookings, maxKept, quoteMs }, now);
  const today = () => dayOf(now());
  const isOpen = (date: string) => isDay(date) && date >= today() && date <= addDays(today(), daysAhead);
  const completeDate = (typed: string) => daysFrom(today(), daysAhead + 1).filter((day) => day.startsWith(typed));
  const changed = (owner: string) => server.publish("resources/updated", { uri: calendarUri }, { principal: owner });

  function needDate(date: string): string {
    if (isOpen(date)) return date;
    throw new ToolError(
      `date: expected a day from ${today()} to ${addDays(today(), daysAhead)}, got ${JSON.stringify(date)}`,
    );
  }

  function needFlights({ from, to, date }: Journey): [Flight, ...Flight[]] {
    const [start, end] = [needCity("from", from), needCity("to", to)];
    const [first, ...more] = byPrice(flightsBetween(start.name, end.name, needDate(date)));
    if (!first) throw new ToolError("from and to are the same city; ask the user for the destination");
    return [first, ...more];
  }

  const server = createServer(
    { name: "portolan-travel", version: "0.1.0", title: "Travel" },
    {
      instructions:
        "Plans and books trips with invented data. Prices are in euros. Read travel://calendar before you propose dates; search-flights and choose-flight find flights for book.",
    },
  )
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
    .tool("search-flights", {
      title: "Search flights",
      description: "Returns the flights between two cities on a day, cheapest first",
      input: object({ ...journey, maxPrice: { type: "number", minimum: 0, description: "Maximum price in euros" } }, [
        "maxPrice",
      ]),
      output: schemas.flights,
      annotations: annotations.reads,
      run({ maxPrice = Number.POSITIVE_INFINITY, ...wanted }: Journey & { maxPrice?: number }) {
        const all = needFlights(wanted);
        const flights = all.filter(({ price }) => price <= maxPrice);
        if (flights.length === 0) {
          throw new ToolError(
            `No flight for ${maxPrice} euros; the cheapest costs ${all[0].price}: raise maxPrice or try another day`,
          );
        }
        return textResult(flights.map(describe).join("\n"), { flights });
      },
    })
    .tool("choose-flight", {
      title: "Choose a flight",
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
      title: "Book a flight",
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
        const flight = findFlight(input.flight, needDate(input.date));
        if (!flight) throw new ToolError(`No flight ${JSON.stringify(input.flight)}; search-flights finds flights`);
        return book({ ledger, pause, changed }, flight, input, ctx);
      },
    })
    .resource(calendarUri, {
      name: "Calendar",
      title: "Calendar",
      description: "Holidays, appointments and booked flights of the next year, as JSON",
      mimeType: "application/json",
      subscribe: true,
      read: (ctx) =>
        JSON.stringify({ today: today(), events: calendarOf(today(), ledger.bookingsOf(ctx.principal.key)) }),
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
        from: {
          ...{ title: "From", description: "Where the trip starts" },
          complete: (typed, { destination }) => completeCity(typed).filter((name) => name !== destination),
        },
        departure: { title: "Departure", description: "Day of departure, if known", complete: completeDate },
        days: {
          title: "Days",
          description: "Number of days. Default: 7",
          complete: ["2", "3", "5", "7", "10", "14"],
        },
        budget: { title: "Budget", description: "In euros", complete: ["300", "500", "1000", "2000"] },
      },
      get({ destination, from, departure, days = "7", budget }, ctx) {
        const city = findCity(destination);
        if (!city) throw unknownDestination(destination);
        const known = departure !== undefined && isOpen(departure) ? departure : undefined;
        const wishes = [
          `Plan ${clip(days)} days in ${city.name}${from === undefined ? "" : `, starting in ${clip(from)}`}.`,
          known === undefined ? "Find days that are free in my calendar." : `I leave on ${known}.`,
          budget === undefined ? "Compare prices." : `Stay below ${clip(budget)} euros.`,
          "Choose a flight with choose-flight, tell me the weather, and book with book once I agree.",
        ];
        const weather = weatherOf(city, known ?? today());
        const events = calendarOf(today(), ledger.bookingsOf(ctx.principal.key));
        return [
          { role: "user", content: { type: "text", text: wishes.join(" ") } },
          embedded(calendarUri, { today: today(), events }),
          embedded(`travel://weather/${encodeURIComponent(city.name)}/${weather.date}`, weather),
        ];
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

function byPrice(flights: Flight[]): Flight[] {
  return flights.toSorted((a, b) => a.price - b.price || (a.id < b.id ? -1 : 1));
}

/** Shortens a prompt argument, which is free text. */
function clip(text: string): string {
  return text.slice(0, 40);
}

function embedded(uri: string, value: object): PromptMessage {
  return {
    role: "user",
    content: { type: "resource", resource: { uri, mimeType: "application/json", text: JSON.stringify(value) } },
  };
}

// spec 2026-07-28: prompts#error-handling asks for -32602.
function unknownDestination(got: string): RpcError {
  return new RpcError(
    rpcCodes.invalidParams,
    `destination: expected one of ${cityNames.join(", ")}, got ${JSON.stringify(clip(got))}`,
  );
}
