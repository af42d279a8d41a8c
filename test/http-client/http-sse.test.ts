import type { ServerResponse } from "node:http";
import type { Message, RpcRequest } from "portolan";
import { http } from "portolan/client/http";
import { type FarEnd, type LinkUnderTest, linkContract } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { openLink, reasonOf, resultOf, sendJson, startEvents, startRaw, stateless, toEvent, until } from "./kit.ts";

const endpoint = (address: string) => `event: endpoint\ndata: ${address}\n\n`;

/** An HTTP+SSE server that the contract of links controls. */
async function makeLink(): Promise<LinkUnderTest> {
  const streams: ServerResponse[] = [];
  const received: Message[][] = [];
  const server = await startRaw(({ method, message, path }, response) => {
    if (method === "GET") {
      startEvents(response);
      received.push([]);
      streams.push(response);
      response.write(endpoint(`/messages?session=${streams.length - 1}`));
    } else {
      received[Number(path.split("=")[1])]!.push(message);
      response.writeHead(202).end("Accepted");
    }
  });
  const accept = (): FarEnd => {
    const at = streams.length - 1;
    return {
      received: async (count) => {
        await until(() => received[at]!.length >= count);
        return received[at]!;
      },
      send: (message) => {
        streams[at]!.write(toEvent(message));
      },
      cut: () => {
        streams[at]!.destroy();
      },
    };
  };
  const link = http(server.url, { legacySse: true });
  return { link, accept, release: () => link.close() };
}

describe("HTTP+SSE as a link", () => {
  for (const { name, run } of linkContract(makeLink)) test(name, run);
});

test.each([
  ["no body", ""],
  ["an error without an id", JSON.stringify({ jsonrpc: "2.0", error: { code: -32600, message: "expected GET" } })],
])("falls back to HTTP+SSE when the handshake is refused with %s", async (_, refusal) => {
  let stream: ServerResponse | undefined;
  const server = await startRaw(({ method, path, message }, response) => {
    if (method === "GET") {
      stream = response;
      startEvents(response);
      response.write(endpoint("messages"));
    } else if (path === "/messages") {
      response.writeHead(202).end();
      if ("id" in message) stream!.write(toEvent(resultOf(message, { heard: message.method })));
    } else response.writeHead(405).end(refusal);
  });
  const { ask, link } = await openLink(server.url);
  expect(await ask({ method: "initialize", params: {} })).toMatchObject({ result: { heard: "initialize" } });
  link.notify({ jsonrpc: "2.0", method: "notifications/initialized" });
  expect(await ask({ method: "tools/list" })).toMatchObject({ result: { heard: "tools/list" } });
  expect(server.seen.map(({ method, path, message }) => [method, path, (message as RpcRequest)?.method])).toEqual([
    ["POST", "/mcp", "initialize"],
    ["GET", "/mcp", undefined],
    ["POST", "/messages", "initialize"],
    ["POST", "/messages", "notifications/initialized"],
    ["POST", "/messages", "tools/list"],
  ]);
});

test("returns the error of the handshake if the server does not support HTTP+SSE", async () => {
  const error = { code: -32000, message: "Bad Request: closed on Sundays" };
  const server = await startRaw(({ method }, response) => {
    if (method === "GET") response.writeHead(405).end();
    else sendJson(response, 400, { jsonrpc: "2.0", id: null, error });
  });
  const { ask } = await openLink(server.url);
  expect(await ask({ method: "initialize", params: {} })).toMatchObject({ error });
});

test("returns an error with the id of the handshake without trying HTTP+SSE", async () => {
  const error = { code: -32022, message: "not supported" };
  const server = await startRaw(({ message }, response) =>
    sendJson(response, 400, { jsonrpc: "2.0", id: message.id, error }),
  );
  const { ask } = await openLink(server.url);
  expect(await ask({ method: "initialize", params: {} })).toMatchObject({ error });
  expect(server.seen).toHaveLength(1);
});

test("rejects stateless requests over HTTP+SSE", async () => {
  const server = await startRaw((_, response) => {
    startEvents(response);
    response.write(endpoint("/messages"));
  });
  const { ask } = await openLink(server.url, { legacySse: true });
  expect((await reasonOf(ask(stateless("server/discover")))).message).toContain("handshake");
});

test("rejects an endpoint of another origin and sends nothing to it", async () => {
  const other = await startRaw((_, response) => response.writeHead(202).end());
  const server = await startRaw((_, response) => {
    startEvents(response);
    response.write(endpoint(other.url));
  });
  const reason = await reasonOf(openLink(server.url, { legacySse: true, headers: { authorization: "Bearer x" } }));
  expect(reason.message).toContain(`endpoint for messages ${other.url}, which has another origin`);
  expect(other.seen).toEqual([]);
});

test("rejects when the stream ends before it names its endpoint", async () => {
  const server = await startRaw((_, response) => {
    startEvents(response);
    response.end();
  });
  expect((await reasonOf(openLink(server.url, { legacySse: true }))).message).toContain("ended its stream");
});

test("rejects a request whose POST the server refuses", async () => {
  const server = await startRaw(({ method }, response) => {
    if (method === "POST") sendJson(response, 500, { error: "out of order" });
    else {
      startEvents(response);
      response.write(endpoint("/messages?token=secret"));
    }
  });
  const { ask } = await openLink(server.url, { legacySse: true });
  const { message } = await reasonOf(ask({ method: "tools/list" }));
  expect(message).toMatch(/^POST http:\S+\/messages\?… answered 500: out of order$/);
});

test("does not try HTTP+SSE when it is disabled", async () => {
  const server = await startRaw((_, response) => response.writeHead(405).end());
  const { ask } = await openLink(server.url, { legacySse: false });
  expect(await reasonOf(ask({ method: "initialize", params: {} }))).toMatchObject({ status: 405 });
  expect(server.seen).toHaveLength(1);
});

test("closing ends the wait for the endpoint", async () => {
  const server = await startRaw((_, response) => startEvents(response));
  const link = http(server.url, { legacySse: true });
  const opening = reasonOf(link.open({ request() {}, notification() {}, invalid() {}, lost() {} }));
  await until(() => server.seen.length === 1);
  await link.close();
  expect((await opening).message).toBe("The connection was closed");
});

test.each([
  ["tools/list", true],
  ["tools/call", false],
])("when a reused connection turns out to be closed, %s is sent again: %s", async (method, isSentAgain) => {
  let stream: ServerResponse | undefined;
  let posts = 0;
  const server = await startRaw((seen, response, { socket }) => {
    if (seen.method === "GET") {
      stream = response;
      startEvents(response);
      response.write(endpoint("/messages"));
      return;
    }
    posts += 1;
    // The server closes the connection of the second message without an answer.
    if (posts === 2) socket.destroy();
    else {
      response.writeHead(202).end();
      stream!.write(toEvent(resultOf(seen.message)));
    }
  });
  const { ask } = await openLink(server.url, { legacySse: true });
  await ask({ method: "ping" });
  const asked = ask({ method, params: {} });
  if (isSentAgain) expect(await asked).toMatchObject({ id: 2 });
  else expect(await reasonOf(asked)).toMatchObject({ code: "connection-closed" });
  expect(posts).toBe(isSentAgain ? 3 : 2);
});
