import { Agent, type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { HttpReply } from "../../packages/portolan/src/server/http/adapter.ts";
import { nodeListener } from "../../packages/portolan/src/server/http/node.ts";
import { connectTo, openListener, openNode } from "./adapters.ts";
import { bodyOf, echo, plain, refuse, waiting } from "./handlers.ts";
import { post, type RawHttp } from "./raw-http.ts";

describe("the node adapter on the wire", () => {
  test("sends an answer, and a stream that ends at once, in one write with a content-length", async () => {
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
    ["a length that is not a number", "Content-Length: x"],
    ["a negative length", "Content-Length: -1"],
    ["two lengths", "Content-Length: 1\r\nContent-Length: 2"],
    ["a length and chunks", "Content-Length: 1\r\nTransfer-Encoding: chunked"],
    ["chunks with an unknown transfer coding", "Transfer-Encoding: chunked, xyz"],
    ["a header with a stray line feed", "X: a\nEvil: b\r"],
  ])("answers 400 to %s without calling the handler", async (_, header) => {
    const { hold, requests } = waiting();
    const raw = await connectTo(await openNode(hold));
    raw.write(`POST / HTTP/1.1\r\nHost: localhost\r\n${header}\r\n\r\nab`);
    await raw.closed;
    expect(raw.received).toMatch(/^HTTP\/1\.1 400/);
    expect(requests).toHaveLength(0);
  });

  test("treats a body with an invalid chunk as cut off and serves the next request", async () => {
    const problems: unknown[] = [];
    const port = await openNode(async (request, reply) => {
      const body = await bodyOf(request);
      problems.push(body);
      reply.send(200, plain, "fine");
    });
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnonsense");
    await raw.closed;
    const cut = { status: 400, why: "The connection closed before the body arrived" };
    await vi.waitFor(() => expect(problems).toEqual([cut]), { timeout: 5_000 });
    expect(await (await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "x" })).text()).toBe("fine");
  });

  test("answers 413 to a chunked body above the limit and closes the connection", async () => {
    const raw = await connectTo(await openNode(echo, { bodyBytes: 1_000 }));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (let i = 0; i < 11; i += 1) raw.write(`64\r\n${"x".repeat(100)}\r\n`);
    const answer = await raw.until(/at most 1000 bytes/);
    expect(answer).toContain("413 Payload Too Large");
    expect(answer.toLowerCase()).toContain("connection: close");
    raw.write("0\r\n\r\n");
    expect(await raw.closed).toBeUndefined();
  });

  test("a client that is still sending a too large body receives the answer without a reset", async () => {
    const port = await openNode(echo, { bodyBytes: 1_000 });
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 800000\r\n\r\n", "x".repeat(400_000));
    await raw.until(/413 Payload Too Large[\s\S]*at most 1000 bytes/);
    // Serving another client takes longer than an immediate close would.
    await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body: "x" });
    expect(raw.socket.readyState).toBe("open");
    raw.write("x".repeat(400_000));
    expect(await raw.closed).toBeUndefined();
  });

  test("a client that does not stop sending receives its answer and is disconnected", async () => {
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

  test("a client that stays silent after a 413 is disconnected", async () => {
    const raw = await connectTo(await openNode(echo, { bodyBytes: 1_000 }));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\n\r\n");
    await raw.until(/413/);
    await raw.closed;
  });

  test("a large body may take longer than bodyMs while its rate is high enough", async () => {
    const port = await openNode(echo, { bodyMs: 1, bodyBytes: 64 * 1024 * 1024 });
    const body = "x".repeat(20_000_000);
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body });
    expect([answer.status, (await answer.text()).length]).toEqual([200, body.length]);
  });

  test("each of several concurrent bodies has its own timeout", async () => {
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

  test("a refused request with an endless body closes its connection", async () => {
    const raw = await connectTo(await openNode(refuse));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
    expect((await raw.until(/no$/)).toLowerCase()).toContain("connection: close");
    await raw.closed;
  });

  test("does not report a disconnect when the client was answered while sending", async () => {
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

  test("answers pipelined requests in order, even if a later one is ready first", async () => {
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

  test("notifies every pipelined request when the client disconnects", async () => {
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

  test("answered pipelined requests leave no listeners on their connection", async () => {
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

  test("pipelined streams that wait behind another end with their connection", async () => {
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

  test("reads the path of a request in absolute form", async () => {
    const raw = await connectTo(await openNode(({ path }, reply) => reply.send(200, plain, `<${path}>`)));
    raw.write("GET http://localhost/mcp?x=1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await raw.until(/<.*>/)).toContain("</mcp>");
  });

  test("reports the remote address", async () => {
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
