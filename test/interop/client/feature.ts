import type { CommandTarget, ConnectOptions } from "portolan/client";
import type { HttpLinkOptions } from "portolan/client/http";
import { expect } from "vitest";
import type { Tap } from "../../kit/tap.ts";
import type { Data } from "../../peers/clients/peer.d.mts";
import type { Reported } from "../report.ts";
import type { Peer } from "./peer.ts";

export type Check = (peer: Peer, column: ServerColumn) => Promise<void>;

/** One thing our client and a server do together, checked the same way for every server with the fixture. */
export interface ServerFeature {
  readonly name: string;
  /** The first protocol version that has it. */
  readonly since?: string;
  /** The only transport that has it. */
  readonly over?: ServerColumn["transport"];
  readonly check: Check;
  /** What happens instead on the versions that lack it. */
  readonly without?: Check;
}

/** A server of another implementation, in one of the ways to speak with it. */
export interface ServerColumn extends Reported {
  /** The name the server gives itself. */
  readonly server: string;
  readonly era: "stateless" | "stateful";
  readonly transport: "stdio" | "http";
  /** Has what passed between our client and the server. */
  readonly tap: Tap;
  /** Why the peer has no such feature, by the feature's name. */
  readonly lacks: { readonly [feature: string]: string };
  /** What our client finds wrong with it all the time, by parts of the messages. */
  readonly odd?: readonly string[];
  /** How a fixture that cannot do all of a feature shows what it can. */
  readonly partly?: { readonly [feature: string]: Check };
  /** How a server that is no fixture shows a feature; it has no others. */
  readonly own?: { readonly [feature: string]: Check };
  /** Connects; over HTTP to the same process as before, unless another environment is wanted. */
  open(options?: ConnectOptions, target?: Partial<CommandTarget>): Promise<Peer>;
  /** Where its server listens. */
  address?(): Promise<string>;
  /** Connects to the same server at another address. */
  openAt?(url: string, options?: HttpLinkOptions): Promise<Peer>;
  /** Ends the processes that were started for it. */
  stop?(): Promise<void>;
}

/** Whether the version and the transport of a column have a feature. */
export function isThere({ since = "", over }: ServerFeature, { version, transport }: ServerColumn): boolean {
  return (over === undefined || over === transport) && version >= since;
}

/** The check of a feature in a column; undefined where the peer, the version or the transport lacks it. */
export function checkOf(feature: ServerFeature, column: ServerColumn): Check | undefined {
  const { name, check } = feature;
  const { own, lacks, partly = {} } = column;
  if (own) return own[name];
  return isThere(feature, column) && lacks[name] === undefined ? (partly[name] ?? check) : undefined;
}

/** What to check where a version lacks a feature. */
export function absenceOf(feature: ServerFeature, column: ServerColumn): Check | undefined {
  return column.own || isThere(feature, column) ? undefined : feature.without;
}

export function textOf(result: Data): string {
  return result.content[0].text;
}

/** What the handlers of a fixture noted, as far as a label is in it. */
export async function journalOf({ client }: Peer, label: string): Promise<string[]> {
  const lines = textOf(await client.callTool("journal")).split("\n");
  return lines.filter((line) => line.endsWith(label));
}

/** Asks for what the handlers noted until it is this: other connections may be slower than the one that asks. */
export async function untilJournal(peer: Peer, label: string, lines: readonly string[]): Promise<void> {
  let noted: string[] = [];
  for (let tries = 0; tries < 1_000 && noted.length < lines.length; tries += 1) noted = await journalOf(peer, label);
  expect(noted).toEqual(lines);
}

/** What a call came to: its text, be it a result or an error. */
export async function outcomeOf(call: Promise<Data>): Promise<{ hasFailed: boolean; text: string }> {
  try {
    const result = await call;
    return { hasFailed: result.isError === true, text: textOf(result) };
  } catch (error) {
    return { hasFailed: true, text: (error as Error).message };
  }
}
