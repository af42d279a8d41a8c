import { randomBytes } from "node:crypto";
import { ToolError } from "portolan/server";
import type { Passenger } from "./book.ts";
import type { Flight } from "./flights.ts";

/** A flight that was paid for. */
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
  /** The most bookings of one caller. */
  readonly maxBookings: number;
  /** The most callers, and the most quotes that wait for a yes. */
  readonly maxKept: number;
  /** How long a quote waits for a yes. */
  readonly quoteMs: number;
}

/** Who booked what. It stands for a payment service: what is charged under one key is charged once. */
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

  /** Charges for a flight; under a key that was charged already it only says what it was for. */
  charge(owner: string, key: string, flight: Flight, passenger: Passenger): Booking {
    const entries = this.#of(owner);
    const known = entries.get(key);
    if (known) return known;
    // Asked before, too; but others of the same caller may have been booked while the form was open.
    if (!this.hasRoom(owner)) throw fullLedger();
    this.#charges += 1;
    const entry = { code: `BK-${String(this.#charges).padStart(4, "0")}`, flight, passenger, isIssued: false };
    this.#keep(owner, entries);
    entries.set(key, entry);
    return entry;
  }

  /** The ticket is out: from now on the booking stands. */
  issue(owner: string, key: string): void {
    const entry = this.#of(owner).get(key);
    if (entry) entry.isIssued = true;
  }

  /** Gives the money back, unless the ticket is out. */
  refund(owner: string, key: string): void {
    const entries = this.#of(owner);
    if (entries.get(key)?.isIssued === false) entries.delete(key);
  }

  bookingsOf(owner: string): Booking[] {
    return [...this.#of(owner).values()].filter(({ isIssued }) => isIssued);
  }

  /** Offers a flight to somebody who cannot be asked in the middle of a call; the code stands for the offer. */
  quote(owner: string, { id, date }: Flight): string {
    const code = randomBytes(9).toString("base64url");
    if (this.#quotes.size >= this.#limits.maxKept) dropOldest(this.#quotes);
    this.#quotes.set(code, { owner, flight: id, date, until: this.#now() + this.#limits.quoteMs });
    return code;
  }

  /** Takes an offer up, once, by whom and for what it was made. */
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

/** What the model is told when no more can be booked. */
export function fullLedger(): ToolError {
  return new ToolError("No more bookings can be kept for this user; read travel://calendar to see what is booked");
}

function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
