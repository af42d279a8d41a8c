import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { LogEntry } from "portolan/storage";
import { createRedisStorage, type RedisStorage, type RedisStorageOptions } from "portolan/storage/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { type ClientLibrary, libraries, libraryNames } from "./redis-clients.ts";
import { type RedisServer, startCluster, startOldRedis, startRedis, startSentinel } from "./redis-server.ts";

async function setUp(...settings: string[]): Promise<RedisServer> {
  const server = await startRedis(...settings);
  onTestFinished(() => server.stop());
  return server;
}

type Made = { readonly client: Parameters<typeof createRedisStorage>[0]; close(): Promise<void> };

function open(made: Made, options?: RedisStorageOptions): RedisStorage {
  const storage = createRedisStorage(made.client, options);
  onTestFinished(async () => {
    await storage.close();
    await made.close();
  });
  return storage;
}

/** Waits until a storage works again, as its callers would find out. */
async function untilWorks(storage: RedisStorage): Promise<void> {
  await expect.poll(() => storage.kv.get("").then(() => true, String), { timeout: 20_000 }).toBe(true);
}

/** The bytes of a reply with one character. */
const shortReply = "$1\r\n1\r\n".length;

/** A proxy in front of a server, which can lose replies with the socket, or pass on one short reply at a time. */
async function proxyTo(port: number) {
  const sockets = new Set<Socket>();
  let mode: "pass" | "lose-replies" | "drop-messages" | "delay-replies" = "pass";
  /** Sends the next reply of each socket that holds some. */
  const sendNext = new Set<() => void>();
  const timer = setInterval(() => {
    for (const send of sendNext) send();
  }, 50);
  const server: Server = createServer((near) => {
    const far = connect(port, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    let isDeaf = false;
    let held: Buffer = Buffer.alloc(0);
    const send = () => {
      const end = mode === "delay-replies" ? shortReply : held.length;
      if (held.length > 0) near.write(held.subarray(0, end));
      held = held.subarray(end);
    };
    sendNext.add(send);
    near.on("data", (data) => far.write(data));
    far.on("data", (data) => {
      // The connection that receives messages goes deaf, and stays open.
      if (mode === "drop-messages" && data.includes("message")) isDeaf = true;
      if (mode === "delay-replies" || held.length > 0) held = Buffer.concat([held, data]);
      else if (mode !== "lose-replies" && !isDeaf) near.write(data);
      if (mode === "lose-replies") near.destroy();
    });
    near.on("close", () => {
      sendNext.delete(send);
      far.destroy();
    });
    far.on("close", () => near.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    clearInterval(timer);
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    port: (server.address() as { port: number }).port,
    setMode(next: typeof mode) {
      mode = next;
    },
    sockets,
  };
}

const ignore = () => {};

async function valuesOf(entries: AsyncIterable<LogEntry>): Promise<string[]> {
  const values: string[] = [];
  for await (const { value } of entries) values.push(value);
  return values;
}

describe.each(libraryNames)("%s", (name) => {
  const library: ClientLibrary = libraries[name];

  test("a server that is killed fails calls at once, and one that comes back serves them", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port));
    await storage.ready();
    await storage.kv.set("a", "1");
    await server.kill();
    await expect.poll(() => storage.kv.get("a").catch(({ message }) => message)).toContain("Redis is not reachable");
    await expect(storage.log.append("a", "1")).rejects.toMatchObject({ code: "store-failed" });
    await expect(
      storage.bus.subscribe(
        "a",
        () => {},
        () => {},
      ),
    ).rejects.toMatchObject({ code: "store-failed" });
    await server.restart();
    await untilWorks(storage);
    expect(await storage.kv.get("a")).toBeUndefined();
    await storage.kv.set("a", "2");
    expect(await storage.kv.list("")).toEqual([{ key: "a", value: "2" }]);
  });

  test("a server that hangs fails calls in time, writes as unknown, and further ones at once", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port), { commandMs: 200 });
    await storage.ready();
    server.pause();
    const [read, write] = await Promise.allSettled([storage.kv.get("a"), storage.log.append("a", "1")]);
    expect(read).toMatchObject({ reason: { code: "store-failed", message: expect.stringMatching(/within 200 ms$/) } });
    expect(write).toMatchObject({ reason: { message: expect.stringContaining("The write may have happened") } });
    await expect(storage.kv.set("a", "1")).rejects.toThrow(/nothing was sent|not reachable/);
    server.resume();
    await untilWorks(storage);
    // It was sent once, so it happened once or never.
    expect((await valuesOf(storage.log.after("a", ""))).length).toBeLessThanOrEqual(1);
    expect(await storage.kv.get("a")).toBeUndefined();
  });

  test("a server that is slow but answers fails the late command only, and the error says so", async () => {
    const server = await setUp();
    const proxy = await proxyTo(server.port);
    const storage = open(library.single(proxy.port), { commandMs: 400 });
    await storage.ready();
    await storage.kv.set("a", "1");
    // Each reply comes later than the one before it, so that the last ones are overdue while others arrive.
    proxy.setMode("delay-replies");
    const reads = Array.from({ length: 12 }, () => storage.kv.get("a").catch(({ message }) => message as string));
    const late = await Promise.all(reads);
    expect(late[0]).toBe("1");
    expect(late.at(-1)).toMatch(/^kv.get: Redis did not answer within 400 ms, but answered other commands meanwhile/);
    const further = storage.kv.get("a").catch(({ message }) => message as string);
    proxy.setMode("pass");
    expect(await further).toBe("1");
  });

  test("a server that hangs for long is connected to anew, and no call waits for it", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port), { commandMs: 100 });
    await storage.ready();
    server.pause();
    // The connection is given up after three deadlines.
    await expect.poll(() => storage.kv.get("a").catch(({ message }) => message)).toContain("Redis is not reachable");
    server.resume();
    await untilWorks(storage);
  });

  test("a reply that is lost with its socket is reported as unknown, and nothing is sent again", async () => {
    const server = await setUp();
    const proxy = await proxyTo(server.port);
    const storage = open(library.single(proxy.port));
    await storage.ready();
    await storage.log.append("a", "first");
    proxy.setMode("lose-replies");
    await expect(storage.log.append("a", "second")).rejects.toThrow("The write may have happened");
    proxy.setMode("pass");
    await untilWorks(storage);
    expect(await valuesOf(storage.log.after("a", ""))).toEqual(["first", "second"]);
  });

  test("a lost subscription is made again, and its subscriber hears of the gap", async () => {
    const server = await setUp();
    const proxy = await proxyTo(server.port);
    const storage = open(library.single(proxy.port));
    const publisher = open(library.single(server.port));
    const heard: string[] = [];
    await storage.bus.subscribe(
      "a",
      (value) => heard.push(value),
      () => heard.push("lost"),
    );
    await publisher.bus.publish("a", "1");
    await expect.poll(() => heard).toEqual(["1"]);
    for (const socket of proxy.sockets) socket.destroy();
    await expect.poll(() => heard, { timeout: 10_000 }).toEqual(["1", "lost"]);
    await publisher.bus.publish("a", "2");
    await expect.poll(() => heard).toEqual(["1", "lost", "2"]);
  });

  test("a subscription that was answered too late, and made again, hears each message once", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port), { commandMs: 200 });
    await storage.ready();
    // The channel that checks the connection is there before the server hangs.
    await (await storage.bus.subscribe("other", ignore, ignore))();
    server.pause();
    await expect(storage.bus.subscribe("a", ignore, ignore)).rejects.toMatchObject({ code: "store-failed" });
    server.resume();
    await untilWorks(storage);
    const heard: string[] = [];
    let isSubscribed = false;
    await expect
      .poll(async () => {
        if (!isSubscribed)
          await storage.bus.subscribe("a", (value) => heard.push(value), ignore).then(() => (isSubscribed = true));
        return isSubscribed;
      })
      .toBe(true);
    await storage.bus.publish("a", "first");
    await storage.bus.publish("a", "last");
    await expect.poll(() => heard.at(-1)).toBe("last");
    expect(heard).toEqual(["first", "last"]);
  });

  test("a subscriber hears of a gap before it hears the messages after it", async () => {
    const server = await setUp();
    const proxy = await proxyTo(server.port);
    const storage = open(library.single(proxy.port));
    const publisher = open(library.single(server.port));
    const heard: string[] = [];
    await storage.bus.subscribe(
      "a",
      (value) => heard.push(value),
      () => heard.push("lost"),
    );
    for (const cut of ["first", "second", "third"]) {
      for (const socket of proxy.sockets) socket.destroy();
      // Messages of before the cut may still arrive, and have other texts.
      while (!heard.includes(cut) || !heard.includes("lost")) await publisher.bus.publish("a", cut);
      expect(heard.indexOf("lost")).toBeLessThan(heard.indexOf(cut));
      // Further messages and news of this cut are over once this one is heard.
      await publisher.bus.publish("a", `after the ${cut}`);
      await expect.poll(() => heard).toContain(`after the ${cut}`);
      heard.length = 0;
    }
  });

  test("a subscription that is deaf without being closed is found, and made again", async () => {
    const server = await setUp();
    const proxy = await proxyTo(server.port);
    const storage = open(library.single(proxy.port));
    const publisher = open(library.single(server.port));
    const heard: string[] = [];
    await storage.bus.subscribe(
      "a",
      (value) => heard.push(value),
      () => heard.push("lost"),
    );
    proxy.setMode("drop-messages");
    await publisher.bus.publish("a", "1");
    await expect.poll(() => publisher.bus.publish("a", "2").then(() => true)).toBe(true);
    proxy.setMode("pass");
    await expect.poll(() => heard, { timeout: 20_000 }).toEqual(["lost"]);
    await publisher.bus.publish("a", "3");
    await expect.poll(() => heard).toEqual(["lost", "3"]);
  });

  test("a reader that follows a log survives a restart, and gets what was appended meanwhile", async () => {
    const server = await setUp();
    const proxy = await proxyTo(server.port);
    const storage = open(library.single(proxy.port));
    const writer = open(library.single(server.port));
    const entries = storage.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
    await writer.log.append("a", "1");
    expect((await entries.next()).value?.value).toBe("1");
    const next = entries.next();
    for (const socket of proxy.sockets) socket.destroy();
    await writer.log.append("a", "2");
    expect((await next).value?.value).toBe("2");
    await entries.return?.();
  });

  test("a server that is flushed loses its data, and works on", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port));
    const id = await storage.log.append("a", "1");
    await storage.kv.set("a", "1");
    await server.command("FLUSHALL");
    expect(await storage.kv.list("")).toEqual([]);
    expect(await valuesOf(storage.log.after("a", ""))).toEqual([]);
    await storage.log.append("a", "2");
    await storage.kv.set("a", "2");
    expect(await storage.kv.list("")).toHaveLength(1);
    expect(await valuesOf(storage.log.after("a", id))).toEqual(["2"]);
  });

  test("more commands than the limit are refused, and the others are done", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port), { maxCommands: 10 });
    await storage.ready();
    for (let n = 0; n < 5; n += 1) await storage.kv.set(String(n), "");
    const reads = Array.from({ length: 30 }, (_, n) => storage.kv.get(String(n % 5)));
    const results = await Promise.allSettled(reads);
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(20);
    for (const result of refused) expect(result).toMatchObject({ reason: { code: "limit-reached" } });
    expect(results.filter((result) => result.status === "fulfilled" && result.value === "")).toHaveLength(10);
  });

  test("entries of logs leave a quarter of the commands to everything else", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port), { maxCommands: 12 });
    await storage.ready();
    const appends = Array.from({ length: 30 }, (_, n) => storage.log.append("a", String(n)));
    const writes = Promise.allSettled([storage.kv.set("b", "1"), storage.kv.get("b")]);
    const results = await Promise.allSettled(appends);
    const refused = results.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(21);
    for (const result of refused) expect(result).toMatchObject({ reason: { code: "limit-reached" } });
    expect(await writes).toMatchObject([{ value: true }, { value: "1" }]);
    expect(await valuesOf(storage.log.after("a", ""))).toHaveLength(9);
  });

  test("large values pass, and more of them than the limit at once are refused", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port), { commandMs: 20_000 });
    await storage.ready();
    const large = "☂".repeat(8 * 1024 * 1024);
    const results = await Promise.allSettled(Array.from({ length: 6 }, (_, n) => storage.kv.set(`k${n}`, large)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    for (const result of results.slice(3)) expect(result).toMatchObject({ reason: { code: "limit-reached" } });
    expect((await storage.kv.get("k0")) === large).toBe(true);
  });

  test("memory stays bounded while the server hangs", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port), { commandMs: 50 });
    await storage.ready();
    server.pause();
    await expect(storage.kv.get("a")).rejects.toThrow();
    const value = "x".repeat(1024 * 1024);
    const before = process.memoryUsage().rss;
    for (let n = 0; n < 600; n += 1) await storage.kv.set("a", value + n).catch(() => {});
    expect(process.memoryUsage().rss - before).toBeLessThan(250 * 1024 * 1024);
    server.resume();
  });

  test("close ends what is under way, and leaves no connection to the server", async () => {
    const server = await setUp();
    const storage = open(library.single(server.port));
    await storage.bus.subscribe(
      "a",
      () => {},
      () => {},
    );
    const entries = storage.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
    const next = entries.next();
    await storage.kv.set("a", "1");
    server.pause();
    const pending = storage.kv.get("a");
    const ended = Promise.allSettled([pending]);
    await Promise.all([storage.close(), storage.close()]);
    expect((await ended)[0]?.status).toBe("rejected");
    expect((await next).done).toBe(true);
    server.resume();
    await expect(storage.kv.get("a")).rejects.toThrow("the Redis storage is closed");
    // Only the connection that asks.
    await expect.poll(() => server.command("INFO clients")).toContain("connected_clients:1\r");
  });

  test("ready says in one line why a server cannot be used", async () => {
    const messageOf = async (made: Made) => {
      const error = await open(made)
        .ready()
        .catch((error) => error);
      expect(error).toMatchObject({ name: "PortolanError", code: "store-failed" });
      expect(error.message).not.toContain("\n");
      return error.message as string;
    };
    const locked = await setUp("--requirepass", "secret");
    expect(await messageOf(library.single(1))).toMatch(/^Redis cannot be used: nothing listens at this address/);
    expect(await messageOf(library.single(locked.port, "wrong"))).toContain("wrong user name or password; correct");
    expect(await messageOf(library.single(locked.port))).toContain("it needs a password; give the client one");
    await open(library.single(locked.port, "secret")).ready();
    const replica = await setUp("--replicaof", "127.0.0.1", String(locked.port), "--masterauth", "secret");
    expect(await messageOf(library.single(replica.port))).toContain("replica");
    const old = await startOldRedis();
    onTestFinished(() => old.stop());
    expect(await messageOf(library.single(old.port))).toMatch(/6\.2.*; upgrade it/);
  });

  test("a Sentinel leads to the new master after a fail-over", async () => {
    const sentinel = await startSentinel();
    onTestFinished(() => sentinel.stop());
    if (name === "redis 5") {
      expect(() => open(library.sentinel(sentinel.port))).toThrow("cannot be duplicated; use redis 6 or ioredis");
      return;
    }
    const storage = open(library.sentinel(sentinel.port));
    await storage.ready();
    const heard: string[] = [];
    await storage.bus.subscribe(
      "a",
      (value) => heard.push(value),
      () => heard.push("lost"),
    );
    const before = await storage.log.append("a", "1");
    await storage.kv.set("a", "1");
    await expect.poll(() => sentinel.replica.command("DBSIZE")).not.toContain(":0");
    await expect.poll(() => sentinel.replica.command("XLEN portolan:log:{/a}")).toContain(":1");
    // On a busy machine a Sentinel that notices its own delays waits for half a minute.
    await sentinel.master.kill();
    await expect.poll(() => storage.kv.set("b", "2").catch(({ message }) => message), { timeout: 45_000 }).toBe(true);
    expect(await storage.kv.get("b")).toBe("2");
    const after = await storage.log.append("a", "2");
    expect(Number.parseInt(after, 10)).toBeGreaterThanOrEqual(Number.parseInt(before, 10));
    expect((await valuesOf(storage.log.after("a", before))).at(-1)).toBe("2");
    await expect.poll(() => heard, { timeout: 20_000 }).toContain("lost");
    await expect
      .poll(
        async () => {
          await storage.bus.publish("a", "hello").catch(() => {});
          return heard;
        },
        { timeout: 20_000 },
      )
      .toContain("hello");
  });
});

describe.each(["redis 6", "ioredis 6"] as const)("a cluster with %s", (name) => {
  test("serves other slots while a node hangs or is away, and all when it is back", async () => {
    const nodes = await startCluster();
    onTestFinished(() => Promise.all(nodes.map((node) => node.stop())).then(() => {}));
    const [, , last] = nodes as [RedisServer, RedisServer, RedisServer];
    const storage = open(libraries[name].cluster(nodes.map(({ port }) => port)), { commandMs: 300 });
    await storage.ready();
    const keys = Array.from({ length: 60 }, (_, n) => `k${n}`);
    for (const key of keys) await storage.log.append(key, "1");
    last.pause();
    const read = () => Promise.allSettled(keys.map((key) => valuesOf(storage.log.after(key, ""))));
    const hung = await read();
    expect(hung.filter(({ status }) => status === "fulfilled").length).toBeGreaterThan(20);
    expect(hung.filter(({ status }) => status === "rejected").length).toBeGreaterThan(5);
    last.resume();
    await expect
      .poll(async () => (await read()).filter(({ status }) => status === "rejected").length, { timeout: 30_000 })
      .toBe(0);
  });

  test("refuses a client for a single server, and says what to use", async () => {
    const nodes = await startCluster();
    onTestFinished(() => Promise.all(nodes.map((node) => node.stop())).then(() => {}));
    for (const { port } of nodes) {
      await expect(open(libraries[name].single(port)).ready()).rejects.toThrow(/createCluster or new Cluster/);
    }
  });
});
