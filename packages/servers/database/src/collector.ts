import type { Bounds, Cell, Rows } from "./database.ts";

/** A value as a driver returns it. */
export type Raw = string | number | bigint | boolean | null | Uint8Array;

/** Collects rows until a bound is reached. */
export class Collector {
  readonly #bounds: Bounds;
  readonly #rows: Cell[][] = [];
  #bytes = 0;
  #shortened = 0;
  #cutBy: Rows["cutBy"];

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Adds a row; returns false if neither it nor any other fits. */
  add(row: readonly Raw[]): boolean {
    if (this.#cutBy !== undefined) return false;
    const { maxRows, maxBytes } = this.#bounds;
    if (this.#rows.length >= maxRows) return this.cut("rows");
    const shortenedBefore = this.#shortened;
    const cells = row.map((value) => this.#show(value));
    const bytes = Buffer.byteLength(JSON.stringify(cells)) + 1;
    if (this.#bytes + bytes > maxBytes) {
      this.#shortened = shortenedBefore;
      return this.cut("bytes");
    }
    this.#bytes += bytes;
    this.#rows.push(cells);
    return true;
  }

  /** Marks the result as cut. */
  cut(by: "rows" | "bytes"): false {
    this.#cutBy ??= by;
    return false;
  }

  get isCut(): boolean {
    return this.#cutBy !== undefined;
  }

  get result(): Omit<Rows, "columns"> {
    return { rows: this.#rows, shortened: this.#shortened, ...(this.#cutBy && { cutBy: this.#cutBy }) };
  }

  #show(value: Raw): Cell {
    switch (typeof value) {
      case "bigint":
        return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
      case "number":
        return Number.isFinite(value) ? value : String(value);
      case "string":
        return this.#shorten(value);
      case "object":
        return value === null ? null : this.#showBytes(value);
      default:
        return value;
    }
  }

  #shorten(text: string): string {
    const { maxValueLength } = this.#bounds;
    if (text.length <= maxValueLength) return text;
    this.#shortened += 1;
    // Do not cut a surrogate pair in half.
    const end = /[\uD800-\uDBFF]/.test(text[maxValueLength - 1] ?? "") ? maxValueLength - 1 : maxValueLength;
    return `${text.slice(0, end)}… (${text.length} characters)`;
  }

  #showBytes(value: Uint8Array): Cell {
    const bytes = value.byteLength;
    if (bytes > this.#bounds.maxBlobBytes) return { bytes };
    return { bytes, base64: Buffer.from(value.buffer, value.byteOffset, bytes).toString("base64") };
  }
}
