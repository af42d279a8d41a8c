import { once } from "node:events";
import {
  createServer as createFront,
  type IncomingMessage,
  request as openRequest,
  type ServerResponse,
} from "node:http";
import { connect } from "portolan/client";
import { http } from "portolan/client/http";
import { createServer } from "portolan/server";
import { expect, onTestFinished, test } from "vitest";
import { send, start } from "../http/kit.ts";

// Messages of the client that fail on their way, at a proxy between client and server.

const uri = "note://1";

interface Posted {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
}

/** The fate of a message: refused with 503, answered with an internal error, or cut before it reaches the server. */
type Fate = "refused" | "failed" | "cut" | undefined;

function createNotes(onHeld = () => {}) {
  return createServer({ name: "notes", version: "1.0.0" })
    .template("note://{+path}", { name: "note", subscribe: true, read: () => "a note" })
    .tool("ask", {
      run: async (_, context) => {
        const form = { type: "object", properties: { name: { type: "string" } } } as const;
        const answer = await context.elicit("who", { message: "Who?", form });
        return answer.action === "accept" ? `Hello ${answer.content["name"]}` : "Nobody";
      },
    })
    .tool("hold", {
      run: (_, { signal }) =>
        new Promise<string>((resolve) => {
          onHeld();
          signal.addEventListener("abort", () => resolve("over"), { once: true });
        }),
    });
}

/** Starts a server behind a proxy that asks for the fate of each message, and of each GET. */
async function startBehindProxy(fateOf: (message: Posted) => Fate, onHeld?: () => void) {
  const server = createNotes(onHeld);
  const first = await start(server);
  let { port } = first;
  const statuses: (number | undefined)[] = [];
  const sessions: string[] = [];
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const fate = fateOf(body.length > 0 ? JSON.parse(body.toString()) : { method: request.method });
    if (fate === "cut") request.socket.destroy();
    else if (fate === "refused") response.writeHead(503).end();
    else if (fate === "failed") {
      const { id } = JSON.parse(body.toString()) as Posted;
      const error = { code: -32603, message: "The storage failed" };
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    } else {
      const { method, url, headers } = request;
      const upstream = openRequest({ host: "127.0.0.1", port, method, path: url, headers, agent: false }, (answer) => {
        const session = answer.headers["mcp-session-id"];
        if (typeof session === "string" && !sessions.includes(session)) sessions.push(session);
        statuses.push(answer.statusCode);
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        response.flushHeaders();
        answer.pipe(response);
      });
      upstream.on("error", () => request.socket.destroy());
      response.on("close", () => upstream.destroy());
      upstream.end(body);
    }
  };
  const front = createFront((request, response) => void pass(request, response).catch(() => {}));
  front.listen(0, "127.0.0.1");
  await once(front, "listening");
  onTestFinished(() => {
    front.close();
    front.closeAllConnections();
  });
  /** Ends the newest session at the server, which its client does not know. */
  const loseSession = () =>
    send(`http://127.0.0.1:${port}/mcp`, { method: "DELETE", headers: { "mcp-session-id": sessions.at(-1) } });
  /** Starts another server, to which the proxy sends everything from now on. */
  const replace = async () => {
    const next = createNotes();
    ({ port } = await start(next));
    return next;
  };
  return {
    server,
    first,
    statuses,
    replace,
    loseSession,
    url: `http://127.0.0.1:${(front.address() as { port: number }).port}/mcp`,
  };
}

test.each(["cut", "refused"] as const)("an answer that was %s on its way is posted again", async (fate) => {
  let answers = 0;
  const { url } = await startBehindProxy((message) => {
    if (message.result === undefined) return undefined;
    answers += 1;
    return answers === 1 ? fate : undefined;
  });
  const elicit = () => ({ action: "accept", content: { name: "Ada" } }) as const;
  await using client = await connect(http(url), { era: "stateful", answers: { elicit } });
  expect((await client.callTool("ask")).content).toEqual([{ type: "text", text: "Hello Ada" }]);
  expect(answers).toBe(2);
});

test.each(["refused", "failed"] as const)(
  "a watch reports a change after it has subscribed again in a new session, also if that %s at first",
  async (fate) => {
    const events: string[] = [];
    let refusals = 0;
    const { url, server, loseSession } = await startBehindProxy(({ method }) => {
      if (method !== "resources/subscribe") return undefined;
      refusals -= 1;
      events.push(refusals >= 0 ? fate : "subscribed");
      return refusals >= 0 ? fate : undefined;
    });
    await using client = await connect(http(url), { era: "stateful" });
    await using changes = await client.watch({ uris: [uri] });
    const reader = changes[Symbol.asyncIterator]();
    refusals = 1;
    await loseSession();
    await client.ping();
    expect((await reader.next()).value).toEqual({ kind: "resource", uri });
    expect(events).toEqual(["subscribed", fate, "subscribed"]);
    server.publish("resources/updated", { uri: `${uri}/later` });
    expect((await reader.next()).value).toEqual({ kind: "resource", uri: `${uri}/later` });
  },
);

test("a session that is lost before its stream was opened is begun again", async () => {
  let gets = 0;
  const { url, server, loseSession } = await startBehindProxy(({ method }) => {
    if (method !== "GET") return undefined;
    gets += 1;
    return gets === 1 ? "refused" : undefined;
  });
  await using client = await connect(http(url), { era: "stateful" });
  await using changes = await client.watch({ uris: [uri] });
  await loseSession();
  const reader = changes[Symbol.asyncIterator]();
  expect((await reader.next()).value).toEqual({ kind: "resource", uri });
  server.publish("resources/updated", { uri: `${uri}/later` });
  expect((await reader.next()).value).toEqual({ kind: "resource", uri: `${uri}/later` });
});

test("a new session that cannot be begun is tried again without another request", async () => {
  let refusals = 0;
  const { url, server, loseSession } = await startBehindProxy(({ method }) => {
    if (method !== "initialize") return undefined;
    refusals -= 1;
    return refusals >= 0 ? "refused" : undefined;
  });
  await using client = await connect(http(url), { era: "stateful" });
  await using changes = await client.watch({ uris: [uri] });
  refusals = 1;
  await loseSession();
  await expect(client.ping()).rejects.toThrow("503");
  const reader = changes[Symbol.asyncIterator]();
  expect((await reader.next()).value).toEqual({ kind: "resource", uri });
  server.publish("resources/updated", { uri: `${uri}/later` });
  expect((await reader.next()).value).toEqual({ kind: "resource", uri: `${uri}/later` });
});

test("a watch of a stateless server goes on at the next server, after one that shuts down has refused it", async () => {
  let isHeld = false;
  const { url, first, statuses, replace } = await startBehindProxy(
    () => undefined,
    () => {
      isHeld = true;
    },
  );
  await using client = await connect(http(url), { era: "stateless" });
  await using changes = await client.watch({ uris: [uri] });
  const reader = changes[Symbol.asyncIterator]();
  // A running call keeps the server from ending.
  const stop = new AbortController();
  const held = client.callTool("hold", {}, { signal: stop.signal }).catch(() => {});
  await expect.poll(() => isHeld).toBe(true);
  const closed = first.close(60_000);
  await expect.poll(() => statuses).toContain(503);
  const next = await replace();
  expect((await reader.next()).value).toEqual({ kind: "resource", uri });
  next.publish("resources/updated", { uri: `${uri}/later` });
  expect((await reader.next()).value).toEqual({ kind: "resource", uri: `${uri}/later` });
  stop.abort();
  await held;
  await closed;
});
