import { gzipSync } from "node:zlib";
import type { HttpLinkOptions } from "portolan/client/http";
import { createClock } from "portolan/testing";
import { describe, expect, test } from "vitest";
import { openLink, reasonOf, resultOf, sendJson, startEvents, startRaw, stateless, toEvent, until } from "./kit.ts";

const note = (method: string) => ({ jsonrpc: "2.0", method });
const transports: readonly (readonly [string, HttpLinkOptions])[] = [
  ["node:http", {}],
  ["fetch", { fetch: globalThis.fetch }],
];

describe.each(transports)("over %s", (_, options) => {
  test("uses a JSON-RPC response of any HTTP status", async () => {
    const error = { code: -32601, message: "no such method" };
    const server = await startRaw(({ message }, response) =>
      sendJson(response, 404, { jsonrpc: "2.0", id: message.id, error }),
    );
    const { ask } = await openLink(server.url, options);
    expect(await ask(stateless("tools/call", { name: "x" }))).toEqual({ jsonrpc: "2.0", id: 1, error });
  });

  test("uses an error without an id as the response", async () => {
    const error = { code: -32700, message: "cannot be read" };
    const server = await startRaw((_, response) => sendJson(response, 400, { jsonrpc: "2.0", id: null, error }));
    const { ask } = await openLink(server.url, options);
    expect(await ask(stateless("tools/list"))).toMatchObject({ error });
  });

  test("delivers a batch in order", async () => {
    const server = await startRaw(({ message }, response) =>
      sendJson(response, 200, [note("a"), note("b"), resultOf(message)]),
    );
    const { ask, notifications } = await openLink(server.url, options);
    const methods = await ask(stateless("tools/list")).then(() => notifications.map(({ method }) => method));
    expect(methods).toEqual(["a", "b"]);
  });

  test("reads events in any chunking, with batches and comments", async () => {
    const server = await startRaw(async ({ message }, response) => {
      startEvents(response);
      const text = `: hello\r\n\r\n${toEvent(note("ä"))}event: ping\ndata: {}\n\n${toEvent([note("b"), note("🗺️")])}`;
      const bytes = Buffer.from(text + toEvent(resultOf(message)));
      for (const byte of bytes) {
        response.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
      response.end();
    });
    const { ask, notifications, invalid } = await openLink(server.url, options);
    await ask(stateless("tools/list"));
    expect(notifications.map(({ method }) => method)).toEqual(["ä", "b", "🗺️"]);
    expect(invalid).toEqual([]);
  });

  test("reports the call of a server's request and answers the request", async () => {
    const server = await startRaw(({ message }, response) => {
      if (!("method" in message)) {
        response.writeHead(202).end();
        return;
      }
      startEvents(response);
      response.write(toEvent({ jsonrpc: "2.0", id: "q", method: "elicitation/create", params: {} }));
      until(() => server.seen.length > 1).then(() => response.end(toEvent(resultOf(message))));
    });
    const { ask, requests } = await openLink(server.url, options);
    await ask({ method: "tools/call", params: {}, id: "call-7" });
    expect(requests).toEqual([{ request: expect.objectContaining({ id: "q" }), during: "call-7" }]);
    expect(server.seen[1]!.message).toEqual({ jsonrpc: "2.0", id: "q", result: { said: "yes" } });
  });

  test("a cut stream rejects its call at once with the cause", async () => {
    const server = await startRaw((_, response) => {
      startEvents(response);
      response.write(toEvent(note("begun")), () => response.destroy());
    });
    const { ask, notifications } = await openLink(server.url, options);
    const reason = await reasonOf(ask(stateless("tools/call", { name: "x" })));
    expect(reason).toMatchObject({ code: "connection-closed" });
    expect(reason.message).toMatch(/^POST http:\/\/127\.0\.0\.1:\d+\/mcp failed: \S/);
    expect(reason.message).not.toContain("\n");
    expect(notifications).toHaveLength(1);
  });

  test("a stream that ends without the response rejects its call at once", async () => {
    const server = await startRaw((_, response) => {
      startEvents(response);
      response.end(toEvent(note("begun"), "event-1"));
    });
    const { ask } = await openLink(server.url, options);
    const reason = await reasonOf(ask(stateless("tools/call", { name: "x" })));
    expect(reason.message).toContain("ended its stream before the response");
    expect(server.seen).toHaveLength(1);
  });

  test("a cut body rejects its call at once", async () => {
    const server = await startRaw((_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write('{"jsonrpc', () => response.destroy());
    });
    const { ask } = await openLink(server.url, options);
    expect(await reasonOf(ask(stateless("tools/list")))).toMatchObject({ code: "connection-closed" });
  });

  test("stops reading a body above the limit", async () => {
    let sent = 0;
    let isGone = false;
    const server = await startRaw((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.on("close", () => {
        isGone = true;
      });
      const pour = () => {
        while (!response.destroyed && response.write("x".repeat(10_000))) sent += 10_000;
      };
      response.on("drain", pour);
      pour();
    });
    const { ask } = await openLink(server.url, { ...options, maxResponseBytes: 100_000 });
    expect(await reasonOf(ask(stateless("tools/list")))).toMatchObject({ code: "message-too-large" });
    await until(() => isGone);
    expect(sent).toBeLessThan(50_000_000);
  });

  test("an event above the limit rejects the call", async () => {
    const server = await startRaw((_, response) => {
      startEvents(response);
      response.write(`data: ${"x".repeat(20_000)}`);
    });
    const { ask } = await openLink(server.url, { ...options, maxEventChars: 10_000 });
    expect(await reasonOf(ask(stateless("tools/list")))).toMatchObject({ code: "message-too-large" });
  });

  test("text that is not UTF-8 is refused", async () => {
    const server = await startRaw((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(Buffer.from([0x7b, 0xff, 0xfe, 0x7d]));
    });
    const { ask } = await openLink(server.url, options);
    expect(await reasonOf(ask(stateless("tools/list")))).toMatchObject({ code: "connection-closed" });
  });

  test.each([
    [200, "text/html", "<p>Welcome</p>", "text/html"],
    [200, "application/json", '{"ok":true}', "application/json"],
    [202, "", "", "nothing"],
    [200, "application/json", "", "nothing"],
  ])("%i %s %s is not a valid answer to a request", async (status, type, body, named) => {
    const server = await startRaw((_, response) => response.writeHead(status, { "content-type": type }).end(body));
    const { ask } = await openLink(server.url, options);
    const reason = await reasonOf(ask(stateless("tools/list")));
    expect(reason).toMatchObject({ code: "answer-invalid", status });
    expect(reason.message).toContain(`answered ${status} with ${named}`);
  });

  test("a response with another id is not a valid answer", async () => {
    const server = await startRaw((_, response) => sendJson(response, 200, { jsonrpc: "2.0", id: "1", result: {} }));
    const { ask } = await openLink(server.url, options);
    expect(await reasonOf(ask(stateless("tools/list")))).toMatchObject({ code: "answer-invalid" });
  });

  test("a malformed response rejects its call", async () => {
    const server = await startRaw(({ message }, response) =>
      sendJson(response, 200, { jsonrpc: "2.0", id: message.id, result: 42 }),
    );
    const { ask } = await openLink(server.url, options);
    expect((await reasonOf(ask(stateless("tools/list")))).message).toContain("result: expected an object");
  });

  test("a refused connection rejects with the address of the server", async () => {
    const server = await startRaw((_, response) => response.end());
    await server.stop();
    const { ask } = await openLink(server.url, options);
    const reason = await reasonOf(ask(stateless("tools/list")));
    expect(reason).toMatchObject({ code: "connection-closed", address: server.url });
    expect(reason.message).toMatch(/ECONNREFUSED/);
  });
});

test("requests no compression, and does not decompress an answer that is compressed anyway", async () => {
  const server = await startRaw(({ message }, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
    response.end(gzipSync(JSON.stringify(resultOf(message))));
  });
  const { ask } = await openLink(server.url);
  await reasonOf(ask(stateless("tools/list")));
  expect(server.seen[0]!.headers["accept-encoding"]).toBe("identity");
});

test("retries a read-only request when the server closes a reused connection", async () => {
  let requests = 0;
  const server = await startRaw(({ message }, response, request) => {
    requests += 1;
    // The server closes the connection of the second request without an answer.
    if (requests === 2) request.socket.destroy();
    else sendJson(response, 200, resultOf(message));
  });
  const { ask } = await openLink(server.url);
  await ask(stateless("tools/list"));
  expect(await ask(stateless("tools/list"))).toMatchObject({ id: 2 });
  expect(requests).toBe(3);
});

test("retries on a new connection after all idle connections were closed", async () => {
  const used = new Set<unknown>();
  const waiting: (() => void)[] = [];
  const server = await startRaw(({ message }, response, { socket }) => {
    const answer = () => sendJson(response, 200, resultOf(message));
    // Each connection answers once. The first three requests are answered together, so that each has its own.
    if (used.has(socket)) socket.destroy();
    else if (used.add(socket).size > 3) answer();
    else if (waiting.push(answer) === 3) for (const one of waiting) one();
  });
  const { ask } = await openLink(server.url);
  await Promise.all([1, 2, 3].map(() => ask(stateless("tools/list"))));
  expect(await ask(stateless("tools/list"))).toMatchObject({ id: 4 });
  expect(server.seen.length).toBe(5);
});

test("does not retry a tool call", async () => {
  let requests = 0;
  const server = await startRaw(({ message }, response, request) => {
    requests += 1;
    if (requests === 2) request.socket.destroy();
    else sendJson(response, 200, resultOf(message));
  });
  const { ask } = await openLink(server.url);
  await ask(stateless("tools/list"));
  expect(await reasonOf(ask(stateless("tools/call", { name: "pay" })))).toMatchObject({ code: "connection-closed" });
  expect(requests).toBe(2);
});

test("closes a stream that stays open after its response", async () => {
  const clock = createClock();
  let isGone = false;
  const server = await startRaw(({ message }, response) => {
    startEvents(response);
    response.write(toEvent(resultOf(message)));
    response.on("close", () => {
      isGone = true;
    });
  });
  const { ask } = await openLink(server.url, { clock });
  await ask(stateless("tools/list"));
  await clock.advance(11_000);
  await until(() => isGone);
});

test("a stream that falls silent after a keep-alive comment rejects its call", async () => {
  const clock = createClock();
  const server = await startRaw((_, response) => {
    startEvents(response);
    response.write(": alive\n\n");
    response.write(toEvent(note("begun")));
  });
  const { ask, notifications } = await openLink(server.url, { clock, idleStreamMs: 45_000 });
  const failed = reasonOf(ask(stateless("subscriptions/listen")));
  await until(() => notifications.length === 1);
  await clock.advance(45_001);
  expect((await failed).message).toContain("silent for 45000 ms");
});

test("a stream without keep-alive comments may be silent", async () => {
  const clock = createClock();
  let finish = () => {};
  const server = await startRaw(({ message }, response) => {
    startEvents(response);
    response.write(toEvent(note("begun")));
    finish = () => response.end(toEvent(resultOf(message)));
  });
  const { ask, notifications } = await openLink(server.url, { clock, idleStreamMs: 45_000 });
  const answer = ask(stateless("tools/call", { name: "x" }));
  await until(() => notifications.length === 1);
  await clock.advance(600_000);
  finish();
  expect(await answer).toMatchObject({ id: 1 });
});

test("closing rejects pending requests, and reports the end once", async () => {
  const server = await startRaw(() => {});
  const { ask, link, lost } = await openLink(server.url);
  const first = reasonOf(ask(stateless("tools/list")));
  const second = reasonOf(ask({ method: "tools/list" }));
  await until(() => server.seen.length === 2);
  await Promise.all([link.close(), link.close()]);
  expect((await first).message).toBe("The connection was closed");
  expect(await second).toBe(await lost);
  expect((await reasonOf(ask(stateless("tools/list")))).message).toBe("The connection is closed");
});
