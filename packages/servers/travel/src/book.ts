import { randomUUID } from "node:crypto";
import { type Context, type Form, type FullResult, form, type JsonSchema, ToolError } from "portolan/server";
import { isDay, textResult } from "portolan-server-kit";
import { ageOn } from "./calendar.ts";
import { describe, type Flight } from "./flights.ts";
import { type Booking, fullLedger, type Ledger, type Order } from "./ledger.ts";

export interface BookInput {
  readonly flight: string;
  readonly date: string;
  readonly passenger?: Passenger;
  readonly confirmation?: string;
}

/** Result of the tool `book`. */
export interface Booked {
  readonly status: "booked" | "needs-confirmation";
  readonly flight: Flight;
  readonly booking?: string;
  readonly passenger?: string;
  readonly confirmation?: string;
}

export interface BookingDependencies {
  readonly ledger: Ledger;
  /** Waits for the duration of a step; rejects with the reason of the signal. */
  readonly pause: (signal: AbortSignal) => Promise<void>;
  /** Called when the bookings of a caller have changed. */
  readonly changed: (owner: string) => void;
}

type Result = FullResult<Booked>;
type Refusal = FullResult<never>;

/** Books a flight: with a form if the client has forms, otherwise in two calls. */
export async function book(
  dependencies: BookingDependencies,
  flight: Flight,
  input: BookInput,
  ctx: Context,
): Promise<Result | Refusal> {
  if (!dependencies.ledger.hasRoom(ctx.principal.key)) throw fullLedger();
  return ctx.mayAsk("elicitation.form")
    ? bookByForm(dependencies, flight, ctx)
    : bookInTwoCalls(dependencies, flight, input, ctx);
}

async function bookByForm(dependencies: BookingDependencies, flight: Flight, ctx: Context): Promise<Result | Refusal> {
  // The handler runs again after each answer, and a client may repeat the last one: the key stays the same.
  const key = await ctx.once("key", () => randomUUID());
  const offer = `Book ${describe(flight)}?`;
  let message = offer;
  for (let attempt = 1; attempt <= 3; attempt += 1) {
    const answer = await ctx.elicit(`passenger-${attempt}`, { message, form: passengerForm });
    if (answer.action === "decline") return ctx.cancelled("The user declined: nothing was booked or charged.");
    if (answer.action === "cancel") {
      return ctx.cancelled(
        "The user closed the form: nothing was booked. Ask whether to try again or to search for other flights.",
      );
    }
    const fault = faultOf(answer.content, flight.date);
    if (fault === undefined) return pay(dependencies, key, flight, answer.content, ctx);
    message = `${fault} ${offer}`;
  }
  return ctx.cancelled("The passenger data was wrong three times: nothing was booked. Ask the user for it first.");
}

/** Books for a client without forms: the model asks the user, and a code proves that a quote came first. */
async function bookInTwoCalls(
  dependencies: BookingDependencies,
  flight: Flight,
  { passenger, confirmation }: BookInput,
  ctx: Context,
): Promise<Result> {
  if (confirmation === undefined) {
    const code = dependencies.ledger.quote(ctx.principal.key, subjectOf(flight));
    const structuredContent = { status: "needs-confirmation", flight, confirmation: code } as const;
    const todo = `Nothing is booked yet. Ask the user to confirm ${describe(flight)}, and for name, e-mail, date of birth and seat; then call book again with passenger and confirmation ${code}.`;
    return textResult(todo, structuredContent);
  }
  if (passenger === undefined)
    throw new ToolError("passenger: expected the passenger; ask the user, then call book again");
  const fault = faultOf(passenger, flight.date);
  if (fault !== undefined) throw new ToolError(`passenger: ${fault} Ask the user, then call book again`);
  if (!dependencies.ledger.redeem(ctx.principal.key, confirmation, subjectOf(flight))) {
    throw new ToolError("confirmation: the code is for another flight, was used, or has expired; call book without it");
  }
  return pay(dependencies, confirmation, flight, passenger, ctx);
}

async function pay(
  dependencies: BookingDependencies,
  key: string,
  flight: Flight,
  passenger: Passenger,
  ctx: Context,
): Promise<Result> {
  const order = { title: describe(flight), start: flight.date, end: flight.date, price: flight.price };
  const { code } = await purchase(dependencies, key, order, ctx);
  const text = `Booked as ${code} for ${passenger.name}: ${order.title}`;
  const structuredContent = { status: "booked", flight, booking: code, passenger: passenger.name } as const;
  return textResult(text, structuredContent);
}

function subjectOf({ id, date }: Flight): string {
  return `${id} ${date}`;
}

/** Charges and issues the ticket; a call that is cancelled before the ticket is issued is refunded. */
export async function purchase(
  { ledger, pause, changed }: BookingDependencies,
  key: string,
  order: Order,
  ctx: Context,
): Promise<Booking> {
  const owner = ctx.principal.key;
  const step = async (done: number, what: string) => {
    ctx.progress(done, 4, what);
    await pause(ctx.signal);
  };
  await step(1, "Holding a seat");
  await step(2, "Charging");
  const booking: Booking = await ctx.once("charge", () => ledger.charge(owner, key, order));
  try {
    await step(3, "Issuing the ticket");
  } catch (reason) {
    ledger.refund(owner, key);
    throw reason;
  }
  ledger.issue(owner, key);
  changed(owner);
  return booking;
}

/** The passenger. */
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

/** The form, compiled at module load. */
const passengerForm: Form<Passenger> = form<Passenger>(passengerSchema);

const minAge = 16;

/** Checks what a form schema cannot express; returns a message for the user, or undefined. */
function faultOf({ name, email, born }: Passenger, flies: string): string | undefined {
  if (name.trim().length < 2) return "The name must be the one in the passport.";
  if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email)) return "The e-mail address must look like ada@example.com.";
  if (!isDay(born)) return "The date of birth must be a day such as 1990-12-31.";
  const age = ageOn(flies, born);
  if (age > 120) return "The date of birth is too long ago.";
  if (age < minAge) return `The passenger must be at least ${minAge} years old on the day of the flight.`;
  return undefined;
}
