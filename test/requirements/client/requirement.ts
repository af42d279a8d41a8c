import type { Client, ConnectOptions } from "portolan/client";
import { connect } from "portolan/client";
import { describe, expect, test } from "vitest";
import type { RevisionDate } from "../../kit/revisions.ts";
import { turn } from "./kit/calls.ts";
import { type Door, type DoorOptions, openDoor } from "./kit/endpoints.ts";
import { type Script, ScriptedServer } from "./kit/scripted-server.ts";
import { type ClientTransport, clientTransports } from "./kit/transports.ts";
import { problemsOf } from "./kit/wire-check.ts";
import { manifest } from "./manifest.ts";

export interface StageOptions extends ConnectOptions, Script {
  /** How the process of the server is started; over stdio only. */
  readonly process?: DoorOptions;
  /** Problems of what the client sends that are what the test is about. */
  readonly expected?: RegExp;
}

/** A server that waits for a client. */
export interface Stage {
  readonly server: ScriptedServer;
  /** What the client told its `onError`. */
  readonly errors: Error[];
  /** Connects to it; the revision of the test unless an era is given. */
  connect(more?: ConnectOptions): Promise<Client>;
}

export interface Scene extends Stage {
  readonly client: Client;
  /** Resolves when everything that either side sent before has arrived. */
  settled(): Promise<void>;
}

/** Where a test takes place. */
export interface Place {
  readonly revision: RevisionDate;
  readonly transport: ClientTransport;
  /** Sets up a server; taken down when the test is over. */
  stage(options?: StageOptions): Promise<Stage>;
  /** Sets up a server and connects to it. */
  open(options?: StageOptions): Promise<Scene>;
}

/** A rule of the protocol for clients as a test: run on every revision and transport that it names. */
export interface Requirement {
  /** The row of the client's manifest that it covers. */
  row: string;
  /** What holds, as a sentence. */
  says: string;
  /** The revisions it runs on; all of the row unless narrowed. */
  on?: readonly RevisionDate[];
  /** The transports it runs on; all of the row unless narrowed. */
  over?: readonly ClientTransport[];
  test(place: Place): Promise<void>;
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

/** Registers a section's requirements as tests; whatever a client sends in one is checked against the schemas. */
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
  const stages: { server: ScriptedServer; door: Door; clients: Client[]; expected: RegExp | undefined }[] = [];
  const stage = async (options: StageOptions = {}): Promise<Stage> => {
    const { on, offers, says, process, expected, ...connecting } = options;
    const script = { ...(on && { on }), ...(offers && { offers }), ...(says && { says }) };
    const server = new ScriptedServer(revision, script);
    const door = await openDoor(transport, server, process);
    const errors: Error[] = [];
    const clients: Client[] = [];
    stages.push({ server, door, clients, expected });
    return {
      server,
      errors,
      async connect(more = {}) {
        const onError = (error: Error) => errors.push(error);
        const client = await connect(door.target, { era: revision, onError, ...connecting, ...more });
        clients.push(client);
        return client;
      },
    };
  };
  const open = async (options?: StageOptions): Promise<Scene> => {
    const staged = await stage(options);
    const client = await staged.connect();
    // The end of the handshake may still be on its way.
    if (client.server.era === "stateful") await staged.server.arrival("notifications/initialized");
    const settled = async () => {
      await client.ping();
      // What was heard before the answer may still be on its way to those who read it, or come over another connection.
      for (let turns = transport === "http" ? 5 : 1; turns > 0; turns -= 1) await turn();
    };
    return { ...staged, client, settled };
  };
  try {
    await requirement.test({ revision, transport, stage, open });
  } finally {
    for (const { door, clients } of stages) {
      await Promise.all(clients.map((client) => client.close()));
      await door.close();
    }
  }
  for (const { server, expected } of stages) {
    expect(problemsOf(server.sent, revision, server.asked, (problem) => expected?.test(problem) === true)).toEqual([]);
  }
}
