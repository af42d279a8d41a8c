import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { createTap, type Tap } from "../kit/tap.ts";
import type { Answers, Connect, ConnectOptions, Data, PeerClient } from "../peers/clients/peer.d.mts";
import type { Reported } from "./report.ts";

/** One thing a client and the fixture server do together, checked the same way for every client. */
export interface Feature {
  readonly name: string;
  /** The first protocol version that has it. */
  readonly since?: string;
  /** The last protocol version that has it. */
  readonly until?: string;
  /** The only transport that has it. */
  readonly over?: Column["transport"];
  check(peer: PeerClient, column: Column): Promise<void>;
  /** What happens instead on the versions that lack it. */
  without?(peer: PeerClient, column: Column): Promise<void>;
}

/** A client in one of its ways to speak. */
export interface Column extends Reported {
  readonly transport: "stdio" | "http";
  /** Has what passed between the client and our server. */
  readonly tap: Tap;
  /** Why the client has no such feature, by the feature's name. */
  readonly lacks?: { readonly [feature: string]: string };
  /** How a client that cannot do all of a feature shows what it can. */
  readonly own?: { readonly [feature: string]: Feature["check"] };
  open(options?: OpenOptions): Promise<PeerClient>;
}

export interface OpenOptions extends Partial<ConnectOptions> {
  /** Over HTTP, the address to go to instead of the server's own. */
  via?(url: string): Promise<string>;
}

export const fixture: string = fileURLToPath(new URL("./fixture-server.mjs", import.meta.url));

/** A user who accepts everything, a model of few words, and a host with two folders. */
export function agreeable(): Answers {
  return {
    elicit: ({ mode, requestedSchema }) => {
      if (mode === "url") return { action: "accept" };
      const known: { [field: string]: string } = { name: "Ada", colour: "green" };
      const fields = Object.keys(requestedSchema.properties).filter((field) => field in known);
      return { action: "accept", content: Object.fromEntries(fields.map((field) => [field, known[field]])) };
    },
    sample: ({ messages }) => {
      const { content } = messages[0];
      return { role: "assistant", model: "tiny-1", content: { type: "text", text: `<${content.text}>` } };
    },
    roots: () => ({
      roots: [
        { uri: "file:///home/ada", name: "home" },
        { uri: "file:///srv", name: "srv" },
      ],
    }),
  };
}

export interface ColumnOptions
  extends Pick<ConnectOptions, "version" | "mode" | "httpSse">,
    Pick<Column, "lacks" | "own"> {}

export function createColumn(peer: string, connect: Connect, { lacks, own, ...options }: ColumnOptions): Column {
  const named = nameColumn(peer, options);
  const tap = createTap(named.version);
  return {
    ...named,
    ...(lacks && { lacks }),
    ...(own && { own }),
    wire: "stdio",
    transport: "stdio",
    tap,
    open(more = {}) {
      const env = { ...more.env, INTEROP_TAP: tap.module("stdio") };
      return connect({ name: named.title, script: fixture, answers: agreeable(), ...options, ...more, env });
    },
  };
}

/** How a column is called, and what tells it from others of the same version. */
export function nameColumn(
  peer: string,
  { version, mode, httpSse }: ColumnOptions,
): Pick<Column, "title" | "peer" | "version" | "habit"> {
  const habit = mode === "auto" ? "auto" : undefined;
  const title = `${peer} ${httpSse ? "HTTP+SSE" : (habit ?? version)}`;
  return { title, peer, version, ...(habit !== undefined && { habit }) };
}

/** Whether the version and the transport of a column have a feature. */
export function isThere({ since = "", until = "9", over }: Feature, { version, transport }: Column): boolean {
  return (over === undefined || over === transport) && version >= since && version <= until;
}

/** The check of a feature in a column; undefined where the peer, the version or the transport lacks it. */
export function checkOf(feature: Feature, column: Column): Feature["check"] | undefined {
  const { name, check } = feature;
  const { lacks = {}, own = {} } = column;
  return isThere(feature, column) && lacks[name] === undefined ? (own[name] ?? check) : undefined;
}

export function textOf(result: Data): string {
  return result.content[0].text;
}

/** What the handlers noted, as far as a label is in it. */
export async function journalOf(peer: PeerClient, label: string): Promise<string[]> {
  const lines = textOf(await peer.callTool("journal")).split("\n");
  return lines.filter((line) => line.endsWith(label));
}

/** Asks for what the handlers noted until it is this: other connections may be slower than the one that asks. */
export async function untilJournal(peer: PeerClient, label: string, lines: readonly string[]): Promise<void> {
  let noted: string[] = [];
  for (let tries = 0; tries < 1_000 && noted.length < lines.length; tries += 1) noted = await journalOf(peer, label);
  expect(noted).toEqual(lines);
}
