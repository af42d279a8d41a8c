import { request as openRequest } from "node:http";
import { serveHttp, type Verifier } from "portolan/server/http";
import { createMemoryStorage, type Storage } from "portolan/storage";
import { expect, onTestFinished, test } from "vitest";
import { createFixture } from "./fixture.ts";
import { type Answer, send, start, toInitialize, toRequest } from "./kit.ts";
import { begin, open, StatelessPeer, textOf } from "./peer.ts";

const asks = { capabilities: { elicitation: { form: {} } } };
const shuttingDown = { code: -32603, message: "The server is shutting down" };
const eras = ["2025-11-25", "2026-07-28"] as const;
/** Longer than any test: the grace never ends by itself. */
const noEnd = 2 ** 30;

/** The status of an answer and its error. */
async function refusalOf(answer: Answer): Promise<unknown[]> {
  return [answer.status, (await answer.response()).error];
}

test("the answer that a call of a session waits for is accepted while the server closes", async () => {
  const fixture = createFixture();
  const { url, close } = await start(fixture.server);
  const peer = await begin(url, "2025-11-25", asks);
  const call = await peer.call("ask");
  const { id } = await call.message();
  const closed = close(noEnd);
  expect(await refusalOf(await peer.call("echo", { text: "late" }))).toEqual([503, shuttingDown]);
  expect((await peer.answer(id, { action: "accept", content: { name: "Ada" } })).status).toBe(202);
  expect(textOf(await call.response())).toBe("Hello Ada");
  await closed;
  await expect(peer.call("echo", { text: "later" })).rejects.toThrow("ECONNREFUSED");
});

test("a call of a session can be cancelled while the server closes", async () => {
  const fixture = createFixture();
  const { url, close } = await start(fixture.server, { quietMs: 1 });
  const peer = await begin(url, "2025-11-25");
  const call = await peer.call("hold", { key: "a" }, "call");
  const closed = close(noEnd);
  expect((await peer.cancel("call")).status).toBe(202);
  await fixture.noted("aborted a");
  expect(await call.messages()).toEqual([]);
  await closed;
});

test("the retry of a stateless call with its answers is served while the server closes", async () => {
  const fixture = createFixture();
  const { url, close } = await start(fixture.server);
  const peer = new StatelessPeer(url, asks);
  const running = peer.call("hold", { key: "a" }, 1);
  await fixture.noted("holding a");
  const { result } = await (await peer.call("ask", {}, 2)).response();
  const closed = close(noEnd);
  expect(await refusalOf(await peer.call("ask", {}, 3))).toEqual([503, shuttingDown]);
  const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };
  const unasked = await peer.request("tools/call", { name: "ask", arguments: {}, inputResponses }, 4);
  expect(await refusalOf(unasked)).toEqual([503, shuttingDown]);
  const retried = { name: "ask", arguments: {}, inputResponses, requestState: result.requestState };
  expect(textOf(await (await peer.request("tools/call", retried, 5)).response())).toBe("Hello Ada");
  fixture.release("a");
  expect(textOf(await (await running).response())).toBe("released a");
  await closed;
});

test("a running call over HTTP+SSE is waited for while the server closes, and new requests are refused", async () => {
  const fixture = createFixture();
  const { url, close } = await start(fixture.server, { httpSse: true });
  const origin = new URL(url).origin;
  const stream = await send(`${origin}/sse`, { method: "GET", headers: { accept: "text/event-stream" } });
  const path = (await stream.event())?.data;
  const post = async (body: unknown) => (await send(`${origin}${path}`, { body })).status;
  const params = { protocolVersion: "2024-11-05", capabilities: {}, clientInfo: { name: "old", version: "1.0.0" } };
  await post(toRequest("initialize", params, 1));
  await stream.message();
  await post(toRequest("tools/call", { name: "hold", arguments: { key: "a" } }, 2));
  await fixture.noted("holding a");
  const closed = close(noEnd);
  expect(await post(toRequest("ping", undefined, 3))).toBe(503);
  fixture.release("a");
  expect(textOf(await stream.message())).toBe("released a");
  await closed;
});

test.each(eras)("a call that is cut off at the end of the grace gets an error that says so (%s)", async (era) => {
  const fixture = createFixture();
  const { url, close } = await start(fixture.server);
  const peer = await open(url, era);
  const silent = peer.call("hold", { key: "silent" }, 1);
  await fixture.noted("holding silent");
  const streaming = peer.call("hold", { key: "streaming" }, 2);
  await fixture.noted("holding streaming");
  fixture.step("streaming");
  expect((await streaming).isStream).toBe(true);
  await close(1);
  expect(await refusalOf(await silent)).toEqual([200, shuttingDown]);
  expect((await (await streaming).messages()).at(-1)).toEqual({ jsonrpc: "2.0", id: 2, error: shuttingDown });
  for (const key of ["silent", "streaming"]) await fixture.noted(`aborted ${key}`);
});

/** A storage whose sessions cannot be written until the test lets them. */
function createSlowStorage(): { storage: Storage; waits(): number; answer(): void } {
  const memory = createMemoryStorage();
  const { kv } = memory;
  const waiting: (() => void)[] = [];
  return {
    storage: {
      ...memory,
      kv: {
        get: (key) => kv.get(key),
        set: async (key, value, options) => {
          if (key.startsWith("mcp/session/")) await new Promise<void>((resolve) => waiting.push(resolve));
          return kv.set(key, value, options);
        },
        delete: (key) => kv.delete(key),
        list: (prefix, options) => kv.list(prefix, options),
      },
    },
    waits: () => waiting.length,
    answer: () => {
      for (const go of waiting.splice(0)) go();
    },
  };
}

test("a request that waits for the storage is answered with an error at the end of the grace", async () => {
  const { storage, waits, answer } = createSlowStorage();
  const { url, close } = await start(createFixture().server, { storage });
  const handshake = send(url, { body: toInitialize("2025-11-25") });
  await expect.poll(waits).toBe(1);
  await close(1);
  const refused = await handshake;
  expect(await refusalOf(refused)).toEqual([503, shuttingDown]);
  expect(refused.headers["retry-after"]).toBe("5");
  answer();
});

test("a request that waits for the storage is served if the storage answers within the grace", async () => {
  const { storage, waits, answer } = createSlowStorage();
  const { url, close } = await start(createFixture().server, { storage });
  const handshake = send(url, { body: toInitialize("2025-11-25") });
  await expect.poll(waits).toBe(1);
  let isClosed = false;
  const closed = close(noEnd).then(() => {
    isClosed = true;
  });
  expect((await send(url, { body: toInitialize("2025-11-25") })).status).toBe(503);
  expect(isClosed).toBe(false);
  answer();
  expect((await handshake).status).toBe(200);
  await closed;
});

test("a call that waited for the storage is not carried out after its client was told that the server closes", async () => {
  const fixture = createFixture();
  const memory = createMemoryStorage();
  const peer = await begin((await start(createFixture().server, { storage: memory })).url, "2025-11-25");
  let answer = () => {};
  const storage: Storage = {
    ...memory,
    kv: {
      get: async (key) => {
        if (key.startsWith("mcp/session/")) await new Promise<void>((resolve) => (answer = resolve));
        return memory.kv.get(key);
      },
      set: (key, value, options) => memory.kv.set(key, value, options),
      delete: (key) => memory.kv.delete(key),
      list: (prefix, options) => memory.kv.list(prefix, options),
    },
  };
  const serving = serveHttp(fixture.server, { storage });
  const { url } = await serving.listen();
  const call = peer.at(url).call("hold", { key: "a" });
  await expect.poll(async () => (await serving.usage()).calls).toMatchObject([{ waitsFor: "storage" }]);
  await serving.close(1);
  expect(await refusalOf(await call)).toEqual([503, shuttingDown]);
  answer();
  await expect.poll(async () => (await serving.usage()).calls).toEqual([]);
  expect(fixture.journal).toEqual([]);
});

test("a call of a session whose body arrives after the end is cancelled at once", async () => {
  const fixture = createFixture();
  let isAdmitted = false;
  const verify: Verifier = (request) => {
    isAdmitted ||= request.header("x-late") !== undefined;
    return { key: "ada" };
  };
  const { url, close } = await start(fixture.server, { verify });
  const peer = await begin(url, "2025-11-25");
  const body = JSON.stringify(toRequest("tools/call", { name: "hold", arguments: { key: "late" } }, 9));
  const headers = { ...peer.headers, "x-late": "1", "content-length": String(body.length) } as {
    [name: string]: string;
  };
  const late = openRequest(url, { method: "POST", headers, agent: false });
  late.on("error", () => {});
  late.write(body.slice(0, 10));
  await expect.poll(() => isAdmitted).toBe(true);
  const closed = close(noEnd);
  late.end(body.slice(10));
  await fixture.noted("holding late");
  await fixture.noted("aborted late");
  await closed;
});

test("every call of a batch that is cut off gets an error of its own", async () => {
  const fixture = createFixture();
  const { url, close } = await start(fixture.server);
  const peer = await begin(url, "2025-03-26");
  const hold = (id: number) => toRequest("tools/call", { name: "hold", arguments: { key: `${id}` } }, id);
  const answer = peer.post([hold(1), hold(2)]);
  for (const key of ["1", "2"]) await fixture.noted(`holding ${key}`);
  await close(1);
  const responses = [1, 2].map((id) => ({ jsonrpc: "2.0", id, error: shuttingDown }));
  expect(await (await answer).json()).toEqual(responses);
});

test("with drainMs requests are served for a while after close, and the ready path is answered with 503", async () => {
  const endpoint = serveHttp(createFixture().server);
  onTestFinished(() => endpoint.close(0));
  // Long enough for three requests of a busy machine.
  const { url } = await endpoint.listen(0, "127.0.0.1", { drainMs: 3_000, readyPath: "/ready" });
  const ready = async () => (await fetch(new URL("/ready", url))).status;
  expect(await ready()).toBe(200);
  const closed = Promise.all([endpoint.close(), endpoint.close()]);
  expect(await ready()).toBe(503);
  expect(await new StatelessPeer(url).textOf("echo", { text: "drained" })).toBe("drained");
  await closed;
  await expect(ready()).rejects.toThrow();
});

test("no path tells readiness by default", async () => {
  const { url } = await start(createFixture().server);
  expect((await fetch(new URL("/ready", url))).status).toBe(404);
});

test.each([
  [{ drainMs: -1 }, "listen: drainMs: expected a time in milliseconds, got number -1"],
  [{ readyPath: "ready" }, 'listen: readyPath: expected a path such as "/ready", got "ready"'],
])("listen refuses %j", async (settings, message) => {
  await expect(serveHttp(createFixture().server).listen(0, "127.0.0.1", settings)).rejects.toThrow(message);
});
