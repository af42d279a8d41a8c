import type { ServerResponse } from "node:http";
import { connect } from "portolan/client";
import { createClock } from "portolan/testing";
import { describe, expect, test } from "vitest";
import {
  answerHandshake,
  begin,
  closing,
  type Handler,
  openLink,
  reasonOf,
  resultOf,
  type Seen,
  sendJson,
  startEvents,
  startRaw,
  textOf,
  toEvent,
  until,
} from "./kit.ts";

/** A server that forgets its session on `forget`; `gone` answers requests with a forgotten session. */
function createForgetfulServer(gone: (seen: Seen, response: ServerResponse) => void) {
  let sessions = 0;
  let current = "";
  const handle: Handler = (seen, response) => {
    const id = seen.headers["mcp-session-id"];
    if (seen.message?.method === "initialize") {
      sessions += 1;
      current = `s${sessions}`;
      answerHandshake(seen, response, current);
    } else if (id !== current && seen.message?.method !== "server/discover") gone(seen, response);
    else if (!answerHandshake(seen, response, current)) {
      const result = { content: [{ type: "text", text: `${current} ${seen.message.method}` }] };
      sendJson(response, 200, resultOf(seen.message, result));
    }
  };
  const forget = () => {
    current = "gone";
  };
  return { handle, forget, count: () => sessions };
}

const notFound = (_: Seen, response: ServerResponse) => {
  const error = { code: -32001, message: "Session not found" };
  sendJson(response, 404, { jsonrpc: "2.0", error, id: null });
};

describe("a session", () => {
  test("sends its id and version with every request after the handshake", async () => {
    const server = await startRaw((seen, response) => {
      if (!answerHandshake(seen, response, "the-session")) sendJson(response, 200, resultOf(seen.message));
    });
    const opened = await openLink(server.url);
    await begin(opened);
    await opened.ask({ method: "tools/list" });
    opened.link.notify({ jsonrpc: "2.0", method: "notifications/roots/list_changed" });
    await until(() => server.seen.length === 5);
    expect(opened.link.sessionId).toBe("the-session");
    await opened.link.close();
    const [greeting, ...others] = server.seen;
    expect(greeting!.headers).not.toHaveProperty("mcp-session-id");
    expect(others.map(({ method }) => method)).toEqual(["POST", "GET", "POST", "POST", "DELETE"]);
    for (const { headers } of others) {
      expect(headers).toMatchObject({ "mcp-session-id": "the-session", "mcp-protocol-version": "2025-11-25" });
      expect(headers).not.toHaveProperty("mcp-method");
    }
  });

  test("sends no request before the server has accepted notifications/initialized", async () => {
    let accept = () => {};
    const server = await startRaw((seen, response) => {
      if (seen.message?.method === "notifications/initialized") accept = () => response.writeHead(202).end();
      else if (!answerHandshake(seen, response)) sendJson(response, 200, resultOf(seen.message));
    });
    const opened = await openLink(server.url);
    await begin(opened);
    const answer = opened.ask({ method: "tools/list" });
    await until(() => server.seen.length === 2);
    accept();
    await answer;
    expect(server.seen.map(({ message, method }) => message?.method ?? method)).toEqual([
      "initialize",
      "notifications/initialized",
      "GET",
      "tools/list",
    ]);
  });

  test("sends notifications/cancelled for a cancelled call", async () => {
    const server = await startRaw((seen, response) => {
      if (!answerHandshake(seen, response)) startEvents(response);
    });
    const opened = await openLink(server.url);
    await begin(opened);
    opened.ask({ method: "tools/call", id: "c" }).catch(() => {});
    await until(() => server.seen.length === 4);
    opened.link.cancel("c", "enough");
    await until(() => server.seen.length === 5);
    expect(server.seen[4]!.message).toMatchObject({
      method: "notifications/cancelled",
      params: { requestId: "c", reason: "enough" },
    });
  });

  test("is closed with its client, even if the server does not answer DELETE", async () => {
    const clock = createClock();
    const server = await startRaw((seen, response) => {
      if (seen.method !== "DELETE") answerHandshake(seen, response, "s");
    });
    const opened = await openLink(server.url, { clock });
    await begin(opened);
    await until(() => server.seen.length === 3);
    const closed = opened.link.close();
    await until(() => server.seen.length === 4);
    await clock.advance(2_000);
    await closed;
    expect(opened.link.sessionId).toBeUndefined();
  });

  test("ignores a session id that is not a valid header value", async () => {
    const server = await startRaw((seen, response) => answerHandshake(seen, response, "a b"));
    const opened = await openLink(server.url);
    await begin(opened);
    expect(opened.link.sessionId).toBeUndefined();
    expect(opened.invalid).toHaveLength(1);
  });
});

describe("a session that the server has forgotten", () => {
  test("is begun again once for all calls, which are then retried", async () => {
    const { handle, forget, count } = createForgetfulServer(notFound);
    const server = await startRaw(handle);
    const client = closing(await connect(server.url));
    expect(textOf(await client.callTool("x"))).toBe("s1 tools/call");
    forget();
    const results = await Promise.all(Array.from({ length: 10 }, () => client.callTool("x")));
    expect(new Set(results.map(textOf))).toEqual(new Set(["s2 tools/call"]));
    expect(count()).toBe(2);
    const greetings = server.seen.filter(({ message }) => message?.method === "initialize");
    expect(greetings[1]!.message.params).toEqual(greetings[0]!.message.params);
    expect(greetings[1]!.headers).not.toHaveProperty("mcp-session-id");
    expect(server.seen.filter(({ message }) => message?.method === "notifications/initialized")).toHaveLength(2);
  });

  test("is detected with any body, and reported as renewed", async () => {
    const { handle, forget } = createForgetfulServer((_, response) => response.writeHead(404).end("nope"));
    const server = await startRaw(handle);
    const opened = await openLink(server.url);
    await begin(opened);
    await opened.ask({ method: "tools/list" });
    expect(opened.renewed()).toBe(0);
    forget();
    await opened.ask({ method: "tools/list" });
    expect(opened.renewed()).toBe(1);
    expect(opened.link.sessionId).toBe("s2");
  });

  test("is detected by a 400 that names the session", async () => {
    const error = { code: -32000, message: "Bad Request: No valid session ID provided" };
    const { handle, forget } = createForgetfulServer((_, response) =>
      sendJson(response, 400, { jsonrpc: "2.0", error }),
    );
    const server = await startRaw(handle);
    const opened = await openLink(server.url);
    await begin(opened);
    forget();
    expect(await opened.ask({ method: "tools/list" })).toMatchObject({ result: {} });
    expect(opened.renewed()).toBe(1);
  });

  test("is begun again at most once for one call", async () => {
    const server = await startRaw((seen, response) => {
      if (!answerHandshake(seen, response, "s")) response.writeHead(404).end();
    });
    const opened = await openLink(server.url);
    await begin(opened);
    expect(await reasonOf(opened.ask({ method: "tools/list" }))).toMatchObject({ status: 404 });
    const greetings = server.seen.filter(({ message }) => message?.method === "initialize");
    expect(greetings).toHaveLength(2);
  });

  test("rejects its calls when the server refuses a new session, and the next call retries", async () => {
    let isRefusing = false;
    const { handle, forget, count } = createForgetfulServer(notFound);
    const server = await startRaw((seen, response, request) => {
      if (isRefusing && seen.message?.method === "initialize") response.writeHead(503).end();
      else handle(seen, response, request);
    });
    const opened = await openLink(server.url);
    await begin(opened);
    await opened.ask({ method: "tools/list" });
    forget();
    isRefusing = true;
    const calls = [opened.ask({ method: "tools/list" }), opened.ask({ method: "tools/list" })];
    for (const call of calls) expect(await reasonOf(call)).toMatchObject({ status: 503 });
    isRefusing = false;
    expect(await opened.ask({ method: "tools/list" })).toMatchObject({ result: {} });
    expect(count()).toBe(2);
  });
});

test("a request of an ended session is not answered in another", async () => {
  const { handle, forget } = createForgetfulServer(notFound);
  let ask: ServerResponse | undefined;
  const server = await startRaw((seen, response, request) => {
    if (seen.method !== "GET") return handle(seen, response, request);
    startEvents(response);
    ask = response;
  });
  let answer = () => {};
  let isAsked = false;
  const roots = () => {
    isAsked = true;
    return new Promise<{ uri: string }[]>((found) => {
      answer = () => found([{ uri: "file:///a" }]);
    });
  };
  const client = closing(await connect(server.url, { answers: { roots } }));
  await client.callTool("x");
  ask!.write(toEvent({ jsonrpc: "2.0", id: 0, method: "roots/list" }));
  await until(() => isAsked);
  forget();
  expect(textOf(await client.callTool("x"))).toBe("s2 tools/call");
  answer();
  for (const _ of [1, 2, 3]) await client.ping();
  expect(server.seen.filter(({ message }) => message && "result" in message)).toEqual([]);
});

test("a client continues after a restart of its server", async () => {
  const { handle } = createForgetfulServer(notFound);
  const first = await startRaw(handle);
  const client = closing(await connect(first.url));
  expect(textOf(await client.callTool("x"))).toBe("s1 tools/call");
  await first.stop();
  expect(await reasonOf(client.callTool("x"))).toMatchObject({ code: "connection-closed" });
  const second = await startRaw(createForgetfulServer(notFound).handle, first.port);
  await fetch(second.url);
  // The first session of the new server has the same id, but the server has not issued it yet.
  expect(textOf(await client.callTool("x"))).toBe("s1 tools/call");
  expect(second.seen.map(({ message, method }) => message?.method ?? method)).toContain("initialize");
});
