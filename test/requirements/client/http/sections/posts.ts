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
import { open, requestsOf, said, serve, streamOf } from "../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

const progress = (token: unknown, at: number) =>
  toEvent({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: token, progress: at } });
const tokenOf = (params: unknown) => (params as { _meta: { progressToken: unknown } })._meta.progressToken;

export const posts: readonly HttpRequirement[] = [
  {
    row: "C-E1",
    says: "everything goes to the one address that was given",
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
    says: "by its Accept header",
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
    says: "also when many are sent at once",
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
    says: "a question on a stream of a stateless server is reported and not answered",
    on: stateless,
    async test(revision) {
      const errors: string[] = [];
      const server = await serve(revision, {
        call: ({ message }, response) => {
          streamOf(response, toEvent({ jsonrpc: "2.0", id: "q", method: "roots/list" }));
          response.end(toEvent(resultOf(message, said("done"))));
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
    says: "a refused notification is reported, a refused response too, and calls go on",
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
          until(() => errors.length === 2).then(() => response.end(toEvent(resultOf(message, said("done")))));
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
    says: "with parameters in the media type, in capitals, and with any line ends",
    async test(revision) {
      const kinds = ["application/json; charset=utf-8", "Application/JSON", "text/event-stream;charset=utf-8"];
      const server = await serve(revision, {
        call: ({ message }, response) => {
          const kind = kinds[requestsOf(server, "tools/call").length - 1]!;
          const answer = JSON.stringify(resultOf(message, said(kind)));
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
    says: "a response that is neither fails its call and says so",
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
    says: "progress and messages, in order",
    async test(revision) {
      const server = await serve(revision, {
        call: ({ message }, response) => {
          streamOf(response, ...[1, 2, 3].map((at) => progress(tokenOf(message.params), at)));
          response.end(toEvent(resultOf(message, said("done"))));
        },
      });
      const client = await open(server, revision);
      const heard: unknown[] = [];
      await client
        .callTool("x", {}, { onProgress: (told) => heard.push(told.progress) })
        .then(() => heard.push("done"));
      expect(heard).toEqual([1, 2, 3, "done"]);
    },
  },
  {
    row: "C-E6",
    says: "questions are answered by a POST of their own, before the response",
    on: between("2024-11-05", "2025-11-25"),
    async test(revision) {
      const server = await serve(revision, {
        call: ({ message }, response) => {
          streamOf(response, toEvent({ jsonrpc: "2.0", id: "q", method: "roots/list" }));
          until(() => server.seen.some((seen) => seen.message && "result" in seen.message)).then(() =>
            response.end(toEvent(resultOf(message, said("done")))),
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
    says: "and the stream that breaks by itself says nothing to the server",
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
      const told = requestsOf(server, "notifications/cancelled").map((seen) => seen.message.params?.["requestId"]);
      expect(told).toEqual(isStateless(revision) ? [] : [message.id]);
    },
  },
  {
    row: "C-E12",
    says: "each call hears its own progress and its own result",
    async test(revision) {
      const waiting: (() => void)[] = [];
      const server = await serve(revision, {
        call: ({ message }, response) => {
          const at = waiting.length;
          streamOf(response, progress(tokenOf(message.params), at));
          waiting.push(() => response.end(toEvent(resultOf(message, said(String(message.params?.["name"]))))));
        },
      });
      const client = await open(server, revision);
      const heard: number[][] = [[], [], []];
      const calls = ["a", "b", "c"].map((name, at) =>
        client.callTool(name, {}, { onProgress: (told) => heard[at]!.push(told.progress) }),
      );
      await until(() => waiting.length === 3);
      for (const answer of waiting.reverse()) answer();
      expect((await Promise.all(calls)).map(textOf)).toEqual(["a", "b", "c"]);
      expect(heard.flat().sort()).toEqual([0, 1, 2]);
    },
  },
];
