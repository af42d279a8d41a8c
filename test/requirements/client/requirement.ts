import type { Client, ConnectOptions } from "portolan/client";
import { connect } from "portolan/client";
import { describe, expect, test } from "vitest";
import type { RevisionDate } from "../../kit/revisions.ts";
import { turn } from "./kit/calls.ts";
import { type Endpoint, type EndpointOptions, openEndpoint } from "./kit/endpoints.ts";
import { type Script, ScriptedServer } from "./kit/scripted-server.ts";
import { type ClientTransport, clientTransports } from "./kit/transports.ts";
import { problemsOf } from "./kit/wire-check.ts";
import { manifest } from "./manifest.ts";

export interface StageOptions extends ConnectOptions, Script {
  /** Options of the server's process; over stdio only. */
  readonly process?: EndpointOptions;
  /** Schema problems of the client's messages that the test expects. */
  readonly expected?: RegExp;
}

/** A server that is ready for a client. */
export interface Stage {
  readonly server: ScriptedServer;
  /** The errors that reached the client's `onError`. */
  readonly errors: Error[];
  /** Connects a client. Default era: the revision of the test. */
  connect(more?: ConnectOptions): Promise<Client>;
}

export interface Scene extends Stage {
  readonly client: Client;
  /** Resolves when all earlier messages of both sides have arrived. */
  settled(): Promise<void>;
}

/** The scope of a test, and functions that set up its server and client. */
export interface TestContext {
  readonly revision: RevisionDate;
  readonly transport: ClientTransport;
  /** Sets up a server; it is closed at the end of the test. */
  stage(options?: StageOptions): Promise<Stage>;
  /** Sets up a server and connects to it. */
  open(options?: StageOptions): Promise<Scene>;
}

/** A rule of the protocol for clients as a test. It runs on every revision and transport that it names. */
export interface Requirement {
  /** The row of the client's manifest that it covers. */
  row: string;
  /** The tested behaviour, as a sentence. */
  says: string;
  /** The revisions it runs on. Default: all revisions of the row. */
  on?: readonly RevisionDate[];
  /** The transports it runs on. Default: all transports of the row. */
  over?: readonly ClientTransport[];
  test(context: TestContext): Promise<void>;
}

/** The revisions and transports a requirement runs on. */
export function scopeOf({ row, on, over }: Requirement): {
  on: readonly RevisionDate[];
  over: readonly ClientTransport[];
} {
  const entry = manifest[row];
  if (!entry || !("on" in entry)) throw new Error(`the client's manifest has no testable row ${row}`);
  return { on: on ?? entry.on, over: over ?? entry.over ?? clientTransports };
}

/** Registers a section's requirements as tests. Every message of the client is also checked against the schemas. */
export function runRequirements(section: string, requirements: readonly Requirement[]): void {
  describe(section, () => {
    for (const requirement of requirements) {
      const { on, over } = scopeOf(requirement);
      for (const revision of on) {
        for (const transport of over) {
          test(`${requirement.row}: ${requirement.says} (${revision}, ${transport})`, () =>
            runAt(requirement, revision, transport));
        }
      }
    }
  });
}

async function runAt(requirement: Requirement, revision: RevisionDate, transport: ClientTransport): Promise<void> {
  const stages: { server: ScriptedServer; endpoint: Endpoint; clients: Client[]; expected: RegExp | undefined }[] = [];
  const stage = async (options: StageOptions = {}): Promise<Stage> => {
    const { on, offers, says, process, expected, ...connecting } = options;
    const script = { ...(on && { on }), ...(offers && { offers }), ...(says && { says }) };
    const server = new ScriptedServer(revision, script);
    const endpoint = await openEndpoint(transport, server, process);
    const errors: Error[] = [];
    const clients: Client[] = [];
    stages.push({ server, endpoint, clients, expected });
    return {
      server,
      errors,
      async connect(more = {}) {
        const onError = (error: Error) => errors.push(error);
        const client = await connect(endpoint.target, { era: revision, onError, ...connecting, ...more });
        clients.push(client);
        return client;
      },
    };
  };
  const open = async (options?: StageOptions): Promise<Scene> => {
    const staged = await stage(options);
    const client = await staged.connect();
    // The end of the handshake may not have arrived yet.
    if (client.server.era === "stateful") await staged.server.arrival("notifications/initialized");
    const settled = async () => {
      await client.ping();
      // Messages before the answer may not have reached their readers yet, or may arrive over another connection.
      for (let turns = transport === "http" ? 5 : 1; turns > 0; turns -= 1) await turn();
    };
    return { ...staged, client, settled };
  };
  try {
    await requirement.test({ revision, transport, stage, open });
  } finally {
    for (const { endpoint, clients } of stages) {
      await Promise.all(clients.map((client) => client.close()));
      await endpoint.close();
    }
  }
  for (const { server, expected } of stages) {
    expect(problemsOf(server.sent, revision, server.asked, (problem) => expected?.test(problem) === true)).toEqual([]);
  }
}
