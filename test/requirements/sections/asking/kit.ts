import { expect } from "vitest";
import type { RawPeer } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Entry } from "../../results.ts";

/** A server whose handlers ask in every way there is. */
export const server = new URL("../../servers/asking.mjs", import.meta.url);

/** A block of text. */
export const say = (text: string) => ({ type: "text", text });

/** Expects that a call was refused for a capability that the client did not declare, and that nothing was asked. */
export function refusedFor(peer: RawPeer, response: Entry, requiredCapabilities: object): void {
  expect(response.result).toBeUndefined();
  expect(response.error.code).toBe(isStateless(peer.revision) ? -32021 : -32602);
  expect(response.error.data).toEqual({ requiredCapabilities });
  expect(peer.questions).toEqual([]);
}
