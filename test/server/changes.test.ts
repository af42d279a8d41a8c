import type { PortolanError } from "portolan";
import { createServer, type LiveServer, live } from "portolan/server";
import { describe, expect, test } from "vitest";
import type { RawPeer } from "../kit/raw-peer.ts";
import { revisions } from "../kit/revisions.ts";
import {
  call,
  connect,
  connectAs,
  countNotifications,
  eras,
  info,
  listen,
  names,
  stateful,
  stateless,
} from "./peers.ts";

describe("a live server", () => {
  const started = (): LiveServer =>
    live(
      createServer(info)
        .tool("a", { run: () => "a" })
        .prompt("p", { get: () => "" }),
    );

  test.each(eras)("announces each changed list once per burst ($revision)", async (era) => {
    const server = started();
    const peer = await connect(server, era);
    if (era === stateless)
      await listen(peer, { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true });
    server.update((now) => now.tool("b", { run: () => "b" }));
    server.update((now) => now.tool("c", { run: () => "c" }).resource("x:a", { read: () => "" }));
    server.update((now) => now.template("x:{id}", { read: () => "" }));
    await peer.settled();
    expect(["tools", "resources", "prompts"].map((list) => countNotifications(peer, `${list}/list_changed`))).toEqual([
      1, 1, 0,
    ]);
    server.update((now) => now);
    await peer.settled();
    expect(countNotifications(peer, "tools/list_changed")).toBe(1);
    server.update(() => server.current.prompt("q", { get: () => "" }));
    await peer.settled();
    expect(countNotifications(peer, "prompts/list_changed")).toBe(1);
    expect(await names(peer)).toEqual(["a", "b", "c"]);
  });

  test("completes a call with the definition it began with", async () => {
    let go: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const server = live(
      createServer(info).tool("slow", {
        run: async () => {
          await gate;
          return "old";
        },
      }),
    );
    const peer = await connect(server);
    const pending = call(peer, "slow");
    await peer.settled();
    server.update(() => createServer(info).tool("new", { run: () => "new" }));
    go();
    expect(await pending).toBe("old");
    expect(await call(peer, "slow")).toBe("-32602: Unknown tool: slow");
    expect(await call(peer, "new")).toBe("new");
  });

  test.each(eras)(
    "announces a removed or replaced feature once, and refuses calls to a removed one ($revision)",
    async (era) => {
      const server = started();
      const peer = await connect(server, era);
      if (era === stateless) await listen(peer, { toolsListChanged: true, promptsListChanged: true });
      server.update((now) => now.without("tools", "a"));
      await peer.settled();
      expect(countNotifications(peer, "tools/list_changed")).toBe(1);
      expect(await names(peer)).toEqual([]);
      expect(await call(peer, "a")).toBe("-32602: Unknown tool: a");
      server.update((now) => now.tool("a", { run: () => "back" }));
      server.update((now) => now.without("tools", "a").tool("a", { run: () => "replaced" }));
      await peer.settled();
      expect(countNotifications(peer, "tools/list_changed")).toBe(2);
      expect(countNotifications(peer, "prompts/list_changed")).toBe(0);
      expect(await call(peer, "a")).toBe("replaced");
      expect(() => server.update((now) => now.without("tools", "nowhere"))).toThrow(
        'without: expected the key of one of the defined tools, got "nowhere"',
      );
    },
  );

  test("keeps its definition when an update fails", async () => {
    const server = started();
    expect(() => server.update((now) => now.tool("a", { run: () => "" }))).toThrow("defined twice");
    expect(() => server.update(() => undefined as never)).toThrow("expected the changed server, got nothing");
    const peer = await connect(server, stateful);
    expect(await names(peer)).toEqual(["a"]);
    await peer.settled();
    expect(peer.notifications).toEqual([]);
  });
});

describe("publish", () => {
  test.each(eras)("with a principal reaches that principal only ($revision)", async (era) => {
    const server = createServer(info).resource("x:a", { subscribe: true, read: () => "" });
    const [ada, bob] = [await connectAs(server, "ada", era), await connectAs(server, "bob", era)];
    for (const peer of [ada, bob]) {
      if (era === stateless) await listen(peer, { resourceSubscriptions: ["x:a"] });
      else await peer.request("resources/subscribe", { uri: "x:a" });
    }
    server.publish("resources/updated", { uri: "x:a" }, { principal: "ada" });
    await Promise.all([ada.settled(), bob.settled()]);
    expect([ada, bob].map((peer) => countNotifications(peer, "resources/updated"))).toEqual([1, 0]);
    server.publish("resources/updated", { uri: "x:a" });
    await Promise.all([ada.settled(), bob.settled()]);
    expect([ada, bob].map((peer) => countNotifications(peer, "resources/updated"))).toEqual([2, 1]);
  });

  test("throws for a change of a list that cannot change", () => {
    const server = createServer(info).tool("a", { run: () => "" });
    expect(() => server.publish("tools/list_changed", {})).toThrow(
      'publish("tools/list_changed"): this list cannot change; serve live(server) to change it',
    );
    expect(() => server.publish("resources/list_changed", {})).toThrow();
    const listing = createServer(info).template("x:{id}", { list: () => [], read: () => "" });
    expect(() => listing.publish("resources/list_changed", {})).not.toThrow();
  });
});

describe("watch", () => {
  test.each(eras)("begins with the first subscriber and ends after the last ($revision)", async (era) => {
    const log: string[] = [];
    let changed: (uri?: string) => void = () => {};
    const server = createServer(info).resource("x:a", {
      read: () => "",
      watch: (uri, notify) => {
        log.push(`begin ${uri}`);
        changed = notify;
        return () => {
          log.push(`end ${uri}`);
        };
      },
    });
    const [one, two] = [await connect(server, era), await connect(server, era)];
    const subscribe = async (peer: RawPeer) => {
      if (era === stateless) await listen(peer, { resourceSubscriptions: ["x:a"] });
      else await peer.request("resources/subscribe", { uri: "x:a" });
      await peer.settled();
    };
    const unsubscribe = async (peer: RawPeer) => {
      if (era === stateless) peer.notify("notifications/cancelled", { requestId: "listen" });
      else await peer.request("resources/unsubscribe", { uri: "x:a" });
      await peer.settled();
    };
    expect(log).toEqual([]);
    await subscribe(one);
    await subscribe(two);
    expect(log).toEqual(["begin x:a"]);
    changed();
    changed("x:a/part");
    await Promise.all([one.settled(), two.settled()]);
    expect([one, two].map((peer) => countNotifications(peer, "resources/updated"))).toEqual([2, 2]);
    await unsubscribe(one);
    expect(log).toEqual(["begin x:a"]);
    changed();
    await Promise.all([one.settled(), two.settled()]);
    expect([one, two].map((peer) => countNotifications(peer, "resources/updated"))).toEqual([2, 3]);
    // The last subscriber disconnects without unsubscribing.
    await two.close();
    while (log.length < 2) await one.settled();
    expect(log).toEqual(["begin x:a", "end x:a"]);
    await subscribe(one);
    expect(log).toEqual(["begin x:a", "end x:a", "begin x:a"]);
  });

  test.each(eras)("returning nothing means that the resource does not exist ($revision)", async (era) => {
    const errors: unknown[] = [];
    const server = createServer(info, { onError: (error) => errors.push(error) })
      .resource("x:a", { read: () => "a", watch: () => () => {} })
      .template("x:b/{id}", { read: () => undefined, watch: () => undefined });
    const peer = await connect(server, era);
    if (era === stateless) {
      const acknowledged = await listen(peer, { resourceSubscriptions: ["x:a", "x:b/1"] });
      expect(acknowledged).toEqual({ resourceSubscriptions: ["x:a"] });
    } else {
      const { error } = await peer.request("resources/subscribe", { uri: "x:b/1" });
      expect(error).toMatchObject({ message: expect.stringContaining("x:b/1") });
      expect(error?.code).not.toBe(-32603);
      expect(await peer.request("resources/subscribe", { uri: "x:a" })).toMatchObject({ result: {} });
    }
    expect(errors).toEqual([]);
  });

  test("that throws is reported once, and the subscription stays open", async () => {
    const errors: PortolanError[] = [];
    const onError = (error: unknown) => errors.push(error as PortolanError);
    const watch = () => {
      throw new Error("no such file");
    };
    const server = createServer(info, { onError }).resource("x:a", { read: () => "a", watch });
    const peer = await connect(server);
    await listen(peer, { resourceSubscriptions: ["x:a"] });
    await peer.settled();
    peer.notify("notifications/cancelled", { requestId: "listen" });
    await peer.settled();
    expect(errors.map(({ message, cause }) => [message, (cause as Error).message])).toEqual([
      ["Watching x:a failed", "no such file"],
    ]);
  });
});

describe("cursors", () => {
  test.each(revisions)("of another list and altered or invented ones are refused (%s)", async (revision) => {
    const server = createServer(info, { pageSize: 1 })
      .tool("a", { run: () => "" })
      .tool("b", { run: () => "" })
      .prompt("a", { get: () => "" })
      .prompt("b", { get: () => "" });
    const peer = await connect(server, { revision });
    const { nextCursor: cursor } = (await peer.request("tools/list")).result;
    expect((await peer.request("tools/list", { cursor })).result.tools).toHaveLength(1);
    for (const wrong of ["garbage", "", `${cursor}=`, cursor.slice(1), "W10", "eyJhIjoxfQ"]) {
      const { error } = await peer.request("tools/list", { cursor: wrong });
      expect(error).toEqual({
        code: -32602,
        message: "Invalid params: cursor: expected a nextCursor of this list; start again without a cursor",
      });
    }
    expect((await peer.request("prompts/list", { cursor })).error?.code).toBe(-32602);
  });

  test("stay valid when a feature is removed between two pages", async () => {
    const tool = { run: () => "" };
    const server = live(createServer(info, { pageSize: 2 }).tool("a", tool).tool("b", tool).tool("c", tool));
    const peer = await connect(server);
    const { nextCursor: cursor } = (await peer.request("tools/list")).result;
    server.update(() => createServer(info, { pageSize: 2 }).tool("a", tool).tool("c", tool).tool("d", tool));
    const { result } = await peer.request("tools/list", { cursor });
    expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(["c", "d"]);
  });
});
