import type { JsonSchema } from "portolan/server";
import { integer, object, string } from "portolan-server-kit";
import { cityNames } from "./cities.ts";

export const city = (description: string): JsonSchema =>
  string(`${description}: ${cityNames.join(", ")}; or an airport code`, { minLength: 1, maxLength: 60 });

export const date = (description: string): JsonSchema =>
  string(`${description}, such as 2026-12-24; not in the past, at most a year ahead`, { minLength: 10, maxLength: 10 });

export const anyDate = (description: string): JsonSchema =>
  string(`${description}, such as 2024-06-15`, { format: "date", maxLength: 10 });

export const maxPrice: JsonSchema = { type: "number", minimum: 0, description: "Maximum price in dollars" };

export const flightId: JsonSchema = string("Id of a flight, such as PT121; searchFlights returns it", {
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
  airline: string("Airline"),
  from: string("City of departure"),
  to: string("Destination"),
  airport: string("Code of the airport of departure"),
  date: string("Day of departure"),
  departs: string("Local time of departure"),
  minutes: integer("Duration in minutes"),
  stops: integer("Number of stops"),
  price: integer("Price in dollars for one traveler"),
});

export const found: JsonSchema = object({
  flights: { type: "array", items: flight, description: "The cheapest matching flights, cheapest first" },
  total: integer("Number of all matching flights"),
});

export const best: JsonSchema = object({
  recommendations: {
    type: "array",
    items: object({ flight, why: string("Reason") }),
    description: "At most three flights, best first",
  },
  chosenBy: { enum: ["model", "price"], description: "model: the user's model chose; price: the cheapest were taken" },
  compared: integer("Number of flights that were compared"),
});

export const reserved: JsonSchema = object(
  {
    status: {
      enum: ["booked", "needs-confirmation"],
      description: "needs-confirmation: nothing is booked yet, and nothing was charged",
    },
    title: string("What is booked"),
    price: integer("Total price in dollars"),
    booking: string("Booking code; only with status booked"),
    confirmation: string("Pass it as confirmation after the user agrees; only with status needs-confirmation"),
  },
  ["booking", "confirmation"],
);

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
