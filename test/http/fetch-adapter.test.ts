import { describe, expect, test } from "vitest";
import { fetchHandler } from "../../packages/portolan/src/server/http/fetch.ts";
import { echo, plain, waiting } from "./handlers.ts";

describe("the fetch adapter without a server", () => {
  const url = "http://localhost/mcp";

  /** A body that yields these chunks and then neither continues nor ends. */
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

  test("answers 413 when an endless body reaches the limit", async () => {
    const answer = await fetchHandler(echo, { bodyBytes: 5 })(upload(endless("123", "456")));
    expect([answer.status, await answer.text()]).toEqual([413, "The body is too large: at most 5 bytes are read"]);
  });

  test("answers 408 when a body stops arriving", async () => {
    const answer = await fetchHandler(echo, { bodyMs: 5 })(upload(endless("123")));
    expect(answer.status).toBe(408);
  });

  test("answers 400 when the body was already read", async () => {
    const request = upload("x");
    await request.text();
    const answer = await fetchHandler(echo)(request);
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("body was read before")]);
  });

  test("reads the host from the URL when there is no Host header", async () => {
    const answer = await fetchHandler((request, reply) => reply.send(200, plain, request.header("host")))(
      new Request("http://localhost:8123/mcp"),
    );
    expect(await answer.text()).toBe("localhost:8123");
  });

  test("settles with 499 when the client aborts before the handler answers", async () => {
    const { hold, gone } = waiting();
    const client = new AbortController();
    const answer = fetchHandler(hold)(new Request(url, { signal: client.signal }));
    client.abort();
    expect((await answer).status).toBe(499);
    expect(gone()).toBe(1);
  });

  test("drops a stream whose request was already aborted", async () => {
    const { streams, stream, gone } = waiting();
    const answer = await fetchHandler(stream)(new Request(url, { signal: AbortSignal.abort() }));
    expect(await answer.text()).toBe("");
    streams[0]!.write("x");
    expect([streams[0]!.backlog, gone()]).toEqual([0, 1]);
  });

  test("fails the body of a stream that the server gives up", async () => {
    const { stream, streams, gone } = waiting();
    const answer = await fetchHandler(stream)(new Request(url));
    streams[0]!.destroy();
    await expect(answer.text()).rejects.toThrow("closed before its end");
    expect(gone()).toBe(1);
  });

  test("ends a stream when its request is aborted or its reader cancels", async () => {
    const { stream, streams, gone } = waiting();
    const client = new AbortController();
    const aborted = await fetchHandler(stream)(new Request(url, { signal: client.signal }));
    const reading = aborted.text();
    client.abort();
    // Not an error: its client has left, and frameworks would print it.
    expect(await reading).toBe("");
    expect(gone()).toBe(1);
    const cancelled = await fetchHandler(stream)(new Request(url));
    await cancelled.body!.cancel();
    expect(gone()).toBe(2);
    for (const events of streams) events.write("x");
    expect(streams.map(({ backlog }) => backlog)).toEqual([0, 0]);
  });
});
