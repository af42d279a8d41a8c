import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect as connectSocket, createServer as createSocketServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Channel, type JsonObject, LineReader, type Message, serialize } from "portolan";
import { serveChannel } from "portolan/server";
import { expect } from "vitest";
import { type ChildChannel, connectStdio, metaKey, RawPeer } from "../../kit/raw-peer.ts";
import { isStateless } from "../../kit/revisions.ts";
import type { Requirement } from "../requirement.ts";
import { answersTo, childOf, hold, noId, received, simplest, textOf, wireServer } from "../wire.ts";

const server = wireServer;

/** What a child writes to its standard output, from now on. */
function watchOutput({ child }: ChildChannel): () => string {
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString("utf8");
}

function line(message: JsonObject): string {
  return `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`;
}

/** A socket as a channel, made from the public parts only. */
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

export const stdio: readonly Requirement[] = [
  {
    row: "C1",
    says: "every line of standard output is one message, whatever its text holds",
    async test(open, { revision }) {
      const peer = await open({ server });
      const output = watchOutput(childOf(peer));
      expect(textOf(await peer.callTool("noise"))).toBe("one\ntwo\r\nthree\u2028four");
      if (revision === "2025-03-26") {
        const last = peer.responseTo("b");
        peer.sendBatch(["a", "b"].map((id): Message => ({ jsonrpc: "2.0", id, method: "ping" })));
        await last;
      }
      const lines = output().split("\n");
      expect(lines.pop()).toBe("");
      expect(lines).toHaveLength(revision === "2025-03-26" ? 2 : 1);
      for (const text of lines) {
        expect(JSON.parse(text)).toBeTypeOf("object");
        expect(text).not.toContain("\r");
      }
    },
  },
  {
    row: "C2",
    says: "what handlers print does not reach the client as a message",
    async test(open) {
      const peer = await open({ server });
      const output = watchOutput(childOf(peer));
      await peer.callTool("noise");
      await peer.callTool("noise");
      await peer.settled();
      expect(output()).not.toContain("noise:");
      expect(output()).not.toContain("a print");
      expect(output().trim().split("\n")).toHaveLength(3);
      expect(peer.strays).toEqual([]);
      expect(answersTo(peer, 1)).toBe(1);
    },
  },
  {
    row: "C3",
    says: "what handlers print arrives on standard error",
    async test(open) {
      const peer = await open({ server });
      const { result } = await peer.callTool("noise");
      expect(result.isError).toBeUndefined();
      await peer.close();
      const { stderr } = childOf(peer);
      for (const text of ["noise: console.log", "a print", "noise: process.stdout.write", "noise: console.error"])
        expect(stderr).toContain(text);
    },
  },
  {
    row: "C5",
    says: "a stateless client is sent responses and notifications only",
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
    says: "calls at once are told apart by id, and changes by their subscription",
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
    says: "a cancelled call is heard of no more",
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
    says: "clients that share a process do not see each other",
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
    says: "discovery comes before or without a handshake",
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
    says: "a socket carries the same lines, for several clients at once",
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
  {
    row: "X-R09",
    says: "a mark at the start, line ends of other systems, blank lines and split characters are no obstacle",
    async test(open, { revision }) {
      const peer = await open({ handshake: false });
      const channel = childOf(peer);
      const [first, second, third] = ["one", "two", "drei"].map((id) => peer.responseTo(id));
      const params = isStateless(revision)
        ? peer.describe({})
        : { protocolVersion: revision, capabilities: {}, clientInfo: { name: "é", version: "1" } };
      channel.write("\ufeff");
      channel.write(
        `\r\n\n  \n${line({ id: "one", method: isStateless(revision) ? "server/discover" : "initialize", params }).replace("\n", "\r\n")}`,
      );
      expect((await first)?.result.capabilities).toBeDefined();
      const bytes = Buffer.from(
        line({
          id: "two",
          method: "tools/call",
          params: peer.describe({ name: "echo", arguments: { message: "€😀" } }),
        }),
      );
      const cut = bytes.indexOf(0xf0) + 2;
      channel.write(bytes.subarray(0, cut));
      await new Promise((resolve) => setImmediate(resolve));
      channel.write(
        Buffer.concat([
          bytes.subarray(cut),
          Buffer.from(`\n\t\n${line({ id: "drei", method: simplest(revision), params: peer.describe({}) })}`),
        ]),
      );
      expect(textOf((await second) ?? {})).toBe("€😀");
      expect((await third)?.result).toBeDefined();
      expect(peer.strays).toEqual([]);
    },
  },
  {
    row: "X-R10",
    says: "a line with broken UTF-8 is a parse error under its id, and the lines around it are read",
    async test(open, { revision }) {
      const peer = await open();
      const responses = ["a", "broken", "b"].map((id) => peer.responseTo(id));
      const echo = (id: string) =>
        line({ id, method: "tools/call", params: peer.describe({ name: "echo", arguments: { message: "x" } }) });
      const broken = Buffer.from(echo("broken"));
      broken[broken.indexOf('"x"') + 1] = 0xff;
      const nameless = Buffer.from(`{"method":"\ud800"}\n`);
      nameless[nameless.length - 4] = 0xc3;
      childOf(peer).write(Buffer.concat([Buffer.from(echo("a")), broken, nameless, Buffer.from(echo("b"))]));
      const [a, refused, b] = await Promise.all(responses);
      expect(textOf(a ?? {})).toBe("x");
      expect(refused?.error?.code).toBe(-32700);
      expect(textOf(b ?? {})).toBe("x");
      expect(peer.strays).toEqual([
        { jsonrpc: "2.0", ...noId(revision), error: expect.objectContaining({ code: -32700 }) },
      ]);
    },
  },
  {
    row: "X-T33",
    says: "an oversize line is refused with its id, wherever that stands, and the connection stays",
    async test(_open, { revision }) {
      const peer = await connectStdio(server, { revision }, { MAX_MESSAGE_BYTES: "4096" });
      const params = peer.describe({
        name: "any",
        arguments: { text: "x".repeat(10_000), id: "not this", nested: [{ id: 5 }] },
      });
      for (const message of [
        { id: "early", method: "tools/call", params },
        { method: "tools/call", params, id: 77 },
      ]) {
        const response = peer.responseTo(message.id);
        peer.channel.write(line(message));
        expect((await response).error).toEqual({ code: -32600, message: expect.stringContaining("4096") });
      }
      peer.channel.write(line({ id: 1_000, result: { text: "x".repeat(10_000) } }));
      peer.channel.write(`${"x".repeat(10_000)}\n`);
      peer.channel.write(line({ method: "notifications/x", params }));
      expect(textOf(await peer.callTool("any", { fits: true }))).toBe('{"fits":true}');
      expect(peer.strays).toEqual([
        { jsonrpc: "2.0", ...noId(revision), error: expect.objectContaining({ code: -32600 }) },
      ]);
      await peer.close();
      expect(await peer.channel.exited).toBe(0);
    },
  },
];
