import { connect } from "portolan/client";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import { reasonOf, startRaw, textOf, until } from "../../../../http-client/kit.ts";
import { stateful } from "../../../../kit/revisions.ts";
import { open, requestsOf, serve } from "../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

export const connections: readonly HttpRequirement[] = [
  {
    row: "C-XE1",
    says: "a connect that times out or is aborted closes its connection and sends nothing more",
    async test(revision) {
      let isGone = false;
      const server = await startRaw((_, response) => {
        response.on("close", () => {
          isGone = true;
        });
      });
      const clock = createClock();
      const slow = reasonOf(connect(server.url, { era: revision, clock, connectMs: 9_000 }));
      await until(() => server.seen.length === 1);
      await clock.advance(9_000);
      expect(await slow).toMatchObject({ code: "timeout", name: "TimeoutError" });
      await until(() => isGone);
      const abort = new AbortController();
      const abandoned = reasonOf(connect(server.url, { era: revision, signal: abort.signal }));
      await until(() => server.seen.length === 2);
      abort.abort();
      expect(await abandoned).toMatchObject({ code: "cancelled", name: "AbortError" });
      const never = connect(server.url, { era: revision, signal: AbortSignal.abort() });
      expect(await reasonOf(never)).toMatchObject({ code: "cancelled" });
      expect(server.seen).toHaveLength(2);
    },
  },
  {
    row: "C-XE2",
    says: "a permanent redirect within the origin is remembered with credentials, and other origins get nothing",
    async test(revision) {
      const server = await serve(revision, {
        first: ({ path }, response) => {
          if (path === "/mcp") response.writeHead(308, { location: "/v2" }).end();
          return path === "/mcp";
        },
      });
      const client = await open(server, revision, { headers: { authorization: "Bearer x" } });
      for (const _ of [1, 2]) expect(textOf(await client.callTool("x"))).toBe("done");
      expect(server.seen.filter(({ path }) => path === "/mcp")).toHaveLength(1);
      expect(server.seen.every(({ headers }) => headers.authorization === "Bearer x")).toBe(true);
      const other = await serve(revision);
      const elsewhere = await startRaw((_, response) => response.writeHead(308, { location: other.url }).end());
      const { message } = await reasonOf(open(elsewhere, revision, { headers: { authorization: "Bearer x" } }));
      expect(message).toContain("connect to it");
      expect(other.seen).toEqual([]);
    },
  },
  {
    row: "C-XE3",
    says: "a call that is answered 503 rejects with retryAfterMs and is not retried",
    async test(revision) {
      const server = await serve(revision, {
        call: (_, response) => response.writeHead(503, { "retry-after": "9" }).end(),
      });
      const client = await open(server, revision);
      const reason = await reasonOf(client.callTool("x"));
      expect(reason.cause).toMatchObject({ status: 503, retryAfterMs: 9_000 });
      expect(requestsOf(server, "tools/call")).toHaveLength(1);
    },
  },
  {
    row: "C-XE3",
    says: "the stream of a session is reopened after Retry-After",
    on: stateful,
    async test(revision) {
      const clock = createClock();
      const server = await serve(revision, {
        get: (_, response) => response.writeHead(429, { "retry-after": "40" }).end(),
      });
      await open(server, revision, { clock });
      await until(() => requestsOf(server, "GET").length === 1 && clock.pending > 0);
      await clock.advance(39_000);
      expect(requestsOf(server, "GET")).toHaveLength(1);
      await clock.advance(6_000);
      await until(() => requestsOf(server, "GET").length === 2);
    },
  },
];
