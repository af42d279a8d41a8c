import type { JsonObject } from "portolan";
import type { Progress } from "portolan/client";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless, stateful, stateless } from "../../../kit/revisions.ts";
import { allAnswers, asks, everyCall, round, text, textOf } from "../kit/calls.ts";
import type { ScriptedServer } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";

const silent = () => undefined;
const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;
const levelOf = ({ params }: { params?: JsonObject }) => (params?.["_meta"] as JsonObject)?.[metaKey("logLevel")];

/** Sends messages in one write over stdio, so that they arrive together. */
function sendTogether(server: ScriptedServer, transport: string, messages: readonly JsonObject[]): void {
  const lines = messages.map((message) => ({ jsonrpc: "2.0", ...message }));
  if (transport !== "stdio") for (const line of lines) server.send(line);
  else server.end.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

export const utilities: Requirement[] = [
  {
    row: "C-J3",
    says: "tools/call, resources/read and prompts/get have unique progress tokens, and no others",
    async test({ open, revision }) {
      const { client, server } = await open();
      await everyCall(client, revision);
      await Promise.all([client.callTool("a"), client.callTool("a"), client.readResource("note://a")]);
      const withToken = server.sent.filter(({ params }) => params?._meta?.progressToken !== undefined);
      const methods = new Set(withToken.map(({ method }) => method));
      expect([...methods].sort()).toEqual(["prompts/get", "resources/read", "tools/call"]);
      const tokens = withToken.map(({ params }) => params._meta.progressToken);
      expect(new Set(tokens).size).toBe(6);
      for (const token of tokens) expect(typeof token === "string" || Number.isInteger(token)).toBe(true);
    },
  },
  {
    row: "C-J4",
    says: "progress and results that arrive together are delivered in order",
    async test({ open, transport }) {
      const { client, server, settled, errors } = await open({ on: { "tools/call": silent } });
      const events: [name: string, event: unknown][] = [];
      const calls = ["a", "b"].map((name) =>
        client
          .callTool(name, {}, { onProgress: (progress) => events.push([name, progress]) })
          .then(() => events.push([name, "result"])),
      );
      const [a, b] = await server.until(() => server.of("tools/call").length === 2 && server.of("tools/call"));
      const step = ({ params }: { params?: { _meta: JsonObject } }, more: Partial<Progress>) => ({
        method: "notifications/progress",
        params: { progressToken: params?._meta["progressToken"], ...more },
      });
      const result = server.complete("tools/call", text("x"));
      sendTogether(server, transport, [
        step(a!, { progress: 0.5, total: 2, message: "half" }),
        step(b!, { progress: 1 }),
        step(a!, { progress: 1.5, total: 2 }),
        step(a!, { progress: 2 }),
        { id: a!.id, result },
        step(a!, { progress: 3 }),
        step({ params: { _meta: { progressToken: "nobody's" } } }, { progress: 9 }),
        { id: b!.id, result },
      ]);
      await Promise.all(calls);
      await settled();
      expect(events.filter(([name]) => name === "a")).toEqual([
        ["a", { progress: 0.5, total: 2, message: "half" }],
        ["a", { progress: 1.5, total: 2 }],
        ["a", { progress: 2 }],
        ["a", "result"],
      ]);
      expect(events.filter(([name]) => name === "b")).toEqual([
        ["b", { progress: 1 }],
        ["b", "result"],
      ]);
      expect(errors).toEqual([]);
    },
  },
  {
    row: "C-J4",
    says: "a progress listener that throws is reported, and the call continues",
    async test({ open }) {
      const { client, server, errors } = await open({ on: { "tools/call": silent } });
      const call = client.callTool(
        "a",
        {},
        {
          onProgress: () => {
            throw new Error("listener");
          },
        },
      );
      const { id, params } = await server.arrival("tools/call");
      server.notify("notifications/progress", { progressToken: params._meta.progressToken, progress: 1 });
      server.notify("notifications/progress", { progressToken: params._meta.progressToken, progress: "no number" });
      server.result(id, server.complete("tools/call", text("fine")));
      expect(textOf(await call)).toBe("fine");
      expect(errors.map(({ message }) => message)).toEqual(["listener"]);
    },
  },
  {
    row: "C-J5",
    says: "an aborted call rejects and is cancelled by its id, and its late answer is ignored",
    async test({ open }) {
      const { client, server, settled, errors } = await open({
        on: { "tools/call": silent, "resources/list": silent },
      });
      const controller = new AbortController();
      const { signal } = controller;
      const call = client.callTool("a", {}, { signal });
      const list = client.listResources({ signal });
      const [{ id }, { id: listId }] = [await server.arrival("tools/call"), await server.arrival("resources/list")];
      const reason = new Error("enough");
      controller.abort(reason);
      for (const failing of [call, list]) {
        await expect(failing).rejects.toMatchObject({ name: "AbortError", code: "cancelled", cause: reason });
      }
      await expect(client.callTool("b", {}, { signal })).rejects.toMatchObject({
        name: "AbortError",
        code: "cancelled",
        requestMayHaveRun: false,
      });
      await server.arrival("notifications/cancelled", 2);
      server.result(id, text("late"));
      server.error(listId, -32603, "late");
      await settled();
      const cancelled = server.of("notifications/cancelled").map(({ params }) => params.requestId);
      expect(cancelled.sort()).toEqual([id, listId].sort());
      expect(server.of("tools/call")).toHaveLength(1);
      expect(errors).toEqual([]);
    },
  },
  {
    row: "C-J5",
    says: "an abort in a later round cancels the id of that round",
    on: stateless,
    async test({ open }) {
      const { client, server, settled } = await open({
        answers: allAnswers,
        on: {
          "tools/call": ({ params }) => (params.inputResponses ? undefined : round({ q: { method: "roots/list" } })),
        },
      });
      const controller = new AbortController();
      const call = client.callTool("a", {}, { signal: controller.signal });
      const { id } = await server.arrival("tools/call", 2);
      controller.abort();
      await expect(call).rejects.toMatchObject({ code: "cancelled" });
      await settled();
      expect(server.of("notifications/cancelled").map(({ params }) => params.requestId)).toEqual([id]);
    },
  },
  {
    row: "C-J6",
    says: "pings are sent and answered at any time, also during a call",
    on: stateful,
    async test({ open }) {
      const { client, server } = await open({
        on: {
          "tools/call": async (_, scripted) => {
            const { result } = await scripted.ask("ping");
            return text(JSON.stringify(result));
          },
        },
      });
      expect(textOf(await client.callTool("a"))).toBe("{}");
      await client.ping();
      const [ping] = server.of("ping");
      expect(ping).toEqual({ jsonrpc: "2.0", id: ping!.id, method: "ping", params: {} });
    },
  },
  {
    row: "C-J6",
    says: "ping is sent as server/discover",
    on: stateless,
    async test({ open }) {
      const { client, server } = await open();
      await client.ping();
      await client.ping();
      expect(server.methods).toEqual(["server/discover", "server/discover", "server/discover"]);
    },
  },
  {
    row: "C-J7",
    says: "log messages of all levels arrive with logger and data of any shape",
    async test({ open }) {
      const logs: unknown[] = [];
      const { server, settled } = await open({ onLog: (message) => logs.push(message), logLevel: "debug" });
      const shapes = ["text", { a: 1 }, [1], null, 0, false, { deep: { x: [] } }, ""];
      const messages = levels.map((level, at) => ({ level, logger: `l${at}`, data: shapes[at] }));
      for (const message of messages) server.notify("notifications/message", message);
      await settled();
      expect(logs).toEqual(messages);
    },
  },
  {
    row: "C-J8",
    says: "the level is set once with logging/setLevel",
    on: stateful,
    async test({ open }) {
      const { client, server } = await open({ logLevel: "warning" });
      await client.callTool("a", {}, { logLevel: "debug" });
      await client.setLogLevel("error");
      await client.callTool("a");
      const set = server.of("logging/setLevel").map(({ params }) => params);
      expect(set).toEqual([{ level: "warning" }, { level: "error" }]);
      expect(server.sent.filter((message) => levelOf(message) !== undefined)).toEqual([]);
      const quiet = await open();
      expect(quiet.server.of("logging/setLevel")).toEqual([]);
      const mute = await open({ logLevel: "info", offers: { tools: {} } });
      expect(mute.server.of("logging/setLevel")).toEqual([]);
    },
  },
  {
    row: "C-J8",
    says: "the level is sent with each request, or with one",
    on: stateless,
    async test({ open }) {
      const { client, server } = await open();
      await client.callTool("none");
      await client.callTool("one", {}, { logLevel: "debug" });
      await client.callTool("none");
      await client.setLogLevel("error");
      await client.callTool("all");
      await client.listTools();
      const sentLevels = server.sent.map((message) => levelOf(message));
      expect(sentLevels).toEqual([undefined, undefined, "debug", undefined, "error", "error"]);
      const other = await open({ logLevel: "info" });
      await other.client.callTool("a", {}, { logLevel: "alert" });
      await other.client.readResource("note://a");
      expect(other.server.sent.slice(1).map((message) => levelOf(message))).toEqual(["alert", "info"]);
    },
  },
  {
    row: "C-J9",
    says: "log messages arrive before, during and after a call, even if a listener throws",
    async test({ open }) {
      const logs: unknown[] = [];
      const { client, server, settled, errors } = await open({
        onLog: ({ data }) => {
          logs.push(data);
          if (data === "bad") throw new Error("listener");
        },
        on: {
          "tools/call": (_, scripted) => {
            scripted.notify("notifications/message", { level: "info", data: "during" });
            return text("x");
          },
        },
      });
      server.notify("notifications/message", { level: "info", data: "before" });
      server.notify("notifications/message", { level: "info", data: "bad" });
      await client.callTool("a");
      server.notify("notifications/message", { level: "info", data: "after" });
      await settled();
      expect(logs).toEqual(["before", "bad", "during", "after"]);
      expect(errors.map(({ message }) => message)).toEqual(["listener"]);
    },
  },
  {
    row: "C-J10",
    says: "the error of a failed answer is not sent to the server",
    async test({ open, revision }) {
      const { client, server, settled, errors } = await open({
        on: { "tools/call": asks(revision, "roots/list") },
        answers: {
          roots: () => {
            throw new Error("password=hunter2");
          },
        },
      });
      const outcome = await client.callTool("a").then(
        ({ content }) => JSON.stringify(content),
        ({ message }) => message,
      );
      await settled();
      expect(JSON.stringify(server.sent)).not.toContain("hunter2");
      if (isStateless(revision)) expect(outcome).toContain("hunter2");
      else {
        expect(outcome).toContain("did not answer");
        expect(errors.map(({ message }) => message)).toEqual(["password=hunter2"]);
      }
    },
  },
];
