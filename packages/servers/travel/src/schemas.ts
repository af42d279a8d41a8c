import type { JsonSchema } from "portolan/server";
import { integer, object, string } from "portolan-server-kit";
import { cityNames } from "./cities.ts";

export const city = (description: string): JsonSchema =>
  string(`${description}: ${cityNames.join(", ")}`, { minLength: 1, maxLength: 40 });

export const date = (description: string): JsonSchema =>
  string(`${description}, such as 2026-12-24; not in the past, at most a year ahead`, { minLength: 10, maxLength: 10 });

export const flightId: JsonSchema = string("The id of a flight, such as PT121; search-flights finds it", {
  minLength: 1,
  maxLength: 20,
});

export const weather: JsonSchema = object({
  city: string("The city"),
  date: string("The day"),
  sky: { enum: ["sunny", "cloudy", "rain", "snow"], description: "What the sky is like" },
  celsius: integer("The warmest of the day"),
  advice: string("What people of the city would tell"),
});

export const flight: JsonSchema = object({
  id: string("What book takes"),
  from: string("Where it leaves"),
  to: string("Where it lands"),
  date: string("The day it leaves"),
  departs: string("When it leaves, on the clocks there"),
  minutes: integer("How long it takes"),
  stops: integer("How often it lands in between"),
  price: integer("In euros"),
});

export const flights: JsonSchema = object({
  flights: { type: "array", items: flight, description: "Those that fit, the cheapest first" },
});

export const choice: JsonSchema = object({
  flight,
  chosenBy: { enum: ["model", "price"], description: "Whether the user's model chose, or the price did" },
  why: string("How the choice was made"),
});

export const booked: JsonSchema = object(
  {
    status: {
      enum: ["booked", "needs-confirmation"],
      description: "needs-confirmation: nothing is booked yet, and nothing was charged",
    },
    flight,
    booking: string("The code of the booking, if it is booked"),
    passenger: string("Who flies, if it is booked"),
    confirmation: string("What to give as confirmation once the user has said yes, if that is needed"),
  },
  ["booking", "passenger", "confirmation"],
);
