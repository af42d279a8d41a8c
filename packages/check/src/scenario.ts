import type { OpenOptions, Place } from "./connect.ts";
import type { Role } from "./hints.ts";
import type { Peer, ToolUse } from "./peer.ts";
import { Failed } from "./reply.ts";
import type { RevisionDate, Transport } from "./revisions.ts";
import type { Surface } from "./surface.ts";
import { HttpWire } from "./wire/http.ts";
import { HttpSseWire } from "./wire/http-sse.ts";
import { StdioWire } from "./wire/stdio.ts";

/** How bad it is when it does not hold. */
export type Strength = "must" | "should";

/** Where a scenario runs: what it looks at, and the connections it may use. */
export interface Stage extends Place {
  readonly surface: Surface;
  /** A connection that is ready, used by many scenarios one after the other. */
  shared(): Promise<Peer>;
  /** A connection of its own, gone with the scenario. */
  open(options?: OpenOptions): Promise<Peer>;
  /** A connection of its own that has said nothing yet. */
  connect(options?: OpenOptions): Promise<Peer>;
  /** The tool for a role; without one the scenario does not apply. */
  tool(role: Role): ToolUse;
  findTool(role: Role): ToolUse | undefined;
}

/** One thing that a server has to do. */
export interface Scenario {
  readonly id: string;
  /** What holds, as a sentence. */
  readonly title: string;
  /** The rows of the requirements that ask for it. */
  readonly requirements: readonly string[];
  readonly strength: Strength;
  readonly since?: RevisionDate;
  readonly until?: RevisionDate;
  readonly transports?: readonly Transport[];
  /** Capabilities of the server, as paths: `resources.subscribe`. */
  readonly needs?: readonly string[];
  /** Resolves to the evidence; throws when it does not hold. */
  run(stage: Stage): Promise<string>;
}

export const firstStateless: RevisionDate = "2026-07-28";
export const lastStateful: RevisionDate = "2025-11-25";

/** Whether a scenario is about a revision over a transport. */
export function belongs(scenario: Scenario, { revision: { date }, transport }: Place): boolean {
  const { since = date, until = date, transports = [transport] } = scenario;
  return since <= date && date <= until && transports.includes(transport);
}

export function stdioOf({ wire }: Peer): StdioWire {
  if (wire instanceof StdioWire) return wire;
  throw new Failed("expected a server process");
}

export function httpOf({ wire }: Peer): HttpWire {
  if (wire instanceof HttpWire) return wire;
  throw new Failed("expected a server over Streamable HTTP");
}

export function httpSseOf({ wire }: Peer): HttpSseWire {
  if (wire instanceof HttpSseWire) return wire;
  throw new Failed("expected a server over HTTP+SSE");
}
