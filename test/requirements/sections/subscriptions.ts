import { createMemoryPair, type JsonObject } from "portolan";
import { serveChannel } from "portolan/server";
import { expect } from "vitest";
import { type ChildChannel, RawPeer } from "../../kit/raw-peer.ts";
import type { Requirement } from "../requirement.ts";
import type { Entry } from "../results.ts";

const server = new URL("../servers/asking.mjs", import.meta.url);
const subscriptionId = "io.modelcontextprotocol/subscriptionId";

/** Opens a subscription and waits for its acknowledgement. */
async function listen(peer: RawPeer, id: string | number, notifications: JsonObject): Promise<Entry> {
  peer.send({ jsonrpc: "2.0", id, method: "subscriptions/listen", params: peer.describe({ notifications }) });
  const isMine = (params: Entry) => params?._meta?.[subscriptionId] === id;
  return peer.notification("notifications/subscriptions/acknowledged", isMine);
}

/** The messages on a subscription after its acknowledgement. */
function receivedOn(peer: RawPeer, id: unknown): Entry[] {
  const mine = peer.notifications.filter(({ params }) => (params as Entry)?._meta?.[subscriptionId] === id);
  return mine.slice(1).map(({ method, params }) => [method.replace("notifications/", ""), params]);
}

/** Requirements on subscriptions. */
export const subscriptions: readonly Requirement[] = [
  {
    row: "U1",
    says: "listen stays open, and a malformed filter is refused",
    async test(open) {
      const peer = await open({ server });
      await listen(peer, "l", { toolsListChanged: true });
      await peer.settled();
      expect(peer.transcript.filter((line) => line.startsWith("< ") && line.includes('"id":"l"'))).toEqual([]);
      for (const notifications of [
        undefined,
        5,
        [],
        { toolsListChanged: "yes" },
        { resourceSubscriptions: "doc:plain" },
        { resourceSubscriptions: [5] },
      ]) {
        const { error } = await peer.request(
          "subscriptions/listen",
          notifications === undefined ? {} : { notifications },
        );
        expect(error?.code, JSON.stringify(notifications)).toBe(-32602);
        expect(error?.message).toContain("params.notifications");
      }
      const many = Array.from({ length: 1_001 }, (_, n) => `doc:t/${n}`);
      expect(
        (await peer.request("subscriptions/listen", { notifications: { resourceSubscriptions: many } })).error?.code,
      ).toBe(-32602);
    },
  },
  {
    row: "U2",
    says: "a subscription receives only the types and resources of its filter",
    async test(open) {
      const peer = await open({ server });
      await listen(peer, 101, { promptsListChanged: true, toolsListChanged: false });
      await listen(peer, 102, { resourceSubscriptions: ["doc:plain"] });
      await listen(peer, 103, {});
      await peer.callTool("change", { what: ["tools", "resources"], uris: ["doc:other", "doc:plainer"] });
      await peer.settled();
      expect([101, 102, 103].flatMap((id) => receivedOn(peer, id))).toEqual([]);
      await peer.callTool("change", { what: ["tools", "prompts", "resources"], uris: ["doc:plain", "doc:plain/part"] });
      await peer.settled();
      expect(receivedOn(peer, 101).map(([method]) => method)).toEqual(["prompts/list_changed"]);
      expect(receivedOn(peer, 102).map(([, params]) => params.uri)).toEqual(["doc:plain", "doc:plain/part"]);
      expect(receivedOn(peer, 103)).toEqual([]);
    },
  },
  {
    row: "U3",
    says: "the acknowledgement names the supported part of the filter and is the first message",
    async test(open) {
      const peer = await open({ server });
      const asked = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: false,
        resourceSubscriptions: ["doc:plain", "doc:t/1", "nowhere:x"],
        unknownChanged: true,
      };
      peer.send({
        jsonrpc: "2.0",
        id: "l",
        method: "subscriptions/listen",
        params: peer.describe({ notifications: asked }),
      });
      await peer.callTool("change", { uris: ["doc:plain"] });
      await peer.notification("notifications/subscriptions/acknowledged");
      await peer.callTool("change", { uris: ["doc:plain"] });
      await peer.settled();
      expect(receivedOn(peer, "l").map(([method]) => method)).toContain("resources/updated");
      const [first] = peer.notifications;
      expect(first).toEqual({
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: {
          _meta: { [subscriptionId]: "l" },
          notifications: {
            toolsListChanged: true,
            promptsListChanged: true,
            resourceSubscriptions: ["doc:plain", "doc:t/1"],
          },
        },
      });
      const bare = await open({ server: new URL("../servers/bare.mjs", import.meta.url) });
      const ack = await listen(bare, "b", { toolsListChanged: true, resourceSubscriptions: ["doc:plain"] });
      expect(ack.params.notifications).toEqual({});
    },
  },
  {
    row: "U4",
    says: "numeric and string ids keep their type",
    async test(open) {
      const peer = await open({ server });
      for (const id of [700, "700", 0]) await listen(peer, id, { toolsListChanged: true });
      await peer.callTool("change");
      await peer.settled();
      const tags = peer.notifications
        .filter(({ method }) => method === "notifications/tools/list_changed")
        .map(({ params }) => (params as Entry)._meta[subscriptionId]);
      expect(tags).toHaveLength(3);
      expect(tags).toEqual(expect.arrayContaining([700, "700", 0]));
      for (const { params } of peer.notifications) expect((params as Entry)._meta).toHaveProperty([subscriptionId]);
    },
  },
  {
    row: "U5",
    says: "cancelling one subscription does not affect another",
    async test(open) {
      const peer = await open({ server });
      await listen(peer, "tools", { toolsListChanged: true });
      await listen(peer, "prompts", { promptsListChanged: true });
      await peer.callTool("change", { what: ["tools", "prompts"] });
      await peer.settled();
      expect(receivedOn(peer, "tools").map(([method]) => method)).toEqual(["tools/list_changed"]);
      expect(receivedOn(peer, "prompts").map(([method]) => method)).toEqual(["prompts/list_changed"]);
      peer.notify("notifications/cancelled", { requestId: "tools" });
      await peer.callTool("change", { what: ["tools", "prompts"] });
      await peer.settled();
      expect(receivedOn(peer, "tools")).toHaveLength(1);
      expect(receivedOn(peer, "prompts")).toHaveLength(2);
    },
  },
  {
    row: "U6",
    says: "a server that closes sends the result, then the notification, both with the subscription id",
    async test(open, { revision, transport }) {
      const peer = transport === "stdio" ? await open({ server }) : undefined;
      const [near, far] = createMemoryPair({ serialize: true });
      const serving = peer ? undefined : serveChannel((await import(server.href)).default(), far);
      const listening = peer ?? new RawPeer(near, { revision });
      await listen(listening, "gone", { toolsListChanged: true });
      listening.notify("notifications/cancelled", { requestId: "gone", reason: "enough" });
      await listen(listening, "stays", { toolsListChanged: true });
      await listening.callTool("change");
      await listening.settled();
      expect(receivedOn(listening, "gone")).toEqual([]);
      const ended = listening.responseTo("stays");
      if (serving) serving.close();
      else (listening as RawPeer & { channel: ChildChannel }).channel.child.kill("SIGTERM");
      const { result } = await ended;
      expect(result).toMatchObject({ resultType: "complete", _meta: { [subscriptionId]: "stays" } });
      const notice = await listening.notification("notifications/cancelled");
      expect(notice.params).toMatchObject({ requestId: "stays", _meta: { [subscriptionId]: "stays" } });
      await listening.until(({ isClosed }) => isClosed);
      expect(listening.strays).toEqual([]);
      const last = listening.transcript.slice(-2).map((line) => line.includes("notifications/cancelled"));
      expect(last).toEqual([false, true]);
    },
  },
  {
    row: "U8",
    says: "progress and log messages are sent for their request only, without a subscription id",
    async test(open) {
      const peer = await open({ server });
      await listen(peer, "l", { toolsListChanged: true });
      const _meta = { progressToken: "p", "io.modelcontextprotocol/logLevel": "debug" };
      await peer.callTool("change", {}, { _meta });
      await peer.callTool("change", {});
      await peer.settled();
      const others = peer.notifications.filter(
        ({ method }) => method === "notifications/progress" || method === "notifications/message",
      );
      expect(others.map(({ method, params }) => [method, params?.["data"] ?? params?.["progressToken"]])).toEqual([
        ["notifications/progress", "p"],
        ["notifications/message", "changing"],
      ]);
      for (const { params } of others) expect((params as Entry)._meta?.[subscriptionId]).toBeUndefined();
      expect(receivedOn(peer, "l").map(([method]) => method)).toEqual(["tools/list_changed", "tools/list_changed"]);
    },
  },
];
