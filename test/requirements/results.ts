import type { JsonObject } from "portolan";
import type { RawPeer, RawResponse } from "../kit/raw-peer.ts";
import { type RevisionDate, revisions } from "../kit/revisions.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests read entries of every shape
export type Entry = any;

/** Returns true if a revision is at least as new as another. */
export function isFrom(revision: RevisionDate, first: RevisionDate): boolean {
  return revisions.indexOf(revision) >= revisions.indexOf(first);
}

/** The capabilities that a server offers to a peer. */
export async function offeredBy(peer: RawPeer): Promise<Entry> {
  const offer = peer.initialized ?? (await peer.request("server/discover"));
  return offer.result.capabilities;
}

/** All entries of a list, page by page. */
export async function listAll(peer: RawPeer, method: string, member: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  let cursor: string | undefined;
  do {
    const { result, error } = await peer.request(method, cursor === undefined ? {} : { cursor });
    if (error) throw new Error(`${method}: ${error.message}`);
    entries.push(...result[member]);
    cursor = result.nextCursor;
  } while (cursor !== undefined);
  return entries;
}

/** One entry of a list by its name or URI. */
export async function listed(peer: RawPeer, method: string, member: string, key: string): Promise<Entry> {
  const entries = await listAll(peer, method, member);
  return entries.find((entry) => (entry.uriTemplate ?? entry.uri ?? entry.name) === key);
}

/** One tool as it is listed. */
export function listedTool(peer: RawPeer, name: string): Promise<Entry> {
  return listed(peer, "tools/list", "tools", name);
}

/** The text of the only content block of a tool result. */
export function textOf({ result, error }: RawResponse): string {
  if (error) throw new Error(`expected a result, got error ${error.code}: ${error.message}`);
  if (result.content?.length !== 1) throw new Error(`expected one content block, got ${JSON.stringify(result)}`);
  return result.content[0].text;
}

/** The JSON text of the only content block of a tool result. */
export function jsonOf(response: RawResponse): Entry {
  return JSON.parse(textOf(response));
}

/** The members of an object, sorted. */
export function members(value: object): string[] {
  return Object.keys(value).sort();
}

/** Every member name anywhere in a value. */
export function allMembers(value: unknown, found: Set<string> = new Set()): Set<string> {
  if (Array.isArray(value)) for (const item of value) allMembers(item, found);
  else if (typeof value === "object" && value !== null) {
    for (const [name, inner] of Object.entries(value)) {
      found.add(name);
      allMembers(inner, found);
    }
  }
  return found;
}

/** Answers every request of the server with acceptance; `content` fills forms. */
export function accepting(content: JsonObject = {}): (question: { method: string }) => JsonObject {
  return ({ method }) => {
    if (method === "roots/list") return { roots: [{ uri: "file:///work", name: "work" }] };
    if (method === "sampling/createMessage") {
      return { role: "assistant", content: { type: "text", text: "Hello" }, model: "m", stopReason: "endTurn" };
    }
    return { action: "accept", content };
  };
}
