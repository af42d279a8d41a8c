import { PortolanError } from "../errors.ts";
import { type JsonObject, RpcError, rpcCodes } from "../jsonrpc/message.ts";
import { weigh } from "../jsonrpc/weigh.ts";
import type { OptionKinds } from "../options.ts";
import { object, record, type ShapeCheck, string } from "../schema/shape.ts";
import type { ListAllOptions } from "./api.ts";
import { callOptionKinds, rejectInvalid } from "./call.ts";
import { defaultMaxItems, defaultMaxPages, maxListBytes } from "./limits.ts";

/** Requests one page of a list; `isFresh` bypasses the cache. */
export type RequestPage = (params: JsonObject, isFresh?: boolean) => Promise<JsonObject>;

/** The members of an item that its readers rely on. */
const itemShapes: { readonly [member: string]: ShapeCheck } = {
  tools: object({ name: string, inputSchema: record() }),
  resources: object({ uri: string }),
  resourceTemplates: object({ uriTemplate: string }),
  prompts: object({ name: string }),
};

/**
 * Yields the items of all pages. Throws "limit-reached" for a list that does not end or repeats a cursor, and
 * "answer-invalid" for an invalid item, unless `onInvalid` takes it. Without `requestPage` the list is empty.
 */
export async function* walk<T>(
  requestPage: RequestPage | undefined,
  method: string,
  member: string,
  options: ListAllOptions,
): AsyncGenerator<T> {
  await rejectInvalid(options, listOptionKinds, method);
  if (!requestPage) return;
  const { maxItems = defaultMaxItems, maxPages = defaultMaxPages, onInvalid } = options;
  const seen = new Set<string>();
  let cursor: string | undefined;
  let count = 0;
  for (let pages = 1; ; pages += 1) {
    const page = await requestPage(cursor === undefined ? {} : { cursor });
    const items = page[member] as T[];
    const before = count;
    count += items.length;
    if (count > maxItems) throw endlessList(method, `more than ${maxItems} items; raise maxItems if that is right`);
    for (const [at, item] of items.entries()) {
      const problem = itemShapes[member]?.(item, nameIn(item) ?? `item ${before + at + 1}`);
      if (problem === undefined) yield item;
      else if (onInvalid) onInvalid(problem, item);
      else throw new PortolanError("answer-invalid", `${method}: the server's result is invalid: ${problem}`);
    }
    const { nextCursor } = page;
    // The empty string is a valid cursor.
    if (typeof nextCursor !== "string") return;
    if (seen.has(nextCursor)) {
      throw endlessList(method, `the cursor ${JSON.stringify(nextCursor.slice(0, 40))} a second time`);
    }
    if (pages >= maxPages) throw endlessList(method, `more than ${maxPages} pages; raise maxPages if that is right`);
    seen.add(nextCursor);
    cursor = nextCursor;
  }
}

/** Returns the quoted name of an item, if it has one. */
function nameIn(item: unknown): string | undefined {
  const name: unknown = (item as { name?: unknown } | null | undefined)?.name;
  return typeof name === "string" ? JSON.stringify(name.slice(0)) : undefined;
}

const listOptionKinds: OptionKinds<ListAllOptions> = {
  ...callOptionKinds,
  maxItems: "number",
  maxPages: "number",
  onInvalid: "function",
};

/** Returns all items in one array. If the list changes while it is read, it is read once more from the start. */
export async function collect<T>(
  requestPage: RequestPage | undefined,
  method: string,
  member: string,
  options: ListAllOptions,
): Promise<T[]> {
  if (!requestPage) return toArray(walk<T>(undefined, method, member, options));
  let isPastFirstPage = false;
  const tracked: RequestPage = (params) => {
    isPastFirstPage = "cursor" in params;
    return requestPage(params);
  };
  try {
    return await toArray(walk<T>(withinBounds(tracked, method), method, member, options));
  } catch (reason) {
    // spec 2026-07-28: pagination#error-handling. A server answers an outdated cursor with invalid params.
    const isBadCursor = isPastFirstPage && reason instanceof RpcError && reason.code === rpcCodes.invalidParams;
    if (!isBadCursor) throw reason;
    const fresh: RequestPage = (params) => requestPage(params, true);
    return toArray(walk<T>(withinBounds(fresh, method), method, member, options));
  }
}

/** Throws "limit-reached" when the pages take too much memory together: the number of items does not bound it. */
function withinBounds(requestPage: RequestPage, method: string): RequestPage {
  let bytes = 0;
  return async (params) => {
    const page = await requestPage(params);
    // A list in one page is one message, which has its own bound.
    if ("cursor" in params || "nextCursor" in page) bytes += weigh(page);
    if (bytes > maxListBytes) {
      throw endlessList(method, `a list that takes more than ${maxListBytes} bytes of memory; iterate over it instead`);
    }
    return page;
  };
}

async function toArray<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

function endlessList(method: string, what: string): PortolanError {
  return new PortolanError("limit-reached", `${method}: the server sent ${what}`);
}
