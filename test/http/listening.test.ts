import { connect } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { HttpHandler } from "../../packages/portolan/src/server/http/adapter.ts";
import { listenOn } from "../../packages/portolan/src/server/http/node/listen.ts";
import { nodeListener } from "../../packages/portolan/src/server/http/node.ts";
import { connectTo, openNode } from "./adapters.ts";
import { echo, plain, waiting } from "./handlers.ts";
import { post } from "./raw-http.ts";

describe("listen", () => {
  const listenEcho = (handle: HttpHandler = echo) => listenOn(nodeListener(handle), { port: 0, host: "127.0.0.1" });

  test("resolves to the URL, and can be closed twice", async () => {
    const listening = await listenEcho();
    expect(listening.url).toBe(`http://127.0.0.1:${listening.port}`);
    expect((await fetch(listening.url, { method: "POST", body: "x" })).status).toBe(200);
    await Promise.all([listening.close(), listening.close()]);
    await expect(fetch(listening.url)).rejects.toThrow();
  });

  test.each([
    ["::1", /^http:\/\/\[::1\]:\d+$/],
    ["localhost", /^http:\/\/localhost:\d+$/],
  ])("returns a usable URL for %s", async (host, expected) => {
    const listening = await listenOn(nodeListener(echo), { port: 0, host });
    onTestFinished(() => listening.close(0));
    expect(listening.url).toMatch(expected);
    expect(await (await fetch(listening.url, { method: "POST", body: "here" })).text()).toBe("here");
  });

  test("rejects with the reason when it cannot listen", async () => {
    const { port, close } = await listenEcho();
    onTestFinished(() => close(0));
    const listen = (port: number, host: string) => listenOn(nodeListener(echo), { port, host });
    const code = "invalid-argument";
    await expect(listen(port, "127.0.0.1")).rejects.toMatchObject({
      code,
      message: `listen: port ${port} of 127.0.0.1 is in use; choose another port, or 0 for a free one`,
    });
    await expect(listen(0, "203.0.113.7")).rejects.toMatchObject({
      code,
      message: 'listen: "203.0.113.7" is not an address of this machine; expected one such as "127.0.0.1"',
    });
    await expect(listen(70_000, "127.0.0.1")).rejects.toMatchObject({
      code,
      message: "listen: expected a port from 0 to 65535, got 70000",
    });
  });

  test("close ends idle connections immediately, used or not", async () => {
    const listening = await listenEcho();
    const fresh = await connectTo(listening.port);
    const used = await connectTo(listening.port);
    used.write(post("/", "hello"));
    await used.until(/hello$/);
    await listening.close(2 ** 30);
    await Promise.all([fresh.closed, used.closed]);
  });

  test("close lets a running call end, and its answer has a Connection: close header", async () => {
    let answer: (() => void) | undefined;
    const listening = await listenEcho((_, reply) => {
      answer = () => reply.send(200, plain, "done");
    });
    const raw = await connectTo(listening.port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(answer).toBeDefined());
    const closed = listening.close(2 ** 30);
    await connectionRefused(listening.port);
    answer!();
    expect((await raw.until(/done$/)).toLowerCase()).toContain("connection: close");
    await Promise.all([closed, raw.closed]);
  });

  test("a closing server sends one Connection: close header", async () => {
    let answer: (() => void) | undefined;
    const listening = await listenEcho((_, reply) => {
      answer = () => reply.send(503, { connection: "close" });
    });
    const raw = await connectTo(listening.port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await vi.waitFor(() => expect(answer).toBeDefined());
    const closed = listening.close(2 ** 30);
    answer!();
    await Promise.all([closed, raw.closed]);
    expect(raw.received.match(/connection: close/gi)).toHaveLength(1);
  });

  test("close waits for the end of an open stream", async () => {
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

  test("close cuts open streams after the grace period", async () => {
    const { stream, gone } = waiting();
    const listening = await listenEcho(stream);
    const raw = await connectTo(listening.port);
    raw.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await raw.until(/event-stream/);
    await listening.close(1);
    await raw.closed;
    await vi.waitFor(() => expect(gone()).toBe(1));
  });

  test("answers 408 when the headers do not arrive", async () => {
    const { hold, requests } = waiting();
    const raw = await connectTo(await openNode(hold, { headersMs: 50 }));
    raw.write("POST / HTTP/1.1\r\nHost: loc");
    await raw.closed;
    expect(raw.received).toMatch(/^HTTP\/1\.1 408/);
    expect(requests).toHaveLength(0);
  });

  test("drops connections above the limit and keeps existing ones", async () => {
    const port = await openNode(echo, { connections: 1 });
    const first = await connectTo(port);
    first.write(post("/", "one"));
    await first.until(/one$/);
    const second = await connectTo(port);
    await second.closed;
    first.write(post("/", "two"));
    await first.until(/two$/);
  });

  test("joins the values of a repeated content-type header", async () => {
    const port = await openNode((request, reply) => reply.send(200, plain, request.header("content-type")));
    const raw = await connectTo(port);
    raw.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\n");
    raw.write("Content-Length: 0\r\n\r\n");
    await raw.until(/application\/json, text\/plain$/);
  });
});

/** Resolves when the port accepts no connections. */
function connectionRefused(port: number): Promise<void> {
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
