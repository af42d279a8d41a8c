import { type Signal, signal } from "@preact/signals";
import type { MessageRow } from "../../../api.ts";
import type { ApiClient } from "../../api/client.ts";

/** Summaries that stay in the tab. Older ones are read by pages. */
export const ringSize = 20_000;
const pageSize = 500;
const maxPages = 20;
const maxSeconds = 3_600;
const maxLatencies = 512;
const maxTools = 50;
/** From so many rows on, changes are shown after a pause. */
const manyRows = 2_000;
const manyRowsMs = 100;

/** The rows of one connection: the newest in a ring, older ones by pages, and what plots need of all. */
export class Timeline {
  readonly connection: string;
  readonly #api: ApiClient;
  readonly #ring: (MessageRow | undefined)[] = new Array(ringSize);
  readonly #pages = new Map<number, readonly MessageRow[] | "loading">();
  /** Messages and bytes of each second of the last hour, by the second since 1970. */
  readonly seconds: Map<number, { messages: number; bytes: number }> = new Map();
  readonly latencies: Map<string, number[]> = new Map();
  /** Numbers of the first and last row that exist. */
  first = 1;
  last = 0;
  /** The oldest row in the ring. */
  #oldest = 1;
  #frame = 0;
  #isReading = false;
  /** Changes with the rows in the ring, at most once a frame. */
  readonly version: Signal<number> = signal(0);
  /** Changes when older rows were read. They change nothing that is computed of the ring. */
  readonly older: Signal<number> = signal(0);
  readonly reason: Signal<string | undefined> = signal(undefined);
  /** False until the newest rows were read. */
  readonly isLoaded: Signal<boolean> = signal(false);

  constructor(api: ApiClient, connection: string) {
    this.#api = api;
    this.connection = connection;
    this.refresh();
  }

  /** Reads the newest rows, and those that are missing behind what is known. */
  refresh(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#read().then(
      () => {
        this.#isReading = false;
        this.reason.value = undefined;
        this.isLoaded.value = true;
        this.#changed();
      },
      (error: unknown) => {
        this.#isReading = false;
        this.isLoaded.value = true;
        this.reason.value = error instanceof Error ? error.message : String(error);
      },
    );
  }

  async #read(): Promise<void> {
    const newest = await this.#api.read("messages", { connection: this.connection, limit: pageSize });
    this.first = newest.first;
    if (newest.last < this.last) this.#forget();
    let { rows } = newest;
    // Older rows that are not known yet, as far as the ring reaches for the first look.
    const wanted = Math.max(
      newest.first,
      this.last === 0 ? newest.last - 2_000 : this.last + 1,
      newest.last - ringSize,
    );
    while (rows[0] !== undefined && rows[0].n > wanted) {
      const older = await this.#api.read("messages", {
        connection: this.connection,
        before: rows[0].n,
        limit: pageSize,
      });
      if (older.rows.length === 0) break;
      rows = [...older.rows, ...rows];
    }
    this.add(rows);
  }

  #forget(): void {
    this.#ring.fill(undefined);
    this.#pages.clear();
    this.seconds.clear();
    this.latencies.clear();
    this.last = 0;
    this.#oldest = 1;
  }

  /** Adds rows that have come, in the order of their numbers. */
  add(rows: readonly MessageRow[]): void {
    for (const row of rows) {
      if (row.n <= this.last) continue;
      if (this.last === 0) this.#oldest = row.n;
      this.#ring[row.n % ringSize] = row;
      this.last = row.n;
      this.#oldest = Math.max(this.#oldest, row.n - ringSize + 1);
      this.#count(row);
    }
    if (rows.length > 0) this.#changed();
  }

  #count(row: MessageRow): void {
    const second = Math.floor(row.at / 1_000);
    const known = this.seconds.get(second);
    if (known) {
      known.messages += 1;
      known.bytes += row.bytes;
    } else {
      this.seconds.set(second, { messages: 1, bytes: row.bytes });
      const [oldest] = this.seconds.keys();
      if (this.seconds.size > maxSeconds && oldest !== undefined) this.seconds.delete(oldest);
    }
    if (row.kind !== "response" || row.tookMs === undefined || row.lane !== "server") return;
    const request = row.partner === undefined ? undefined : this.at(row.partner, false);
    const name = row.name ?? request?.name ?? request?.title;
    if (name === undefined || (this.latencies.size >= maxTools && !this.latencies.has(name))) return;
    const times = this.latencies.get(name) ?? [];
    times.push(row.tookMs);
    if (times.length > maxLatencies) times.shift();
    this.latencies.set(name, times);
  }

  /** A row by its number. One that is not in the tab is read with its page, and is there later. */
  at(n: number, fetches = true): MessageRow | undefined {
    if (n >= this.#oldest && n <= this.last) {
      const row = this.#ring[n % ringSize];
      if (row?.n === n) return row;
    }
    if (n < this.first || n > this.last) return undefined;
    const page = Math.floor(n / pageSize);
    const known = this.#pages.get(page);
    if (known === undefined && fetches) void this.#load(page);
    return Array.isArray(known) ? known.find((row) => row.n === n) : undefined;
  }

  async #load(page: number): Promise<void> {
    this.#pages.set(page, "loading");
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > maxPages && oldest !== undefined) this.#pages.delete(oldest);
    try {
      const { rows } = await this.#api.read("messages", {
        connection: this.connection,
        after: page * pageSize - 1,
        limit: pageSize,
      });
      this.#pages.set(page, rows);
      this.older.value += 1;
    } catch {
      // The place stays empty, and is read again when it is next seen.
      this.#pages.delete(page);
    }
  }

  /** All rows in the tab, oldest first. */
  kept(): readonly MessageRow[] {
    const rows: MessageRow[] = [];
    for (let n = Math.max(this.first, this.#oldest); n <= this.last; n++) {
      const row = this.#ring[n % ringSize];
      if (row?.n === n) rows.push(row);
    }
    return rows;
  }

  /** Rows that are in the tab, in a range of time. */
  between(from: number, to: number): readonly MessageRow[] {
    const found: MessageRow[] = [];
    for (let n = this.last; n >= Math.max(this.first, this.#oldest); n--) {
      const row = this.#ring[n % ringSize];
      if (row?.n !== n) continue;
      if (row.at < from - 60_000) break;
      if (row.at <= to && row.at + 60_000 >= from) found.push(row);
    }
    return found.reverse();
  }

  /** The number of the oldest row in the tab. */
  get oldest(): number {
    return this.#oldest;
  }

  #changed(): void {
    if (this.#frame !== 0) return;
    const tell = () => {
      this.#frame = 0;
      this.version.value += 1;
    };
    // The lines of many rows take a good part of a frame to put together, and nobody reads sixty lists a second.
    const waitMs = document.hidden ? 200 : this.last - this.#oldest > manyRows ? manyRowsMs : 0;
    this.#frame = waitMs === 0 ? requestAnimationFrame(tell) : Number(setTimeout(tell, waitMs));
  }
}
