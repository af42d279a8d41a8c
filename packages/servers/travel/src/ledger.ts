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
}

interface Quote {
  readonly owner: string;
  /** Identifies the order. */
  readonly subject: string;
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

  /** Charges for an order; for a known key it only returns the existing booking. */
  charge(owner: string, key: string, order: Order): Booking {
    const entries = this.#of(owner);
    const known = entries.get(key);
    if (known) return known;
    // Checked before, too; but the same caller may have booked more while the form was open.
    if (!this.hasRoom(owner)) throw fullLedger();
    this.#charges += 1;
    const entry = { ...order, code: `BK-${String(this.#charges).padStart(4, "0")}`, isIssued: false };
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
    const issued = [...this.#of(owner).values()].filter(({ isIssued }) => isIssued);
    return issued.map(({ isIssued, ...booking }) => booking);
  }

  /** Creates a quote for a client without forms; returns its code. */
  quote(owner: string, subject: string): string {
    const code = randomBytes(9).toString("base64url");
    if (this.#quotes.size >= this.#limits.maxKept) dropOldest(this.#quotes);
    this.#quotes.set(code, { owner, subject, until: this.#now() + this.#limits.quoteMs });
    return code;
  }

  /** Redeems a quote once, for the same caller and order. */
  redeem(owner: string, code: string, subject: string): boolean {
    const quote = this.#quotes.get(code);
    if (quote?.owner !== owner || quote.subject !== subject || quote.until < this.#now()) return false;
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
  return new ToolError("No more bookings are possible for this user; read travel://itinerary for the existing ones");
}

function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}
