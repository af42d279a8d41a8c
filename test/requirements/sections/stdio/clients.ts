import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect as connectSocket, createServer as createSocketServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Channel, type JsonObject, LineReader, serialize } from "portolan";
import { serveChannel } from "portolan/server";
import { expect } from "vitest";
import { metaKey, RawPeer } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { answersTo, hold, received, textOf, wireServer } from "../../wire.ts";

const server = wireServer;

/** A socket as a channel, made from public exports only. */
function socketChannel(socket: Socket): Channel {
  return {
    open(incoming) {
      const reader = new LineReader(incoming);
      socket.on("data", (chunk) => reader.push(chunk));
      socket.on("end", () => reader.end());
      socket.on("error", () => {});
      socket.on("close", () => incoming.closed());
    },
    send(message) {
      socket.write(`${serialize(message)}\n`);
    },
    async close() {
      if (socket.destroyed) return;
      socket.end();
      await once(socket, "close");
    },
  };
}

/** Messages to the clients of a process. */
export const clients: readonly Requirement[] = [
  {
    row: "C5",
    says: "a stateless client receives only responses and notifications",
    async test(open, { revision }) {
      const answer = () => ({ roots: [] });
      const peer = await open({
        capabilities: { roots: {} },
        answer,
        meta: isStateless(revision) ? { [metaKey("logLevel")]: "debug" } : {},
      });
      await peer.callTool("ask_roots");
      await peer.callTool("logs");
      await peer.callTool("progress", { steps: 2 }, { _meta: { progressToken: "p" } });
      const kinds = new Set(
        received(peer).map(({ method, id }) =>
          method === undefined ? "response" : id === undefined ? "notification" : "request",
        ),
      );
      expect([...kinds].sort()).toEqual(
        isStateless(revision) ? ["notification", "response"] : ["notification", "request", "response"],
      );
      peer.send({ jsonrpc: "2.0", id: 0, result: { roots: [] } });
      await peer.settled();
      expect(peer.strays).toEqual([]);
    },
  },
  {
    row: "C6",
    says: "concurrent calls are correlated by id, and changes by subscription id",
    async test(open, { revision }) {
      const peer = await open({ server });
      const [slow] = await hold(peer, "slow", 1_000);
      const [slower] = await hold(peer, "slower", "1000");
      await peer.callTool("release", { keys: ["slower", "slow"] });
      expect(textOf((await slow) ?? {})).toBe("released slow");
      expect(textOf((await slower) ?? {})).toBe("released slower");
      if (!isStateless(revision)) return;
      const listener = await open();
      for (const id of [7, "7"])
        listener.request("subscriptions/listen", { notifications: { toolsListChanged: true } }, id);
      await listener.until(({ notifications }) => notifications.length === 2);
      await listener.callTool("change");
      await listener.until(
        ({ notifications }) => notifications.filter(({ method }) => method.endsWith("tools/list_changed")).length === 2,
      );
      const tags = listener.notifications
        .filter(({ method }) => method.endsWith("tools/list_changed"))
        .map(({ params }) => (params as { _meta: JsonObject })._meta[metaKey("subscriptionId")]);
      expect(tags).toEqual([7, "7"]);
    },
  },
  {
    row: "C7",
    says: "a cancelled call sends no more messages",
    async test(open, { revision }) {
      const peer = await open({ server, meta: isStateless(revision) ? { [metaKey("logLevel")]: "debug" } : {} });
      await hold(peer, "k", "gone");
      const before = received(peer).length;
      peer.notify("notifications/cancelled", { requestId: "gone", reason: "enough" });
      await peer.callTool("release", { keys: ["k"] });
      expect(JSON.parse(textOf(await peer.callTool("aborts")))).toEqual({ k: 1 });
      expect(received(peer)).toHaveLength(before + 2);
      expect(answersTo(peer, "gone")).toBe(0);
    },
  },
  {
    row: "C9",
    says: "calls of clients that share a process do not mix",
    async test(open) {
      const peer = await open();
      const as = (name: string, capabilities: JsonObject) => ({
        _meta: { [metaKey("clientInfo")]: { name, version: "1" }, [metaKey("clientCapabilities")]: capabilities },
      });
      const [a, b] = await Promise.all([
        peer.request("tools/call", { name: "ask_in_turn", ...as("a", { elicitation: {} }) }),
        peer.request("tools/call", { name: "ask_in_turn", ...as("b", { elicitation: {} }) }),
      ]);
      expect(a.result.requestState).not.toBe(b.result.requestState);
      const next = (state: string, action: string, name: string) =>
        peer.request("tools/call", {
          name: "ask_in_turn",
          inputResponses: { first: { action }, second: { action } },
          requestState: state,
          ...as(name, { elicitation: {} }),
        });
      const [second] = await Promise.all([
        next(a.result.requestState, "accept", "a"),
        peer.request("tools/call", { name: "who", ...as("c", {}) }),
      ]);
      const other = await next(b.result.requestState, "decline", "b");
      const doneA = await next(second.result.requestState, "accept", "a");
      const doneB = await next(other.result.requestState, "decline", "b");
      expect(JSON.parse(textOf(doneA))).toMatchObject({ first: true, second: true });
      expect(JSON.parse(textOf(doneB))).toMatchObject({ first: false, second: false });
    },
  },
  {
    row: "C10",
    says: "discovery works before or without a handshake",
    async test(open, { revision }) {
      const peer = await open({ handshake: false });
      const _meta = { [metaKey("protocolVersion")]: "2026-07-28", [metaKey("clientCapabilities")]: {} };
      const probe = await peer.requestExactly({
        jsonrpc: "2.0",
        id: "probe",
        method: "server/discover",
        params: { _meta },
      });
      expect(probe.result.supportedVersions).toEqual(["2026-07-28"]);
      const future = { ..._meta, [metaKey("protocolVersion")]: "2099-01-01" };
      const refused = await peer.requestExactly({
        jsonrpc: "2.0",
        id: "future",
        method: "server/discover",
        params: { _meta: future },
      });
      expect(refused.error).toMatchObject({ code: -32022, data: { supported: ["2026-07-28"] } });
      if (isStateless(revision)) return;
      const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: "probe", version: "1" } };
      expect((await peer.request("initialize", params)).result.protocolVersion).toBe(revision);
      expect((await peer.request("tools/list")).result).not.toHaveProperty("resultType");
    },
  },
  {
    row: "C11",
    says: "a socket carries the same lines, for several concurrent clients",
    async test(_open, { revision }) {
      const folder = mkdtempSync(join(tmpdir(), "portolan-"));
      const path = join(folder, "socket");
      const { default: createWireServer } = await import(wireServer.href);
      const served = createWireServer();
      const listener = createSocketServer((socket) => void serveChannel(served, socketChannel(socket)));
      listener.listen(path);
      await once(listener, "listening");
      try {
        const peers = await Promise.all(
          [1, 2].map(() => new RawPeer(socketChannel(connectSocket(path)), { revision }).start()),
        );
        const texts = await Promise.all(
          peers.map(async (peer, index) => textOf(await peer.callTool("any", { index }))),
        );
        expect(texts).toEqual(['{"index":0}', '{"index":1}']);
        await Promise.all(peers.map((peer) => peer.close()));
      } finally {
        listener.close();
        rmSync(folder, { recursive: true });
      }
    },
  },
];
