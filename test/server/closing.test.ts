import { createMemoryPair, type Message } from "portolan";
import { createServer, serveChannel } from "portolan/server";
import { expect, test } from "vitest";
import { metaKey } from "../kit/raw-peer.ts";

const listen = {
  jsonrpc: "2.0",
  id: 1,
  method: "subscriptions/listen",
  params: {
    notifications: { resourceSubscriptions: ["note://1"] },
    _meta: { [metaKey("protocolVersion")]: "2026-07-28", [metaKey("clientCapabilities")]: {} },
  },
} as const;

function serve(watch: () => Promise<() => void>) {
  const received: Message[] = [];
  const [near, far] = createMemoryPair();
  near.open({ message: (message) => received.push(message), batch() {}, unreadable() {}, closed() {} });
  const server = createServer({ name: "notes", version: "1.0.0" }).resource("note://1", {
    name: "note",
    watch,
    read: () => "one",
  });
  return { received, near, serving: serveChannel(server, far) };
}

test("a subscription that is still starting when its server closes is acknowledged and ended", async () => {
  let isReleased = false;
  const { received, near, serving } = serve(async () => () => {
    isReleased = true;
  });
  near.send(listen);
  await Promise.resolve();
  await serving.close();
  const methods = received.map((message) => ("method" in message ? message.method : "result"));
  expect(methods).toEqual(["notifications/subscriptions/acknowledged", "result", "notifications/cancelled"]);
  expect(isReleased).toBe(true);
});

test("a subscription that never starts does not prevent its server from closing", async () => {
  const { near, serving } = serve(() => new Promise(() => {}));
  near.send(listen);
  await Promise.resolve();
  await serving.close();
  await serving.closed;
});
