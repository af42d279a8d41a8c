import { Agent, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, expect, test, vi } from "vitest";
import type { EventStream, HttpHandler, HttpRequest } from "../../packages/portolan/src/server/http/door.ts";
import { fetchHandler } from "../../packages/portolan/src/server/http/fetch.ts";
import { listenOn, nodeListener } from "../../packages/portolan/src/server/http/node.ts";
import { atEnd, connectTo, doors, openListener, openNode } from "./doors.ts";
import { post } from "./raw-http.ts";

const plain = { "content-type": "text/plain" };

/** Says what it was sent, or what was wrong with it. */
const echo: HttpHandler = async (request, reply) => {
  const body = await request.body();
  if (typeof body === "string") reply.send(200, plain, body);
  else reply.send(body.status, plain, body.why);
};

const refuse: HttpHandler = (_, reply) => reply.send(403, plain, "no");

/** A handler that waits, what it was asked, and how often its clients have gone. */
function waiting() {
  const requests: HttpRequest[] = [];
  const streams: EventStream[] = [];
  let gone = 0;
  const count = () => {
    gone += 1;
  };
  const hold: HttpHandler = (request, reply) => {
    requests.push(request);
    reply.onGone(count);
  };
  const stream: HttpHandler = (request, reply) => {
    hold(request, reply);
    streams.push(reply.stream({ "x-own": "yes" }));
  };
  return { requests, streams, hold, stream, gone: () => gone };
}

describe.each(Object.entries(doors))("the %s door", (_, open) => {
  test("hands over the method, path, headers and body, and sends the answer", async () => {
    const port = await open(async (request, reply) => {
      const { method, path } = request;
      const heard = [method, path, request.header("x-one"), request.header("x-none"), request.headersUnder("mcp-")];
      reply.send(201, { ...plain, "x-answer": "42" }, JSON.stringify([...heard, await request.body()]));
    });
    const answer = await fetch(`http://127.0.0.1:${port}/a/b?c=d`, {
      method: "POST",
      headers: { "X-One": "1", "Mcp-Name": "n", "Mcp-Method": "m" },
      body: "Grüße 🌍",
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get("x-answer")).toBe("42");
    const [method, path, one, none, mcp, body] = JSON.parse(await answer.text());
    expect([method, path, one, none, body]).toEqual(["POST", "/a/b", "1", null, "Grüße 🌍"]);
    expect(mcp.sort()).toEqual([
      ["mcp-method", "m"],
      ["mcp-name", "n"],
    ]);
  });

  test("joins a header that came twice", async () => {
    const port = await open((request, reply) => reply.send(200, plain, request.header("mcp-name")));
    const raw = await connectTo(port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\nMcp-Name: a\r\nMcp-Name: b\r\n\r\n");
    expect(await raw.until(/a, b/)).toContain("200 OK");
  });

  test.each(["GET", "HEAD", "DELETE", "OPTIONS", "PUT", "PATCH", "PROPFIND"])(
    "lets %s reach the handler",
    async (method) => {
      const port = await open(({ method }, reply) => reply.send(405, { "x-method": method }, "no such method"));
      const answer = await fetch(`http://127.0.0.1:${port}/mcp`, { method });
      expect(answer.status).toBe(405);
      expect(answer.headers.get("x-method")).toBe(method);
      expect(await answer.text()).toBe(method === "HEAD" ? "" : "no such method");
    },
  );

  test("sends answers without a body", async () => {
    const port = await open((request, reply) => reply.send(request.path === "/204" ? 204 : 202, {}));
    for (const status of [202, 204]) {
      const answer = await fetch(`http://127.0.0.1:${port}/${status}`);
      expect([answer.status, await answer.text()]).toEqual([status, ""]);
    }
  });

  test("reads a body that comes in chunks, cut inside a character", async () => {
    const raw = await connectTo(await open(echo));
    const [first, second] = [Buffer.from([0x22, 0xf0, 0x9f]), Buffer.from([0x8c, 0x8d, 0x22])];
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    raw.write("3\r\n", first, "\r\n");
    raw.write("3\r\n", second, "\r\n0\r\n\r\n");
    expect(Buffer.from(await raw.until(/"[^"]+"/), "latin1").toString()).toContain('"🌍"');
  });

  test("reads a large body to its last byte", async () => {
    const body = "é".repeat(1_500_000);
    const answer = await fetch(`http://127.0.0.1:${await open(echo)}/`, { method: "POST", body });
    expect((await answer.text()) === body).toBe(true);
  });

  test("answers 400 to a body that is not UTF-8 and goes on", async () => {
    const raw = await connectTo(await open(echo));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n", Buffer.from([0xc3, 0x28]));
    expect(await raw.until(/not valid UTF-8/)).toContain("400 Bad Request");
    raw.write(post("/", "well"));
    await raw.until(/well/);
  });

  test("answers 413 to a body that says it is too large, without waiting for it", async () => {
    const raw = await connectTo(await open(echo, { bodyBytes: 10 }));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\n");
    expect(await raw.until(/at most 10 bytes/)).toContain("413 Payload Too Large");
  });

  test("takes a body of exactly the limit", async () => {
    const raw = await connectTo(await open(echo, { bodyBytes: 10 }));
    raw.write(post("/", "0123456789"));
    expect(await raw.until(/0123456789/)).toContain("200 OK");
  });

  test("answers 408 to a body that does not come", async () => {
    const raw = await connectTo(await open(echo, { bodyMs: 20 }));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12");
    expect(await raw.until(/too slow/)).toContain("408 Request Timeout");
  });

  test("tells once that a client has gone in the middle of its body", async () => {
    const { hold, requests, gone } = waiting();
    const problems: unknown[] = [];
    const port = await open(async (request, reply) => {
      hold(request, reply);
      problems.push(await request.body());
      reply.send(200, plain, "to nobody");
    });
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nhalf of it");
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    raw.destroy();
    await vi.waitFor(() => expect(gone()).toBe(1));
    await vi.waitFor(() => expect(problems).toEqual([{ status: 400, why: "The body was cut off" }]));
    expect(await await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.abort() }).catch(String)).toContain(
      "Abort",
    );
    expect(gone()).toBe(1);
  });

  test("tells once that a client has gone before its answer", async () => {
    const { hold, requests, gone } = waiting();
    const raw = await connectTo(await open(hold));
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    raw.destroy();
    await vi.waitFor(() => expect(gone()).toBe(1));
  });

  test("does not call a client gone that has its answer", async () => {
    let gone = 0;
    const { stream, streams, gone: cut } = waiting();
    const port = await open((request, reply) => {
      if (request.path === "/cut") return stream(request, reply);
      reply.onGone(() => {
        gone += 1;
      });
      if (request.path === "/send") return reply.send(200, plain, "all");
      const events = reply.stream({});
      events.write("all");
      return events.end();
    });
    for (const path of ["/send", "/stream"]) {
      const raw = await connectTo(port);
      raw.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await raw.until(/all/);
      raw.destroy();
    }
    // The same, later, for one that is cut: by now the others would have been told.
    const raw = await connectTo(port);
    raw.write("GET /cut HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    raw.destroy();
    await vi.waitFor(() => expect(cut()).toBe(1));
    expect(gone).toBe(0);
  });

  test("tells a listener that came too late", async () => {
    const { hold, requests, gone } = waiting();
    let late = 0;
    const port = await open((request, reply) => {
      hold(request, reply);
      reply.onGone(() => {
        reply.onGone(() => {
          late += 1;
        });
      });
    });
    const raw = await connectTo(port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    raw.destroy();
    await vi.waitFor(() => expect([gone(), late]).toEqual([1, 1]));
  });

  test("streams events as they are written, with headers that keep them moving", async () => {
    const { stream, streams } = waiting();
    const answer = await fetch(`http://127.0.0.1:${await open(stream)}/`);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-own": "yes",
    });
    const [events] = streams;
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (const text of ["data: é\n\n", "data: 2\n\n"]) {
      events!.write(text);
      expect(await reader.read()).toEqual({ done: false, value: text });
    }
    events!.write("data: 3\n\n");
    events!.write("data: 4\n\n");
    events!.end();
    events!.write("data: too late\n\n");
    expect(await reader.read()).toEqual({ done: false, value: "data: 3\n\ndata: 4\n\n" });
    expect(await reader.read()).toMatchObject({ done: true });
  });

  test("knows what a client that does not read has left, and can drop it", async () => {
    const { stream, streams, gone } = waiting();
    const raw = await connectTo(await open(stream));
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await raw.until(/event-stream/);
    raw.socket.pause();
    const [events] = streams;
    const text = `data: ${"x".repeat(65_536)}\n\n`;
    let written = 0;
    // The system and the client take some; the rest stays.
    await vi.waitFor(() => {
      for (let i = 0; i < 100; i += 1) events!.write(text);
      written += 100 * text.length;
      expect(events!.backlog).toBeGreaterThan(8_000_000);
    });
    expect(events!.backlog).toBeLessThanOrEqual(written + 1_000_000);
    expect(gone()).toBe(0);
    events!.destroy();
    await vi.waitFor(() => expect(gone()).toBe(1));
    expect(events!.backlog).toBe(0);
    events!.write("nobody");
    events!.end();
    expect(events!.backlog).toBe(0);
    raw.socket.resume();
    await raw.closed;
    expect(raw.received).not.toContain("nobody");
  });

  test("has no backlog once a slow client has caught up", async () => {
    const { stream, streams } = waiting();
    const raw = await connectTo(await open(stream));
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await raw.until(/event-stream/);
    raw.socket.pause();
    const [events] = streams;
    events!.write("x".repeat(20_000_000));
    expect(events!.backlog).toBeGreaterThanOrEqual(20_000_000);
    raw.socket.resume();
    await vi.waitFor(() => expect(events!.backlog).toBe(0), { timeout: 10_000 });
  });

  test("ignores what is answered after the answer", async () => {
    const port = await open((_, reply) => {
      reply.send(200, plain, "first");
      reply.send(500, plain, "second");
      const stream = reply.stream({});
      stream.write("third");
      stream.end();
    });
    for (let i = 0; i < 3; i += 1) {
      expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("first");
    }
  });
});

describe("the node door on the wire", () => {
  test("sends an answer, and a stream that ends at once, with its length in one piece", async () => {
    const chunks: string[] = [];
    const port = await openNode((request, reply) => {
      if (request.path === "/send") return reply.send(200, plain, "héllo");
      const stream = reply.stream({});
      stream.write("data: 1\n\n");
      stream.write("data: 2\n\n");
      return stream.end();
    });
    const raw = await connectTo(port);
    raw.socket.on("data", (text: string) => chunks.push(text));
    raw.write("GET /send HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect((await raw.until(/llo$/)).toLowerCase()).toContain("content-length: 6\r\n");
    raw.write("GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect((await raw.until(/data: 2\n\n$/)).toLowerCase()).toContain("content-length: 18\r\n");
    expect(chunks).toHaveLength(2);
  });

  test.each([
    ["a length that is no number", "Content-Length: x"],
    ["a negative length", "Content-Length: -1"],
    ["two lengths", "Content-Length: 1\r\nContent-Length: 2"],
    ["a length and chunks", "Content-Length: 1\r\nTransfer-Encoding: chunked"],
    ["chunks under a coding we do not know", "Transfer-Encoding: chunked, xyz"],
    ["a header with a stray line feed", "X: a\nEvil: b\r"],
  ])("refuses %s before the handler sees it", async (_, header) => {
    const { hold, requests } = waiting();
    const raw = await connectTo(await openNode(hold));
    raw.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\nab`);
    await raw.closed;
    expect(raw.received).toMatch(/^HTTP\/1\.1 400/);
    expect(requests).toHaveLength(0);
  });

  test("a chunk of nonsense ends the body as cut off, and not the server", async () => {
    const problems: unknown[] = [];
    const port = await openNode(async (request, reply) => {
      const body = await request.body();
      problems.push(body);
      reply.send(200, plain, "fine");
    });
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnonsense");
    await raw.closed;
    await vi.waitFor(() => expect(problems).toEqual([{ status: 400, why: "The body was cut off" }]));
    expect(await (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "x" })).text()).toBe("fine");
  });

  test("counts a body that does not say its length, and closes after its answer", async () => {
    const raw = await connectTo(await openNode(echo, { bodyBytes: 1_000 }));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (let i = 0; i < 11; i += 1) raw.write(`64\r\n${"x".repeat(100)}\r\n`);
    const answer = await raw.until(/at most 1000 bytes/);
    expect(answer).toContain("413 Payload Too Large");
    expect(answer.toLowerCase()).toContain("connection: close");
    raw.write("0\r\n\r\n");
    expect(await raw.closed).toBeUndefined();
  });

  test("a client that sends on sees its answer, and is cut when it does not stop", async () => {
    const raw = await connectTo(await openNode(echo, { bodyBytes: 1_000 }));
    raw.write(`POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${2 ** 40}\r\n\r\n`);
    const piece = Buffer.alloc(65_536, "x");
    await raw.until(/413 Payload Too Large[\s\S]*at most 1000 bytes/);
    let sent = 0;
    const pump = () => {
      while (!raw.socket.destroyed && raw.socket.write(piece)) sent += piece.length;
    };
    raw.socket.on("drain", pump);
    pump();
    await raw.closed;
    expect(sent).toBeLessThan(100_000_000);
  });

  test("a client that neither sends on nor goes is cut", async () => {
    const raw = await connectTo(await openNode(echo, { bodyBytes: 1_000 }));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\n\r\n");
    await raw.until(/413/);
    await raw.closed;
  });

  test("a slow body is not too slow while it is fast enough", async () => {
    const port = await openNode(echo, { bodyMs: 1, bodyBytes: 64 * 1024 * 1024 });
    const body = "x".repeat(20_000_000);
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body });
    expect([answer.status, (await answer.text()).length]).toEqual([200, body.length]);
  });

  test("a refused request with a small body keeps its connection", async () => {
    const raw = await connectTo(await openNode(refuse));
    for (let i = 1; i <= 3; i += 1) {
      raw.write(post("/", "x".repeat(1_000)));
      await raw.until(new RegExp(`(403 Forbidden[\\s\\S]*no){${i}}`));
    }
    expect(raw.received.toLowerCase()).not.toContain("connection: close");
  });

  test("a refused request with an endless body does not", async () => {
    const raw = await connectTo(await openNode(refuse));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect((await raw.until(/no$/)).toLowerCase()).toContain("connection: close");
    await raw.closed;
  });

  test("does not call a client gone that was answered while it sent", async () => {
    let gone = 0;
    const port = await openNode((request, reply) => {
      reply.onGone(() => {
        gone += 1;
      });
      refuse(request, reply);
    });
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    await raw.until(/no$/);
    await raw.closed;
    expect(gone).toBe(0);
  });

  test("answers pipelined requests in their order, whichever is ready first", async () => {
    const ready: (() => void)[] = [];
    const port = await openNode(async (request, reply) => {
      const body = String(await request.body());
      ready.push(() => reply.send(200, plain, `<${body}>`));
      if (ready.length === 3) for (const answer of ready.reverse()) answer();
    });
    const raw = await connectTo(port);
    raw.write(post("/", "one") + post("/", "two") + post("/", "three"));
    expect((await raw.until(/<three>/)).match(/<\w+>/g)).toEqual(["<one>", "<two>", "<three>"]);
  });

  test("tells every pipelined request that its client has gone", async () => {
    const { hold, requests, gone } = waiting();
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on("warning", warn);
    atEnd(() => void process.off("warning", warn));
    const raw = await connectTo(await openNode(hold));
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(50));
    await vi.waitFor(() => expect(requests).toHaveLength(50));
    raw.destroy();
    await vi.waitFor(() => expect(gone()).toBe(50));
    expect(warnings).toEqual([]);
  });

  test("a stream that waits its turn behind another ends with their connection", async () => {
    const { stream, streams, gone } = waiting();
    const raw = await connectTo(await openNode(stream));
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(2));
    await vi.waitFor(() => expect(streams).toHaveLength(2));
    streams[1]!.write("second");
    await vi.waitFor(() => expect(streams[1]!.backlog).toBeGreaterThan(0));
    streams[1]!.destroy();
    await vi.waitFor(() => expect(gone()).toBe(2));
    await raw.closed;
  });

  test("1,000 requests on one connection leave no listeners on it", async () => {
    const sockets = new Set<Socket>();
    const listener = nodeListener((request, reply) => {
      reply.onGone(() => {});
      if (request.path === "/stream") {
        const stream = reply.stream({});
        stream.write("data: x\n\n");
        setImmediate(() => stream.end());
      } else echo(request, reply);
    });
    const counts: number[] = [];
    const port = await openListener((req, res) => {
      sockets.add(req.socket);
      counts.push(countListeners(req.socket));
      listener(req, res);
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    atEnd(() => agent.destroy());
    for (let i = 0; i < 1_000; i += 1) {
      const path = i % 2 ? "/stream" : "/";
      await ask({ port, host: "127.0.0.1", path, method: "POST", agent }, "hello");
    }
    expect(sockets.size).toBe(1);
    expect(counts).toHaveLength(1_000);
    expect(new Set(counts.slice(1))).toEqual(new Set([counts[1]]));
  });

  test("reads the path of a request to a proxy", async () => {
    const raw = await connectTo(await openNode(({ path }, reply) => reply.send(200, plain, `<${path}>`)));
    raw.write("GET http://localhost/mcp?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await raw.until(/<.*>/)).toContain("</mcp>");
  });

  test("knows where a request came from", async () => {
    const port = await openNode(({ remoteAddress }, reply) => reply.send(200, plain, remoteAddress));
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("127.0.0.1");
  });
});

describe("behind a framework that has read the body", () => {
  test.each([
    ["an object", (text: string) => JSON.parse(text), '{"a":[1,"é"]}'],
    ["a string", (text: string) => text, '{ "a": 1 }'],
    ["bytes", (text: string) => Buffer.from(text), '{ "é": 1 }'],
    ["an empty object", (text: string) => JSON.parse(text), "{}"],
    ["too much", (text: string) => text, "x".repeat(2_000), "expected at most 1000 bytes"],
    ["a number too large for JSON", () => ({ n: 1n }), "{}", "was read before"],
    ["nothing", () => undefined, "{}", "was read before"],
  ])("the door takes %s", async (_, parse, sent, expected = sent) => {
    const listener = nodeListener(echo, { bodyBytes: 1_000 });
    const port = await openListener(async (req, res) => {
      const text = Buffer.concat(await req.toArray()).toString();
      listener(Object.assign(req, { body: parse(text) }), res);
    });
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: sent });
    expect(await answer.text()).toContain(expected);
  });

  test("the door reads the body itself if it was left alone", async () => {
    const listener = nodeListener(echo);
    const port = await openListener((req, res) => listener(Object.assign(req, { body: {} }), res));
    expect(await (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "[1]" })).text()).toBe("[1]");
  });

  test("the path is the one that was asked for, not what is left of it", async () => {
    const listener = nodeListener(({ path }, reply) => reply.send(200, plain, path));
    const port = await openListener((req, res) => {
      const originalUrl = req.url;
      req.url = "/";
      listener(Object.assign(req, { originalUrl }), res);
    });
    expect(await (await fetch(`http://127.0.0.1:${port}/api/mcp?x`)).text()).toBe("/api/mcp");
  });
});

describe("the fetch door by itself", () => {
  const url = "http://localhost/mcp";

  /** A body that gives this and then nothing more. */
  function endless(...chunks: (string | Uint8Array)[]): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    return new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(typeof chunk === "string" ? encoder.encode(chunk) : chunk);
      },
    });
  }

  const upload = (body: BodyInit, init: RequestInit = {}) =>
    new Request(url, { method: "POST", body, ...init, ...{ duplex: "half" } });

  test("stops at the limit of a body that has no end", async () => {
    const answer = await fetchHandler(echo, { bodyBytes: 5 })(upload(endless("123", "456")));
    expect([answer.status, await answer.text()]).toEqual([413, "The body is too large: expected at most 5 bytes"]);
  });

  test("gives up on a body that does not go on", async () => {
    const answer = await fetchHandler(echo, { bodyMs: 5 })(upload(endless("123")));
    expect(answer.status).toBe(408);
  });

  test("says so when the body was read already", async () => {
    const request = upload("x");
    await request.text();
    const answer = await fetchHandler(echo)(request);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("was read before")]);
  });

  test("knows the host of a runtime that keeps it in the URL", async () => {
    const answer = await fetchHandler((request, reply) => reply.send(200, plain, request.header("host")))(
      new Request("http://localhost:8123/mcp"),
    );
    expect(await answer.text()).toBe("localhost:8123");
  });

  test("settles when the client goes and the handler has nothing more to say", async () => {
    const { hold, gone } = waiting();
    const client = new AbortController();
    const answer = fetchHandler(hold)(new Request(url, { signal: client.signal }));
    client.abort();
    expect((await answer).status).toBe(499);
    expect(gone()).toBe(1);
  });

  test("ends a stream when its request is aborted or its reader cancels", async () => {
    const { stream, streams, gone } = waiting();
    const client = new AbortController();
    const aborted = await fetchHandler(stream)(new Request(url, { signal: client.signal }));
    const reading = aborted.text().catch((error: Error) => error.message);
    client.abort();
    expect(await reading).toBe("The stream was dropped before its end");
    expect(gone()).toBe(1);
    const cancelled = await fetchHandler(stream)(new Request(url));
    await cancelled.body!.cancel();
    expect(gone()).toBe(2);
    for (const events of streams) events.write("x");
    expect(streams.map(({ backlog }) => backlog)).toEqual([0, 0]);
  });
});

describe("a server that listens", () => {
  const listenEcho = (handle: HttpHandler = echo) => listenOn(nodeListener(handle), { port: 0, host: "127.0.0.1" });

  test("says where, and closes twice without complaint", async () => {
    const listening = await listenEcho();
    expect(listening.url).toBe(`http://127.0.0.1:${listening.port}`);
    expect((await fetch(listening.url, { method: "POST", body: "x" })).status).toBe(200);
    await Promise.all([listening.close(), listening.close()]);
    await expect(fetch(listening.url)).rejects.toThrow();
  });

  test.each([
    ["::1", /^http:\/\/\[::1\]:\d+$/],
    ["localhost", /^http:\/\/localhost:\d+$/],
  ])("writes %s so that it can be asked for", async (host, expected) => {
    const listening = await listenOn(nodeListener(echo), { port: 0, host });
    atEnd(() => listening.close(0));
    expect(listening.url).toMatch(expected);
    expect(await (await fetch(listening.url, { method: "POST", body: "here" })).text()).toBe("here");
  });

  test("says in one line why it cannot listen", async () => {
    const { port, close } = await listenEcho();
    atEnd(() => close(0));
    const listen = (port: number, host: string) => listenOn(nodeListener(echo), { port, host });
    const code = "invalid-argument";
    await expect(listen(port, "127.0.0.1")).rejects.toMatchObject({
      code,
      message: `listen: port ${port} of 127.0.0.1 is in use; choose another, or 0 for one that is free`,
    });
    await expect(listen(0, "203.0.113.7")).rejects.toMatchObject({
      code,
      message: 'listen: "203.0.113.7" is no address of this machine; expected one such as "127.0.0.1"',
    });
    await expect(listen(70_000, "127.0.0.1")).rejects.toMatchObject({
      code,
      message: "listen: expected a port from 0 to 65535, got 70000",
    });
  });

  test("closing ends idle connections at once, used or not", async () => {
    const listening = await listenEcho();
    const fresh = await connectTo(listening.port);
    const used = await connectTo(listening.port);
    used.write(post("/", "hello"));
    await used.until(/hello$/);
    await listening.close(2 ** 30);
    await Promise.all([fresh.closed, used.closed]);
  });

  test("closing lets a running call end, on a connection that says it closes", async () => {
    let answer: (() => void) | undefined;
    const listening = await listenEcho((_, reply) => {
      answer = () => reply.send(200, plain, "done");
    });
    const raw = await connectTo(listening.port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(answer).toBeDefined());
    const closed = listening.close(2 ** 30);
    await refused(listening.port);
    answer!();
    expect((await raw.until(/done$/)).toLowerCase()).toContain("connection: close");
    await Promise.all([closed, raw.closed]);
  });

  test("closing waits for a stream that was begun before", async () => {
    const { stream, streams } = waiting();
    const listening = await listenEcho(stream);
    const raw = await connectTo(listening.port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await raw.until(/event-stream/);
    const closed = listening.close(2 ** 30);
    streams[0]!.write("last words");
    streams[0]!.end();
    await Promise.all([closed, raw.closed]);
    expect(raw.received).toContain("last words");
  });

  test("closing cuts the rest after its grace", async () => {
    const { stream, gone } = waiting();
    const listening = await listenEcho(stream);
    const raw = await connectTo(listening.port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await raw.until(/event-stream/);
    await listening.close(1);
    await raw.closed;
    await vi.waitFor(() => expect(gone()).toBe(1));
  });

  test("headers that do not come are answered 408", async () => {
    const { hold, requests } = waiting();
    const raw = await connectTo(await openNode(hold, { headersMs: 50 }));
    raw.write("POST / HTTP/1.1\r\nHost: loc");
    await raw.closed;
    expect(raw.received).toMatch(/^HTTP\/1\.1 408/);
    expect(requests).toHaveLength(0);
  });

  test("connections beyond the limit are dropped, and those that are there stay", async () => {
    const port = await openNode(echo, { connections: 1 });
    const first = await connectTo(port);
    first.write(post("/", "one"));
    await first.until(/one$/);
    const second = await connectTo(port);
    await second.closed;
    first.write(post("/", "two"));
    await first.until(/two$/);
  });

  test("a doubled header never looks like a single one", async () => {
    const port = await openNode((request, reply) => reply.send(200, plain, request.header("content-type")));
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\n");
    raw.write("Content-Length: 0\r\n\r\n");
    await raw.until(/application\/json, text\/plain$/);
  });
});

function countListeners(socket: Socket): number {
  return socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0);
}

function ask(options: object, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (answer: IncomingMessage) => {
      answer.toArray().then((chunks) => resolve(Buffer.concat(chunks).toString()), reject);
    });
    sent.on("error", reject).end(body);
  });
}

/** Resolves when nobody takes connections there. */
function refused(port: number): Promise<void> {
  return vi.waitFor(
    () =>
      new Promise<void>((resolve, reject) => {
        const socket = connect({ port, host: "127.0.0.1" }, () => {
          socket.destroy();
          reject(new Error("still accepts"));
        });
        socket.on("error", () => resolve());
      }),
  );
}
