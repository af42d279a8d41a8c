import type { JsonObject } from "portolan";
import type { Change, ChangeStream } from "portolan/client";
import { createClock } from "portolan/testing";
import { expect } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import { follow, text, turn } from "../kit/calls.ts";
import { type Request, refusal, type ScriptedServer } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";

const tagged = (id: unknown, params: JsonObject = {}) => ({ ...params, _meta: { [metaKey("subscriptionId")]: id } });
const acknowledge = (server: ScriptedServer, { id }: Request, notifications: JsonObject) =>
  server.notify("notifications/subscriptions/acknowledged", tagged(id, { notifications }));
const changed = (server: ScriptedServer, kind: string, id: unknown) =>
  server.notify(`notifications/${kind}/list_changed`, tagged(id));

/** Collects the changes of a watch. */
function read(watch: ChangeStream): { changes: Change[]; end: Promise<unknown> } {
  const changes: Change[] = [];
  const end = (async () => {
    for await (const change of watch) changes.push(change);
  })().then(
    () => "ended",
    (reason) => reason,
  );
  return { changes, end };
}

export const watching: Requirement[] = [
  {
    row: "C-U1",
    says: "the filter contains exactly what is watched",
    async test({ open }) {
      const { client, server, settled } = await open();
      const watch = await client.watch({ tools: true, prompts: false, uris: ["note://a", "note://a", "note://b"] });
      const [listen] = server.of("subscriptions/listen");
      const { _meta, ...params } = listen!.params;
      expect(params).toEqual({
        notifications: { toolsListChanged: true, resourceSubscriptions: ["note://a", "note://b"] },
      });
      expect(_meta).not.toHaveProperty("progressToken");
      await client.callTool("a");
      await settled();
      expect(server.of("subscriptions/listen")).toHaveLength(1);
      await watch.close();
    },
  },
  {
    row: "C-U1",
    says: "an acknowledged subscription has no timeout",
    async test({ open }) {
      const clock = createClock();
      const { client, server, settled } = await open({ clock, idleMs: 1_000, totalMs: 2_000 });
      const watch = await client.watch({ tools: true });
      const { changes } = read(watch);
      await clock.advance(24 * 60 * 60_000);
      changed(server, "tools", server.of("subscriptions/listen")[0]!.id);
      await settled();
      expect(changes).toEqual([{ kind: "tools" }]);
      expect(server.of("notifications/cancelled")).toEqual([]);
    },
  },
  {
    row: "C-U2",
    says: "changes outside the filter are dropped and reported as errors",
    async test({ open }) {
      const { client, server, settled, errors } = await open();
      const watch = await client.watch({ tools: true, uris: ["note://a"] });
      const { changes } = read(watch);
      const [{ id }] = server.of("subscriptions/listen") as [Request];
      changed(server, "prompts", id);
      server.notify("notifications/resources/updated", tagged(id, { uri: "note://b" }));
      server.notify("notifications/resources/updated", tagged(id, { uri: "note://a" }));
      await settled();
      expect(changes).toEqual([{ kind: "resource", uri: "note://a" }]);
      expect(errors).toHaveLength(2);
    },
  },
  {
    row: "C-U3",
    says: "the acknowledged filter may be smaller than requested, and an empty one rejects",
    async test({ open }) {
      const { client, server, settled } = await open({ on: { "subscriptions/listen": () => undefined } });
      const watching = client.watch({ tools: true, prompts: true, uris: ["note://a", "note://b"] });
      const waiting = follow(watching);
      const listen = await server.arrival("subscriptions/listen");
      await settled();
      expect(waiting.outcome).toBe("pending");
      acknowledge(server, listen, {
        toolsListChanged: true,
        promptsListChanged: false,
        resourcesListChanged: true,
        resourceSubscriptions: ["note://b", "note://c"],
      });
      expect((await watching).acceptedFilter).toEqual({ tools: true, uris: ["note://b"] });
      const refused = client.watch({ tools: true });
      acknowledge(server, await server.arrival("subscriptions/listen", 2), {});
      await expect(refused).rejects.toMatchObject({ code: "capability-missing" });
    },
  },
  {
    row: "C-U3",
    says: "a missing acknowledgement or a refusal rejects the watch",
    async test({ open }) {
      const clock = createClock();
      let isMute = false;
      const { client, server, settled } = await open({
        clock,
        on: {
          "subscriptions/listen": () => {
            if (isMute) return undefined;
            throw refusal(-32601, "No subscriptions");
          },
        },
      });
      await expect(client.watch({ tools: true })).rejects.toMatchObject({ code: -32601, message: "No subscriptions" });
      isMute = true;
      const watching = follow(client.watch({ tools: true }));
      const { id } = await server.arrival("subscriptions/listen", 2);
      await clock.advance(60_000);
      await turn();
      expect(watching.outcome).toBe("timeout");
      await settled();
      expect(server.of("notifications/cancelled").map(({ params }) => params.requestId)).toEqual([id]);
    },
  },
  {
    row: "C-U4",
    says: "a subscription id of another type and an untagged change are ignored",
    async test({ open }) {
      const { client, server, settled } = await open();
      const { changes } = read(await client.watch({ tools: true }));
      const [{ id }] = server.of("subscriptions/listen") as [Request];
      changed(server, "tools", typeof id === "number" ? String(id) : Number(id));
      changed(server, "tools", "another");
      server.notify("notifications/tools/list_changed");
      await settled();
      expect(changes).toEqual([]);
      changed(server, "tools", id);
      await settled();
      expect(changes).toEqual([{ kind: "tools" }]);
    },
  },
  {
    row: "C-U5",
    says: "closing one watch does not affect the others",
    async test({ open }) {
      const { client, server, settled } = await open();
      const watches = [await client.watch({ tools: true }), await client.watch({ tools: true, prompts: true })];
      const [first, second] = watches.map(read);
      const [one, two] = server.of("subscriptions/listen").map(({ id }) => id);
      changed(server, "tools", two);
      changed(server, "prompts", two);
      await settled();
      expect([first!.changes, second!.changes]).toEqual([[], [{ kind: "tools" }, { kind: "prompts" }]]);
      await watches[1]!.close();
      expect(await second!.end).toBe("ended");
      changed(server, "tools", one);
      await settled();
      expect(first!.changes).toEqual([{ kind: "tools" }]);
      expect(server.of("notifications/cancelled").map(({ params }) => params.requestId)).toEqual([two]);
    },
  },
  {
    row: "C-U6",
    says: "closing a watch cancels its request once",
    async test({ open }) {
      const { client, server, settled, errors } = await open();
      const watch = await client.watch({ tools: true });
      const { end } = read(watch);
      const [{ id }] = server.of("subscriptions/listen") as [Request];
      await Promise.all([watch.close(), watch.close()]);
      expect(await end).toBe("ended");
      await server.arrival("notifications/cancelled");
      changed(server, "tools", id);
      server.result(id, { resultType: "complete", ...tagged(id) });
      await settled();
      expect(server.of("notifications/cancelled").map(({ params }) => params.requestId)).toEqual([id]);
      expect(errors).toEqual([]);
      const controller = new AbortController();
      const unanswered = await open({ on: { "subscriptions/listen": () => undefined } });
      const watching = follow(unanswered.client.watch({ tools: true }, { signal: controller.signal }));
      const listen = await unanswered.server.arrival("subscriptions/listen");
      controller.abort();
      await turn();
      expect(watching.outcome).toBe("cancelled");
      await unanswered.settled();
      expect(unanswered.server.of("notifications/cancelled").map(({ params }) => params.requestId)).toEqual([
        listen.id,
      ]);
    },
  },
  {
    row: "C-U7",
    says: "a subscription ended by a result or a cancellation is reopened once with a new id",
    async test({ open }) {
      const endings: ((server: ScriptedServer, id: Request["id"]) => void)[] = [
        (server, id) => server.result(id, { resultType: "complete", ...tagged(id) }),
        (server, id) => server.notify("notifications/cancelled", tagged(id, { requestId: id })),
        (server, id) => {
          server.result(id, { resultType: "complete", ...tagged(id) });
          server.notify("notifications/cancelled", tagged(id, { requestId: id }));
        },
      ];
      for (const ending of endings) {
        const clock = createClock();
        let lists = 0;
        const { client, server, settled } = await open({
          clock,
          on: {
            "tools/list": () => {
              lists += 1;
              return { tools: [], ttlMs: 3_600_000 };
            },
          },
        });
        const watch = await client.watch({ tools: true, uris: ["note://a"] });
        const { changes } = read(watch);
        await client.listTools();
        const [{ id }] = server.of("subscriptions/listen") as [Request];
        ending(server, id);
        await settled();
        expect(server.of("subscriptions/listen")).toHaveLength(1);
        await clock.advance(1_000);
        const again = await server.arrival("subscriptions/listen", 2);
        await settled();
        expect(again.params.notifications).toEqual({ toolsListChanged: true, resourceSubscriptions: ["note://a"] });
        expect(again.id).not.toBe(id);
        expect(changes).toEqual([{ kind: "tools" }, { kind: "resource", uri: "note://a" }]);
        await client.listTools();
        expect(lists).toBe(2);
        await clock.advance(120_000);
        await settled();
        expect(server.of("subscriptions/listen")).toHaveLength(2);
        await watch.close();
      }
    },
  },
  {
    row: "C-U8",
    says: "progress and log messages arrive beside a subscription without affecting it",
    async test({ open }) {
      const logs: unknown[] = [];
      const steps: unknown[] = [];
      const { client, settled } = await open({
        onLog: ({ data }) => logs.push(data),
        on: {
          "tools/call": ({ params }, server) => {
            server.notify("notifications/message", { level: "info", data: "log" });
            server.notify("notifications/progress", { progressToken: params._meta.progressToken, progress: 1 });
            return text("x");
          },
        },
      });
      const { changes } = read(await client.watch({ tools: true }));
      await client.callTool("a", {}, { logLevel: "info", onProgress: ({ progress }) => steps.push(progress) });
      await settled();
      expect([logs, steps, changes]).toEqual([["log"], [1], []]);
    },
  },
  {
    row: "C-XU1",
    says: "unread changes are reported once, and a lost connection ends the watch with the reason",
    async test({ open, revision }) {
      const { client, server, settled } = await open();
      const watch = await client.watch({ tools: true, uris: ["note://a"] });
      const closed = await client.watch({ tools: true });
      await closed.close();
      await closed.close();
      expect(await read(closed).end).toBe("ended");
      const id = server.of("subscriptions/listen")[0]?.id;
      const about = (params?: JsonObject) => (isStateless(revision) ? tagged(id, params) : params);
      for (const _ of [1, 2, 3]) server.notify("notifications/tools/list_changed", about());
      for (const _ of [1, 2]) server.notify("notifications/resources/updated", about({ uri: "note://a" }));
      await settled();
      const { changes, end } = read(watch);
      await settled();
      expect(changes).toEqual([{ kind: "tools" }, { kind: "resource", uri: "note://a" }]);
      server.end.leave(3);
      await client.closed;
      expect(await end).toMatchObject({ code: "connection-closed" });
    },
  },
];
