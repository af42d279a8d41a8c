import { setTimeout } from "node:timers/promises";
import { type PromptMessage, RpcError } from "portolan";
import { createServer, type Server, ToolError } from "portolan/server";
import { annotations, object, textResult } from "portolan-server-kit";
import { type BookInput, book, passengerSchema } from "./book.ts";
import { addDays, calendarOf, dayOf, daysFrom, isDay } from "./calendar.ts";
import { type City, cityNames, findCity, weatherOf } from "./cities.ts";
import { choose, describe, type Flight, findFlight, flightsBetween } from "./flights.ts";
import { Ledger } from "./ledger.ts";
import * as schemas from "./schemas.ts";

/** What a travel server is told. */
export interface TravelOptions {
  /** How long each of the three steps of a booking takes; 300 ms unless said otherwise. */
  readonly stepMs?: number;
  /** Takes the time of a step instead, and rejects when the signal aborts. */
  readonly pause?: (signal: AbortSignal) => Promise<void>;
  /** The most bookings of one caller; 100 unless said otherwise. */
  readonly maxBookings?: number;
  /** The most callers whose bookings are kept, and the most open offers; 1,000 unless said otherwise. */
  readonly maxKept?: number;
  /** How long an offer waits for a yes, where no form can be shown; 15 minutes unless said otherwise. */
  readonly quoteMs?: number;
  /** Tells the time, in milliseconds; the machine's clock unless given. */
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
  from: schemas.city("Where to leave"),
  to: schemas.city("Where to go"),
  date: schemas.date("The day to leave"),
};

/** A server that knows weather, flights and a calendar, and books; all of it is made up, and nothing leaves the process. */
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
    if (!first) throw new ToolError("from and to are the same city; ask the user where to go");
    return [first, ...more];
  }

  const server = createServer(
    { name: "portolan-travel", version: "0.1.0", title: "Travel" },
    {
      instructions:
        "Plans and books journeys with made-up data. Prices are in euros. Read travel://calendar before proposing dates; search-flights or choose-flight finds what book books.",
    },
  )
    .tool("forecast", {
      title: "Weather forecast",
      description: "The weather in a city on a day, and what people there advise",
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
      description: "The flights between two cities on a day, the cheapest first",
      input: object(
        { ...journey, maxPrice: { type: "number", minimum: 0, description: "The most to pay, in euros" } },
        ["maxPrice"],
      ),
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
        "Lets the user's model choose the flight that suits a wish; takes the cheapest where it cannot be asked",
      input: object({
        ...journey,
        wish: { type: "string", minLength: 1, maxLength: 500, description: "What matters, in words" },
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
        "Books a flight after the user has confirmed it and said who flies, in a form if the client has forms. Otherwise the first call books nothing and returns a confirmation code for the second",
      input: object(
        {
          flight: schemas.flightId,
          date: schemas.date("The day it leaves"),
          passenger: {
            ...passengerSchema,
            description: "Who flies; only with confirmation, for otherwise the user is asked",
          },
          confirmation: {
            type: "string",
            maxLength: 40,
            description: "The code of the first call, after the user's yes",
          },
        },
        ["passenger", "confirmation"],
      ),
      output: schemas.booked,
      annotations: annotations.adds,
      run(input: BookInput, ctx) {
        const flight = findFlight(input.flight, needDate(input.date));
        if (!flight)
          throw new ToolError(`There is no flight ${JSON.stringify(input.flight)}; search-flights finds one`);
        return book({ ledger, pause, changed }, flight, input, ctx);
      },
    })
    .resource(calendarUri, {
      name: "Calendar",
      title: "Calendar",
      description: "Holidays, appointments and booked flights of the year to come, as JSON",
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
          ...{ title: "From", description: "Where the journey begins" },
          complete: (typed, { destination }) => completeCity(typed).filter((name) => name !== destination),
        },
        departure: { title: "Departure", description: "The day to leave, if it is known", complete: completeDate },
        days: {
          title: "Days",
          description: "How many days; 7 unless given",
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

/** Arguments of prompts are free text; what is passed on stays short. */
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
  return new RpcError(-32602, `destination: expected one of ${cityNames.join(", ")}, got ${JSON.stringify(clip(got))}`);
}
