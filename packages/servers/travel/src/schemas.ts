import type { JsonSchema } from "portolan/server";
import { integer, object, string } from "portolan-server-kit";
import { cityNames } from "./cities.ts";

export const city = (description: string): JsonSchema =>
  string(`${description}: ${cityNames.join(", ")}`, { minLength: 1, maxLength: 40 });

export const date = (description: string): JsonSchema =>
  string(`${description}, such as 2026-12-24; not in the past, at most a year ahead`, { minLength: 10, maxLength: 10 });

export const flightId: JsonSchema = string("Id of a flight, such as PT121; search-flights returns it", {
  minLength: 1,
  maxLength: 20,
});

export const weather: JsonSchema = object({
  city: string("The city"),
  date: string("The day"),
  sky: { enum: ["sunny", "cloudy", "rain", "snow"], description: "The weather" },
  celsius: integer("Highest temperature of the day"),
  advice: string("Local advice"),
});

export const flight: JsonSchema = object({
  id: string("Flight id for book"),
  from: string("City of departure"),
  to: string("Destination"),
  date: string("Day of departure"),
  departs: string("Local time of departure"),
  minutes: integer("Duration in minutes"),
  stops: integer("Number of stops"),
  price: integer("Price in euros"),
});

export const flights: JsonSchema = object({
  flights: { type: "array", items: flight, description: "The matching flights, cheapest first" },
});

export const choice: JsonSchema = object({
  flight,
  chosenBy: { enum: ["model", "price"], description: "model: the user's model chose; price: the cheapest was taken" },
  why: string("Reason for the choice"),
});

export const booked: JsonSchema = object(
  {
    status: {
      enum: ["booked", "needs-confirmation"],
      description: "needs-confirmation: nothing is booked yet, and nothing was charged",
    },
    flight,
    booking: string("Booking code; only with status booked"),
    passenger: string("Name of the passenger; only with status booked"),
    confirmation: string("Pass it as confirmation after the user agrees; only with status needs-confirmation"),
  },
  ["booking", "passenger", "confirmation"],
);
