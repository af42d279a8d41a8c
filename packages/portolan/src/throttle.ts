/** Default time in which one kind of report is passed on once. */
export const reportIntervalMs = 60_000;

/** Kinds that are told apart at once. Reports of further kinds are counted together. */
const maxKinds = 1_000;

interface CountedReports<T> {
  latest: T;
  /** Reports that were not passed on. */
  count: number;
}

/**
 * Passes on the first report of a kind at once, and the latest of those that follow when a minute is over, with their
 * number. A flood of failures cannot fill a log.
 */
export class ReportThrottle<T> {
  readonly #pass: (report: T, count: number) => void;
  readonly #kinds = new Map<string, CountedReports<T>>();

  /** @param pass receives a report, and the number of reports of its kind since the last one that was passed on */
  constructor(pass: (report: T, count: number) => void) {
    this.#pass = pass;
  }

  add(kind: string, report: T): void {
    const known = this.#kinds.get(kind);
    if (known) {
      known.count += 1;
      known.latest = report;
    } else if (this.#kinds.size >= maxKinds && kind !== "") this.add("", report);
    else this.#begin(kind, report, 1);
  }

  #begin(kind: string, report: T, count: number): void {
    this.#kinds.set(kind, { latest: report, count: 0 });
    const timer = setTimeout(() => this.#end(kind), reportIntervalMs);
    if (typeof timer === "object") timer.unref?.();
    this.#pass(report, count);
  }

  #end(kind: string): void {
    const { latest, count = 0 } = this.#kinds.get(kind) ?? {};
    this.#kinds.delete(kind);
    if (latest !== undefined && count > 0) this.#begin(kind, latest, count);
  }
}
