import { createMemoryStorage, type Storage } from "portolan/storage";
import { expect, test } from "vitest";
import { createFixture } from "./fixture.ts";
import { start } from "./kit.ts";
import { begin, StatelessPeer } from "./peer.ts";

const revision = "2025-11-25";

/** The storage of one process, whose bus can lose its connection: messages are missing until it is back. */
function losable(shared: Storage): { storage: Storage; disconnect(): void; reconnect(): void } {
  const losses = new Set<() => void>();
  let isConnected = true;
  const { bus } = shared;
  return {
    storage: {
      ...shared,
      bus: {
        publish: (topic, value) => bus.publish(topic, value),
        async subscribe(topic, receive, lost) {
          losses.add(lost);
          return bus.subscribe(topic, (value) => isConnected && receive(value), lost);
        },
      },
    },
    disconnect: () => {
      isConnected = false;
    },
    reconnect: () => {
      isConnected = true;
      for (const lost of losses) lost();
    },
  };
}

/** Starts two processes that share a storage; the second one can lose its connection to the bus. */
async function startTwo() {
  const shared = createMemoryStorage();
  const { storage, ...connection } = losable(shared);
  const [a, b] = [createFixture(), createFixture()];
  const [one, other] = [await start(a.server, { storage: shared }), await start(b.server, { storage })];
  return { a, b, urlA: one.url, urlB: other.url, connection };
}

test("a session that ended while the bus was lost is not served, and its stream and calls end", async () => {
  const { b, urlA, urlB, connection } = await startTwo();
  const peer = await begin(urlA, revision);
  const there = peer.at(urlB);
  const stream = await there.get();
  const call = there.call("hold", { key: "k" }, 7);
  await b.noted("holding k");
  connection.disconnect();
  expect((await peer.delete()).status).toBe(204);
  connection.reconnect();
  await b.noted("aborted k");
  expect(await stream.messages()).toEqual([]);
  expect((await there.request("ping")).status).toBe(404);
  await call;
});

test("after a lost bus every stream is told once of all that it listens to", async () => {
  const { a, urlA, urlB, connection } = await startTwo();
  const peer = (await begin(urlA, revision)).at(urlB);
  const stream = await peer.get();
  await (await peer.request("resources/subscribe", { uri: "note://1" })).response();
  const listening = await new StatelessPeer(urlB).request("subscriptions/listen", {
    notifications: { toolsListChanged: true, resourceSubscriptions: ["note://1"] },
  });
  expect((await listening.message()).method).toBe("notifications/subscriptions/acknowledged");
  connection.disconnect();
  a.server.publish("resources/updated", { uri: "note://1" });
  a.server.publish("tools/list_changed", {});
  await new Promise((resolve) => setImmediate(resolve));
  connection.reconnect();
  a.server.publish("message", { level: "error", data: "end" });
  const told = async (count: number, from: typeof stream) => {
    const methods: unknown[] = [];
    for (let n = 0; n < count; n++) methods.push((await from.message()).method);
    return methods.sort();
  };
  expect(await told(2, listening)).toEqual(["notifications/resources/updated", "notifications/tools/list_changed"]);
  expect(await told(5, stream)).toEqual([
    "notifications/message",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
    "notifications/tools/list_changed",
  ]);
});
