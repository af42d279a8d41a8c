import { PortolanError } from "../errors.ts";
import type { JsonObject } from "../jsonrpc/message.ts";
import { RpcError } from "../jsonrpc/message.ts";
import type { ListOptions } from "./api.ts";

const defaultMaxItems = 100_000;
const defaultMaxPages = 10_000;

/** Asks for one page; a fresh one is not taken from what was kept. */
type Ask = (params: JsonObject, isFresh?: boolean) => Promise<JsonObject>;

/** The items of all pages of a list. A list that does not end, or goes in circles, is given up. */
export async function* walk<T>(ask: Ask, method: string, member: string, options: ListOptions): AsyncGenerator<T> {
  const { maxItems = defaultMaxItems, maxPages = defaultMaxPages } = options;
  const seen = new Set<string>();
  let cursor: string | undefined;
  let items = 0;
  for (let pages = 1; ; pages += 1) {
    const page = await ask(cursor === undefined ? {} : { cursor });
    const listed = page[member] as T[];
    items += listed.length;
    if (items > maxItems) throw endless(method, `more than ${maxItems} items`, "maxItems");
    yield* listed;
    const { nextCursor } = page;
    // The empty string is a cursor like any other.
    if (typeof nextCursor !== "string") return;
    if (seen.has(nextCursor))
      throw endless(method, `the cursor ${JSON.stringify(nextCursor.slice(0, 40))} a second time`);
    if (pages >= maxPages) throw endless(method, `more than ${maxPages} pages`, "maxPages");
    seen.add(nextCursor);
    cursor = nextCursor;
  }
}

/** All items in one array. A list that changed under its reader is read once more from the start. */
export async function collect<T>(ask: Ask, method: string, member: string, options: ListOptions): Promise<T[]> {
  let isBehindFirst = false;
  const noting: Ask = (params) => {
    isBehindFirst = "cursor" in params;
    return ask(params);
  };
  try {
    return await all(walk<T>(noting, method, member, options));
  } catch (reason) {
    const isBadCursor = isBehindFirst && reason instanceof RpcError && reason.code === -32602;
    if (!isBadCursor) throw reason;
    return all(walk<T>((params) => ask(params, true), method, member, options));
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

function endless(method: string, what: string, option?: string): PortolanError {
  const advice = option === undefined ? "" : `; raise ${option} if that is right`;
  return new PortolanError("limit-reached", `${method}: the server gave ${what}${advice}`);
}
