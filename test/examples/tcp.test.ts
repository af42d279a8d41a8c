import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import type { Channel } from "portolan";
import { expect, onTestFinished, test } from "vitest";
import { RawPeer, type RawPeerOptions } from "../kit/raw-peer.ts";
import { accept, oldestAndNewest, pathTo, run } from "./example.ts";

const client = pathTo("examples/tcp/client.mjs");

async function startServer(): Promise<number> {
  const child = spawn(process.execPath, [pathTo("examples/tcp/server.mjs")]);
  const exited = once(child, "exit");
  onTestFinished(async () => {
    child.kill();
    await exited;
  });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return Number(/^listening on (\d+)\n$/.exec(line)?.[1]);
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
