import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { measureStorage } from "portolan/otel";
import { createServer } from "portolan/server";
import { type RefusalReport, serveHttp, type Verifier } from "portolan/server/http";
import { createMemoryStorage, rotateKeys, type Storage } from "portolan/storage";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createFixture } from "./fixture.ts";
import { plainHeaders, send, start, toInitialize } from "./kit.ts";
import { begin, StatelessPeer, textOf } from "./peer.ts";
import { byUser } from "./users.ts";

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

/** The storage of one process, which fails while it is down. */
function breakable(shared: Storage): { storage: Storage; goDown(): void; comeBack(): void } {
  let isDown = false;
  const part = <P extends object>(target: P): P =>
    new Proxy(target, {
      get: (_, name) => {
        const method = Reflect.get(target, name) as (...args: unknown[]) => unknown;
        return async (...args: unknown[]) => {
          if (isDown) throw new Error("the storage is down");
          return method.apply(target, args);
        };
      },
    });
  return {
    storage: { kv: part(shared.kv), bus: part(shared.bus), log: shared.log },
    goDown: () => {
      isDown = true;
    },
    comeBack: () => {
      isDown = false;
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
  // Before its end it may have been told that everything may have changed.
  const told = (await stream.messages()).map(({ method }) => method);
  expect(told.filter((method) => method !== "notifications/tools/list_changed")).toEqual([]);
  expect((await there.request("ping")).status).toBe(404);
  await call;
});

test("settings that changed while the bus was lost are read again until the storage answers", async () => {
  const shared = createMemoryStorage();
  const { storage: losing, disconnect, reconnect } = losable(shared);
  const { storage, goDown, comeBack } = breakable(losing);
  const [a, b] = [createFixture(), createFixture()];
  const [one, other] = [await start(a.server, { storage: shared }), await start(b.server, { storage })];
  const peer = await begin(one.url, revision);
  const stream = await peer.at(other.url).get();
  disconnect();
  await (await peer.request("resources/subscribe", { uri: "note://1" })).response();
  goDown();
  reconnect();
  await expect.poll(() => b.reported).toContain("The storage failed (kv.get): the storage is down");
  comeBack();
  const received: unknown[] = [];
  const read = async () => {
    for (;;) received.push((await stream.message()).method);
  };
  read().catch(() => {});
  await expect
    .poll(() => {
      a.server.publish("resources/updated", { uri: "note://1" });
      return received;
    })
    .toContain("notifications/resources/updated");
});

describe("a process that other processes cannot tell anything", () => {
  /** Starts two processes; the second one renews its sessions quickly, and its bus gets nothing. `writes` are its keys. */
  async function startDeaf(idleMs: number) {
    const shared = createMemoryStorage();
    const { storage, disconnect } = losable(shared);
    const writes: string[] = [];
    const kv: Storage["kv"] = {
      get: (key) => shared.kv.get(key),
      set: async (key, value, options) => {
        const isWritten = await shared.kv.set(key, value, options);
        writes.push(key);
        return isWritten;
      },
      delete: (key) => shared.kv.delete(key),
      list: (prefix, options) => shared.kv.list(prefix, options),
    };
    const [a, b] = [createFixture(), createFixture()];
    const sessions = { idleMs };
    const one = await start(a.server, { storage: shared, sessions });
    const other = await start(b.server, { storage: { ...storage, kv }, sessions, keepAliveMs: 20 });
    const peer = await begin(one.url, revision);
    return { shared, writes, disconnect, b, peer, there: peer.at(other.url) };
  }

  test("ends a session that was deleted elsewhere, and does not bring it back", async () => {
    const { peer, there, disconnect } = await startDeaf(10_000);
    const stream = await there.get();
    disconnect();
    expect((await peer.delete()).status).toBe(204);
    expect(await stream.messages()).toEqual([]);
    expect((await peer.request("ping")).status).toBe(404);
    expect((await there.request("ping")).status).toBe(404);
  });

  test("takes over the log level that was set elsewhere", async () => {
    const { shared, peer, there, b, disconnect } = await startDeaf(10_000);
    await (await peer.request("logging/setLevel", { level: "emergency" })).response();
    const stream = await there.get();
    disconnect();
    await (await peer.request("logging/setLevel", { level: "info" })).response();
    const repeated = setInterval(() => b.server.publish("message", { level: "info", data: "heard" }), 10);
    expect((await stream.message()).params).toMatchObject({ data: "heard" });
    clearInterval(repeated);
    const record = await shared.kv.get(`mcp/session/${peer.id}`);
    expect(JSON.parse(record ?? "{}")).toMatchObject({ logLevel: "info" });
  });

  test("does not bring back a subscription that was ended elsewhere", async () => {
    // A test that is kept from running for as long as this loses the session.
    const idleMs = 10_000;
    const { shared, writes, peer, there, disconnect } = await startDeaf(idleMs);
    await (await peer.request("resources/subscribe", { uri: "note://1" })).response();
    await there.get();
    const keys = (await shared.kv.list("mcp/subscription/")).map(({ key }) => key);
    expect(keys).toHaveLength(1);
    disconnect();
    await (await peer.request("resources/unsubscribe", { uri: "note://1" })).response();
    writes.length = 0;
    // Subscriptions are renewed by the time of day. The session itself is renewed ten times in `idleMs`.
    onTestFinished(() => void vi.useRealTimers());
    vi.setSystemTime(Date.now() + idleMs);
    await expect.poll(() => writes).toContain(keys[0]);
    expect(await shared.kv.list("mcp/subscription/")).toEqual([]);
  });
});

test("a process whose own record has expired does not report that the storage has lost its data", async () => {
  const storage = createMemoryStorage();
  const { server, reported } = createFixture();
  await start(server, { storage, sessions: { leaseMs: 50 } });
  const record = async () => (await storage.kv.list("mcp/process/")).at(0);
  const { key = "", value: before } = (await record()) ?? {};
  await storage.kv.delete(key);
  await expect.poll(record).toBeDefined();
  const { value: written } = (await record()) ?? {};
  // It is renewed once more, so that a report would be there.
  await expect.poll(async () => (await record())?.value !== written).toBe(true);
  expect(before).toBeDefined();
  expect(reported.filter((message) => message.includes("lost its data"))).toEqual([]);
});

test("a session ends although the other processes cannot be told", async () => {
  const shared = createMemoryStorage();
  let isDown = false;
  const publish = (topic: string, value: string) =>
    isDown ? Promise.reject(new Error("down")) : shared.bus.publish(topic, value);
  const storage = { ...shared, bus: { publish, subscribe: shared.bus.subscribe.bind(shared.bus) } };
  const fixture = createFixture();
  const { url } = await start(fixture.server, { storage });
  const peer = await begin(url, revision);
  isDown = true;
  expect((await peer.delete()).status).toBe(204);
  expect((await peer.request("ping")).status).toBe(404);
  expect(fixture.reported).toContain("The storage failed (bus.publish): down");
});

test("a session that ends while it is read does not stay in the cache", async () => {
  const shared = createMemoryStorage();
  let release: (() => void) | undefined;
  let isSlow = false;
  // The answer of the storage arrives late: the news of the end overtakes it.
  const set: Storage["kv"]["set"] = async (key, value, options) => {
    const isWritten = await shared.kv.set(key, value, options);
    if (isSlow && key.startsWith("mcp/session/")) await new Promise<void>((resolve) => (release = resolve));
    return isWritten;
  };
  const { kv } = shared;
  const late = { ...shared, kv: { get: kv.get.bind(kv), delete: kv.delete.bind(kv), list: kv.list.bind(kv), set } };
  const [one, other] = [
    await start(createFixture().server, { storage: shared }),
    await start(createFixture().server, { storage: late }),
  ];
  const peer = await begin(one.url, revision);
  const there = peer.at(other.url);
  isSlow = true;
  const pending = there.request("ping");
  await expect.poll(() => release).toBeDefined();
  isSlow = false;
  expect((await peer.delete()).status).toBe(204);
  release?.();
  await pending;
  expect((await there.request("ping")).status).toBe(404);
});

test("a session that could not be stored does not count for its caller", async () => {
  const shared = createMemoryStorage();
  let isDown = true;
  const { kv } = shared;
  const set: Storage["kv"]["set"] = (key, value, options) =>
    isDown && key.startsWith("mcp/session/") ? Promise.reject(new Error("down")) : kv.set(key, value, options);
  const storage = { ...shared, kv: { get: kv.get.bind(kv), delete: kv.delete.bind(kv), list: kv.list.bind(kv), set } };
  const { url } = await start(createFixture().server, { storage, verify: byUser, sessions: { maxPerCaller: 1 } });
  const initialize = () =>
    send(url, { headers: { ...plainHeaders, authorization: "Ada" }, body: toInitialize(revision, {}, 1) });
  expect((await initialize()).status).toBe(503);
  isDown = false;
  await expect.poll(async () => (await initialize()).status).toBe(200);
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

test("a call whose process has died is answered with an error by another process", async () => {
  const storage = createMemoryStorage();
  const [a, b] = [createFixture(), createFixture()];
  const sessions = { leaseMs: 150 };
  // This storage stops with its process: nothing that it writes after that arrives.
  let isAlive = true;
  const mortal: Storage = {
    ...storage,
    kv: {
      get: (key) => storage.kv.get(key),
      set: async (key, value, options) => isAlive && (await storage.kv.set(key, value, options)),
      delete: async (key) => (isAlive ? storage.kv.delete(key) : undefined),
      list: (prefix, options) => storage.kv.list(prefix, options),
    },
  };
  const one = await start(a.server, { storage: mortal, sessions, quietMs: 1 });
  const other = await start(b.server, { storage, sessions });
  const peer = await begin(one.url, revision);
  const answer = await peer.call("hold", { key: "k" }, "lost");
  const { id } = (await answer.event()) ?? {};
  isAlive = false;
  answer.drop();
  const resumed = await peer.at(other.url).get(id);
  expect(resumed.status).toBe(200);
  const { error, id: requestId } = await resumed.message();
  expect([requestId, error?.code]).toEqual(["lost", -32603]);
  expect(error?.message).toContain("has ended");
});

test("sessions of one caller are counted in all processes", async () => {
  const storage = createMemoryStorage();
  const options = { storage, verify: byUser, sessions: { maxPerCaller: 3 } };
  const [one, other] = [await start(createFixture().server, options), await start(createFixture().server, options)];
  const ada = { headers: { authorization: "Ada" } };
  const first = await begin(one.url, revision, ada);
  await begin(other.url, revision, ada);
  await begin(one.url, revision, ada);
  const beginAt = (url: string, user: string) =>
    send(url, { headers: { ...plainHeaders, authorization: user }, body: toInitialize(revision, {}, 1) });
  expect((await beginAt(other.url, "Ada")).status).toBe(429);
  expect((await beginAt(one.url, "Ada")).status).toBe(429);
  expect((await beginAt(other.url, "Bob")).status).toBe(200);
  expect((await first.at(other.url).delete()).status).toBe(204);
  expect((await beginAt(other.url, "Ada")).status).toBe(200);
});

test("a session stops counting in all processes when it expires, although the clock was set back", async () => {
  const options = { storage: createMemoryStorage(), verify: byUser, sessions: { maxPerCaller: 1, idleMs: 40 } };
  const [one, other] = [await start(createFixture().server, options), await start(createFixture().server, options)];
  const headers = { ...plainHeaders, authorization: "Ada" };
  const beginAt = async (url: string) => (await send(url, { headers, body: toInitialize(revision, {}, 1) })).status;
  expect(await beginAt(one.url)).toBe(200);
  // Less than clocks may differ: what was counted is not dropped.
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 9_000 });
  onTestFinished(() => void vi.useRealTimers());
  await expect.poll(() => beginAt(other.url)).toBe(200);
});

test("a session that could not be stored does not count", async () => {
  const storage = createMemoryStorage();
  let isFull = true;
  const { kv } = storage;
  const failing: Storage = {
    ...storage,
    kv: {
      get: (key) => kv.get(key),
      set: async (key, value, options) => {
        if (isFull && key.startsWith("mcp/session/")) throw new Error("no room");
        return kv.set(key, value, options);
      },
      delete: (key) => kv.delete(key),
      list: (prefix, options) => kv.list(prefix, options),
    },
  };
  const { url } = await start(createFixture().server, {
    storage: failing,
    verify: byUser,
    sessions: { maxPerCaller: 1 },
  });
  const headers = { ...plainHeaders, authorization: "Ada" };
  const beginAt = async () => (await send(url, { headers, body: toInitialize(revision, {}, 1) })).status;
  expect(await beginAt()).toBe(503);
  isFull = false;
  await expect.poll(beginAt).toBe(200);
});

test("handshakes of one caller are counted in all processes", async () => {
  const options = { storage: createMemoryStorage(), verify: byUser, sessions: { perMinutePerCaller: 4 } };
  const [one, other] = [await start(createFixture().server, options), await start(createFixture().server, options)];
  const statuses: number[] = [];
  for (let n = 0; n < 10; n++) {
    const headers = { ...plainHeaders, authorization: "Ada" };
    const { status } = await send((n % 2 ? one : other).url, { headers, body: toInitialize(revision, {}, 1) });
    statuses.push(status);
  }
  // A minute may begin in between.
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(2);
});

test.each(["sessions", "listen"])("streams of one caller are counted in all processes: %s", async (kind) => {
  const options = { storage: createMemoryStorage(), verify: byUser, limits: { streamsPerCaller: 2 } };
  const [one, other] = [await start(createFixture().server, options), await start(createFixture().server, options)];
  const headers = { authorization: "Ada" };
  const open = async (url: string) => {
    if (kind === "sessions") return (await begin(url, revision, { headers })).get();
    return new StatelessPeer(url, { headers }).request("subscriptions/listen", {
      notifications: { toolsListChanged: true },
    });
  };
  const isOpen = async (answer: Awaited<ReturnType<typeof open>>) => {
    if (answer.status !== 200 || kind === "sessions") return answer.status === 200;
    return (await answer.message()).method === "notifications/subscriptions/acknowledged";
  };
  const first = await open(one.url);
  expect(await isOpen(first)).toBe(true);
  expect(await isOpen(await open(other.url))).toBe(true);
  expect(await isOpen(await open(other.url))).toBe(false);
  first.drop();
  await expect.poll(async () => isOpen(await open(other.url))).toBe(true);
});

test("usage tells what a caller has in all processes, also a caller that has nothing here", async () => {
  const options = { storage: createMemoryStorage(), verify: byUser };
  const { url } = await start(createFixture().server, options);
  const here = serveHttp(createFixture().server, options);
  onTestFinished(() => here.close(0));
  const there = await here.listen();
  const headers = { authorization: "Ada" };
  const peer = await begin(url, revision, { headers });
  await peer.get();
  await begin(url, revision, { headers });
  await new StatelessPeer(there.url, { headers }).textOf("echo", { text: "seen" });
  const ada = { caller: "principal Ada", sessions: 0, streams: 0, inAllProcesses: { sessions: 2, streams: 1 } };
  expect((await here.usage()).callers).toMatchObject([ada]);
});

describe.each(["node", "fetch"] as const)("a stream stops counting for its caller in all processes (%s)", (adapter) => {
  const headers = { authorization: "Ada" };

  /** Starts two processes at which a caller may have one stream. Principals of the first one expire at once. */
  async function startWithOne(keepAliveMs = 15_000) {
    const storage = createMemoryStorage();
    const options = { storage, keepAliveMs, limits: { streamsPerCaller: 1 } };
    const expiring: Verifier = (request) => ({ key: String(request.header("authorization")), expiresAt: Date.now() });
    const one = await start(createFixture().server, { ...options, verify: expiring }, adapter);
    const other = await start(createFixture().server, { ...options, verify: byUser }, adapter);
    return { one, other };
  }

  /** Opens a stream at a process until it is let. */
  async function untilOpen(url: string): Promise<void> {
    const peer = await begin(url, revision, { headers });
    await expect.poll(async () => (await peer.get()).status).toBe(200);
  }

  test("when its session is deleted", async () => {
    const { one, other } = await startWithOne();
    const peer = await begin(one.url, revision, { headers });
    const stream = await peer.get();
    expect((await peer.delete()).status).toBe(204);
    expect(await stream.messages()).toEqual([]);
    await untilOpen(other.url);
  });

  test("when its principal expires", async () => {
    const { one, other } = await startWithOne(20);
    const stream = await (await begin(one.url, revision, { headers })).get();
    expect(stream.status).toBe(200);
    expect(await stream.messages()).toEqual([]);
    await untilOpen(other.url);
  });

  test("when it has sent the rest of an answer", async () => {
    const { one, other } = await startWithOne();
    const peer = await begin(one.url, revision, { headers });
    const answer = await peer.call("steps");
    const { id } = await answer.messageEvent();
    await answer.messages();
    await expect.poll(async () => (await peer.get(id)).status).toBe(200);
    await untilOpen(other.url);
  });

  test("when the server ends it with its result", async () => {
    const { one, other } = await startWithOne(20);
    const filter = { notifications: { toolsListChanged: true } };
    const listening = await new StatelessPeer(one.url, { headers }).request("subscriptions/listen", filter);
    expect((await listening.messages()).at(-1)?.result).toBeDefined();
    await untilOpen(other.url);
  });
});

test("a stream beyond the limit of all processes is refused like one beyond the limit of one process", async () => {
  const refusals: RefusalReport[] = [];
  const onRefused = (report: RefusalReport) => void refusals.push(report);
  const options = { storage: createMemoryStorage(), verify: byUser, onRefused, limits: { streamsPerCaller: 1 } };
  const [a, b] = [createFixture(), createFixture()];
  const [one, other] = [await start(a.server, options), await start(b.server, options)];
  const headers = { authorization: "Ada" };
  expect((await (await begin(one.url, revision, { headers })).get()).status).toBe(200);
  const peer = await begin(other.url, revision, { headers });
  for (let n = 0; n < 5; n++) {
    const refused = await peer.get();
    expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "5"]);
    expect((await refused.json()).error?.code).toBe(-31429);
  }
  expect([...a.reported, ...b.reported].filter((message) => message.includes("Limit"))).toEqual([]);
  await expect.poll(() => refusals).toMatchObject([{ caller: "principal Ada", limit: "streams", status: 429 }]);
});

describe("the stream of a session that another process has taken over", () => {
  const headers = { authorization: "Ada" };

  test("ends after a lost bus, so that nothing is sent twice", async () => {
    const shared = createMemoryStorage();
    const { storage, ...connection } = losable(shared);
    const [a, b] = [createFixture(), createFixture()];
    const one = await start(a.server, { storage: shared, verify: byUser });
    const other = await start(b.server, { storage, verify: byUser });
    const peer = await begin(one.url, revision, { headers });
    const [kept, replaced] = [await peer.get(), await peer.at(other.url).get()];
    expect(await kept.messages()).toEqual([]);
    connection.disconnect();
    const newest = await peer.get();
    connection.reconnect();
    expect((await replaced.messages()).every(({ method }) => method?.endsWith("_changed"))).toBe(true);
    a.server.publish("tools/list_changed", {});
    expect((await newest.message()).method).toBe("notifications/tools/list_changed");
  });

  test("goes on where its client reads it, although the other process has claimed it first", async () => {
    const shared = createMemoryStorage();
    const [a, b] = [createFixture(), createFixture()];
    const [first, second] = [losable(shared), losable(shared)];
    const one = await start(a.server, { storage: first.storage, verify: byUser });
    const other = await start(b.server, { storage: second.storage, verify: byUser });
    const peer = await begin(one.url, revision, { headers });
    const dropped = await peer.get();
    const claims = async () => (await shared.kv.list("mcp/stream/")).map(({ value }) => value);
    await expect.poll(claims).toHaveLength(1);
    const [{ key = "" } = {}] = await shared.kv.list("mcp/stream/");
    dropped.drop();
    await expect.poll(claims).toEqual([expect.stringMatching(/^ /)]);
    // The first process keeps the stream. It does not hear that the second one has it, and claims it first after a loss.
    first.disconnect();
    await shared.kv.delete(key);
    const stream = await peer.at(other.url).get();
    await expect.poll(claims).toEqual([expect.stringMatching(/^\S/)]);
    await shared.kv.delete(key);
    first.reconnect();
    await expect.poll(claims).toEqual([expect.stringMatching(/^ /)]);
    second.disconnect();
    second.reconnect();
    await expect.poll(claims).toEqual([expect.stringMatching(/^\S/)]);
    b.server.publish("tools/list_changed", {});
    expect((await stream.message()).method).toBe("notifications/tools/list_changed");
  });

  test("does not end because of news that are older than itself", async () => {
    const shared = createMemoryStorage();
    const news: (() => Promise<void>)[] = [];
    let isLate = false;
    const { bus } = shared;
    const publish = async (topic: string, value: string) => {
      if (isLate && topic === "mcp/session-stream") news.push(() => bus.publish(topic, value));
      else await bus.publish(topic, value);
    };
    const late = { ...shared, bus: { publish, subscribe: bus.subscribe.bind(bus) } };
    const [a, b] = [createFixture(), createFixture()];
    const one = await start(a.server, { storage: late, verify: byUser });
    const other = await start(b.server, { storage: shared, verify: byUser });
    const peer = await begin(one.url, revision, { headers });
    isLate = true;
    const first = await peer.get();
    await expect.poll(() => news.length).toBe(1);
    const second = await peer.at(other.url).get();
    expect(await first.messages()).toEqual([]);
    for (const publishLate of news) await publishLate();
    await (await peer.request("ping")).response();
    b.server.publish("tools/list_changed", {});
    expect((await second.message()).method).toBe("notifications/tools/list_changed");
  });

  test("leaves the claim of the process that has it", async () => {
    const shared = createMemoryStorage();
    const { storage, disconnect } = losable(shared);
    const a = createFixture();
    const serving = serveHttp(a.server, { storage });
    onTestFinished(() => serving.close(0));
    const [one, other] = [await serving.listen(), await start(createFixture().server, { storage: shared })];
    const peer = await begin(one.url, revision);
    const first = await peer.get();
    const { id } = (await first.event()) ?? {};
    disconnect();
    expect((await peer.at(other.url).get(id)).status).toBe(200);
    first.drop();
    await expect.poll(async () => (await serving.usage()).total.streams).toBe(0);
    expect((await peer.at(other.url).get()).status).toBe(409);
  });
});

test("a stream that a newer connection has replaced counts no longer", async () => {
  const options = { storage: createMemoryStorage(), verify: byUser, limits: { streamsPerCaller: 2 } };
  const [one, other] = [await start(createFixture().server, options), await start(createFixture().server, options)];
  const peer = await begin(one.url, revision, { headers: { authorization: "Ada" } });
  for (let n = 0; n < 6; n++) {
    const { url } = n % 2 ? one : other;
    await expect.poll(async () => (await peer.at(url).get()).status).toBe(200);
  }
});

describe("keys", () => {
  const form = { capabilities: { elicitation: {} } };
  /** Asks through one process and answers through another. Returns the text of the result. */
  async function askAcross(urlA: string, urlB: string): Promise<string> {
    const asked = await (await new StatelessPeer(urlA, form).call("ask")).response();
    const { requestState } = asked.result as { requestState: string };
    const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };
    const peer = new StatelessPeer(urlB, form);
    const answer = await peer.request("tools/call", { name: "ask", arguments: {}, inputResponses, requestState });
    return textOf(await answer.response());
  }

  test("of servers without secrets are in the storage, so that every process opens every state", async () => {
    const storage = createMemoryStorage();
    const [one, other] = [
      await start(createFixture().server, { storage }),
      await start(createFixture().server, { storage }),
    ];
    expect(await askAcross(one.url, other.url)).toBe("Hello Ada");
    await rotateKeys(storage);
    expect(await askAcross(other.url, one.url)).toBe("Hello Ada");
    expect(await askAcross(one.url, other.url)).toBe("Hello Ada");
  });

  test("that two processes made after a loss open the states of both", async () => {
    const storage = createMemoryStorage();
    // A process that was kept from running for longer than its lease takes the loss for the end of its lease.
    const sessions = { leaseMs: 2_000 };
    const one = await start(createFixture().server, { storage, sessions });
    expect(await askAcross(one.url, one.url)).toBe("Hello Ada");
    for (const { key } of await storage.kv.list("", { limit: 1_000 })) await storage.kv.delete(key);
    const later = await start(createFixture().server, { storage, sessions });
    expect(await askAcross(later.url, later.url)).toBe("Hello Ada");
    // The first process notices the loss and adds its key to that of the second one.
    const keys = async () => JSON.parse((await storage.kv.get("mcp/keys")) ?? "[]").length;
    await expect.poll(keys).toBe(2);
    expect(await askAcross(one.url, later.url)).toBe("Hello Ada");
    expect(await askAcross(later.url, one.url)).toBe("Hello Ada");
  });

  test("are made again after the storage has lost them", async () => {
    const storage = createMemoryStorage();
    const { url } = await start(createFixture().server, { storage });
    expect(await askAcross(url, url)).toBe("Hello Ada");
    await storage.kv.delete("mcp/keys");
    const later = await start(createFixture().server, { storage });
    expect(await askAcross(later.url, url)).toBe("Hello Ada");
  });
});

describe("a process that starts beside others", () => {
  const secrets = ["a".repeat(32), "b".repeat(32), "c".repeat(32)] as const;

  test("does not see one that has ended, although a write of that one comes late", async () => {
    const shared = createMemoryStorage();
    const { kv } = shared;
    const late: (() => void)[] = [];
    const set: Storage["kv"]["set"] = async (key, value, options) => {
      if (key.startsWith("mcp/process/")) await new Promise<void>((resolve) => late.push(resolve));
      return kv.set(key, value, options);
    };
    const slow = { get: kv.get.bind(kv), delete: kv.delete.bind(kv), list: kv.list.bind(kv), set };
    const ending = serveHttp(createFixture([secrets[0]]).server, { storage: { ...shared, kv: slow } });
    await ending.listen();
    expect(late).toHaveLength(1);
    await ending.close(20);
    for (const write of late) write();
    await expect.poll(() => kv.list("mcp/process/")).toEqual([]);
    await start(createFixture([secrets[1]]).server, { storage: shared });
  });

  test("is refused if its secrets differ, and joins if each opens what the other one seals", async () => {
    const storage = createMemoryStorage();
    const [a, b, c] = secrets;
    await start(createFixture([a, b]).server, { storage });
    await start(createFixture([b, a]).server, { storage });
    for (const other of [[c], [b, c], undefined]) {
      const refused = serveHttp(createFixture(other).server, { storage });
      await expect(refused.listen()).rejects.toThrow(/^secrets: process \d+, which uses the same storage, has other/);
      await refused.close();
    }
    await start(createFixture([a, b]).server, { storage });
  });

  test("is told when the one with other secrets was last seen, and to wait if it no longer runs", async () => {
    const storage = createMemoryStorage();
    const before = new Date().toISOString();
    await start(createFixture([secrets[0]]).server, { storage });
    const refused = serveHttp(createFixture([secrets[1]]).server, { storage });
    const { message } = await refused.listen().catch((cause) => cause);
    await refused.close();
    const [, seen = ""] =
      /If process \d+, last seen (\S+), no longer runs, wait 30 s and start again$/.exec(message) ?? [];
    expect(seen >= before && seen <= new Date().toISOString()).toBe(true);
  });

  test("hears the others once the storage is back that was down at its start", async () => {
    const shared = createMemoryStorage();
    const { storage, goDown, comeBack } = breakable(shared);
    const [a, b] = [createFixture(), createFixture()];
    const { url } = await start(a.server, { storage: shared });
    goDown();
    const other = await start(b.server, { storage, quietMs: 1 });
    await expect(begin(other.url, revision)).rejects.toThrow("503");
    const listening = await new StatelessPeer(other.url).request("subscriptions/listen", {
      notifications: { toolsListChanged: true, resourceSubscriptions: ["note://1"] },
    });
    const method = async () => (await listening.message()).method;
    expect(await method()).toBe("notifications/subscriptions/acknowledged");
    comeBack();
    // All that it listens to may have changed meanwhile.
    expect([await method(), await method()].sort()).toEqual([
      "notifications/resources/updated",
      "notifications/tools/list_changed",
    ]);
    a.server.publish("tools/list_changed", {});
    expect(await method()).toBe("notifications/tools/list_changed");
    const peer = await begin(url, revision);
    void peer.at(other.url).call("hold", { key: "k" }, "held");
    await b.noted("holding k");
    await expect
      .poll(async () => {
        await peer.cancel("held");
        return b.journal;
      })
      .toContain("aborted k");
    const about = b.reported.filter((message) => message.includes("the others with the same storage"));
    expect(about).toEqual([
      "The storage failed (bus.subscribe): the storage is down. This process serves requests, but does not hear the others with the same storage. It tries again",
      expect.stringMatching(/^This process hears the others with the same storage again after \d+\.\d s$/),
    ]);
  });

  test("reports other secrets of a running process once the storage is back", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const shared = createMemoryStorage();
    const { storage, goDown, comeBack } = breakable(shared);
    await start(createFixture([secrets[0]]).server, { storage: shared });
    goDown();
    const late = createFixture([secrets[1]]);
    await start(late.server, { storage });
    comeBack();
    const found = () => late.reported.filter((message) => message.startsWith("secrets: process"));
    await vi.advanceTimersByTimeAsync(10_000);
    await expect.poll(found).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(found()).toHaveLength(1);
  });

  test("starts with any secrets after the others have closed", async () => {
    const storage = createMemoryStorage();
    const { close } = await start(createFixture([secrets[0]]).server, { storage });
    await close();
    await start(createFixture([secrets[1]]).server, { storage });
  });

  test("reports that their version or their server is another one", async () => {
    const storage = createMemoryStorage();
    await start(createServer({ name: "shop", version: "1" }).tool("t", { run: () => "" }), { storage });
    const reported: string[] = [];
    const onError = (error: unknown) => reported.push(String(error));
    for (const info of [
      { name: "shop", version: "2" },
      { name: "bank", version: "1" },
    ]) {
      await start(createServer(info, { onError }).tool("t", { run: () => "" }), { storage });
    }
    expect(reported[0]).toMatch(
      /process \d+, .* runs version 1 of "shop", this one 2: clients .*\. Start all processes from one version/,
    );
    expect(reported[1]).toMatch(/process \d+, .* serves "shop" and not "bank": give each server a storage or a prefix/);
  });

  test("is told that several processes without a common storage refuse each other's clients", async () => {
    const one = createFixture();
    await start(one.server, { instances: 2 });
    expect(one.reported.join()).toContain("sessions, and answers to questions, are refused at the others");
    const local = createFixture();
    await start(local.server, { instances: 2, storage: measureStorage(createMemoryStorage()) });
    expect(local.reported.join()).toContain("are refused at the others");
    const sharing = createFixture();
    await start(sharing.server, { instances: 2, storage: { ...createMemoryStorage(), isLocal: false } });
    expect(sharing.reported.join()).not.toContain("are refused at the others");
  });

  test("is told the same as a worker of node:cluster", async () => {
    const file = join(import.meta.dirname, "cluster-worker.mjs");
    const { stderr } = await promisify(execFile)(process.execPath, [file]);
    expect(stderr).toContain("several processes serve these clients");
  });
});
