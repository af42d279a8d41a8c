// What the storage keeps in Redis, and what it asks of the user and the client.

import { Redis } from "ioredis";
import type { LogEntry } from "portolan/storage";
import {
  createRedisStorage,
  type RedisClient,
  type RedisStorage,
  type RedisStorageOptions,
} from "portolan/storage/redis";
import { createClient, RESP_TYPES } from "redis";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { libraries } from "./redis-clients.ts";
import { type RedisServer, startRedis } from "./redis-server.ts";

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());
beforeEach(async () => {
  await server.command("FLUSHALL");
});

function open(client?: RedisClient, options?: RedisStorageOptions): RedisStorage {
  const storage = createRedisStorage(client ?? libraries["redis 6"].single(server.port).client, options);
  onTestFinished(() => storage.close());
  return storage;
}

async function valuesOf(entries: AsyncIterable<LogEntry>): Promise<string[]> {
  const values: string[] = [];
  for await (const { value } of entries) values.push(value);
  return values;
}

describe("the index of keys", () => {
  const size = async () => Number(/\d+/.exec(await server.command("ZCARD portolan:{index}"))?.[0]);

  test("loses the names of values that have gone, after a grace", async () => {
    const { kv } = open();
    for (let n = 0; n < 40; n += 1) await kv.set(`expired${n}`, "", { ttlMs: 1 });
    for (let n = 0; n < 20; n += 1) await kv.set(`deleted${n}`, "");
    for (let n = 0; n < 20; n += 1) await kv.delete(`deleted${n}`);
    await kv.set("stays", "");
    expect(await kv.list("")).toEqual([{ key: "stays", value: "" }]);
    // The list has marked them. They are removed when the mark is old enough.
    expect(await size()).toBe(61);
    await server.command("ZUNIONSTORE portolan:{index}:gone 1 portolan:{index}:gone WEIGHTS 0.5");
    await expect
      .poll(async () => {
        for (let n = 0; n < 16; n += 1) await kv.set("stays", "");
        return size();
      })
      .toBe(1);
    expect(await server.command("ZCARD portolan:{index}:gone")).toBe(":0\r\n");
  });

  test("is swept with few commands at a time, whatever the number of names", async () => {
    const errors: unknown[] = [];
    const { kv } = open(undefined, { maxCommands: 8, onError: (error) => errors.push(error) });
    const marked = async () => Number((await server.command("ZCARD portolan:{index}:gone")).slice(1));
    for (let n = 0; n < 100; n += 1) await kv.set(`k${n}`, "", { ttlMs: 1 });
    await expect
      .poll(async () => {
        for (let n = 0; n < 16; n += 1) await kv.set("stays", "");
        return marked();
      })
      .toBeGreaterThan(64);
    expect(errors).toEqual([]);
  });

  test("keeps a name whose value was written after it was marked", async () => {
    const { kv } = open();
    await kv.set("a", "1");
    await kv.delete("a");
    await server.command("ZUNIONSTORE portolan:{index}:gone 1 portolan:{index}:gone WEIGHTS 0.5");
    await kv.set("a", "2");
    for (let n = 0; n < 40; n += 1) await kv.set("b", "");
    expect(await kv.list("")).toEqual([
      { key: "a", value: "2" },
      { key: "b", value: "" },
    ]);
  });
});

describe("reading a log", () => {
  const sentBytes = async () => Number(/total_net_output_bytes:(\d+)/.exec(await server.command("INFO stats"))?.[1]);

  test("fetches only one large entry at a time", async () => {
    const { log } = open();
    const large = "x".repeat(300_000);
    for (let n = 0; n < 10; n += 1) await log.append("a", large);
    const before = await sentBytes();
    for await (const { value } of log.after("a", "")) {
      expect(value).toBe(large);
      break;
    }
    expect((await sentBytes()) - before).toBeLessThan(2 * large.length);
    expect(await valuesOf(log.after("a", ""))).toHaveLength(10);
  });

  test("waits for others if many logs are read at once, and reads all of them", async () => {
    const { log } = open();
    const keys = Array.from({ length: 100 }, (_, n) => `log${n}`);
    for (const key of keys) for (let n = 0; n < 40; n += 1) await log.append(key, `${key} ${n}`);
    const read = await Promise.all(keys.map((key) => valuesOf(log.after(key, ""))));
    expect(read.map((values) => values.length)).toEqual(keys.map(() => 40));
    expect(read[99]?.at(-1)).toBe("log99 39");
  });
});

describe("ids of log entries", () => {
  test("continue after the last id of a log whose server has a clock that is behind", async () => {
    const { log } = open();
    const id = await log.append("a", "1");
    await log.delete("a");
    // As if the server that wrote it had a clock that is an hour ahead.
    const ahead = Number.parseInt(id, 10) + 3_600_000;
    await server.command(`SET portolan:id:{/a} ${ahead}-7`);
    expect(await log.append("a", "2")).toBe(`${ahead}-8`);
    expect(await valuesOf(log.after("a", `${ahead}-7`))).toEqual(["2"]);
  });

  test("are greater than all that this process has seen, after a server with less data took over", async () => {
    const { log, kv } = open();
    const ahead = Date.now() + 3_600_000;
    await server.command(`XADD portolan:log:{/a} ${ahead}-0 d 1`);
    expect(await valuesOf(log.after("a", ""))).toEqual(["1"]);
    await server.restart();
    await expect.poll(() => kv.get("").then(() => true, String)).toBe(true);
    const id = await log.append("a", "2");
    expect(Number.parseInt(id, 10)).toBeGreaterThan(ahead);
  });

  test("and the log itself expire together with what is kept for them", async () => {
    const { log } = open();
    await log.append("a", "1", { ttlMs: 60_000 });
    await log.append("b", "1");
    const ttl = async (key: string) => Number((await server.command(`PTTL ${key}`)).slice(1));
    expect(await ttl("portolan:log:{/a}")).toBeGreaterThan(0);
    expect(await ttl("portolan:id:{/a}")).toBeGreaterThan(60_000);
    expect([await ttl("portolan:log:{/b}"), await ttl("portolan:id:{/b}")]).toEqual([-1, -1]);
    await log.delete("b");
    expect(await ttl("portolan:id:{/b}")).toBeGreaterThan(0);
  });

  test("leave nothing behind if they may be forgotten", async () => {
    const { log } = open();
    for (let n = 0; n < 3; n += 1) await log.append("deleted", "", { ttlMs: 60_000, forgetsIds: true });
    expect(await server.command("DBSIZE")).toBe(":1\r\n");
    await log.delete("deleted");
    expect(await server.command("DBSIZE")).toBe(":0\r\n");
    await log.append("expired", "", { ttlMs: 1, forgetsIds: true });
    await expect.poll(() => server.command("DBSIZE")).toBe(":0\r\n");
  });
});

test("an answer that came in time counts, although the process was too busy to read it", async () => {
  const storage = open(undefined, { commandMs: 100 });
  await storage.ready();
  await storage.kv.set("a", "1");
  const value = storage.kv.get("a");
  // The command is sent in the next turn; the process is busy after it.
  await new Promise(setImmediate);
  const endsAt = performance.now() + 300;
  while (performance.now() < endsAt);
  expect(await value).toBe("1");
});

test("a reader that follows a log finds an entry although no message told of it", async () => {
  const entries = open().log.after("a", "", { follow: true })[Symbol.asyncIterator]();
  const next = entries.next();
  // Written by hand, without the message that an append publishes.
  await server.command("XADD portolan:log:{/a} 1-1 d 1");
  expect((await next).value?.value).toBe("1");
  await entries.return?.();
});

describe("the rights of the user", () => {
  const rights = "~portolan:* &portolan:* -@all +@read +@write +@pubsub +@scripting +@connection +info +time +select";

  test("that docs/storage.md lists are enough", async () => {
    await server.command(`ACL SETUSER app on >secret ${rights}`);
    const client = createClient({ url: `redis://app:secret@127.0.0.1:${server.port}` });
    const storage = open(client);
    await storage.ready();
    await storage.kv.set("a", "1", { expect: null });
    expect(await storage.kv.set("a", "2", { expect: "1", ttlMs: 1_000 })).toBe(true);
    expect(await storage.kv.list("")).toHaveLength(1);
    await storage.kv.delete("a");
    const entries = storage.log.after("a", "", { follow: true })[Symbol.asyncIterator]();
    const next = entries.next();
    await storage.log.append("a", "1", { keep: 1, ttlMs: 1_000 });
    expect((await next).value?.value).toBe("1");
    await storage.log.delete("a");
    await entries.return?.();
  });

  test("are checked by ready, which says that one lacks", async () => {
    await server.command("ACL SETUSER app2 on >secret ~other:* &* +@all");
    const client = createClient({ url: `redis://app2:secret@127.0.0.1:${server.port}` });
    await expect(open(client).ready()).rejects.toThrow(/the user lacks a permission; docs\/storage\.md/);
    await server.command("ACL SETUSER app3 on >secret ~* resetchannels +@all");
    const other = createClient({ url: `redis://app3:secret@127.0.0.1:${server.port}` });
    await expect(open(other).ready()).rejects.toThrow(/the user lacks a permission; docs\/storage\.md/);
  });
});

describe("the user's client", () => {
  test("of node-redis is not used, and its reply types do not matter", async () => {
    const client = createClient({
      url: `redis://127.0.0.1:${server.port}`,
      commandOptions: { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
    });
    const storage = open(client as unknown as RedisClient);
    await storage.kv.set("a", "1");
    expect(await storage.kv.list("")).toEqual([{ key: "a", value: "1" }]);
    expect(client.isOpen).toBe(false);
  });

  test("of ioredis is not used, and its key prefix does not matter", async () => {
    const client = new Redis({ port: server.port, host: "127.0.0.1", keyPrefix: "{x}:", lazyConnect: true });
    onTestFinished(() => client.disconnect());
    const storage = open(client);
    await storage.kv.set("a", "1");
    const id = await storage.log.append("a", "1");
    expect(await valuesOf(open().log.after("a", ""))).toEqual(["1"]);
    expect(await open().kv.get("a")).toBe("1");
    expect(id).toMatch(/^\d+-0$/);
    expect(client.status).toBe("wait");
  });

  test("may use another database", async () => {
    const client = createClient({ url: `redis://127.0.0.1:${server.port}/3` });
    await open(client).kv.set("a", "1");
    expect(await open().kv.get("a")).toBeUndefined();
    expect(await server.command("INFO keyspace")).toContain("db3:");
  });
});

describe("options", () => {
  const { client } = libraries["redis 6"].single(1);

  test.each<[string, unknown, string]>([
    ["an unknown one", { prefx: "a" }, "createRedisStorage: unknown option `prefx`; did you mean `prefix`?"],
    ["an empty prefix", { prefix: "" }, "prefix: expected 1 to 64 characters"],
    ["a prefix that breaks hash tags", { prefix: "a{b}" }, "without { and }"],
    ["a deadline of 0", { commandMs: 0 }, "commandMs: expected a number from 1 on, got number 0"],
    ["a limit of 0", { maxCommands: 0 }, "maxCommands: expected a number from 1 on"],
  ])("refuse %s", (_, options, message) => {
    expect(() => createRedisStorage(client, options as RedisStorageOptions)).toThrow(message);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["a pool", createClient().createPool()],
    ["an address", "redis://127.0.0.1"],
  ])("refuse %s as client", (_, given) => {
    expect(() => createRedisStorage(given as RedisClient)).toThrow("expected a client of redis 5 or 6");
  });

  test("prefix keeps programs apart", async () => {
    const [first, second] = [open(undefined, { prefix: "a" }), open(undefined, { prefix: "b" })];
    await first.kv.set("k", "1");
    expect(await second.kv.list("")).toEqual([]);
    expect(await second.kv.get("k")).toBeUndefined();
  });

  test("onError hears that Redis may drop data when it is full", async () => {
    const errors: unknown[] = [];
    await server.command("CONFIG SET maxmemory 100mb");
    await server.command("CONFIG SET maxmemory-policy allkeys-lru");
    onTestFinished(async () => {
      await server.command("CONFIG SET maxmemory 0");
      await server.command("CONFIG SET maxmemory-policy noeviction");
    });
    await open(undefined, { onError: (error) => errors.push(error) }).ready();
    expect(errors).toMatchObject([{ message: expect.stringContaining("Set it to noeviction") }]);
  });

  test("a full server refuses writes with the reason", async () => {
    const storage = open();
    await storage.ready();
    await server.command("CONFIG SET maxmemory 1mb");
    onTestFinished(async () => void (await server.command("CONFIG SET maxmemory 0")));
    await expect(storage.log.append("a", "x")).rejects.toThrow("Redis is full; raise its maxmemory");
    await expect(storage.kv.set("a", "x")).rejects.toMatchObject({ code: "store-failed" });
    expect(await storage.kv.get("a")).toBeUndefined();
  });

  test("a full server lets values be deleted", async () => {
    const errors: unknown[] = [];
    const { kv } = open(undefined, { onError: (error) => errors.push(error) });
    for (let n = 0; n < 40; n += 1) await kv.set(`k${n}`, "");
    await server.command("CONFIG SET maxmemory 1mb");
    onTestFinished(async () => void (await server.command("CONFIG SET maxmemory 0")));
    for (let n = 1; n < 40; n += 1) await kv.delete(`k${n}`);
    expect(await kv.list("")).toEqual([{ key: "k0", value: "" }]);
    expect(errors).toEqual([]);
  });
});
