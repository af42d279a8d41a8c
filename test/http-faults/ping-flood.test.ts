// A hostile server that sends requests without end on its streams: the client's answers are bounded.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "portolan/client";
import { expect, onTestFinished, test } from "vitest";

const floodEvents = 20_000;
const maxOpenAnswers = 256;

/** The answers that a server has received, and how many of them it has not accepted. */
interface Flood {
  url: string;
  answers: number;
}

interface Message {
  readonly id?: number;
  readonly method?: string;
}

async function bodyOf(request: IncomingMessage): Promise<Message> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text);
}

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const initialized = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "f", version: "1" },
};
const resultOf = (id: unknown, result: object) => JSON.stringify({ jsonrpc: "2.0", id, result });

/** Writes pings as fast as the client reads them. */
function flood(response: ServerResponse): void {
  let sent = 0;
  const more = () => {
    while (sent < floodEvents && !response.destroyed) {
      sent += 1;
      const ping = JSON.stringify({ jsonrpc: "2.0", id: `p${sent}`, method: "ping" });
      if (!response.write(`data: ${ping}\n\n`)) {
        response.once("drain", more);
        return;
      }
    }
  };
  more();
}

/** A server over Streamable HTTP. It never accepts an answer, unless `accepts`. */
async function startStreamable(accepts: boolean): Promise<Flood> {
  const state: Flood = { url: "", answers: 0 };
  const url = await listen(async (request, response) => {
    if (request.method !== "POST") {
      response.writeHead(405).end();
      return;
    }
    const { id, method } = await bodyOf(request);
    if (method === "initialize") {
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s" });
      response.end(resultOf(id, initialized));
    } else if (method === "tools/call") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (accepts) {
        for (let n = 1; n <= 5; n += 1) response.write(`data: {"jsonrpc":"2.0","id":"p${n}","method":"ping"}\n\n`);
        const wait = () => (state.answers < 5 ? setImmediate(wait) : response.end(`data: ${done(id)}\n\n`));
        wait();
      } else flood(response);
    } else if (method === undefined) {
      state.answers += 1;
      if (accepts) response.writeHead(202).end();
    } else response.writeHead(202).end();
  });
  state.url = `${url}/mcp`;
  return state;
}

const done = (id: unknown) => resultOf(id, { content: [{ type: "text", text: "done" }] });

/** The same over HTTP+SSE. */
async function startSse(): Promise<Flood> {
  const state: Flood = { url: "", answers: 0 };
  let stream: ServerResponse | undefined;
  const url = await listen(async (request, response) => {
    if (request.method === "GET") {
      stream = response;
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("event: endpoint\ndata: /messages\n\n");
      return;
    }
    if (request.url !== "/messages") {
      response.writeHead(405).end();
      return;
    }
    const { id, method } = await bodyOf(request);
    if (method === undefined) {
      state.answers += 1;
      return;
    }
    response.writeHead(202).end();
    const answer = resultOf(id, { ...initialized, protocolVersion: "2024-11-05" });
    if (method === "initialize") stream?.write(`event: message\ndata: ${answer}\n\n`);
    if (method === "tools/call" && stream) flood(stream);
  });
  state.url = `${url}/sse`;
  return state;
}

test.each([
  ["Streamable HTTP", () => startStreamable(false)],
  ["HTTP+SSE", startSse],
])("a server that floods the client with pings over %s is disconnected, with the reason", async (_, start) => {
  const state = await start();
  const client = await connect(state.url, { era: "stateful" });
  onTestFinished(() => client.close());
  const call = client.callTool("x").catch((reason: unknown) => reason);
  const why = /sends requests and does not accept their answers: more than 256 answers are open$/;
  const reason = await client.closed;
  expect(reason).toMatchObject({ code: "limit-reached", message: expect.stringMatching(why) });
  expect(await call).toMatchObject({ code: "limit-reached", message: expect.stringMatching(why) });
  expect(state.answers).toBeLessThanOrEqual(maxOpenAnswers);
});

test("a server that accepts the answers to its pings is served", async () => {
  const state = await startStreamable(true);
  const client = await connect(state.url, { era: "stateful" });
  onTestFinished(() => client.close());
  for (let n = 0; n < 3; n += 1) {
    state.answers = 0;
    expect(await client.callTool("x")).toMatchObject({ content: [{ text: "done" }] });
  }
});
