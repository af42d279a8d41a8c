import { type ConnectOptions, connect, type TapEvent } from "portolan/client";
import { type HttpLinkOptions, http } from "portolan/client/http";
import { serveHttp } from "portolan/server/http";
import { describe, expect, onTestFinished, test } from "vitest";
import createFullServer from "../kit/full-server.mjs";
import { revisions } from "../kit/revisions.ts";
import { tapHttp } from "../kit/tap-http.mjs";
import { answerHandshake, discovery, resultOf, sendJson, startEvents, startRaw, toEvent } from "./kit.ts";

type MessageEvent = Extract<TapEvent, { kind: "message" }>;
type HttpEvent = Extract<TapEvent, { kind: "http" }>;
const messagesOf = (events: readonly TapEvent[]) =>
  events.filter((event): event is MessageEvent => event.kind === "message");
const stepsOf = (events: readonly TapEvent[]) => events.filter((event): event is HttpEvent => event.kind === "http");

/** Connects with a tap that keeps all events. */
async function tapped(url: string, link: HttpLinkOptions = {}, options: ConnectOptions = {}) {
  const events: TapEvent[] = [];
  const client = await connect(http(url, link), { ...options, tap: (event) => events.push(event) });
  onTestFinished(() => client.close());
  return { client, events };
}

const transports: [string, HttpLinkOptions][] = [
  ["node:http", {}],
  ["fetch", { fetch: (input, init) => fetch(input, init) }],
];

describe.each(transports)("over %s", (_, link) => {
  test.each(revisions)("a tap hears every message on %s, exactly and with its call", async (revision) => {
    const passed: { readonly from: string; readonly text: string }[] = [];
    const stop = tapHttp((_: string, from: string, text: string) => {
      if (text.trim() !== "") passed.push({ from, text });
    });
    onTestFinished(stop);
    const endpoint = serveHttp(createFullServer());
    const { url } = await endpoint.listen(0);
    onTestFinished(() => endpoint.close());
    const { client, events } = await tapped(url, link, {
      era: revision,
      answers: { elicit: () => ({ action: "accept", content: { name: "Ada" } }) },
    });
    await client.callTool("echo", { message: "grüße 🧭" }, { label: "c1" });
    await client.callTool("progress", { steps: 2 }, { label: "c2", onProgress: () => {} });
    const asks = revisions.indexOf(revision) >= revisions.indexOf("2025-06-18");
    if (asks) await client.callTool("ask_name", {}, { label: "c3" });
    await client.close();
    const messages = messagesOf(events);
    const texts = (all: readonly { from: string; text: string }[], side: string) =>
      all.flatMap(({ from, text }) => (from === side ? text : [])).sort();
    expect(texts(messages, "client")).toEqual(texts(passed, "client"));
    expect(texts(messages, "server")).toEqual(texts(passed, "server"));
    const ofCall = (call: string) => messages.filter((event) => event.call === call).map(({ from }) => from);
    expect(ofCall("c1")).toEqual(["client", "server"]);
    expect(ofCall("c2").length).toBeGreaterThan(2);
    expect(ofCall("c3")).toEqual(asks ? ["client", "server", "client", "server"] : []);
    const steps = stepsOf(events);
    for (const { exchange = 0, from } of messages) {
      const own = steps.filter((step) => step.exchange === exchange).map(({ stage }) => stage);
      expect({ from, own }).toEqual({ from, own: ["sent", "status", "end"] });
    }
    expect(events.flatMap((event) => (event.kind === "link" ? event.state : []))).toEqual(["open", "closed"]);
  });

  test("a tap hears each step of an exchange around its messages, and digits as they are", async () => {
    const server = await startRaw((seen, response) => {
      const { id, method } = seen.message;
      if (method === "server/discover") sendJson(response, 200, resultOf(seen.message, discovery()));
      else {
        startEvents(response, { "x-request-id": "r1" });
        response.write(toEvent({ jsonrpc: "2.0", method: "notifications/message", params: { level: "info" } }));
        response.end(`data: {"jsonrpc":"2.0","id":${id},\ndata: "result":{"n":12345678901234567890,"content":[]}}\n\n`);
      }
    });
    const { client, events } = await tapped(server.url, link);
    await client.callTool("x", {}, { label: "c1" });
    await client.close();
    expect(events.filter(({ call }) => call === "c1")).toMatchObject([
      {
        ...{ kind: "http", exchange: 2, stage: "sent", method: "POST", url: server.url },
        headers: { "content-type": "application/json", "mcp-method": "tools/call", "mcp-name": "x" },
      },
      { kind: "message", from: "client", exchange: 2, text: server.seen[1]?.body },
      { kind: "http", exchange: 2, stage: "status", status: 200, headers: { "x-request-id": "r1" } },
      { kind: "message", from: "server", exchange: 2, text: expect.stringContaining("notifications/message") },
      {
        ...{ kind: "message", from: "server", exchange: 2 },
        text: '{"jsonrpc":"2.0","id":2,\n"result":{"n":12345678901234567890,"content":[]}}',
      },
      { kind: "http", exchange: 2, stage: "end", bytes: expect.any(Number) },
    ]);
  });

  test("no secret of a request or response reaches a tap", async () => {
    const server = await startRaw((seen, response) => {
      const cookies = { "set-cookie": ["sid=secret-1", "other=secret-2"], "x-auth-token": "secret-3" };
      if (!seen.path.startsWith("/new")) {
        response.writeHead(307, { location: `/new?code=secret-4`, ...cookies }).end();
      } else if (seen.message.method === "server/discover") {
        sendJson(response, 200, resultOf(seen.message, discovery()), cookies);
      } else sendJson(response, 200, resultOf(seen.message, { content: [] }), cookies);
    });
    const headers = {
      ...{
        authorization: "Bearer secret-5",
        Cookie: "a=secret-6",
        DPoP: "secret-7",
        "Proxy-Authorization": "Basic secret-8",
      },
      ...{ "X-Api-Key": "secret-9", "x-tenant": "secret-10" },
    };
    const { client, events } = await tapped(`${server.url}?key=secret-11&flag`, { ...link, headers });
    await client.callTool("x");
    expect(server.seen.at(-1)?.headers).toMatchObject({ authorization: "Bearer secret-5", "x-tenant": "secret-10" });
    expect(JSON.stringify(events)).not.toContain("secret");
    const [sent, redirected] = stepsOf(events);
    expect(sent).toMatchObject({
      url: `${server.url}?key=…&flag=…`,
      headers: {
        authorization: "Bearer …",
        "proxy-authorization": "Basic …",
        cookie: "…",
        dpop: "…",
        "x-api-key": "…",
      },
    });
    expect(redirected).toMatchObject({ status: 307, headers: { location: expect.stringMatching(/\/new\?code=…$/) } });
  });

  test("a tap hears why an exchange has failed", async () => {
    const server = await startRaw((seen, response) => {
      if (seen.message.method === "server/discover") sendJson(response, 200, resultOf(seen.message, discovery()));
      else response.destroy();
    });
    const { client, events } = await tapped(server.url, link);
    await expect(client.callTool("x")).rejects.toThrow();
    expect(stepsOf(events).at(-1)).toMatchObject({
      exchange: 2,
      stage: "failed",
      bytes: 0,
      reason: expect.any(String),
    });
  });

  test("a tap hears that this side has closed an exchange", async () => {
    const server = await startRaw((seen, response) => {
      if (seen.message.method === "server/discover") sendJson(response, 200, resultOf(seen.message, discovery()));
    });
    const { client, events } = await tapped(server.url, link);
    await expect(client.callTool("x", {}, { idleMs: 50 })).rejects.toMatchObject({ code: "timeout" });
    expect(stepsOf(events).at(-1)).toMatchObject({ stage: "failed", reason: "closed by this side" });
  });
});

test("a tap hears a body and an event that are no messages, each once", async () => {
  const server = await startRaw((seen, response) => {
    if (answerHandshake(seen, response)) return;
    startEvents(response);
    response.write("data: no json\n\n");
    response.end(toEvent(resultOf(seen.message, { content: [] })));
  });
  const problems: string[] = [];
  const { client, events } = await tapped(
    server.url,
    {},
    { era: "stateful", onError: ({ message }) => problems.push(message) },
  );
  await client.callTool("x");
  expect(events.filter(({ kind }) => kind === "invalid")).toMatchObject([
    { text: "no json", reason: "the text is not JSON" },
  ]);
  expect(problems).toHaveLength(1);
});

test("a tap hears a session that was renewed, and a login", async () => {
  let session = "";
  const server = await startRaw((seen, response) => {
    if (seen.message?.method === "initialize") session = `s${server.seen.length}`;
    else if (session === "gone")
      return sendJson(response, 404, { jsonrpc: "2.0", id: null, error: { code: -32001, message: "x" } });
    if (seen.message?.method === "tools/call" && seen.headers.authorization === "Bearer old") {
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
      return;
    }
    if (!answerHandshake(seen, response, session)) sendJson(response, 200, resultOf(seen.message, { content: [] }));
  });
  let token = "new";
  const auth = {
    authorize: () => ({ authorization: `Bearer ${token}` }),
    challenged: async () => {
      token = "new";
      return "retry" as const;
    },
  };
  const { client, events } = await tapped(server.url, { auth }, { era: "stateful" });
  session = "gone";
  await client.callTool("x");
  token = "old";
  await client.callTool("x");
  expect(events.flatMap((event) => (event.kind === "link" ? event.state : []))).toEqual([
    ...["open", "renewed", "login", "open"],
  ]);
});

test("a tap hears every message over HTTP+SSE, in the exchange that carried it", async () => {
  const passed: { readonly from: string; readonly text: string }[] = [];
  const stop = tapHttp((_: string, from: string, text: string) => {
    if (text.startsWith("{")) passed.push({ from, text });
  });
  onTestFinished(stop);
  const endpoint = serveHttp(createFullServer(), { httpSse: true });
  const { url } = await endpoint.listen(0);
  onTestFinished(() => endpoint.close());
  const { client, events } = await tapped(url.replace(/mcp$/, "sse"), { legacySse: true }, { era: "2024-11-05" });
  await client.callTool("echo", { message: "hello" }, { label: "c1" });
  await client.close();
  const messages = messagesOf(events);
  for (const side of ["client", "server"]) {
    const texts = (all: readonly { from: string; text: string }[]) =>
      all.flatMap(({ from, text }) => (from === side ? text : []));
    expect(texts(messages)).toEqual(texts(passed));
  }
  expect(messages.filter(({ call }) => call === "c1").map(({ from }) => from)).toEqual(["client", "server"]);
  const methodOf = (exchange: number | undefined) =>
    stepsOf(events).find((step) => step.exchange === exchange && step.stage === "sent")?.method;
  expect(messages.map(({ from, exchange }) => [from, methodOf(exchange)])).toEqual(
    messages.map(({ from }) => [from, from === "client" ? "POST" : "GET"]),
  );
});
