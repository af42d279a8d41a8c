import type { JsonSchema } from "portolan/server";
import { cityNames } from "./cities.ts";

const text = (description: string, more: JsonSchema = {}): JsonSchema => ({ type: "string", description, ...more });
const whole = (description: string): JsonSchema => ({ type: "integer", description });

export const city = (description: string): JsonSchema =>
  text(`${description}: ${cityNames.join(", ")}`, { minLength: 1, maxLength: 40 });

export const date = (description: string): JsonSchema =>
  text(`${description}, such as 2026-12-24; not in the past, at most a year ahead`, { minLength: 10, maxLength: 10 });

export const flightId: JsonSchema = text("The id of a flight, such as PT121; search-flights finds it", {
  minLength: 1,
  maxLength: 20,
});

export function object(properties: { [name: string]: JsonSchema }, required: string[] = []): JsonSchema {
  return { type: "object", properties, required, additionalProperties: false };
}

export const weather: JsonSchema = object(
  {
    city: text("The city"),
    date: text("The day"),
    sky: { enum: ["sunny", "cloudy", "rain", "snow"], description: "What the sky is like" },
    celsius: whole("The warmest of the day"),
    advice: text("What people of the city would tell"),
  },
  ["city", "date", "sky", "celsius", "advice"],
);

export const flight: JsonSchema = object(
  {
    id: text("What book takes"),
    from: text("Where it leaves"),
    to: text("Where it lands"),
    date: text("The day it leaves"),
    departs: text("When it leaves, on the clocks there"),
    minutes: whole("How long it takes"),
    stops: whole("How often it lands in between"),
    price: whole("In euros"),
  },
  ["id", "from", "to", "date", "departs", "minutes", "stops", "price"],
);

export const flights: JsonSchema = object(
  { flights: { type: "array", items: flight, description: "Those that fit, the cheapest first" } },
  ["flights"],
);

export const choice: JsonSchema = object(
  {
    flight,
    chosenBy: { enum: ["model", "price"], description: "Whether the user's model chose, or the price did" },
    why: text("How the choice was made"),
  },
  ["flight", "chosenBy", "why"],
);

export const booked: JsonSchema = object(
  {
    status: {
      enum: ["booked", "needs-confirmation"],
      description: "needs-confirmation: nothing is booked yet, and nothing was charged",
    },
    flight,
    booking: text("The code of the booking, if it is booked"),
    passenger: text("Who flies, if it is booked"),
    confirmation: text("What to give as confirmation once the user has said yes, if that is needed"),
  },
  ["status", "flight"],
);
