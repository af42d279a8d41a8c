import type { CommandTarget, ConnectOptions } from "portolan/client";
import type { HttpLinkOptions } from "portolan/client/http";
import { expect } from "vitest";
import type { Tap } from "../../kit/tap.ts";
import type { Data } from "../../peers/clients/peer.d.mts";
import type { Reported } from "../report.ts";
import type { Peer } from "./peer.ts";

export type Check = (peer: Peer, column: ServerColumn) => Promise<void>;

/** One feature of our client with a server, checked in the same way for every fixture server. */
export interface ServerFeature {
  readonly name: string;
  /** The first protocol version that has it. */
  readonly since?: string;
  /** The only transport that has it. */
  readonly over?: ServerColumn["transport"];
  readonly check: Check;
  /** Checks the behaviour on versions that lack the feature. */
  readonly without?: Check;
}

/** One server of another implementation with one version and transport. */
export interface ServerColumn extends Reported {
  /** The name the server gives itself. */
  readonly server: string;
  readonly era: "stateless" | "stateful";
  readonly transport: "stdio" | "http";
  /** Records the messages between our client and the server. */
  readonly tap: Tap;
  /** Reasons why the peer lacks features, by feature name. */
  readonly lacks: { readonly [feature: string]: string };
  /** Parts of error messages that our client always reports for this server. */
  readonly knownErrors?: readonly string[];
  /** Checks for features that a fixture supports only in part, by feature name. */
  readonly partly?: { readonly [feature: string]: Check };
  /** Checks for a server that is not a fixture, by feature name; it has no other features. */
  readonly own?: { readonly [feature: string]: Check };
  /** Connects; over HTTP to the same process for the same environment. */
  open(options?: ConnectOptions, target?: Partial<CommandTarget>): Promise<Peer>;
  /** Returns the URL of its server. */
  address?(): Promise<string>;
  /** Connects to the same server at another address. */
  openAt?(url: string, options?: HttpLinkOptions): Promise<Peer>;
  /** Stops its server processes. */
  stop?(): Promise<void>;
}

/** Tells whether the version and the transport of a column have a feature. */
export function isThere({ since = "", over }: ServerFeature, { version, transport }: ServerColumn): boolean {
  return (over === undefined || over === transport) && version >= since;
}

/** Returns the check of a feature in a column; undefined if the peer, the version or the transport lacks it. */
export function checkOf(feature: ServerFeature, column: ServerColumn): Check | undefined {
  const { name, check } = feature;
  const { own, lacks, partly = {} } = column;
  if (own) return own[name];
  return isThere(feature, column) && lacks[name] === undefined ? (partly[name] ?? check) : undefined;
}

/** Returns the check for a version that lacks a feature. */
export function absenceOf(feature: ServerFeature, column: ServerColumn): Check | undefined {
  return column.own || isThere(feature, column) ? undefined : feature.without;
}

export function textOf(result: Data): string {
  return result.content[0].text;
}

/** Returns the fixture's journal lines that end with a label. */
export async function journalOf({ client }: Peer, label: string): Promise<string[]> {
  const lines = textOf(await client.callTool("journal")).split("\n");
  return lines.filter((line) => line.endsWith(label));
}

/** Reads the journal until it has these lines, because other connections may be slower. */
export async function untilJournal(peer: Peer, label: string, lines: readonly string[]): Promise<void> {
  let noted: string[] = [];
  for (let tries = 0; tries < 1_000 && noted.length < lines.length; tries += 1) noted = await journalOf(peer, label);
  expect(noted).toEqual(lines);
}

/** Returns whether a call failed, and the text of its result or error. */
export async function outcomeOf(call: Promise<Data>): Promise<{ hasFailed: boolean; text: string }> {
  try {
    const result = await call;
    return { hasFailed: result.isError === true, text: textOf(result) };
  } catch (error) {
    return { hasFailed: true, text: (error as Error).message };
  }
}
