import { expect } from "vitest";
import type { RawPeer } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Entry } from "../../results.ts";

/** A server whose handlers send every kind of request to the client. */
export const server = new URL("../../servers/asking.mjs", import.meta.url);

/** A block of text. */
export const toText = (text: string) => ({ type: "text", text });

/** Expects that a call was refused for an undeclared capability, and that no request was sent. */
export function refusedFor(peer: RawPeer, response: Entry, requiredCapabilities: object): void {
  expect(response.result).toBeUndefined();
  expect(response.error.code).toBe(isStateless(peer.revision) ? -32021 : -32602);
  expect(response.error.data).toEqual({ requiredCapabilities });
  expect(peer.questions).toEqual([]);
}
