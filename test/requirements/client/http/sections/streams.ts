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
import { open, requestsOf, serve, streamOf, textResult } from "../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

const changed = toEvent({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });

/** Starts a server whose calls are answered when their stream is resumed. */
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
      response.end(toEvent(resultOf(message, textResult("late"))));
    },
  });
  return server;
}

const resumptions = (server: RawServer) =>
  requestsOf(server, "GET").flatMap(({ headers }) => headers["last-event-id"] ?? []);

export const streams: readonly HttpRequirement[] = [
  {
    row: "C-E7",
    says: "a stream that ends without event ids rejects its call at once with requestMayHaveRun",
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
    says: "a stream that stays open after the response is closed",
    async test(revision) {
      const clock = createClock();
      let isGone = false;
      const server = await serve(revision, {
        call: ({ message }, response) => {
          streamOf(response, toEvent(resultOf(message, textResult("done"))));
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
    says: "a stream can be resumed after an event without data",
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
    says: "the client waits at least the retry time before it resumes",
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
    says: "the GET stream is opened with the session id and delivers messages outside calls",
    on: stateful,
    async test(revision) {
      const received: string[] = [];
      const server = await serve(revision, { get: (_, response) => streamOf(response, changed) });
      await open(server, revision, {}, { onNotification: (method) => received.push(method) });
      await until(() => received.length === 1);
      const [{ headers }] = requestsOf(server, "GET") as [Seen];
      expect(headers["mcp-session-id"]).toBe("s-1");
      expect(headers["last-event-id"]).toBeUndefined();
    },
  },
  {
    row: "C-E11",
    says: "405 to the GET stream is accepted, and the request is not repeated",
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
    says: "no GET stream is requested from a stateless server",
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
    says: "event ids are sent back unchanged",
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
    says: "a cut stream is resumed in the same session, and the call is not repeated",
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
    says: "a stream of a stateless server is never resumed, even with event ids",
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
