import { type Client, connect } from "portolan/client";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import {
  closing,
  discovery,
  reasonOf,
  resultOf,
  sendJson,
  startEvents,
  startRaw,
  textOf,
  toEvent,
  until,
} from "../../../../http-client/kit.ts";
import { metaKey } from "../../../../kit/raw-peer.ts";
import { open, requestsOf, serve, textResult } from "../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

/** Answers calls with an error. */
const refusing = (status: number, error: object, members: object = {}) => ({
  call: (({ message }, response) => {
    sendJson(response, status, { jsonrpc: "2.0", id: message.id, error, ...members });
  }) as NonNullable<NonNullable<Parameters<typeof serve>[1]>["call"]>,
});

async function sendTaskRequests(client: Client, taskId: string): Promise<void> {
  await client.request("tasks/get", { taskId });
  await client.request("tasks/update", { taskId, inputResponses: {} });
  await client.request("tasks/cancel", { taskId });
}

export const stateless: readonly HttpRequirement[] = [
  {
    row: "C-F1",
    says: "Mcp-Method equals the method exactly, on every request",
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      await client.request("Vendor/Odd", {});
      expect(server.seen.map(({ headers }) => headers["mcp-method"])).toEqual([
        "server/discover",
        "tools/call",
        "Vendor/Odd",
      ]);
      for (const { headers, message } of server.seen) expect(headers["mcp-method"]).toBe(message.method);
    },
  },
  {
    row: "C-F2",
    says: "Mcp-Name is sent for methods with a name, URI or task, and for no others",
    async test(revision) {
      const server = await serve(revision, {
        first: ({ message }, response) => {
          if (message.method === "resources/read") {
            const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", contents: [] };
            sendJson(response, 200, resultOf(message, result));
          } else if (message.method === "prompts/get") {
            sendJson(response, 200, resultOf(message, { resultType: "complete", messages: [] }));
          } else return false;
          return true;
        },
      });
      const client = await open(server, revision);
      await client.callTool("tool");
      await client.readResource("note://1");
      await client.getPrompt("prompt");
      await sendTaskRequests(client, "t");
      await client.request("vendor/x", { name: "x" });
      expect(server.seen.map(({ headers }) => headers["mcp-name"])).toEqual([
        ...[undefined, "tool", "note://1", "prompt"],
        ...["t", "t", "t", undefined],
      ]);
    },
  },
  {
    row: "C-X56",
    says: "the id of a task stands in Mcp-Name of each request about it, encoded where necessary",
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      for (const taskId of ["task-7", "ø"]) await sendTaskRequests(client, taskId);
      const names = server.seen.slice(1).map(({ headers }) => headers["mcp-name"]);
      expect(names).toEqual([...Array(3).fill("task-7"), ...Array(3).fill("=?base64?w7g=?=")]);
    },
  },
  {
    row: "C-F3",
    says: "non-ASCII names are encoded as base64 of UTF-8",
    async test(revision) {
      const names = ["wörld", " padded ", "line\nend", "=?base64?eA==?=", "plain name"];
      const server = await serve(revision);
      const client = await open(server, revision);
      for (const name of names) await client.callTool(name);
      const sent = requestsOf(server, "tools/call").map(({ headers }) => String(headers["mcp-name"]));
      const decoded = sent.map((value) => {
        const [, inner] = /^=\?base64\?(.*)\?=$/.exec(value) ?? [];
        return inner === undefined ? value : Buffer.from(inner, "base64").toString();
      });
      expect(decoded).toEqual(names);
      expect(sent.map((value) => value.startsWith("=?base64?"))).toEqual([true, true, true, true, false]);
    },
  },
  {
    row: "C-F4",
    says: "a header mismatch rejects a prompts/get at once",
    async test(revision) {
      const error = { code: -32020, message: "Mcp-Name: expected a value" };
      const server = await serve(revision, {
        first: ({ message }, response) => {
          if (message.method !== "prompts/get") return false;
          sendJson(response, 400, { jsonrpc: "2.0", id: message.id, error });
          return true;
        },
      });
      const client = await open(server, revision);
      expect(await reasonOf(client.getPrompt("x"))).toMatchObject(error);
      expect(requestsOf(server, "prompts/get")).toHaveLength(1);
    },
  },
  {
    row: "C-F5",
    says: "the version header equals the version of the body on every request",
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      for (const { headers, message } of server.seen) {
        const meta = message.params?.["_meta"] as { [name: string]: unknown };
        expect(headers["mcp-protocol-version"]).toBe(meta[metaKey("protocolVersion")]);
        expect(headers["mcp-protocol-version"]).toBe(revision);
      }
    },
  },
  {
    row: "C-F6",
    says: "an unsupported version leads to a handshake if the error lists a stateful version, otherwise it rejects",
    async test() {
      const refuse = (supported: string[]) =>
        serve("2025-11-25", {
          first: ({ message }, response) => {
            if (message?.method !== "server/discover") return false;
            const error = { code: -32022, message: "no", data: { supported, requested: "2026-07-28" } };
            sendJson(response, 400, { jsonrpc: "2.0", id: message.id, error });
            return true;
          },
        });
      const older = closing(await connect((await refuse(["2025-11-25"])).url));
      expect(older.server.version).toBe("2025-11-25");
      const unknown = await refuse(["1999-01-01"]);
      expect(await reasonOf(connect(unknown.url))).toMatchObject({ code: "version-mismatch" });
      expect(unknown.seen).toHaveLength(1);
    },
  },
  {
    row: "C-F7",
    says: "every request has version, capabilities and client info",
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      for (const { message } of server.seen) {
        expect(message.params?.["_meta"]).toMatchObject({
          [metaKey("protocolVersion")]: revision,
          [metaKey("clientCapabilities")]: {},
          [metaKey("clientInfo")]: { name: "portolan" },
        });
      }
    },
  },
  {
    row: "C-F8",
    says: "a missing capability rejects the call, which is not retried",
    async test(revision) {
      const error = { code: -32021, message: "no", data: { requiredCapabilities: { sampling: {} } } };
      const server = await serve(revision, refusing(400, error));
      const client = await open(server, revision);
      expect(await reasonOf(client.callTool("x"))).toMatchObject(error);
      expect(requestsOf(server, "tools/call")).toHaveLength(1);
    },
  },
  {
    row: "C-F9",
    says: "404 with -32601 rejects the call without a handshake",
    async test(revision) {
      const server = await serve(revision, refusing(404, { code: -32601, message: "Method not found" }));
      const client = await open(server, revision);
      expect(await reasonOf(client.callTool("x"))).toMatchObject({ code: -32601 });
      expect(server.seen.map(({ message }) => message.method)).toEqual(["server/discover", "tools/call"]);
    },
  },
  {
    row: "C-F10",
    says: "errors are read with their data, also without an id",
    async test(revision) {
      for (const status of [200, 400, 404, 500, 503]) {
        const error = { code: -32603, message: `odd ${status}`, data: { status } };
        const server = await serve(revision, refusing(status, error, status === 400 ? { id: undefined } : {}));
        const client = await open(server, revision);
        expect(await reasonOf(client.callTool("x"))).toMatchObject(error);
      }
    },
  },
  {
    row: "C-F18",
    says: "comments do not end a call, and silence after comments rejects it",
    async test(revision) {
      const clock = createClock();
      let answer = () => {};
      const server = await serve(revision, {
        call: ({ message }, response) => {
          startEvents(response);
          response.write(": alive\n\n:\n");
          answer = () => response.end(toEvent(resultOf(message, textResult("done"))));
        },
      });
      const client = await open(server, revision, { clock });
      const first = client.callTool("x");
      await until(() => clock.pending === 1);
      answer();
      expect(textOf(await first)).toBe("done");
      // The timer for streams that stay open after their response has ended.
      await clock.advance(11_000);
      const second = reasonOf(client.callTool("y"));
      await until(() => requestsOf(server, "tools/call").length === 2 && clock.pending === 1);
      await clock.advance(45_001);
      expect((await second).message).toContain("silent");
    },
  },
  {
    row: "C-F19",
    says: "a broken stream rejects its call, and the next attempt has a new id",
    async test(revision) {
      const server = await serve(revision, {
        call: ({ message }, response) => {
          const isFirst = requestsOf(server, "tools/call").length === 1;
          startEvents(response);
          if (isFirst) response.write("id: 1\ndata:\n\n", () => response.destroy());
          else response.end(toEvent(resultOf(message, textResult("done"))));
        },
      });
      const client = await open(server, revision);
      expect(await reasonOf(client.callTool("x"))).toMatchObject({ requestMayHaveRun: true });
      expect(server.seen).toHaveLength(2);
      expect(textOf(await client.callTool("x"))).toBe("done");
      const ids = requestsOf(server, "tools/call").map(({ message }) => message.id);
      expect(new Set(ids).size).toBe(2);
    },
  },
  {
    row: "C-F20",
    says: "only POST is sent, without session headers",
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      await client.close();
      for (const { method, headers } of server.seen) {
        expect(method).toBe("POST");
        expect(headers).not.toHaveProperty("mcp-session-id");
        expect(headers).not.toHaveProperty("last-event-id");
      }
    },
  },
  {
    row: "C-F21",
    says: "a custom notification has its headers, and a refusal of it does not affect calls",
    async test(revision) {
      const errors: Error[] = [];
      const server = await startRaw(({ message }, response) => {
        if (!("id" in message)) response.writeHead(400).end();
        else sendJson(response, 200, resultOf(message, { ...discovery(), ...textResult("done") }));
      });
      const client = await open(server, revision, {}, { onError: (error) => errors.push(error) });
      client.notify("notifications/vendor", { a: 1 });
      await until(() => errors.length === 1);
      const [posted] = requestsOf(server, "notifications/vendor");
      expect(posted!.headers).toMatchObject({
        "mcp-protocol-version": revision,
        "mcp-method": "notifications/vendor",
      });
      expect(textOf(await client.callTool("x"))).toBe("done");
    },
  },
];
