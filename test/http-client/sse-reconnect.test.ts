import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type AddressInfo, createConnection, createServer, type Socket } from "node:net";
import type { RpcRequest } from "portolan";
import { type Answers, connect } from "portolan/client";
import { http } from "portolan/client/http";
import { createClock, type ManualClock } from "portolan/testing";
import { expect, onTestFinished, test } from "vitest";
import {
  begin,
  closing,
  type Opened,
  openLink,
  type RawServer,
  reasonOf,
  resultOf,
  startEvents,
  startPeer,
  startRaw,
  textOf,
  toEvent,
  until,
} from "./kit.ts";

const answers: Answers = { elicit: () => ({ action: "accept", content: { name: "Ada" } }) };

interface OldServer extends RawServer {
  /** Sends a message on the open stream. */
  send(message: object): void;
  /** Cuts the open stream. */
  cut(): void;
  /** Handles requests to open a stream instead of opening one. */
  refuse: ((response: ServerResponse) => void) | undefined;
  /** The methods of all requests since the last call. */
  received(): string[];
}

/** Starts an HTTP+SSE server that answers everything except `tools/call`, on its newest stream. */
async function startOld(version = () => "2024-11-05"): Promise<OldServer> {
  let stream: ServerResponse | undefined;
  let streams = 0;
  let seenUpTo = 0;
  const server = await startRaw(({ method, path, message }, response) => {
    if (method === "GET" && old.refuse) old.refuse(response);
    else if (method === "GET") {
      streams += 1;
      stream = response;
      startEvents(response);
      response.write(`event: endpoint\ndata: /messages?stream=${streams}\n\n`);
    } else {
      response.writeHead(202).end();
      if (!("id" in message) || message.method === "tools/call") return;
      const capabilities = { tools: {}, resources: { subscribe: true } };
      const greeting = { protocolVersion: version(), capabilities, serverInfo: { name: "old", version: "1" } };
      const result = message.method === "initialize" ? greeting : { from: path };
      stream!.write(toEvent(resultOf(message, result)));
    }
  });
  const old: OldServer = {
    ...server,
    refuse: undefined,
    send: (message) => {
      stream!.write(toEvent(message));
    },
    cut: () => stream!.destroy(),
    received() {
      const received = server.seen
        .slice(seenUpTo)
        .map(({ method, message }) => (message as RpcRequest)?.method ?? method);
      seenUpTo = server.seen.length;
      return received;
    },
  };
  return old;
}

interface Scene {
  readonly server: OldServer;
  readonly clock: ManualClock;
  readonly opened: Opened;
}

async function setScene(version?: () => string): Promise<Scene> {
  const server = await startOld(version);
  const clock = createClock();
  const opened = await openLink(server.url, { legacySse: true, clock });
  await begin(opened);
  await opened.ask({ method: "ping" });
  expect(server.received()).toEqual(["GET", "initialize", "notifications/initialized", "ping"]);
  return { server, clock, opened };
}

test("a lost stream rejects pending calls at once, and the client repeats the handshake on a new stream", async () => {
  const { server, clock, opened } = await setScene();
  const call = reasonOf(opened.ask({ method: "tools/call" }));
  await until(() => server.received().includes("tools/call"));
  server.cut();
  expect(await call).toMatchObject({ code: "connection-closed" });
  await until(() => clock.pending === 1);
  await clock.advance(999);
  expect(server.received()).toEqual([]);
  await clock.advance(102);
  await until(() => opened.renewed() === 1);
  expect(await opened.ask({ method: "ping" })).toMatchObject({ result: { from: "/messages?stream=2" } });
  expect(server.received()).toEqual(["GET", "initialize", "notifications/initialized", "ping"]);
  const [first, second] = server.seen.filter(({ message }) => message?.method === "initialize");
  expect(second!.message.params).toEqual(first!.message.params);
  expect(second!.message.id).not.toBe(first!.message.id);
  expect(second!.path).toBe("/messages?stream=2");
});

test("a call without a stream opens one at once and is sent after the handshake", async () => {
  const { server, clock, opened } = await setScene();
  server.cut();
  await until(() => clock.pending === 1);
  const calls = [opened.ask({ method: "ping" }), opened.ask({ method: "tools/list" })];
  for (const answer of await Promise.all(calls)) expect(answer).toMatchObject({ result: {} });
  const received = server.received();
  expect(received.slice(0, 3)).toEqual(["GET", "initialize", "notifications/initialized"]);
  expect(received.slice(3).sort()).toEqual(["ping", "tools/list"]);
  expect(opened.renewed()).toBe(1);
});

test("retries an unavailable server after Retry-After, and calls meanwhile reject as never run", async () => {
  const { server, clock, opened } = await setScene();
  server.refuse = (response) => response.writeHead(503, { "retry-after": "20" }).end();
  server.cut();
  await until(() => clock.pending === 1);
  await clock.advance(1_200);
  await until(() => server.received().length === 1 && clock.pending === 1);
  await clock.advance(19_900);
  expect(server.received()).toEqual([]);
  expect(await reasonOf(opened.ask({ method: "tools/call" }))).toMatchObject({
    code: "connection-closed",
    neverRan: true,
    cause: { status: 503 },
  });
  server.refuse = undefined;
  expect(await opened.ask({ method: "ping" })).toMatchObject({ result: {} });
  expect(server.received()).not.toContain("tools/call");
});

test("a call that is cancelled while there is no stream is not sent", async () => {
  const { server, clock, opened } = await setScene();
  let open = () => {};
  server.refuse = (response) => {
    open = () => response.writeHead(503).end();
  };
  server.cut();
  await until(() => clock.pending === 1);
  opened.ask({ method: "tools/call", id: "c" }).catch(() => {});
  await until(() => server.received().includes("GET"));
  opened.link.cancel("c", "enough");
  server.refuse = undefined;
  open();
  // One report for the lost stream, one for the failed attempt.
  await until(() => opened.invalid.length === 2);
  await opened.ask({ method: "ping" });
  const received = server.received();
  expect(received).not.toContain("tools/call");
  expect(received).not.toContain("notifications/cancelled");
});

test.each([401, 404, 410])("%i to a new stream ends the link", async (status) => {
  const { server, clock, opened } = await setScene();
  server.refuse = (response) => response.writeHead(status).end();
  server.cut();
  await until(() => clock.pending === 1);
  await clock.advance(1_200);
  expect(await opened.lost).toMatchObject({ status, method: "GET" });
  expect(server.received()).toEqual(["GET"]);
});

test("another protocol version in the new handshake ends the link", async () => {
  let version = "2024-11-05";
  const { server, clock, opened } = await setScene(() => version);
  version = "2025-03-26";
  server.cut();
  await until(() => clock.pending === 1);
  await clock.advance(1_200);
  expect((await opened.lost).message).toContain("another protocol version");
});

test("a server that stays silent on a new stream rejects the call, and the next call retries", async () => {
  const { server, clock, opened } = await setScene();
  server.refuse = (response) => startEvents(response);
  server.cut();
  await until(() => clock.pending === 1);
  const call = reasonOf(opened.ask({ method: "tools/call" }));
  await until(() => server.received().includes("GET"));
  await clock.advance(30_001);
  expect((await call).message).toContain("no handshake within 30000 ms");
  server.refuse = undefined;
  expect(await opened.ask({ method: "ping" })).toMatchObject({ result: {} });
});

test("closing ends the wait for a new stream", async () => {
  const { server, clock, opened } = await setScene();
  server.cut();
  await until(() => clock.pending === 1);
  await opened.link.close();
  expect(clock.pending).toBe(0);
  expect((await opened.lost).message).toBe("The connection was closed");
  expect(server.received()).toEqual([]);
});

test("subscriptions are renewed on the new stream", async () => {
  const server = await startOld();
  const client = closing(await connect(http(server.url, { legacySse: true }), { era: "2024-11-05" }));
  const watch = await client.watch({ uris: ["note://1"] });
  const call = reasonOf(client.callTool("x"));
  await until(() => server.received().includes("tools/call"));
  server.cut();
  expect(await call).toMatchObject({ requestMayHaveRun: true });
  await client.ping();
  await until(() => server.received().includes("resources/subscribe"));
  for await (const change of watch) {
    expect(change).toEqual({ kind: "resource", uri: "note://1" });
    break;
  }
});

test("a request of a lost stream is not answered on another", async () => {
  const server = await startOld();
  let answer = () => {};
  let isAsked = false;
  const roots = () => {
    isAsked = true;
    return new Promise<{ uri: string }[]>((found) => {
      answer = () => found([{ uri: "file:///a" }]);
    });
  };
  const options = { era: "2024-11-05", answers: { roots } } as const;
  const client = closing(await connect(http(server.url, { legacySse: true }), options));
  server.send({ jsonrpc: "2.0", id: 0, method: "roots/list" });
  await until(() => isAsked);
  const call = reasonOf(client.callTool("x"));
  await until(() => server.received().includes("tools/call"));
  server.cut();
  await call;
  await client.ping();
  answer();
  for (const _ of [1, 2, 3]) await client.ping();
  expect(server.seen.filter(({ message }) => message && "result" in message)).toEqual([]);
});

test("a client continues after all connections to an SDK server are cut", async () => {
  const peer = new URL(await startPeer("sdk-v1.mjs", "http-sse"));
  const sockets = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = createConnection(Number(peer.port), peer.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("close", () => {
        near.destroy();
        far.destroy();
      });
      socket.on("error", () => {});
    }
    near.pipe(far).pipe(near);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const { port } = proxy.address() as AddressInfo;
  const client = closing(await connect(`http://127.0.0.1:${port}${peer.pathname}`, { answers }));
  expect(textOf(await client.callTool("echo", { text: "one" }))).toBe("one");
  const slow = reasonOf(client.callTool("slow"));
  await until(async () => textOf(await client.callTool("journal")) === "started");
  for (const socket of sockets) socket.destroy();
  expect(await slow).toMatchObject({ code: "connection-closed", requestMayHaveRun: true });
  expect(textOf(await client.callTool("echo", { text: "two" }))).toBe("two");
  expect(textOf(await client.callTool("ask"))).toBe("Hello Ada");
});
