import { randomBytes } from "node:crypto";
import { ToolError } from "portolan/server";

/** Something that can be booked. */
export interface Order {
  readonly title: string;
  /** First and last day. */
  readonly start: string;
  readonly end: string;
  /** In dollars. */
  readonly price: number;
}

/** A paid order. */
export interface Booking extends Order {
  readonly code: string;
}

interface Entry extends Booking {
  isIssued: boolean;
  /** The attempts that have charged it and may still be cancelled: a client may repeat a call while the first one runs. */
  attempts: number;
}

interface Quote {
  /** Identifies the order. */
  readonly subject: string;
  readonly until: number;
}

export interface LedgerLimits {
  /** Bookings of one caller. */
  readonly maxBookings: number;
  /** Open quotes of one caller. A new one takes the place of its oldest. */
  readonly maxQuotes: number;
  /** Callers with bookings, and callers with open quotes. A further one is refused: nothing that was paid is dropped. */
  readonly maxCallers: number;
  /** How long a quote is valid. */
  readonly quoteMs: number;
}

/** Bookings by caller. Stands in for a payment service: each key is charged once. */
export class Ledger {
  readonly #limits: LedgerLimits;
  readonly #now: () => number;
  readonly #callers = new Map<string, Map<string, Entry>>();
  /** The open quotes by caller, then by code. */
  readonly #quotes = new Map<string, Map<string, Quote>>();
  #charges = 0;

  constructor(limits: LedgerLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  hasRoom(owner: string): boolean {
    return this.#of(owner).size < this.#limits.maxBookings;
  }

  /** Charges for an order; for a known key it only returns the existing booking. */
  charge(owner: string, key: string, order: Order): Booking {
    const entries = this.#of(owner);
    const known = entries.get(key);
    if (known) {
      known.attempts += 1;
      return bookingOf(known);
    }
    // Checked before, too; but the same caller may have booked more while the form was open.
    if (!this.hasRoom(owner)) throw fullLedger();
    if (!this.#callers.has(owner) && this.#callers.size >= this.#limits.maxCallers) throw tooManyCallers();
    this.#charges += 1;
    const code = `BK-${String(this.#charges).padStart(4, "0")}`;
    const entry = { ...order, code, isIssued: false, attempts: 1 };
    this.#callers.set(owner, entries);
    entries.set(key, entry);
    return bookingOf(entry);
  }

  /** Marks the ticket as issued: the booking is final. Throws if there is nothing to issue. */
  issue(owner: string, key: string): void {
    const entry = this.#of(owner).get(key);
    if (!entry) throw new ToolError("The order was refunded, and nothing is booked: call the tool again");
    entry.isIssued = true;
  }

  /** Refunds a booking, unless its ticket has been issued or another attempt has charged it, too. */
  refund(owner: string, key: string): void {
    const entries = this.#of(owner);
    const entry = entries.get(key);
    if (!entry || entry.isIssued) return;
    entry.attempts -= 1;
    if (entry.attempts > 0) return;
    entries.delete(key);
    if (entries.size === 0) this.#callers.delete(owner);
  }

  bookingsOf(owner: string): Booking[] {
    const issued = [...this.#of(owner).values()].filter(({ isIssued }) => isIssued);
    return issued.map(bookingOf);
  }

  /** Creates a quote for a client without forms; returns its code. */
  quote(owner: string, subject: string): string {
    const code = randomBytes(9).toString("base64url");
    const quotes = this.#quotes.get(owner) ?? new Map<string, Quote>();
    if (quotes.size === 0 && this.#quotes.size >= this.#limits.maxCallers) this.#dropExpired();
    if (quotes.size === 0 && this.#quotes.size >= this.#limits.maxCallers) throw tooManyCallers();
    const [oldest] = quotes.keys();
    if (oldest !== undefined && quotes.size >= this.#limits.maxQuotes) quotes.delete(oldest);
    quotes.set(code, { subject, until: this.#now() + this.#limits.quoteMs });
    this.#quotes.set(owner, quotes);
    return code;
  }

  /** Redeems a quote once, for the same caller and order. */
  redeem(owner: string, code: string, subject: string): boolean {
    const quotes = this.#quotes.get(owner);
    const quote = quotes?.get(code);
    if (quote?.subject !== subject || quote.until < this.#now()) return false;
    quotes?.delete(code);
    if (quotes?.size === 0) this.#quotes.delete(owner);
    return true;
  }

  /** Forgets the callers all of whose quotes have expired. */
  #dropExpired(): void {
    const now = this.#now();
    for (const [owner, quotes] of this.#quotes) {
      if ([...quotes.values()].every(({ until }) => until < now)) this.#quotes.delete(owner);
    }
  }

  #of(owner: string): Map<string, Entry> {
    return this.#callers.get(owner) ?? new Map();
  }
}

/** Error for the model when the limit of bookings is reached. */
export function fullLedger(): ToolError {
  return new ToolError("No more bookings are possible for this user; read travel://itinerary for the existing ones");
}

function tooManyCallers(): ToolError {
  return new ToolError("Too many users have bookings or open quotes here: nothing was booked. Try again later");
}

function bookingOf({ isIssued: _issued, attempts: _attempts, ...booking }: Entry): Booking {
  return booking;
}
