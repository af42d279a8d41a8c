import type { Clock } from "../../client/deadlines.ts";
import { checkBounds } from "../bounds.ts";

const minute = 60_000;

/** How often one server may ask. */
export class QuestionRate {
  readonly perMinute: number;
  readonly #clock: Clock;
  #since = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(perMinute: number, clock: Clock) {
    this.perMinute = perMinute;
    this.#clock = clock;
  }

  /** Counts a question; of those that are too many, the first of a minute is worth a word. */
  take(): "asked" | "first too many" | "too many" {
    const now = this.#clock.now();
    if (now - this.#since >= minute) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= this.perMinute) return "asked";
    return this.#count === this.perMinute + 1 ? "first too many" : "too many";
  }
}

/** The rates of all servers, each made when its server first asks. */
export function createRates(perMinute: number | undefined = 60, clock: Clock): (server: string) => QuestionRate {
  checkBounds("", { questionsPerMinute: perMinute });
  const rates = new Map<string, QuestionRate>();
  return (server) => {
    const rate = rates.get(server) ?? new QuestionRate(Math.floor(perMinute), clock);
    rates.set(server, rate);
    return rate;
  };
}
