import { invalidParams } from "../../protocol/errors.ts";
import { defaultPageSize } from "../limits.ts";

/** A list that is answered in pages. */
export interface PagedList<T> {
  /** The name of the list. A cursor is valid for the list of its name only. */
  readonly list: string;
  /** The view of the caller on the list, if callers differ. A cursor is valid for its view only. Default: "". */
  readonly view?: string;
  /** Entries in one page. Default: 1,000. */
  readonly pageSize?: number;
  /** Returns the key by which the entries are sorted. */
  keyOf(entry: T): string;
}

/** Returns the page at a client's cursor. `entries` are sorted by key. Throws "invalid params" for a wrong cursor. */
export function pageOf<T>(
  entries: readonly T[],
  cursor: unknown,
  { list, view = "", pageSize = defaultPageSize, keyOf }: PagedList<T>,
): { readonly entries: readonly T[]; readonly nextCursor: string | undefined } {
  const start = cursor === undefined ? 0 : indexAfter(entries, parseCursor(String(cursor), list, view), keyOf);
  const page = entries.slice(start, start + pageSize);
  const last = page[page.length - 1];
  const isMore = last !== undefined && start + pageSize < entries.length;
  return { entries: page, nextCursor: isMore ? toCursor(list, view, keyOf(last)) : undefined };
}

/** Returns the index of the first entry after a key. */
export function indexAfter<T>(entries: readonly T[], key: string, keyOf: (entry: T) => string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keyOf(entries[middle] as T) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Makes a cursor. It names its list and view, so that it is valid for no other. */
export function toCursor(list: string, view: string, key: string): string {
  return JSON.stringify([list, view, key]);
}

export function parseCursor(cursor: string, list: string, view: string): string {
  try {
    const key: unknown = JSON.parse(cursor)[2];
    if (typeof key === "string" && toCursor(list, view, key) === cursor) return key;
  } catch {
    // Refused below, with the same answer as every cursor that is not ours.
  }
  throw invalidParams("cursor: expected a nextCursor of this list; start again without a cursor");
}
