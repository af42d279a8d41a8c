import { randomUUID } from "node:crypto";
import { type Context, type Form, type FullResult, form, ToolError } from "portolan/server";
import { textResult } from "portolan-server-kit";
import { type BookingDependencies, purchase } from "./book.ts";
import { fullLedger, type Order } from "./ledger.ts";

/** A trip to be confirmed by the user. */
export interface Offer extends Order {
  /** Where it goes. */
  readonly city: string;
  readonly hasFlights: boolean;
  readonly hasHotel: boolean;
}

/** Result of `bookFlight` and `bookHotel`. */
export interface Reserved {
  readonly status: "booked" | "needs-confirmation";
  readonly title: string;
  readonly price: number;
  readonly booking?: string;
  readonly confirmation?: string;
}

/** The user's answer to the form. */
interface Decision {
  readonly confirmBooking: boolean;
  readonly seatPreference?: string;
  readonly roomType?: string;
  readonly travelInsurance?: boolean;
}

const insurance = 150;

/** Books an offer: with a form if the client has forms, otherwise in two calls with a confirmation code. */
export async function reserve(
  dependencies: BookingDependencies,
  offer: Offer,
  confirmation: string | undefined,
  ctx: Context,
): Promise<FullResult<Reserved>> {
  if (!dependencies.ledger.hasRoom(ctx.principal.key)) throw fullLedger();
  if (!ctx.mayAsk("elicitation.form")) return reserveInTwoCalls(dependencies, offer, confirmation, ctx);
  // The handler runs again after each answer, and a client may repeat the last one: the key stays the same.
  const key = await ctx.once("key", () => randomUUID());
  const message = `Please confirm your ${offer.city} vacation booking details: ${offer.title}`;
  const answer = await ctx.elicit("booking", { message, form: formFor(offer) });
  if (answer.action !== "accept" || !answer.content.confirmBooking) {
    return ctx.cancelled("The user did not confirm: nothing was booked or charged.");
  }
  return finish(dependencies, key, withWishes(offer, answer.content), ctx);
}

/** The model asks the user, and a code proves that an offer came first. */
async function reserveInTwoCalls(
  dependencies: BookingDependencies,
  offer: Offer,
  confirmation: string | undefined,
  ctx: Context,
): Promise<FullResult<Reserved>> {
  const { title, price } = offer;
  const { key: owner } = ctx.principal;
  if (confirmation === undefined) {
    const code = dependencies.ledger.quote(owner, title);
    const text = `Nothing is booked yet. Ask the user to confirm ${title} (${dollars(price)}); then call again with the same arguments and confirmation ${code}.`;
    return textResult(text, { status: "needs-confirmation", title, price, confirmation: code } as const);
  }
  if (!dependencies.ledger.redeem(owner, confirmation, title)) {
    throw new ToolError("confirmation: the code is for another offer, was used, or has expired; call without it");
  }
  return finish(dependencies, confirmation, offer, ctx);
}

async function finish(
  dependencies: BookingDependencies,
  key: string,
  { title, start, end, price }: Order,
  ctx: Context,
): Promise<FullResult<Reserved>> {
  const { code } = await purchase(dependencies, key, { title, start, end, price }, ctx);
  const text = `Booked as ${code}: ${title}. Total: ${dollars(price)}`;
  return textResult(text, { status: "booked", title, price, booking: code } as const);
}

function withWishes(offer: Offer, { seatPreference, roomType, travelInsurance = false }: Decision): Order {
  const wishes = [
    ...(seatPreference === undefined ? [] : [`seat: ${seatPreference}`]),
    ...(roomType === undefined ? [] : [`room: ${roomType}`]),
    ...(travelInsurance ? ["travel insurance"] : []),
  ];
  const title = wishes.length > 0 ? `${offer.title} (${wishes.join(", ")})` : offer.title;
  return { ...offer, title, price: offer.price + (travelInsurance ? insurance : 0) };
}

/** Returns the form of an offer: only what it contains is asked for. */
function formFor({ price, hasFlights, hasHotel }: Offer): Form<Decision> {
  const parts = [...(hasFlights ? ["Flights"] : []), ...(hasHotel ? ["Hotel"] : [])].join(" + ");
  return form<Decision>({
    type: "object",
    properties: {
      confirmBooking: { type: "boolean", description: `Confirm the booking (${parts} = ${dollars(price)})` },
      ...(hasFlights && {
        seatPreference: {
          type: "string",
          enum: ["window", "aisle", "no preference"],
          description: "Preferred seat type for flights",
        },
      }),
      ...(hasHotel && {
        roomType: {
          type: "string",
          enum: ["sea view", "city view", "garden view"],
          description: "Preferred room type at hotel",
        },
      }),
      travelInsurance: {
        type: "boolean",
        default: false,
        description: `Add travel insurance (${dollars(insurance)})`,
      },
    },
    required: ["confirmBooking"],
  });
}

function dollars(amount: number): string {
  return `$${amount.toLocaleString("en-US")}`;
}
