import type { Progress } from "portolan/client";
import { expect } from "vitest";
import { type Relay, startRelay } from "../../relay.ts";
import { type ServerColumn, type ServerFeature, textOf, untilJournal } from "../feature.ts";
import type { Peer } from "../peer.ts";

const ticks = "counter://ticks";

/** Features that exist only over HTTP. */
export const httpFeatures: ServerFeature[] = [
  {
    name: "http: through fetch",
    over: "http",
    async check(_, { address, openAt }) {
      const { client } = await openAt!(await address!(), { fetch: globalThis.fetch });
      expect(await client.listTools()).not.toEqual([]);
      await client.close();
    },
  },
  {
    name: "session: ends with the client",
    over: "http",
    async check(_, { open, address }) {
      const { client, sessionId } = await open();
      const id = sessionId()!;
      expect(id).toMatch(/^[!-~]+$/);
      await client.close();
      expect(sessionId()).toBeUndefined();
      expect(await statusOf(await address!(), "GET", id)).toBeOneOf([404, 400]);
    },
  },
  {
    name: "session: lost by the server",
    over: "http",
    async check(_, { open, address }) {
      const { client, sessionId, errors } = await open();
      expect(await client.listTools()).not.toEqual([]);
      const id = sessionId()!;
      expect(await statusOf(await address!(), "DELETE", id)).toBeLessThan(300);
      expect(await client.listTools({ fresh: true })).not.toEqual([]);
      expect(sessionId()).toMatch(/^[!-~]+$/);
      expect(sessionId()).not.toBe(id);
      await client.close();
      expect(errors).toEqual([]);
    },
  },
  {
    name: "resumption: of an interrupted call",
    over: "http",
    async check(_, column) {
      const { peer, relay } = await openThroughRelay(column);
      const { client } = peer;
      const seen: number[] = [];
      let start = () => {};
      const started = new Promise<void>((resolve) => {
        start = resolve;
      });
      const onProgress = ({ progress }: Progress) => {
        seen.push(progress);
        start();
      };
      const call = client.callTool("hold", {}, { onProgress });
      await started;
      relay.cut();
      await retry(() => client.callTool("release"));
      expect(textOf(await call)).toBe("held");
      expect(seen).toEqual([1, 2]);
      await client.close();
    },
  },
  {
    name: "resumption: of the session's stream",
    over: "http",
    async check(_, column) {
      const { peer, relay } = await openThroughRelay(column);
      const { client } = peer;
      const watch = await client.watch({ uris: [ticks] });
      const changes = watch[Symbol.asyncIterator]();
      // A stream can be resumed only after the client has received an event.
      await client.callTool("tick");
      expect((await changes.next()).value).toEqual({ kind: "resource", uri: ticks });
      relay.cut();
      await retry(() => client.callTool("tick"));
      expect((await changes.next()).value).toEqual({ kind: "resource", uri: ticks });
      await client.close();
    },
  },
  {
    name: "resumption: of a call whose stream the server closed",
    over: "http",
    async check(_, { open }) {
      const peer = await open();
      const { client } = peer;
      const call = client.callTool("detach", { label: "let go" });
      await untilJournal(peer, "let go", ["detached let go"]);
      await client.callTool("release");
      expect(textOf(await call)).toBe("you came back");
      await client.close();
    },
  },
];

async function openThroughRelay({ address, openAt }: ServerColumn): Promise<{ peer: Peer; relay: Relay }> {
  const relay = await startRelay(await address!());
  return { peer: await openAt!(relay.url), relay };
}

/** Retries while the client still uses a connection from before the cut. */
async function retry<T>(call: () => Promise<T>): Promise<T> {
  for (let tries = 0; tries < 20; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if ((error as { code?: unknown }).code !== "connection-closed") throw error;
    }
  }
  throw new Error("the server cannot be reached after 20 attempts");
}

/** Returns the status of a request with a session id. */
async function statusOf(url: string, method: "GET" | "DELETE", sessionId: string): Promise<number> {
  const headers = { "mcp-session-id": sessionId, accept: "text/event-stream" };
  const response = await fetch(url, { method, headers });
  await response.body?.cancel();
  return response.status;
}
