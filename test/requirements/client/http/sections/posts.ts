import { expect } from "vitest";
import {
  reasonOf,
  resultOf,
  type Seen,
  sendJson,
  startEvents,
  textOf,
  toEvent,
  until,
} from "../../../../http-client/kit.ts";
import { between, isStateless, stateless } from "../../../../kit/revisions.ts";
import { open, requestsOf, serve, streamOf, textResult } from "../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

const progress = (token: unknown, at: number) =>
  toEvent({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: token, progress: at } });
const tokenOf = (params: unknown) => (params as { _meta: { progressToken: unknown } })._meta.progressToken;

export const posts: readonly HttpRequirement[] = [
  {
    row: "C-E1",
    says: "every request goes to the given URL",
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      await client.close();
      expect(new Set(server.seen.map(({ path }) => path))).toEqual(new Set(["/mcp"]));
      const verbs = new Set(server.seen.map(({ method }) => method));
      expect(verbs).toEqual(new Set(isStateless(revision) ? ["POST"] : ["POST", "GET", "DELETE"]));
    },
  },
  {
    row: "C-E2",
    says: "POST accepts JSON and event streams, GET event streams",
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await client.callTool("x");
      for (const { headers } of requestsOf(server, "POST")) {
        expect(headers.accept).toBe("application/json, text/event-stream");
        expect(headers["content-type"]).toBe("application/json");
      }
      expect(requestsOf(server, "GET").map(({ headers }) => headers.accept)).toEqual(
        isStateless(revision) ? [] : ["text/event-stream"],
      );
    },
  },
  {
    row: "C-E3",
    says: "concurrent requests are posted one message each",
    async test(revision) {
      const server = await serve(revision);
      const client = await open(server, revision);
      await Promise.all(Array.from({ length: 20 }, () => client.callTool("x")));
      expect(requestsOf(server, "tools/call")).toHaveLength(20);
      for (const { message } of requestsOf(server, "POST")) expect(Array.isArray(message)).toBe(false);
    },
  },
  {
    row: "C-E3",
    says: "a request on a stream of a stateless server is reported and not answered",
    on: stateless,
    async test(revision) {
      const errors: string[] = [];
      const server = await serve(revision, {
        call: ({ message }, response) => {
          streamOf(response, toEvent({ jsonrpc: "2.0", id: "q", method: "roots/list" }));
          response.end(toEvent(resultOf(message, textResult("done"))));
        },
      });
      const client = await open(server, revision, {}, { onError: ({ message }) => errors.push(message) });
      await client.callTool("x");
      await client.callTool("x");
      expect(errors).toHaveLength(2);
      expect(server.seen.every(({ message }) => "method" in message)).toBe(true);
    },
  },
  {
    row: "C-E4",
    says: "refused notifications and responses are reported, and calls continue",
    async test(revision) {
      const errors: string[] = [];
      const server = await serve(revision, {
        first: ({ message }, response) => {
          const isRefused = message && (!("method" in message) || message.method === "notifications/x");
          if (isRefused) sendJson(response, 400, { jsonrpc: "2.0", error: { code: -32600, message: "no" } });
          return isRefused;
        },
        call: ({ message }, response) => {
          streamOf(response, toEvent({ jsonrpc: "2.0", id: "q", method: "ping" }));
          until(() => errors.length === 2).then(() => response.end(toEvent(resultOf(message, textResult("done")))));
        },
      });
      const client = await open(server, revision, {}, { onError: ({ message }) => errors.push(message) });
      client.notify("notifications/x");
      await until(() => errors.length === 1);
      expect(textOf(await client.callTool("x"))).toBe("done");
      for (const error of errors) expect(error).toContain("answered 400");
    },
  },
  {
    row: "C-E5",
    says: "media types with parameters or capitals and any line ends are accepted",
    async test(revision) {
      const kinds = ["application/json; charset=utf-8", "Application/JSON", "text/event-stream;charset=utf-8"];
      const server = await serve(revision, {
        call: ({ message }, response) => {
          const kind = kinds[requestsOf(server, "tools/call").length - 1]!;
          const answer = JSON.stringify(resultOf(message, textResult(kind)));
          response.writeHead(200, { "content-type": kind });
          response.end(kind.startsWith("text") ? `event: message\r\ndata: ${answer}\r\n\r\n` : answer);
        },
      });
      const client = await open(server, revision);
      for (const kind of kinds) expect(textOf(await client.callTool("x"))).toBe(kind);
    },
  },
  {
    row: "C-E5",
    says: "an answer that is neither JSON nor a stream rejects its call",
    async test(revision) {
      const server = await serve(revision, {
        call: (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>hi</p>"),
      });
      const client = await open(server, revision);
      expect(await reasonOf(client.callTool("x"))).toMatchObject({ code: "answer-invalid" });
    },
  },
  {
    row: "C-E6",
    says: "progress is delivered in order before the result",
    async test(revision) {
      const server = await serve(revision, {
        call: ({ message }, response) => {
          streamOf(response, ...[1, 2, 3].map((at) => progress(tokenOf(message.params), at)));
          response.end(toEvent(resultOf(message, textResult("done"))));
        },
      });
      const client = await open(server, revision);
      const received: unknown[] = [];
      await client
        .callTool("x", {}, { onProgress: ({ progress }) => received.push(progress) })
        .then(() => received.push("done"));
      expect(received).toEqual([1, 2, 3, "done"]);
    },
  },
  {
    row: "C-E6",
    says: "requests of the server are answered by their own POST, before the response",
    on: between("2024-11-05", "2025-11-25"),
    async test(revision) {
      const server = await serve(revision, {
        call: ({ message }, response) => {
          streamOf(response, toEvent({ jsonrpc: "2.0", id: "q", method: "roots/list" }));
          until(() => server.seen.some((seen) => seen.message && "result" in seen.message)).then(() =>
            response.end(toEvent(resultOf(message, textResult("done")))),
          );
        },
      });
      const roots = [{ uri: "file:///home" }];
      const client = await open(server, revision, {}, { answers: { roots: () => roots } });
      expect(textOf(await client.callTool("x"))).toBe("done");
      const answer = server.seen.find(({ message }) => message && "result" in message);
      expect(answer!.message).toEqual({ jsonrpc: "2.0", id: "q", result: { roots } });
    },
  },
  {
    row: "C-E10",
    says: "an aborted call closes its connection, and in a session also sends notifications/cancelled",
    async test(revision) {
      let isGone = false;
      const server = await serve(revision, {
        call: (_, response) => {
          startEvents(response);
          response.on("close", () => {
            isGone = true;
          });
        },
      });
      const client = await open(server, revision);
      const abort = new AbortController();
      const call = reasonOf(client.callTool("x", {}, { signal: abort.signal }));
      await until(() => requestsOf(server, "tools/call").length === 1);
      const [{ message }] = requestsOf(server, "tools/call") as [Seen];
      abort.abort();
      expect(await call).toMatchObject({ code: "cancelled" });
      await until(() => isGone);
      const cancelled = requestsOf(server, "notifications/cancelled").map((seen) => seen.message.params?.["requestId"]);
      expect(cancelled).toEqual(isStateless(revision) ? [] : [message.id]);
    },
  },
  {
    row: "C-E12",
    says: "each call receives its own progress and result",
    async test(revision) {
      const waiting: (() => void)[] = [];
      const server = await serve(revision, {
        call: ({ message }, response) => {
          const at = waiting.length;
          streamOf(response, progress(tokenOf(message.params), at));
          waiting.push(() => response.end(toEvent(resultOf(message, textResult(String(message.params?.["name"]))))));
        },
      });
      const client = await open(server, revision);
      const received: number[][] = [[], [], []];
      const calls = ["a", "b", "c"].map((name, at) =>
        client.callTool(name, {}, { onProgress: ({ progress }) => received[at]!.push(progress) }),
      );
      await until(() => waiting.length === 3);
      for (const answer of waiting.reverse()) answer();
      expect((await Promise.all(calls)).map(textOf)).toEqual(["a", "b", "c"]);
      expect(received.flat().sort()).toEqual([0, 1, 2]);
    },
  },
];
