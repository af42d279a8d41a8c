import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { expect } from "vitest";
import {
  closing,
  reasonOf,
  resultOf,
  sendJson,
  startEvents,
  startRaw,
  textOf,
  toEvent,
  until,
} from "../../../../http-client/kit.ts";
import { isStateless, stateful, stateless } from "../../../../kit/revisions.ts";
import { open, requestsOf, serve, serveOld } from "../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

export const httpSse: readonly HttpRequirement[] = [
  {
    row: "C-D1",
    says: "the stream is opened first, and every message is posted to the endpoint",
    async test(revision) {
      const server = await serveOld(revision);
      const client = await open(server, revision, { legacySse: true });
      expect(textOf(await client.callTool("x"))).toBe("done");
      expect(client.server.version).toBe(revision);
      const [stream, ...posted] = server.seen;
      expect([stream!.method, stream!.path, stream!.headers.accept]).toEqual(["GET", "/mcp", "text/event-stream"]);
      expect(posted.map(({ method, path }) => `${method} ${path}`)).toEqual(Array(3).fill("POST /messages"));
    },
  },
  {
    row: "C-D2",
    says: "nothing is posted before the endpoint is known; it may be relative, and only the first one counts",
    async test(revision) {
      let name = () => {};
      const server = await startRaw(({ method, message }, response) => {
        if (method === "GET") {
          startEvents(response);
          name = () => {
            response.write("event: endpoint\ndata: in?a=b\n\nevent: endpoint\ndata: /other\n\nevent: odd\ndata: x\n\n");
          };
        } else {
          response.writeHead(202).end();
          if ("id" in message) requests.push(message.method);
        }
      });
      const requests: string[] = [];
      const connecting = reasonOf(connect(http(server.url, { legacySse: true }), { era: revision, connectMs: 1_000 }));
      await until(() => server.seen.length === 1);
      expect(requests).toEqual([]);
      name();
      await until(() => requests.length === 1);
      expect(server.seen[1]!.path).toBe("/in?a=b");
      await server.stop();
      await connecting;
    },
  },
  {
    row: "C-D2",
    says: "the data of an event is a message, and other data is reported",
    async test(revision) {
      const server = await startRaw(({ method, message }, response) => {
        if (method === "POST") {
          response.writeHead(202).end();
          if (!("id" in message)) return;
          const result = { protocolVersion: revision, capabilities: {}, serverInfo: { name: "old", version: "1" } };
          send(`data: not JSON\n\n${toEvent(resultOf(message, result))}`);
        } else {
          startEvents(response);
          response.write("event: endpoint\ndata: /in\n\n");
          send = (text) => response.write(text);
        }
      });
      let send: (text: string) => unknown = () => {};
      const errors: string[] = [];
      const options = { era: revision, onError: ({ message }: Error) => errors.push(message) };
      const client = closing(await connect(http(server.url, { legacySse: true }), options));
      expect(client.server.version).toBe(revision);
      expect(errors).toHaveLength(1);
    },
  },
  {
    row: "C-D3",
    says: "nothing is posted to an endpoint of another origin",
    async test(revision) {
      const other = await serveOld(revision);
      const server = await serveOld(revision, () => other.url);
      const link = { legacySse: true, headers: { authorization: "Bearer secret" } };
      expect((await reasonOf(open(server, revision, link))).message).toContain("which has another origin");
      expect(other.seen).toEqual([]);
    },
  },
  {
    row: "C-D6",
    says: "after a 405 to the handshake the client opens the stream and posts to its endpoint",
    on: stateful,
    async test(revision) {
      const server = await serveOld(revision);
      const client = await open(server, revision);
      expect(textOf(await client.callTool("x"))).toBe("done");
      expect(server.seen.slice(0, 3).map(({ method, path }) => `${method} ${path}`)).toEqual([
        "POST /mcp",
        "GET /mcp",
        "POST /messages",
      ]);
    },
  },
  {
    row: "C-D6",
    says: "other statuses do not lead to HTTP+SSE",
    on: stateful,
    async test(revision) {
      for (const status of [401, 403, 410, 429, 500, 503]) {
        const server = await startRaw((_, response) => response.writeHead(status).end());
        expect((await reasonOf(open(server, revision))).message).toContain(String(status));
        expect(requestsOf(server, "GET")).toEqual([]);
      }
    },
  },
  {
    row: "C-D6",
    says: "a stateless error code does not lead to a handshake or HTTP+SSE",
    on: stateless,
    async test(revision) {
      for (const code of [-32020, -32021, -32022]) {
        const data = code === -32022 ? { supported: ["1999-01-01"] } : {};
        const server = await startRaw((_, response) =>
          sendJson(response, 400, { jsonrpc: "2.0", error: { code, message: "no", data } }),
        );
        await reasonOf(connect(server.url));
        expect(server.seen.map(({ message }) => message.method)).toEqual(["server/discover"]);
      }
      const spoken = await serve(revision);
      expect((await open(spoken, revision)).server.era).toBe("stateless");
    },
  },
  {
    row: "C-D6",
    says: "an unknown server is probed with server/discover first, and its version is found",
    async test(revision) {
      const server = isStateless(revision) ? await serve(revision) : await serveOld(revision);
      const client = closing(await connect(server.url));
      expect(client.server.version).toBe(revision);
      expect(server.seen[0]!.message.method).toBe("server/discover");
    },
  },
  {
    row: "C-XD1",
    says: "pending calls reject at once with requestMayHaveRun, and the next call uses a new stream",
    async test(revision) {
      const server = await serveOld(revision);
      const client = await open(server, revision, { legacySse: true });
      const hanging = reasonOf(client.callTool("hang"));
      await until(() => requestsOf(server, "tools/call").length === 1);
      server.cut();
      expect(await hanging).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
      expect(textOf(await client.callTool("x"))).toBe("done");
      expect(requestsOf(server, "initialize")).toHaveLength(2);
      expect(requestsOf(server, "notifications/initialized")).toHaveLength(2);
    },
  },
];
