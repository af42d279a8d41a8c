import { expect } from "vitest";
import { isStateless } from "../../../kit/revisions.ts";
import { allAnswers, asks, everyCall, round, text, textOf } from "../kit/calls.ts";
import type { Requirement } from "../requirement.ts";

const silent = () => undefined;

export const base: Requirement[] = [
  {
    row: "C-A1",
    says: "every message is JSON-RPC 2.0, and a request of a stateless server is reported and not answered",
    async test({ open, revision }) {
      const { client, server, settled, errors } = await open({ answers: allAnswers });
      await everyCall(client, revision);
      server.asked.set("odd", "ping");
      server.send({ jsonrpc: "2.0", id: "odd", method: "ping" });
      await settled();
      expect(server.sent.length).toBeGreaterThan(10);
      expect(server.sent.filter(({ jsonrpc }) => jsonrpc !== "2.0")).toEqual([]);
      const responses = server.sent.filter(({ method }) => method === undefined);
      const answer = { jsonrpc: "2.0", id: "odd", result: {} };
      expect(responses).toEqual(isStateless(revision) ? [] : [answer]);
      expect(errors.map(({ message }) => message).filter((message) => message.includes("ping"))).toHaveLength(
        isStateless(revision) ? 1 : 0,
      );
    },
  },
  {
    row: "C-A2",
    says: "every request has an id, and no notification has one",
    async test({ open, revision }) {
      const { client, server } = await open();
      await everyCall(client, revision);
      const isId = (id: unknown) => typeof id === "string" || Number.isInteger(id);
      for (const { id, method } of server.sent) {
        expect(method?.startsWith("notifications/") ? id === undefined : isId(id), `${method} ${id}`).toBe(true);
      }
    },
  },
  {
    row: "C-A3",
    says: "no id is reused by concurrent calls, aborted calls or rounds",
    async test({ open, revision }) {
      const { client, server } = await open({
        answers: allAnswers,
        on: {
          "tools/call": (request, scripted) => {
            if (request.params.name === "hang") return undefined;
            return asks(revision, "roots/list")(request, scripted);
          },
        },
      });
      await Promise.all(["a", "b", "c"].map((name) => client.callTool(name)));
      const controller = new AbortController();
      const hanging = client.callTool("hang", {}, { signal: controller.signal });
      await server.until(() => server.of("tools/call").find(({ params }) => params.name === "hang"));
      controller.abort();
      await expect(hanging).rejects.toThrow("aborted");
      await everyCall(client, revision);
      const ids = server.sent.filter(({ method, id }) => method && id !== undefined).map(({ id }) => id);
      expect(ids.length).toBeGreaterThan(12);
      expect(new Set(ids).size).toBe(ids.length);
    },
  },
  {
    row: "C-A4",
    says: "an id of another type is another id, and a response with both or neither member rejects its call",
    async test({ open, transport }) {
      const { client, server, settled, errors } = await open({ on: { "tools/call": silent } });
      const call = client.callTool("a");
      const { id } = await server.arrival("tools/call");
      server.result(typeof id === "number" ? String(id) : Number(id), text("of another request"));
      // Over HTTP an error without an id belongs to the request that it answers.
      const withoutId = transport === "http" ? [] : [{}, { id: null }];
      for (const member of withoutId) {
        server.send({ jsonrpc: "2.0", ...member, error: { code: -32600, message: "Invalid request" } });
      }
      await settled();
      expect(errors).toHaveLength(withoutId.length);
      server.result(id, server.complete("tools/call", text("mine")));
      expect(textOf(await call)).toBe("mine");
      const odd = [{ result: text("x"), error: { code: 1, message: "y" } }, {}, { result: 5 }, { error: "no" }];
      for (const [index, members] of odd.entries()) {
        const failing = client.callTool("a");
        const request = await server.arrival("tools/call", index + 2);
        server.send({ jsonrpc: "2.0", id: request.id, ...members });
        await expect(failing).rejects.toMatchObject({ code: "answer-invalid" });
      }
      await settled();
    },
  },
  {
    row: "C-A5",
    says: "a stateful result ignores resultType, and a stateless one has it",
    async test({ open, revision }) {
      const odd = { ...text("plain"), ...round({ q: { method: "roots/list" } }, "s") };
      const result = isStateless(revision) ? { resultType: "complete", ...text("plain") } : odd;
      const { client, server } = await open({ answers: allAnswers, on: { "tools/call": () => result } });
      expect(await client.callTool("a")).toEqual(result);
      expect(server.of("tools/call")).toHaveLength(1);
    },
  },
  {
    row: "C-A6",
    says: "a result without a resultType is complete, one with an unknown type is invalid",
    async test({ open }) {
      let resultType: unknown;
      const untyped = { content: [], tools: [], contents: [] };
      const reply = (
        { id }: { id: string | number },
        server: { result(id: string | number, result: unknown): void },
      ) => {
        server.result(id, { ...untyped, ...(resultType !== undefined && { resultType }) });
        return undefined;
      };
      const on = { "tools/call": reply, "tools/list": reply, "resources/read": reply };
      const { client } = await open({ on });
      expect(await client.callTool("a")).toEqual(untyped);
      expect(await client.listTools()).toEqual([]);
      for (const type of ["task", "", "Complete", null, 1]) {
        resultType = type;
        await expect(client.callTool("a")).rejects.toMatchObject({ code: "answer-invalid" });
        await expect(client.listTools()).rejects.toMatchObject({ code: "answer-invalid" });
        await expect(client.readResource("note://a")).rejects.toMatchObject({ code: "answer-invalid" });
      }
    },
  },
  {
    row: "C-A7",
    says: "known, unknown and malformed notifications are not answered",
    async test({ open }) {
      const notified: string[] = [];
      const { server, settled } = await open({ onNotification: (method) => notified.push(method) });
      const before = server.sent.length;
      server.notify("notifications/tools/list_changed");
      server.notify("notifications/progress", { progressToken: "nobody's", progress: 1 });
      server.notify("notifications/cancelled", { requestId: "nothing" });
      server.notify("notifications/cancelled");
      server.notify("notifications/resources/updated", { uri: 5 });
      server.notify("notifications/message", { level: "info", data: "hi" });
      server.notify("example.com/unknown", { a: 1 });
      await settled();
      expect(server.sent.slice(before).map(({ method }) => method)).toHaveLength(1);
      expect(notified).toContain("example.com/unknown");
      expect(notified).toContain("notifications/tools/list_changed");
    },
  },
  {
    row: "C-A8",
    says: "responses, notifications and requests of one batch are all handled",
    on: ["2025-03-26"],
    async test({ open }) {
      const notified: string[] = [];
      const { client, server, settled } = await open({
        on: { "tools/call": silent },
        onNotification: (method) => notified.push(method),
      });
      const calls = [client.callTool("a"), client.callTool("b")];
      const [first, second] = await server.until(() => {
        const requests = server.of("tools/call");
        return requests.length === 2 && requests;
      });
      server.send([
        { jsonrpc: "2.0", id: second!.id, result: text("b") },
        { jsonrpc: "2.0", method: "notifications/tools/list_changed" },
        { jsonrpc: "2.0", id: first!.id, error: { code: 7, message: "no" } },
      ]);
      await expect(calls[0]).rejects.toMatchObject({ code: 7 });
      expect(textOf((await calls[1])!)).toBe("b");
      for (const id of ["p1", "p2"]) server.asked.set(id, "ping");
      server.send(["p1", "p2"].map((id) => ({ jsonrpc: "2.0", id, method: "ping" })));
      for (const id of ["p1", "p2"]) expect((await server.until(() => server.responseTo(id))).result).toEqual({});
      await settled();
      expect(notified).toEqual(["notifications/tools/list_changed"]);
    },
  },
  {
    row: "C-A8",
    says: "concurrent requests are never sent as a batch",
    async test({ open }) {
      const { client, server } = await open();
      await Promise.all(Array.from({ length: 20 }, (_, n) => client.callTool("a", { n })));
      expect(server.batches).toEqual([]);
    },
  },
  {
    row: "C-A9",
    says: "UTF-8 text is sent and received unchanged, and a line with invalid UTF-8 is reported",
    async test({ open }) {
      const words = "é🙂\u2028\u0000ñ";
      const { client, server, errors } = await open({ on: { "tools/call": silent } });
      const call = client.callTool("a", { words });
      const { id, params } = await server.arrival("tools/call");
      expect(params.arguments.words).toBe(words);
      server.end.write(Uint8Array.from([0x7b, 0xff, 0xfe, 0x7d, 0x0a]));
      const result = server.complete("tools/call", text(words));
      for (const byte of Buffer.from(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`)) {
        server.end.write(Uint8Array.of(byte));
      }
      expect(textOf(await call)).toBe(words);
      expect(errors).toHaveLength(1);
    },
  },
];
