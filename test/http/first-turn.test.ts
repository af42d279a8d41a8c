import { setImmediate as nextTurn, setTimeout as pause } from "node:timers/promises";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../http-client/kit.ts";
import { type Headers, start } from "./kit.ts";
import { begin, StatelessPeer, toHeaders, toMeta } from "./peer.ts";
import { post, RawHttp } from "./raw-http.ts";
import { byUser } from "./users.ts";

// What keeps a longer call is set up after the turn in which it came. These tests reach the server before that.

/** A server whose tools note what happens to them. */
function createNoted(): { server: ReturnType<typeof createTools>; journal: string[] } {
  const journal: string[] = [];
  return { server: createTools(journal), journal };
}

/** Lets the tool `steps` go on. */
let release = () => {};

function createTools(journal: string[]) {
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  return createServer({ name: "turns", version: "1.0.0" })
    .tool("hold", {
      async run(_, { signal }) {
        journal.push("begun");
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        journal.push("aborted");
      },
    })
    .tool("steps", {
      async run(_, context) {
        context.progress(1);
        await undefined;
        context.progress(2);
        await released;
        context.progress(3);
        return "done";
      },
    });
}

const revision = "2025-11-25";
const call = (name: string, id = 7) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name } });

/** The text of a request of a session. */
function toText(headers: Headers, body: object, method = "POST"): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = post("/mcp", JSON.stringify(body), lines.join(""));
  return method === "POST" ? text : `${method} /mcp HTTP/1.1\r\nHost: localhost\r\n${lines.join("")}\r\n`;
}

/** Writes several requests in one piece, which the server reads in one turn. */
async function writeAtOnce(port: number, ...requests: string[]): Promise<RawHttp> {
  const connection = await RawHttp.open(port);
  onTestFinished(() => connection.destroy());
  connection.write(requests.join(""));
  return connection;
}

test("a call is cancelled by a request in the same turn", async () => {
  const { server, journal } = createNoted();
  const { url, port } = await start(server);
  const { headers } = await begin(url, revision);
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
  const connection = await writeAtOnce(port, toText(headers, call("hold")), toText(headers, cancel));
  await connection.until(/( 202 [\s\S]*){2}/);
  await until(() => journal.includes("aborted"));
});

test("a call is cancelled by a later message of its batch", async () => {
  const { server, journal } = createNoted();
  const { url } = await start(server);
  const peer = await begin(url, "2025-03-26");
  const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } };
  await peer.post([call("hold"), cancel]);
  await until(() => journal.includes("aborted"));
});

test("a call ends with its session, which is deleted in the same turn", async () => {
  const { server, journal } = createNoted();
  const { url, port } = await start(server);
  const { headers } = await begin(url, revision);
  await writeAtOnce(port, toText(headers, call("hold")), toText(headers, {}, "DELETE"));
  await until(() => journal.includes("aborted"));
});

test("a stateless call is cancelled when its client disconnects at once", async () => {
  const { server, journal } = createNoted();
  const { port } = await start(server);
  const body = { ...call("hold"), params: { name: "hold", _meta: toMeta() } };
  const connection = await writeAtOnce(port, toText(toHeaders("tools/call", "hold"), body));
  connection.socket.end(() => connection.destroy());
  await until(() => journal.includes("begun"));
  await until(() => journal.includes("aborted"));
});

test("calls of one batch count against the limit of their caller", async () => {
  const { server, journal } = createNoted();
  const { url } = await start(server, { verify: byUser, limits: { callsPerCaller: 2 } });
  const peer = await begin(url, "2025-03-26", { headers: { authorization: "ada" } });
  const batch = peer.post([1, 2, 3, 4].map((id) => call("hold", id)));
  await until(() => journal.length >= 2);
  await nextTurn();
  expect(journal).toEqual(["begun", "begun"]);
  for (const requestId of [1, 2]) await peer.cancel(requestId);
  const codes = ((await (await batch).response()) as unknown as { error: { code: number } }[]).map(
    ({ error }) => error.code,
  );
  expect(codes).toEqual([-31429, -31429]);
});

test.each([
  ["a session", async (url: string) => begin(url, revision)],
  ["a stateless call", async (url: string) => new StatelessPeer(url)],
])("progress before and after the turn arrives in order, once: %s", async (_, open) => {
  const { server } = createNoted();
  const { url } = await start(server);
  const peer = await open(url);
  const answer = await peer.request("tools/call", { name: "steps", _meta: { progressToken: "p" } }, 7);
  const messages = [await answer.message(), await answer.message()];
  release();
  messages.push(await answer.message());
  expect(messages.map(({ params }) => params?.["progress"])).toEqual([1, 2, 3]);
  expect(await answer.message()).toMatchObject({ id: 7, result: { content: [{ text: "done" }] } });
});

test("a handler that ends as its silence becomes a stream is answered once", async () => {
  const server = createTools([]).tool("wait", {
    input: { type: "object", properties: { ms: { type: "number" } } },
    async run(args) {
      await pause(Number((args as { ms: number }).ms));
      return "done";
    },
  });
  const { url } = await start(server, { quietMs: 5, verify: byUser, limits: { streamsPerCaller: 80 } });
  const peer = await begin(url, revision, { headers: { authorization: "ada" } });
  const waits = Array.from({ length: 60 }, (_, index) => 4 + (index % 3));
  const texts = await Promise.all(
    waits.map((ms, index) => peer.request("tools/call", { name: "wait", arguments: { ms } }, index)),
  );
  for (const [index, answer] of texts.entries()) {
    expect(await answer.response()).toMatchObject({ id: index, result: { content: [{ text: "done" }] } });
  }
  // A timer that outlived its call would keep a place for a stream.
  await pause(20);
  const streams = await Promise.all(
    Array.from({ length: 80 }, (_, id) => peer.request("tools/call", { name: "hold" }, id)),
  );
  expect(streams.filter(({ headers }) => headers["content-type"] === "text/event-stream")).toHaveLength(80);
  for (let id = 0; id < streams.length; id += 1) await peer.cancel(id);
});

test("a call that closes its server is answered before the server is closed", async () => {
  let close = async () => {};
  const server = createServer({ name: "closing", version: "1.0.0" }).tool("close", {
    async run() {
      const closing = close();
      await nextTurn();
      closing.catch(() => {});
      return "done";
    },
  });
  const serving = serveHttp(server);
  close = () => serving.close();
  onTestFinished(() => serving.close(0));
  const { url } = await serving.listen();
  expect(await new StatelessPeer(url).textOf("close")).toBe("done");
});
