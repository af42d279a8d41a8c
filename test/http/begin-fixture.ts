import type { LiveServer } from "portolan/server";
import type { ServeHttpOptions } from "portolan/server/http";
import type { RevisionDate } from "../kit/revisions.ts";
import { createFixture, type Fixture } from "./fixture.ts";
import { start } from "./kit.ts";
import { begin, type PeerOptions, type SessionPeer } from "./peer.ts";

/** A served fixture and a client with a session. */
export interface StartedFixture {
  readonly fixture: Fixture;
  readonly server: LiveServer;
  readonly url: string;
  readonly peer: SessionPeer;
}

/** Serves a fixture and begins a session. */
export async function beginFixture(
  revision: RevisionDate,
  options: ServeHttpOptions = {},
  client: PeerOptions = {},
): Promise<StartedFixture> {
  const fixture = createFixture();
  const { url } = await start(fixture.server, options);
  return { fixture, server: fixture.server, url, peer: await begin(url, revision, client) };
}
