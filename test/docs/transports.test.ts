import { createMemoryPair } from "portolan";
import { createServer, serveChannel } from "portolan/server";
import { describe, expect, test } from "vitest";
import { ends } from "../examples/example.ts";
import { connect, importGuide } from "./guide.ts";

const embed = await importGuide("embed");

test("clients of both eras are answered on one channel, each in its own way", async () => {
  const answers = await embed.bothEras();
  const content = [{ type: "text", text: "hello" }];
  expect(answers.get("hello").result.protocolVersion).toBe("2025-11-25");
  expect(answers.get("stateful").result).toEqual({ content });
  expect(answers.get("stateless").result).toMatchObject({ resultType: "complete", content });
});

describe.each(ends)("on %s, as docs/transports.md says,", (revision) => {
  test("the embedded server is served to any channel", async () => {
    const peer = await connect(embed.server, { revision });
    expect((await peer.callTool("echo", { text: "hi" })).result.content[0].text).toBe("hi");
  });
});

test("without serialize both sides share the objects they send", async () => {
  const [near, far] = createMemoryPair();
  const sent = { jsonrpc: "2.0", method: "example" } as const;
  const arrived = new Promise((resolve) => far.open({ message: resolve, batch() {}, unreadable() {}, closed() {} }));
  near.send(sent);
  expect(await arrived).toBe(sent);
});

test("closing what is served cancels what runs and ends both sides", async () => {
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
