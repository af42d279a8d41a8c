import { describe, expect, test } from "vitest";
import { passedIn, problemsOf } from "../kit/conversation.ts";
import { connect, type RawPeer, type RawPeerOptions } from "../kit/raw-peer.ts";
import { type RevisionDate, type Transport, transports } from "../kit/revisions.ts";
import { manifest } from "./manifest.ts";

/** Connects one more peer to the server under test; all are closed at the end of the test. */
export type Open = (options?: Partial<RawPeerOptions> & { server?: URL }) => Promise<RawPeer>;

/** A rule of the protocol as a test. It runs on every revision and transport that it names. */
export interface Requirement {
  /** The row of the requirements manifest that it covers. */
  row: string;
  /** The tested behaviour, as a sentence. */
  says: string;
  /** The revisions it runs on. Default: all revisions of the row. */
  on?: readonly RevisionDate[];
  /** The transports it runs on. Default: all transports of the row. */
  over?: readonly Transport[];
  test(open: Open, at: { revision: RevisionDate; transport: Transport }): Promise<void>;
}

/** Schema problems that handlers of the fixtures cause on purpose. */
const onPurpose = /^2026-07-28 (CallTool|GetPrompt)Result\b.*(ttlMs|cacheScope)|URLElicitationRequiredError.*'data'/;

function isExpected(problem: string, transport: Transport): boolean {
  // A transcript does not contain raw bytes, so responses to them have no request.
  const isToRawBytes = transport === "stdio" && problem.startsWith("a response without a request");
  return isToRawBytes || onPurpose.test(problem);
}

const fullServer = new URL("../kit/full-server.mjs", import.meta.url);

/** The revisions and transports a requirement runs on. */
export function scopeOf({ row, on, over }: Requirement): { on: readonly RevisionDate[]; over: readonly Transport[] } {
  const entry = manifest[row];
  if (!entry || !("on" in entry)) throw new Error(`the manifest has no testable row ${row}`);
  return { on: on ?? entry.on, over: over ?? entry.over ?? transports };
}

/** Registers a section's requirements as tests. Every message of the server is also checked against the schemas. */
export function runRequirements(section: string, requirements: readonly Requirement[]): void {
  describe(section, () => {
    for (const requirement of requirements) {
      const { on, over } = scopeOf(requirement);
      for (const revision of on) {
        for (const transport of over) {
          test(`${requirement.row}: ${requirement.says} (${revision}, ${transport})`, async () => {
            const peers: RawPeer[] = [];
            const open: Open = async ({ server = fullServer, ...options } = {}) => {
              const peer = await connect(server, transport, { revision, ...options });
              peers.push(peer);
              return peer;
            };
            try {
              await requirement.test(open, { revision, transport });
            } finally {
              await Promise.all(peers.map((peer) => peer.close()));
            }
            for (const peer of peers) {
              const problems = problemsOf(passedIn(peer.transcript, revision), "server");
              expect(problems.filter((problem) => !isExpected(problem, transport))).toEqual([]);
            }
          });
        }
      }
    }
  });
}
