import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Channel } from "portolan";
import { expect, onTestFinished, test } from "vitest";
import { RawPeer, type RawPeerOptions } from "../kit/raw-peer.ts";
import { accept, oldestAndNewest, pathTo, run } from "./example.ts";

const client = pathTo("examples/tcp/client.mjs");

async function startServer(): Promise<number> {
  return Number(await startServerAt("0"));
}

async function startServerAt(place: string): Promise<string> {
  const child = spawn(process.execPath, [pathTo("examples/tcp/server.mjs"), place]);
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return /^listening on (.+)\n$/.exec(line)?.[1] ?? "";
}

async function connectTo(port: number, options: RawPeerOptions): Promise<RawPeer> {
  const { createSocketChannel } = await import(pathTo("examples/tcp/channel.mjs"));
  const channel: Channel = createSocketChannel(connect(port, "127.0.0.1"));
  const peer = new RawPeer(channel, options);
  onTestFinished(() => peer.close());
  return peer.start();
}

test("the client calls a tool over TCP and prints the result", async () => {
  const port = await startServer();
  expect(await run(client, [String(port), "Oslo"])).toEqual({
    code: 0,
    stdout: '{"sky":"snow","celsius":-3}\n',
    stderr: "",
  });
});

test("the client prints the reason when no server listens", async () => {
  const port = await startServer();
  await run(client, [String(port)]);
  const { code, stderr } = await run(client, ["1"]);
  expect(code).toBe(1);
  expect(stderr).toContain("ECONNREFUSED");
});

test("the server serves a stateful and a stateless client at once, including questions", async () => {
  const port = await startServer();
  const [oldest, newest] = await Promise.all(
    oldestAndNewest.map((revision) =>
      connectTo(port, { revision, capabilities: { elicitation: {} }, answer: accept({ name: "Ada", seat: "window" }) }),
    ),
  );
  const [forecast, booking] = await Promise.all([
    oldest!.callTool("forecast", { city: "Lisbon" }),
    newest!.callTool("book_flight", { id: "PT-101" }),
  ]);
  expect(forecast.result.content[0].text).toBe('{"sky":"sunny","celsius":24}');
  expect(booking.result.structuredContent).toMatchObject({ name: "Ada", reminder: true });
});

test("the server keeps serving when another client disconnects, and reads a message that arrives in chunks", async () => {
  const port = await startServer();
  const leaving = await connectTo(port, { revision: "2026-07-28" });
  const staying = await connectTo(port, { revision: "2026-07-28" });
  await leaving.close();
  const wish = "x".repeat(300_000);
  const { error } = await staying.callTool("choose_flight", { from: "Oslo", to: "Lisbon", wish });
  expect(error?.code).toBe(-32021);
});

const call = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: {
    name: "forecast",
    arguments: { city: "Lisbon" },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};

test("the server ends an HTTP request, as of a web page, without reading the call in its body", async () => {
  const port = await startServer();
  const sent = request({ port, host: "127.0.0.1", method: "POST", headers: { "content-type": "text/plain" } });
  let answer = "";
  const closed = new Promise<void>((resolve) => {
    sent.on("error", () => {});
    sent.on("socket", (socket) => {
      socket.on("data", (bytes) => {
        answer += bytes;
        socket.destroy();
      });
      socket.on("close", () => resolve());
    });
  });
  sent.end(`\n${JSON.stringify(call)}\n`);
  await closed;
  expect(answer).toBe("");
});

test("after the first message the server goes on when a line is no message", async () => {
  const port = await startServer();
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  onTestFinished(() => void socket.destroy());
  socket.write(`${JSON.stringify(call)}\nno message\n${JSON.stringify({ ...call, id: 2 })}\n`);
  let answer = "";
  for await (const text of socket) {
    answer += text;
    if (answer.includes('"id":2')) break;
  }
  expect(answer.split("\n").filter((line) => line.includes('"celsius":24'))).toHaveLength(2);
});

test("only its own user can connect to the server at a path", async ({ skip }) => {
  if (process.platform === "win32") skip("Windows has no modes of sockets");
  const folder = mkdtempSync(join(tmpdir(), "portolan-socket-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "travel.sock");
  expect(await startServerAt(path)).toBe(path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(await run(client, [path, "Oslo"])).toMatchObject({ code: 0, stdout: '{"sky":"snow","celsius":-3}\n' });
});
