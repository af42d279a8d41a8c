import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { createTap, type Tap } from "../kit/tap.ts";
import type { Answers, Connect, ConnectOptions, Data, PeerClient } from "../peers/clients/peer.d.mts";
import type { Reported } from "./report.ts";

/** One feature of a client with the fixture server, checked in the same way for every client. */
export interface Feature {
  readonly name: string;
  /** The first protocol version that has it. */
  readonly since?: string;
  /** The last protocol version that has it. */
  readonly until?: string;
  /** The only transport that has it. */
  readonly over?: Column["transport"];
  check(peer: PeerClient, column: Column): Promise<void>;
  /** Checks the behaviour on versions that lack the feature. */
  without?(peer: PeerClient, column: Column): Promise<void>;
}

/** One client with one version and transport. */
export interface Column extends Reported {
  readonly transport: "stdio" | "http";
  /** Records the messages between the client and our server. */
  readonly tap: Tap;
  /** Reasons why the client lacks features, by feature name. */
  readonly lacks?: { readonly [feature: string]: string };
  /** Checks for features that the client supports only in part, by feature name. */
  readonly own?: { readonly [feature: string]: Feature["check"] };
  open(options?: OpenOptions): Promise<PeerClient>;
}

export interface OpenOptions extends Partial<ConnectOptions> {
  /** Over HTTP: returns the address to use in place of the server's own. */
  via?(url: string): Promise<string>;
}

export const fixture: string = fileURLToPath(new URL("./fixture-server.mjs", import.meta.url));

/** Returns answers that accept every form, echo every prompt and list two roots. */
export function defaultAnswers(): Answers {
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
      return connect({ name: named.title, script: fixture, answers: defaultAnswers(), ...options, ...more, env });
    },
  };
}

/** Returns the name of a column, and its mode when that differs from other columns of the version. */
export function nameColumn(
  peer: string,
  { version, mode, httpSse }: ColumnOptions,
): Pick<Column, "title" | "peer" | "version" | "habit"> {
  const habit = mode === "auto" ? "auto" : undefined;
  const title = `${peer} ${httpSse ? "HTTP+SSE" : (habit ?? version)}`;
  return { title, peer, version, ...(habit !== undefined && { habit }) };
}

/** Tells whether the version and the transport of a column have a feature. */
export function isThere({ since = "", until = "9", over }: Feature, { version, transport }: Column): boolean {
  return (over === undefined || over === transport) && version >= since && version <= until;
}

/** Returns the check of a feature in a column; undefined if the peer, the version or the transport lacks it. */
export function checkOf(feature: Feature, column: Column): Feature["check"] | undefined {
  const { name, check } = feature;
  const { lacks = {}, own = {} } = column;
  return isThere(feature, column) && lacks[name] === undefined ? (own[name] ?? check) : undefined;
}

export function textOf(result: Data): string {
  return result.content[0].text;
}

/** Returns the handlers' journal lines that end with a label. */
export async function journalOf(peer: PeerClient, label: string): Promise<string[]> {
  const lines = textOf(await peer.callTool("journal")).split("\n");
  return lines.filter((line) => line.endsWith(label));
}

/** Reads the journal until it has these lines, because other connections may be slower. */
export async function untilJournal(peer: PeerClient, label: string, lines: readonly string[]): Promise<void> {
  let noted: string[] = [];
  for (let tries = 0; tries < 1_000 && noted.length < lines.length; tries += 1) noted = await journalOf(peer, label);
  expect(noted).toEqual(lines);
}
