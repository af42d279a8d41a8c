import { describe, expect, test } from "vitest";
import { fetchHandler } from "../../packages/portolan/src/server/http/fetch.ts";
import { echo, plain, waiting } from "./handlers.ts";

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

  test("a stream for a request that was aborted before is dropped", async () => {
    const { streams, stream, gone } = waiting();
    const answer = await fetchHandler(stream)(new Request(url, { signal: AbortSignal.abort() }));
    await expect(answer.text()).rejects.toThrow("dropped before its end");
    streams[0]!.write("x");
    expect([streams[0]!.backlog, gone()]).toEqual([0, 1]);
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
