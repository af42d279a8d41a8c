import type { JsonObject } from "portolan";
import type { RawPeer } from "../../../kit/raw-peer.ts";
import type { Entry } from "../../results.ts";

/** A server whose handlers ask in every way there is. */
export const server = new URL("../../servers/asking.mjs", import.meta.url);

/** Those of a client that can be asked for everything. */
export const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** An answer that consents. */
export const yes = { action: "accept" };

/** One round of a call by hand. */
export async function round(
  peer: RawPeer,
  name: string,
  answers?: JsonObject,
  requestState?: unknown,
  args?: JsonObject,
): Promise<Entry> {
  const retry = {
    ...(answers && { inputResponses: answers }),
    ...(requestState !== undefined && { requestState }),
  };
  return peer.callTool(name, args, retry);
}
