import type { ServerResponse } from "node:http";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import {
  type RawServer,
  reasonOf,
  resultOf,
  type Seen,
  startEvents,
  textOf,
  toEvent,
  until,
} from "../../../../http-client/kit.ts";
import { type RevisionDate, stateful, stateless } from "../../../../kit/revisions.ts";
import { open, requestsOf, said, serve, streamOf } from "../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

const changed = toEvent({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });

/** A server whose calls are answered when they are gone on with. */
async function serveInParts(revision: RevisionDate, begin: (response: ServerResponse) => void): Promise<RawServer> {
  const server = await serve(revision, {
    call: (_, response) => begin(response),
    get: ({ headers }, response) => {
      if (headers["last-event-id"] === undefined) {
        response.writeHead(405).end();
        return;
      }
      const [{ message }] = requestsOf(server, "tools/call") as [Seen];
      startEvents(response);
      response.end(toEvent(resultOf(message, said("late"))));
    },
  });
  return server;
}

const resumptions = (server: RawServer) =>
  requestsOf(server, "GET").flatMap(({ headers }) => headers["last-event-id"] ?? []);

export const streams: readonly HttpRequirement[] = [
  {
    row: "C-E7",
    says: "one without event ids fails its call at once, which may have run",
    async test(revision) {
      const server = await serve(revision, {
        call: (_, response) => {
          startEvents(response);
          response.end(changed);
        },
      });
      const client = await open(server, revision);
      expect(await reasonOf(client.callTool("x"))).toMatchObject({
        code: "connection-closed",
        requestMayHaveRun: true,
      });
      expect(requestsOf(server, "tools/call")).toHaveLength(1);
    },
  },
  {
    row: "C-E7",
    says: "one that stays open after the response is closed",
    async test(revision) {
      const clock = createClock();
      let isGone = false;
      const server = await serve(revision, {
        call: ({ message }, response) => {
          streamOf(response, toEvent(resultOf(message, said("done"))));
          response.on("close", () => {
            isGone = true;
          });
        },
      });
      const client = await open(server, revision, { clock });
      expect(textOf(await client.callTool("x"))).toBe("done");
      await clock.advance(11_000);
      await until(() => isGone);
    },
  },
  {
    row: "C-E8",
    says: "and lets the stream be gone on with",
    async test(revision) {
      const server = await serveInParts(revision, (response) => {
        startEvents(response);
        response.end("id: prime\nretry: 500\ndata:\n\n");
      });
      const errors: Error[] = [];
      const client = await open(server, revision, {}, { onError: (error) => errors.push(error) });
      expect(textOf(await client.callTool("x"))).toBe("late");
      expect(resumptions(server)).toEqual(["prime"]);
      expect(errors).toEqual([]);
    },
  },
  {
    row: "C-E9",
    says: "and not less",
    async test(revision) {
      const clock = createClock();
      const server = await serveInParts(revision, (response) => {
        startEvents(response);
        response.end("id: 1\nretry: 7000\ndata:\n\n");
      });
      const client = await open(server, revision, { clock });
      const call = client.callTool("x");
      await until(() => requestsOf(server, "tools/call").length === 1 && clock.pending === 1);
      await clock.advance(6_999);
      expect(resumptions(server)).toEqual([]);
      await clock.advance(702);
      expect(textOf(await call)).toBe("late");
    },
  },
  {
    row: "C-E11",
    says: "with the session, and brings what belongs to no call",
    on: stateful,
    async test(revision) {
      const heard: string[] = [];
      const server = await serve(revision, { get: (_, response) => streamOf(response, changed) });
      await open(server, revision, {}, { onNotification: (method) => heard.push(method) });
      await until(() => heard.length === 1);
      const [{ headers }] = requestsOf(server, "GET") as [Seen];
      expect(headers["mcp-session-id"]).toBe("s-1");
      expect(headers["last-event-id"]).toBeUndefined();
    },
  },
  {
    row: "C-E11",
    says: "405 is borne, and asked for once",
    on: stateful,
    async test(revision) {
      const errors: Error[] = [];
      const server = await serve(revision);
      const client = await open(server, revision, {}, { onError: (error) => errors.push(error) });
      for (const _ of [1, 2]) expect(textOf(await client.callTool("x"))).toBe("done");
      expect(requestsOf(server, "GET")).toHaveLength(1);
      expect(errors).toEqual([]);
    },
  },
  {
    row: "C-E11",
    says: "a stateless server is never asked for one",
    on: stateless,
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      await client.close();
      expect(requestsOf(server, "GET")).toEqual([]);
    },
  },
  {
    row: "C-E13",
    says: "and sent back to the letter",
    async test(revision) {
      const id = "a b/c==;{}~!";
      const server = await serveInParts(revision, (response) => {
        startEvents(response);
        response.end(`id: ${id}\nretry: 500\ndata:\n\n`);
      });
      const client = await open(server, revision);
      expect(textOf(await client.callTool("x"))).toBe("late");
      expect(resumptions(server)).toEqual([id]);
    },
  },
  {
    row: "C-E14",
    says: "after a cut too, in the same session, and the call is not made again",
    on: stateful,
    async test(revision) {
      const server = await serveInParts(revision, (response) => {
        startEvents(response);
        const event = `retry: 500\nid: 7\n${changed}`;
        response.write(event, () => response.destroy());
      });
      const client = await open(server, revision);
      expect(textOf(await client.callTool("x"))).toBe("late");
      const resumed = requestsOf(server, "GET").filter(({ headers }) => headers["last-event-id"] === "7");
      expect(resumed.map(({ headers }) => headers["mcp-session-id"])).toEqual(["s-1"]);
      expect(requestsOf(server, "tools/call")).toHaveLength(1);
    },
  },
  {
    row: "C-E14",
    says: "but never at a stateless server, whatever ids it sends",
    on: stateless,
    async test(revision) {
      const server = await serveInParts(revision, (response) => {
        startEvents(response);
        response.end(`id: 7\nretry: 0\n${changed}`);
      });
      const client = await open(server, revision);
      expect(await reasonOf(client.callTool("x"))).toMatchObject({ code: "connection-closed" });
      expect(requestsOf(server, "GET")).toEqual([]);
    },
  },
];
