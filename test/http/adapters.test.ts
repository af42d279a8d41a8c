import { describe, expect, test, vi } from "vitest";
import type { HttpReply } from "../../packages/portolan/src/server/http/adapter.ts";
import { adapters, connectTo } from "./adapters.ts";
import { bodyOf, echo, plain, waiting } from "./handlers.ts";
import { post } from "./raw-http.ts";

describe.each(Object.entries(adapters))("the %s adapter", (_, open) => {
  test("passes the method, path, headers and body to the handler and sends its answer", async () => {
    const port = await open(async (request, reply) => {
      const { method, path } = request;
      const received = [method, path, request.header("x-one"), request.header("x-none"), request.headersUnder("mcp-")];
      reply.send(201, { ...plain, "x-answer": "42" }, JSON.stringify([...received, await bodyOf(request)]));
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

  test("joins the values of a repeated header", async () => {
    const port = await open((request, reply) => reply.send(200, plain, request.header("mcp-name")));
    const raw = await connectTo(port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\nMcp-Name: a\r\nMcp-Name: b\r\n\r\n");
    expect(await raw.until(/a, b/)).toContain("200 OK");
  });

  test.each(["GET", "HEAD", "DELETE", "OPTIONS", "PUT", "PATCH", "PROPFIND"])(
    "passes %s requests to the handler",
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

  test("reads a chunked body that is split inside a character", async () => {
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

  test("answers 400 to a body that is not UTF-8 and serves the next request", async () => {
    const raw = await connectTo(await open(echo));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n", Buffer.from([0xc3, 0x28]));
    expect(await raw.until(/not valid UTF-8/)).toContain("400 Bad Request");
    raw.write(post("/", "well"));
    await raw.until(/well/);
  });

  test("answers 413 as soon as Content-Length is above the limit", async () => {
    const raw = await connectTo(await open(echo, { bodyBytes: 10 }));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\n");
    expect(await raw.until(/at most 10 bytes/)).toContain("413 Payload Too Large");
  });

  test("accepts a body of exactly the limit", async () => {
    const raw = await connectTo(await open(echo, { bodyBytes: 10 }));
    raw.write(post("/", "0123456789"));
    expect(await raw.until(/0123456789/)).toContain("200 OK");
  });

  test("answers 408 when the body does not arrive", async () => {
    const raw = await connectTo(await open(echo, { bodyMs: 20 }));
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n12");
    expect(await raw.until(/too slow/)).toContain("408 Request Timeout");
  });

  test("notifies the handler once when the client disconnects during its body", async () => {
    const { hold, requests, gone } = waiting();
    const problems: unknown[] = [];
    const port = await open(async (request, reply) => {
      hold(request, reply);
      problems.push(await bodyOf(request));
      reply.send(200, plain, "too late");
    });
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\nhalf of it");
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    raw.destroy();
    await vi.waitFor(() => expect(gone()).toBe(1));
    await vi.waitFor(() =>
      expect(problems).toEqual([{ status: 400, why: "The connection closed before the body arrived" }]),
    );
    expect(gone()).toBe(1);
  });

  test("notifies the handler once when the client disconnects before its answer", async () => {
    const { hold, requests, gone } = waiting();
    const raw = await connectTo(await open(hold));
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    raw.destroy();
    await vi.waitFor(() => expect(gone()).toBe(1));
  });

  test("does not report a disconnect after the whole answer was sent", async () => {
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
    // A later connection that is cut: when its handler is notified, the earlier ones would have been notified too.
    const raw = await connectTo(port);
    raw.write("GET /cut HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(streams).toHaveLength(1));
    raw.destroy();
    await vi.waitFor(() => expect(cut()).toBe(1));
    expect(gone).toBe(0);
  });

  test("notifies an onGone listener that is added after the disconnect", async () => {
    const { hold, requests, gone } = waiting();
    const replies: HttpReply[] = [];
    const port = await open((request, reply) => {
      replies.push(reply);
      hold(request, reply);
    });
    const raw = await connectTo(port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    raw.destroy();
    await vi.waitFor(() => expect(gone()).toBe(1));
    await new Promise<void>((resolve) => replies[0]!.onGone(resolve));
  });

  test("does not notify an onGone listener that is added after the whole answer", async () => {
    const replies: HttpReply[] = [];
    let gone = 0;
    const port = await open((_, reply) => {
      replies.push(reply);
      reply.send(200, plain, "all");
    });
    const raw = await connectTo(port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await raw.until(/all/);
    raw.destroy();
    await (await fetch(`http://127.0.0.1:${port}/`)).text();
    for (const reply of replies) {
      reply.onGone(() => {
        gone += 1;
      });
    }
    await (await fetch(`http://127.0.0.1:${port}/`)).text();
    expect([replies.length, gone]).toEqual([3, 0]);
  });

  test("streams events as they are written, with headers that prevent buffering", async () => {
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

  test("reports the backlog of a client that does not read, and can drop the client", async () => {
    const { stream, streams, gone } = waiting();
    const raw = await connectTo(await open(stream));
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await raw.until(/event-stream/);
    raw.socket.pause();
    const [events] = streams;
    const text = `data: ${"x".repeat(65_536)}\n\n`;
    let written = 0;
    // The buffers of the system and the client hold a part; the rest stays in the backlog.
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

  test("has no backlog after a slow client has caught up", async () => {
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

  test.each(["send", "stream"] as const)(
    "throws on %s of a header with a line break, and can still answer",
    async (how) => {
      const port = await open((_, reply) => {
        const headers = { "x-own": "a\r\nSet-Cookie: b=c" };
        expect(() => (how === "send" ? reply.send(200, headers, "x") : reply.stream(headers))).toThrow();
        reply.send(500, plain, "sorry");
      });
      const answer = await fetch(`http://127.0.0.1:${port}/`);
      expect([answer.status, await answer.text()]).toEqual([500, "sorry"]);
      expect(answer.headers.get("set-cookie")).toBeNull();
    },
  );

  test("ignores answers after the first", async () => {
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
