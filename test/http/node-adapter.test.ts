import { Agent, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { HttpReply } from "../../packages/portolan/src/server/http/adapter.ts";
import { nodeListener } from "../../packages/portolan/src/server/http/node.ts";
import { connectTo, openListener, openNode } from "./adapters.ts";
import { bodyOf, echo, plain, refuse, waiting } from "./handlers.ts";
import { post, type RawHttp } from "./raw-http.ts";

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
      const body = await bodyOf(request);
      problems.push(body);
      reply.send(200, plain, "fine");
    });
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnonsense");
    await raw.closed;
    const cut = { status: 400, why: "The body was cut off" };
    await vi.waitFor(() => expect(problems).toEqual([cut]), { timeout: 5_000 });
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

  test("a client in the middle of a body that is too large sees its answer and no reset", async () => {
    const port = await openNode(echo, { bodyBytes: 1_000 });
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 800000\r\n\r\n", "x".repeat(400_000));
    await raw.until(/413 Payload Too Large[\s\S]*at most 1000 bytes/);
    // By the time another client has been served, a connection that ends at once would have ended.
    await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "x" });
    expect(raw.socket.readyState).toBe("open");
    raw.write("x".repeat(400_000));
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

  test("of many bodies at once each has its own end", async () => {
    let begun = 0;
    const port = await openNode(
      (request, reply) => {
        begun += 1;
        echo(request, reply);
      },
      { bodyMs: 2_000 },
    );
    const all: RawHttp[] = [];
    while (begun < 6) {
      const raw = await connectTo(port);
      raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n<12");
      await vi.waitFor(() => expect(begun).toBe(all.length + 1), { interval: 1 });
      all.push(raw);
    }
    for (const at of [0, 5]) {
      all[at]!.write("3>");
      await all[at]!.until(/<123>$/);
    }
    all[1]!.destroy();
    await Promise.all([2, 3, 4].map((at) => all[at]!.until(/408 Request Timeout/)));
  });

  test("a refused request with a small body keeps its connection", async () => {
    const raw = await connectTo(await openNode(refuse));
    for (let i = 1; i <= 3; i += 1) {
      raw.write(post("/", "x".repeat(1_000)));
      await raw.until(new RegExp(`(403 Forbidden[\\s\\S]*?\\r\\nno[\\s\\S]*?){${i}}`));
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
      const body = String(await bodyOf(request));
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
    onTestFinished(() => void process.off("warning", warn));
    const raw = await connectTo(await openNode(hold));
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(50));
    await vi.waitFor(() => expect(requests).toHaveLength(50));
    raw.destroy();
    await vi.waitFor(() => expect(gone()).toBe(50));
    expect(warnings).toEqual([]);
  });

  test("pipelined requests that were answered leave no listeners on their connection", async () => {
    const replies: HttpReply[] = [];
    let socket: Socket | undefined;
    let before = 0;
    const listener = nodeListener((_, reply) => {
      reply.onGone(() => {});
      replies.push(reply);
    });
    const port = await openListener((req, res) => {
      if (socket === undefined) before = countListeners(req.socket);
      socket = req.socket;
      listener(req, res);
    });
    const raw = await connectTo(port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20));
    await vi.waitFor(() => expect(replies).toHaveLength(20));
    for (const [at, reply] of replies.entries()) reply.send(200, plain, `<${at}>`);
    await raw.until(/<19>$/);
    await vi.waitFor(() => expect(countListeners(socket!)).toBeLessThanOrEqual(before));
  });

  test("streams that wait their turn behind another end with their connection", async () => {
    const { stream, streams, gone } = waiting();
    const raw = await connectTo(await openNode(stream));
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(3));
    await vi.waitFor(() => expect(streams).toHaveLength(3));
    streams[1]!.write("second");
    expect(streams[1]!.backlog).toBeGreaterThan(0);
    streams[1]!.destroy();
    await vi.waitFor(() => expect(gone()).toBe(3));
    await raw.closed;
    const before = streams[2]!.backlog;
    streams[2]!.write("third");
    expect(streams[2]!.backlog).toBe(before);
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
    onTestFinished(() => agent.destroy());
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
