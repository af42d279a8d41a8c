import { expect } from "vitest";
import { reasonOf, sendJson, textOf } from "../../../../http-client/kit.ts";
import { between, isStateless, stateful, stateless } from "../../../../kit/revisions.ts";
import { open, requestsOf, serve } from "../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

export const sessions: readonly HttpRequirement[] = [
  {
    row: "C-B15",
    says: "close ends the session once and leaves no connection",
    async test(revision) {
      const sockets = new Set<{ destroyed: boolean }>();
      const server = await serve(revision, {
        first: (_, response) => {
          if (response.socket) sockets.add(response.socket);
        },
      });
      const client = await open(server, revision);
      await client.callTool("x");
      await Promise.all([client.close(), client.close()]);
      expect(requestsOf(server, "DELETE")).toHaveLength(isStateless(revision) ? 0 : 1);
      await server.stop();
      expect(sockets.size).toBeGreaterThan(0);
      for (const socket of sockets) expect(socket.destroyed).toBe(true);
    },
  },
  {
    row: "C-E15",
    says: "a session id that is not visible ASCII is not sent, and is reported",
    on: stateful,
    async test(revision) {
      const errors: Error[] = [];
      const server = await serve(revision, { sessionId: "with space" });
      const client = await open(server, revision, {}, { onError: (error) => errors.push(error) });
      await client.callTool("x");
      expect(server.seen.filter(({ headers }) => "mcp-session-id" in headers)).toEqual([]);
      expect(errors).toHaveLength(1);
    },
  },
  {
    row: "C-E15",
    says: "no error contains the session id",
    on: stateful,
    async test(revision) {
      const server = await serve(revision, {
        sessionId: "top-secret",
        call: (_, response) => response.writeHead(500).end("top"),
      });
      const client = await open(server, revision);
      const reason = await reasonOf(client.callTool("x"));
      expect(`${reason.message} ${JSON.stringify(reason)} ${String(reason.cause)}`).not.toContain("top-secret");
    },
  },
  {
    row: "C-E15",
    says: "a session id from a stateless server is ignored",
    on: stateless,
    async test(revision) {
      const server = await serve(revision, {
        first: (_, response) => {
          response.setHeader("mcp-session-id", "unwanted");
        },
      });
      const client = await open(server, revision);
      await client.callTool("x");
      await client.close();
      expect(server.seen.filter(({ headers }) => "mcp-session-id" in headers)).toEqual([]);
    },
  },
  {
    row: "C-E16",
    says: "every request after the handshake has the session id, the handshake has none",
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      await client.close();
      const [greeting, ...others] = server.seen;
      expect(greeting!.message.method).toBe("initialize");
      expect(greeting!.headers["mcp-session-id"]).toBeUndefined();
      expect(others.map(({ method }) => method)).toEqual(["POST", "GET", "POST", "DELETE"]);
      for (const { headers } of others) expect(headers["mcp-session-id"]).toBe("s-1");
    },
  },
  {
    row: "C-E17",
    says: "a 404 repeats the handshake, and the call is retried in the new session",
    async test(revision) {
      let sessions = 0;
      const server = await serve(revision, {
        sessionId() {
          sessions += 1;
          return `s-${sessions}`;
        },
        first: ({ headers, message }, response) => {
          const isLost = message?.method === "tools/call" && headers["mcp-session-id"] === "s-1";
          if (isLost) response.writeHead(404).end();
          return isLost;
        },
      });
      const client = await open(server, revision);
      expect(textOf(await client.callTool("x"))).toBe("done");
      const greetings = requestsOf(server, "initialize");
      expect(greetings.map(({ headers }) => headers["mcp-session-id"])).toEqual([undefined, undefined]);
      expect(greetings[1]!.message.params).toEqual(greetings[0]!.message.params);
      expect(requestsOf(server, "tools/call").map(({ headers }) => headers["mcp-session-id"])).toEqual(["s-1", "s-2"]);
    },
  },
  {
    row: "C-E18",
    says: "close sends DELETE and accepts any answer",
    async test(revision) {
      for (const status of [200, 202, 404, 405, 500]) {
        const server = await serve(revision, {
          first: ({ method }, response) => {
            if (method === "DELETE") response.writeHead(status).end();
            return method === "DELETE";
          },
        });
        const client = await open(server, revision);
        await client.close();
        expect(requestsOf(server, "DELETE").map(({ headers }) => headers["mcp-session-id"])).toEqual(["s-1"]);
      }
    },
  },
  {
    row: "C-E19",
    says: "every request after the handshake has the negotiated version, GET and DELETE too",
    on: between("2025-06-18", "2025-11-25"),
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      await client.close();
      const [greeting, ...others] = server.seen;
      expect(greeting!.headers["mcp-protocol-version"]).toBeUndefined();
      expect(others.length).toBe(4);
      for (const { headers } of others) expect(headers["mcp-protocol-version"]).toBe(revision);
    },
  },
  {
    row: "C-E19",
    says: "every request has its version",
    on: stateless,
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      for (const { headers } of server.seen) expect(headers["mcp-protocol-version"]).toBe(revision);
    },
  },
  {
    row: "C-E22",
    says: "credentials are sent with every method, and a 401 in a session is handled",
    async test(revision) {
      let isExpired = false;
      const server = await serve(revision, {
        first: ({ headers }, response) => {
          const isRefused = headers.authorization !== `Bearer ${isExpired ? "new" : "old"}`;
          if (isRefused) sendJson(response, 401, { error: "invalid_token" });
          return isRefused;
        },
      });
      let token = "old";
      const auth = {
        authorize: () => ({ authorization: `Bearer ${token}` }),
        challenged: async () => {
          token = "new";
          return "retry" as const;
        },
      };
      const client = await open(server, revision, { auth });
      isExpired = true;
      expect(textOf(await client.callTool("x"))).toBe("done");
      await client.close();
      expect(server.seen.every(({ headers }) => headers.authorization?.startsWith("Bearer "))).toBe(true);
    },
  },
];
