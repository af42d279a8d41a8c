import type { JsonObject } from "portolan";
import type { RawPeer } from "../../../kit/raw-peer.ts";
import type { Entry } from "../../results.ts";

/** A server whose handlers send every kind of request to the client. */
export const server = new URL("../../servers/asking.mjs", import.meta.url);

/** The capabilities of a client that supports every request. */
export const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

/** An accepting answer. */
export const yes = { action: "accept" };

/** Sends one round of a call. */
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
