import type { JsonObject } from "portolan";
import { expect } from "vitest";
import { metaKey, type RawPeer } from "../../../kit/raw-peer.ts";
import { isStateless, type RevisionDate, stateful, stateless } from "../../../kit/revisions.ts";
import type { Requirement } from "../../requirement.ts";
import { mentions, wireServer } from "../../wire.ts";

const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

function logged(peer: RawPeer): (JsonObject | undefined)[] {
  return peer.notifications.filter(({ method }) => method === "notifications/message").map(({ params }) => params);
}

/** Sets the log level as the revision requires: once, or with each request. */
async function setLevel(peer: RawPeer, revision: RevisionDate, level: string): Promise<JsonObject> {
  if (isStateless(revision)) return { _meta: { [metaKey("logLevel")]: level } };
  expect((await peer.request("logging/setLevel", { level })).result).toEqual({});
  return {};
}

/** Log messages, and error details that must not be sent. */
export const logging: readonly Requirement[] = [
  {
    row: "J7",
    says: "messages of all eight levels are sent with data and logger",
    async test(open, { revision }) {
      const peer = await open();
      const more = await setLevel(peer, revision, "debug");
      await peer.callTool("logs", {}, more);
      expect(logged(peer)).toEqual(levels.map((level) => ({ level, logger: "full", data: { level } })));
    },
  },
  {
    row: "J8",
    says: "messages below the level are not sent, and an unknown level is refused",
    async test(open, { revision }) {
      const peer = await open();
      for (const [index, level] of levels.entries()) {
        peer.notifications.length = 0;
        await peer.callTool("logs", {}, await setLevel(peer, revision, level));
        expect(
          logged(peer).map((params) => params?.["level"]),
          level,
        ).toEqual(levels.slice(index));
      }
      peer.notifications.length = 0;
      for (const level of ["bogus", "", "DEBUG", 3, null]) {
        const { error } = isStateless(revision)
          ? await peer.callTool("logs", {}, { _meta: { [metaKey("logLevel")]: level } })
          : await peer.request("logging/setLevel", { level });
        expect(error?.code, String(level)).toBe(-32602);
        expect(error?.message).not.toContain("\n");
      }
      expect(logged(peer)).toEqual([]);
    },
  },
  {
    row: "J8",
    says: "a session without a level receives all messages, and a refused level changes nothing",
    on: stateful,
    async test(open) {
      const peer = await open();
      await peer.callTool("logs");
      expect(logged(peer)).toHaveLength(8);
      await peer.request("logging/setLevel", { level: "alert" });
      await peer.request("logging/setLevel", { level: "bogus" });
      peer.notifications.length = 0;
      await peer.callTool("logs");
      expect(logged(peer)).toHaveLength(2);
      const other = await open();
      await other.callTool("logs");
      expect(logged(other)).toHaveLength(8);
    },
  },
  {
    row: "J8",
    says: "a request without a level receives no log messages",
    on: stateless,
    async test(open) {
      const peer = await open();
      await peer.callTool("logs");
      await peer.settled();
      expect(logged(peer)).toEqual([]);
    },
  },
  {
    row: "J9",
    says: "messages logged outside a request are sent on the connection, by its level",
    on: stateful,
    async test(open) {
      const peer = await open();
      await peer.callTool("change");
      await peer.settled();
      expect(logged(peer)).toEqual([{ level: "error", data: "outside" }]);
      await peer.request("logging/setLevel", { level: "critical" });
      await peer.callTool("change");
      await peer.settled();
      expect(logged(peer)).toHaveLength(1);
    },
  },
  {
    row: "J9",
    says: "log messages are sent for a request with a level, never on a subscription",
    on: stateless,
    async test(open) {
      const peer = await open({ meta: { [metaKey("logLevel")]: "debug" } });
      peer.request("subscriptions/listen", { notifications: { toolsListChanged: true } }, "listen");
      await peer.notification("notifications/subscriptions/acknowledged");
      await peer.callTool("change");
      await peer.notification("notifications/tools/list_changed");
      await peer.settled();
      expect(logged(peer)).toEqual([]);
      await peer.callTool("logs");
      expect(logged(peer)).toHaveLength(8);
      for (const params of logged(peer)) expect(mentions(params, metaKey("subscriptionId"))).toBe(false);
    },
  },
  {
    row: "J10",
    says: "details of thrown errors are not sent to the client",
    async test(open, { revision }) {
      const peer = await open({
        server: wireServer,
        ...(isStateless(revision) && { meta: { [metaKey("logLevel")]: "debug" } }),
      });
      const { error } = await peer.request("resources/read", { uri: "secret://a" });
      expect(error).toEqual({
        code: -32603,
        message: expect.stringMatching(/^Internal error \(reference [0-9a-f]+\)$/),
      });
      const full = await open();
      const { result } = await full.callTool("throws");
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: expect.stringMatching(/^The tool failed \(reference [0-9a-f]+\)$/) }],
      });
      for (const line of [...peer.transcript, ...full.transcript]) expect(line).not.toContain("hunter2");
    },
  },
];
