import { type Form, form, type JsonSchema } from "portolan/server";
import { ageOn, isDay } from "./days.ts";

/** Who flies. */
export interface Passenger {
  readonly name: string;
  readonly email: string;
  readonly born: string;
  readonly seat: "window" | "aisle";
  readonly bags?: number;
}

export const passengerSchema: JsonSchema = {
  type: "object",
  properties: {
    name: { type: "string", title: "Name", description: "As in the passport", minLength: 2, maxLength: 80 },
    email: { type: "string", title: "E-mail", description: "Where the ticket goes", format: "email", maxLength: 200 },
    born: { type: "string", title: "Date of birth", description: "Such as 1990-12-31", format: "date" },
    seat: { type: "string", title: "Seat", description: "Where to sit", enum: ["window", "aisle"], default: "window" },
    bags: { type: "integer", title: "Bags", description: "To be checked in", minimum: 0, maximum: 3, default: 0 },
  },
  required: ["name", "email", "born", "seat"],
};

/** The form, compiled where the program starts. */
export const passengerForm: Form<Passenger> = form<Passenger>(passengerSchema);

const minAge = 16;

/** What a form cannot say and is wrong all the same, in words for the user; undefined if nothing is. */
export function faultOf({ name, email, born }: Passenger, flies: string): string | undefined {
  if (name.trim().length < 2) return "The name must be the one in the passport.";
  if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email)) return "The e-mail address must look like ada@example.com.";
  if (!isDay(born)) return "The date of birth must be a day such as 1990-12-31.";
  const age = ageOn(flies, born);
  if (age > 120) return "The date of birth is too long ago.";
  if (age < minAge) return `Who flies alone must be ${minAge} on the day of the flight.`;
  return undefined;
}
