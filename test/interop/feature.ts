import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { Answers, Connect, ConnectOptions, Data, PeerClient } from "../peers/clients/peer.d.mts";

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
export interface Column {
  readonly title: string;
  readonly version: string;
  readonly transport: "stdio" | "http";
  /** Why the client has no such feature, by the feature's name. */
  readonly lacks?: { readonly [feature: string]: string };
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

export function createColumn(
  title: string,
  connect: Connect,
  options: Pick<ConnectOptions, "version" | "mode">,
): Column {
  return {
    title,
    version: options.version,
    transport: "stdio",
    open: (more = {}) => connect({ name: title, script: fixture, answers: agreeable(), ...options, ...more }),
  };
}

export function has({ name, since = "", until = "9", over }: Feature, { version, transport, lacks }: Column): boolean {
  const isMeant = over === undefined || over === transport;
  return isMeant && version >= since && version <= until && lacks?.[name] === undefined;
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
