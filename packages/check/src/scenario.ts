import type { GradeContext, OpenOptions } from "./connect.ts";
import type { Role } from "./hints.ts";
import type { Peer, ToolUse } from "./peer.ts";
import type { ServerProfile } from "./probe.ts";
import { ExpectationFailed } from "./reply.ts";
import type { RevisionDate, Transport } from "./revisions.ts";
import { HttpWire } from "./wire/http.ts";
import { HttpSseWire } from "./wire/http-sse.ts";
import { StdioWire } from "./wire/stdio.ts";

/** The keyword of the specification for a behaviour: required or recommended. */
export type Strength = "must" | "should";

/** The server under test, and the connections that a scenario may use. */
export interface ScenarioContext extends GradeContext {
  readonly profile: ServerProfile;
  /** Returns a ready connection that scenarios share, one after the other. */
  shared(): Promise<Peer>;
  /** Opens a ready connection for this scenario alone. */
  open(options?: OpenOptions): Promise<Peer>;
  /** Opens a connection for this scenario alone, without a handshake. */
  connect(options?: OpenOptions): Promise<Peer>;
  /** Returns the tool for a role. Without one the scenario does not apply. */
  tool(role: Role): ToolUse;
  findTool(role: Role): ToolUse | undefined;
  /** Returns the name of a tool that may be called with any arguments. Without one the scenario does not apply. */
  harmlessTool(): string;
}

/** One behaviour that a server must or should have. */
export interface Scenario {
  readonly id: string;
  /** The behaviour, as a sentence. */
  readonly title: string;
  /** Rows of the requirements that ask for it. */
  readonly requirements: readonly string[];
  readonly strength: Strength;
  readonly since?: RevisionDate;
  readonly until?: RevisionDate;
  readonly transports?: readonly Transport[];
  /** Capabilities of the server, as paths: `resources.subscribe`. */
  readonly needs?: readonly string[];
  /** Resolves to the evidence. Throws if the server behaves differently. */
  run(context: ScenarioContext): Promise<string>;
}

export const firstStateless: RevisionDate = "2026-07-28";
export const lastStateful: RevisionDate = "2025-11-25";

/** True if a scenario applies to this revision and transport. */
export function appliesTo(scenario: Scenario, { revision: { date }, transport }: GradeContext): boolean {
  const { since = date, until = date, transports = [transport] } = scenario;
  return since <= date && date <= until && transports.includes(transport);
}

export function stdioOf({ wire }: Peer): StdioWire {
  if (wire instanceof StdioWire) return wire;
  throw new ExpectationFailed("expected a server process");
}

export function httpOf({ wire }: Peer): HttpWire {
  if (wire instanceof HttpWire) return wire;
  throw new ExpectationFailed("expected a server over Streamable HTTP");
}

export function httpSseOf({ wire }: Peer): HttpSseWire {
  if (wire instanceof HttpSseWire) return wire;
  throw new ExpectationFailed("expected a server over HTTP+SSE");
}
