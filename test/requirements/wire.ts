import type { Message } from "portolan";
import type { ChildChannel, RawPeer, RawResponse } from "../kit/raw-peer.ts";
import { between, isStateless, type RevisionDate } from "../kit/revisions.ts";

/** A server whose handlers misbehave or wait on purpose. */
export const wireServer: URL = new URL("./servers/wire.mjs", import.meta.url);
export const minimalServer: URL = new URL("./servers/minimal.mjs", import.meta.url);
export const busyServer: URL = new URL("./servers/busy.mjs", import.meta.url);
export const viewsServer: URL = new URL("./servers/views.mjs", import.meta.url);

/** Any message as received. */
// biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
export type Wire = { jsonrpc?: unknown; id?: unknown; method?: unknown; params?: any } & Pick<
  RawResponse,
  "result" | "error"
>;

/** All received messages, oldest first; members of batches one by one. */
export function received(peer: RawPeer): Wire[] {
  return peer.transcript.filter((line) => line.startsWith("< ")).flatMap((line) => JSON.parse(line.slice(2)));
}

/** The number of responses to an id. */
export function answersTo(peer: RawPeer, id: unknown): number {
  return received(peer).filter((message) => message.method === undefined && message.id === id).length;
}

/** Sends a malformed message. */
export function sendOdd(peer: RawPeer, value: unknown): void {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  peer.send((isObject ? value : { toJSON: () => value }) as Message);
}

/** Sends a malformed message and resolves to the response with its id. */
export function askOdd(peer: RawPeer, value: { id: string | number; [member: string]: unknown }): Promise<RawResponse> {
  const response = peer.responseTo(value.id);
  sendOdd(peer, value);
  return response;
}

/** The id of a response to a message whose id could not be read. */
export function noId(revision: RevisionDate): { id?: null } {
  return between("2024-11-05", "2025-06-18").includes(revision) ? { id: null } : {};
}

/** A request that every server of a revision answers. */
export function simplest(revision: RevisionDate): string {
  return isStateless(revision) ? "server/discover" : "ping";
}

/** The child process behind a peer over stdio. */
export function childOf(peer: RawPeer): ChildChannel {
  return (peer as RawPeer & { channel: ChildChannel }).channel;
}

/** The text of a tool's first content block. */
export function textOf(response: RawResponse): string {
  return response.result?.content?.[0]?.text;
}

/** Calls the `hold` tool and resolves when it runs. */
export async function hold(peer: RawPeer, key: string, id: string | number): Promise<Promise<RawResponse>[]> {
  const params = { name: "hold", arguments: { key }, _meta: { progressToken: `hold ${key}` } };
  const response = peer.request("tools/call", params, id);
  await peer.notification("notifications/progress", ({ progressToken }) => progressToken === `hold ${key}`);
  return [response];
}

/** Returns true if a value contains a member of this name at any depth. */
export function mentions(value: unknown, name: string): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([key, inner]) => key === name || mentions(inner, name));
}
