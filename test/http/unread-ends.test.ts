// The end of an answer that its client has not read: it counts for its caller until it is read.
import { once } from "node:events";
import { createServer } from "portolan/server";
import { serveHttp } from "portolan/server/http";
import { expect, onTestFinished, test } from "vitest";
import { RawHttp } from "./raw-http.ts";

const version = "2026-07-28";
const size = 16_000_000;

/** A tool that sends progress, and then a result that no socket buffers as a whole. */
const server = createServer({ name: "test", version: "1.0.0" }, { onError: () => {} })
  .tool("report", {
    async run(_, ctx) {
      ctx.progress(1);
      await new Promise(setImmediate);
      return "x".repeat(size);
    },
  })
  .tool("chatty", {
    run(_, ctx) {
      for (let count = 1; count <= 30; count += 1) ctx.progress(count, 30, "x".repeat(100_000));
      return "";
    },
  });

function bodyOf(name: string): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: {
      name,
      arguments: {},
      _meta: {
        progressToken: 1,
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": { name: "c", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  });
}

function headersOf(name: string): { [name: string]: string } {
  return {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    "MCP-Protocol-Version": version,
    "Mcp-Method": "tools/call",
    "Mcp-Name": name,
  };
}

function request(port: number, name: string): string {
  const body = bodyOf(name);
  const headers = { Host: `127.0.0.1:${port}`, ...headersOf(name), "Content-Length": body.length };
  const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}`);
  return ["POST /mcp HTTP/1.1", ...lines, "", body].join("\r\n");
}

async function start(limits: object) {
  const endpoint = serveHttp(server, { caller: () => "hostile", limits });
  onTestFinished(() => endpoint.close(0));
  const { port } = await endpoint.listen();
  /** Sends a call, and reads only the beginning of its answer. */
  return async (name = "report") => {
    const connection = await RawHttp.open(port);
    onTestFinished(() => connection.destroy());
    connection.write(request(port, name));
    // The socket stops with the first bytes; the rest of the answer stays in the server.
    await once(connection.socket, "data");
    connection.socket.pause();
    const head = connection.received.split("\r\n\r\n", 1)[0] ?? "";
    return { connection, head };
  };
}

test("an ended stream keeps its place until its client has read it", async () => {
  const call = await start({ streamsPerCaller: 2 });
  const unread = [await call(), await call()];
  for (const { head } of unread) expect(head).toContain("text/event-stream");
  // Without a place the answer has no progress.
  expect((await call()).head).toContain("application/json");
  for (const { connection } of unread) connection.socket.resume();
  await expect.poll(async () => (await call()).head, { timeout: 20_000 }).toContain("text/event-stream");
});

test("an ended stream of a web-standard response keeps its place until its client has read it", async () => {
  const endpoint = serveHttp(server, { caller: () => "hostile", limits: { streamsPerCaller: 1 } });
  onTestFinished(() => endpoint.close(0));
  const call = async () => {
    const init = { method: "POST", headers: headersOf("report"), body: bodyOf("report") };
    const response = await endpoint.fetch(new Request("http://localhost/mcp", init));
    return { response, type: response.headers.get("content-type") };
  };
  const unread = await call();
  expect(unread.type).toBe("text/event-stream");
  await new Promise(setImmediate);
  expect((await call()).type).toBe("application/json");
  expect((await unread.response.text()).length).toBeGreaterThan(size);
  const dropped = await call();
  expect(dropped.type).toBe("text/event-stream");
  await dropped.response.body?.cancel();
  expect((await call()).type).toBe("text/event-stream");
});

test("the unread rest of ended streams counts as kept bytes of its caller", async () => {
  const call = await start({ keptBytesPerCaller: 2.5 * size, backlog: 2 * size });
  await call();
  await call();
  const { connection } = await call();
  connection.socket.resume();
  // The stream has begun, so that no status can refuse it.
  await connection.closed;
  expect(connection.received.length).toBeLessThan(size);
});

test("progress that is sent together with its result counts as kept bytes of its caller", async () => {
  const call = await start({ keptBytesPerCaller: 2_000_000, backlog: 100_000_000 });
  const { head } = await call("chatty");
  expect(head).toContain("429");
});
