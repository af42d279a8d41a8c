import { randomBytes } from "node:crypto";
import { ToolError } from "portolan/server";
import type { Passenger } from "./book.ts";
import type { Flight } from "./flights.ts";

/** A paid flight. */
export interface Booking {
  readonly code: string;
  readonly flight: Flight;
  readonly passenger: Passenger;
}

interface Entry extends Booking {
  isIssued: boolean;
}

interface Quote {
  readonly owner: string;
  readonly flight: string;
  readonly date: string;
  readonly until: number;
}

export interface LedgerLimits {
  /** Bookings of one caller. */
  readonly maxBookings: number;
  /** Callers, and open quotes. */
  readonly maxKept: number;
  /** How long a quote is valid. */
  readonly quoteMs: number;
}

/** Bookings by caller. Stands in for a payment service: each key is charged once. */
export class Ledger {
  readonly #limits: LedgerLimits;
  readonly #now: () => number;
  readonly #callers = new Map<string, Map<string, Entry>>();
  readonly #quotes = new Map<string, Quote>();
  #charges = 0;

  constructor(limits: LedgerLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  hasRoom(owner: string): boolean {
    return this.#of(owner).size < this.#limits.maxBookings;
  }

  /** Charges for a flight; for a known key it only returns the existing booking. */
  charge(owner: string, key: string, flight: Flight, passenger: Passenger): Booking {
    const entries = this.#of(owner);
    const known = entries.get(key);
    if (known) return known;
    // Checked before, too; but the same caller may have booked other flights while the form was open.
    if (!this.hasRoom(owner)) throw fullLedger();
    this.#charges += 1;
    const entry = { code: `BK-${String(this.#charges).padStart(4, "0")}`, flight, passenger, isIssued: false };
    this.#keep(owner, entries);
    entries.set(key, entry);
    return entry;
  }

  /** Marks the ticket as issued: the booking is final. */
  issue(owner: string, key: string): void {
    const entry = this.#of(owner).get(key);
    if (entry) entry.isIssued = true;
  }

  /** Refunds a booking, unless the ticket has been issued. */
  refund(owner: string, key: string): void {
    const entries = this.#of(owner);
    if (entries.get(key)?.isIssued === false) entries.delete(key);
  }

  bookingsOf(owner: string): Booking[] {
    return [...this.#of(owner).values()].filter(({ isIssued }) => isIssued);
  }

  /** Creates a quote for a client without forms; returns its code. */
  quote(owner: string, { id, date }: Flight): string {
    const code = randomBytes(9).toString("base64url");
    if (this.#quotes.size >= this.#limits.maxKept) dropOldest(this.#quotes);
    this.#quotes.set(code, { owner, flight: id, date, until: this.#now() + this.#limits.quoteMs });
    return code;
  }

  /** Redeems a quote once, for the same caller and flight. */
  redeem(owner: string, code: string, { id, date }: Flight): boolean {
    const quote = this.#quotes.get(code);
    if (quote?.owner !== owner || quote.flight !== id || quote.date !== date || quote.until < this.#now()) return false;
    return this.#quotes.delete(code);
  }

  #of(owner: string): Map<string, Entry> {
    return this.#callers.get(owner) ?? new Map();
  }

  #keep(owner: string, entries: Map<string, Entry>): void {
    if (!this.#callers.has(owner) && this.#callers.size >= this.#limits.maxKept) dropOldest(this.#callers);
    this.#callers.set(owner, entries);
  }
}

/** Error for the model when the limit of bookings is reached. */
export function fullLedger(): ToolError {
  return new ToolError("No more bookings are possible for this user; read travel://calendar for the existing ones");
}

function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
