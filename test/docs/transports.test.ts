import { createMemoryPair } from "portolan";
import { createServer, serveChannel } from "portolan/server";
import { describe, expect, test } from "vitest";
import { oldestAndNewest } from "../examples/example.ts";
import { connect, importGuide } from "./guide.ts";

const embed = await importGuide("embed");

test("answers stateful and stateless requests on one channel", async () => {
  const responses = await embed.bothEras();
  const content = [{ type: "text", text: "hello" }];
  expect(responses.get("hello").result.protocolVersion).toBe("2025-11-25");
  expect(responses.get("stateful").result).toEqual({ content });
  expect(responses.get("stateless").result).toMatchObject({ resultType: "complete", content });
});

describe.each(oldestAndNewest)("docs/transports.md on %s", (revision) => {
  test("serves the embedded server on a memory channel", async () => {
    const peer = await connect(embed.server, { revision });
    expect((await peer.callTool("echo", { text: "hi" })).result.content[0].text).toBe("hi");
  });
});

test("passes the same object to the other side without serialize", async () => {
  const [near, far] = createMemoryPair();
  const sent = { jsonrpc: "2.0", method: "example" } as const;
  const arrived = new Promise((resolve) => far.open({ message: resolve, batch() {}, unreadable() {}, closed() {} }));
  near.send(sent);
  expect(await arrived).toBe(sent);
});

test("cancels running calls and closes both sides when the server closes", async () => {
  const [near, far] = createMemoryPair();
  let reason: unknown;
  const never = createServer({ name: "never", version: "1" }).tool("never", {
    run: (_, ctx) => new Promise(() => ctx.signal.addEventListener("abort", () => (reason = ctx.signal.reason))),
  });
  const serving = serveChannel(never, far);
  const isClosed = new Promise<void>((resolve) =>
    near.open({ message() {}, batch() {}, unreadable() {}, closed: () => resolve() }),
  );
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  near.send({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  near.send({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "never" } });
  await near.send({ jsonrpc: "2.0", id: 3, method: "ping" });
  await serving.close();
  await Promise.all([serving.closed, isClosed]);
  expect(String(reason)).toContain("closed");
});
