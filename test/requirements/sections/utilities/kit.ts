import type { JsonObject } from "portolan";
import type { RawPeer } from "../../../kit/raw-peer.ts";

/** The list methods, each with the member of its result that has the entries. */
export const lists = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
};

/** All pages of a list. */
export async function pagesOf(peer: RawPeer, method: string): Promise<JsonObject[]> {
  const pages: JsonObject[] = [];
  for (let cursor: string | undefined; ; ) {
    const { result } = await peer.request(method, cursor === undefined ? {} : { cursor });
    pages.push(result);
    if (result.nextCursor === undefined) return pages;
    if (pages.length > 100) throw new Error(`${method} has no end`);
    cursor = result.nextCursor;
  }
}
