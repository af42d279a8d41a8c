import { createMemoryStorage } from "portolan/storage";
import { describe, expect, test } from "vitest";
import { type ActivityEntry, openActivity } from "./log.ts";
import { memorySink, storageSink } from "./sinks.ts";
import { verifyActivity } from "./verify.ts";

async function collect(entries: AsyncIterable<ActivityEntry>): Promise<ActivityEntry[]> {
  const all: ActivityEntry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

const readText = (text: string) => ({
  async *[Symbol.asyncIterator]() {
    yield { part: "log", text };
  },
});

describe("storageSink", () => {
  test("continues after another process has ended", async () => {
    const storage = createMemoryStorage();
    for (const name of ["one", "two"]) {
      const log = openActivity(storageSink(storage, "activity"));
      log.record({ kind: "call", name });
      await log.close();
    }
    const log = openActivity(storageSink(storage, "activity"));
    expect(await log.verify()).toMatchObject({ ok: true, entries: 2, blocks: 2 });
    expect((await collect(log.query({ newestFirst: true }))).map(({ seq, name }) => [seq, name])).toEqual([
      [2, "two"],
      [1, "one"],
    ]);
  });

  test("concurrent writers keep one chain, and a changed block is found", async () => {
    const storage = createMemoryStorage();
    const logs = [1, 2, 3].map(() => openActivity(storageSink(storage, "activity")));
    for (let count = 0; count < 10; count++) {
      for (const log of logs) log.record({ kind: "call", count });
      await Promise.all(logs.map((log) => log.flush()));
    }
    expect(await logs[0]!.verify()).toMatchObject({ ok: true, entries: 30 });
    expect(await verifyActivity(await storageSink(storage, "activity").read(false), true)).toMatchObject({ ok: true });
    const blocks: string[] = [];
    for await (const { value } of storage.log.after("activity", "")) blocks.push(value);
    const texts = readText(blocks.join("").replace('"count":4', '"count":5'));
    expect(await verifyActivity({ texts }, false)).toMatchObject({ ok: false });
    const builtOn = blocks.findIndex((block) =>
      blocks.some((other) => other.includes(`"previous":"${sealOf(block)}"`)),
    );
    const doubled = readText([...blocks, blocks.at(-1)].join(""));
    expect(await verifyActivity({ texts: doubled }, false)).toMatchObject({ ok: false });
    const shorter = readText(blocks.toSpliced(builtOn, 1).join(""));
    expect(await verifyActivity({ texts: shorter }, false)).toMatchObject({ ok: false });
  });

  test("a block whose append failed although it arrived is not stored twice", async () => {
    const storage = createMemoryStorage();
    const { log: store } = storage;
    let isCut = true;
    const flaky = {
      ...store,
      after: store.after.bind(store),
      append: async (key: string, value: string) => {
        const id = await store.append(key, value);
        if (isCut) throw new Error("the answer was lost");
        return id;
      },
    };
    const log = openActivity(storageSink({ ...storage, log: flaky }, "activity"));
    log.record({ kind: "call", name: "one" });
    await expect(log.flush()).rejects.toMatchObject({ code: "store-failed" });
    isCut = false;
    log.record({ kind: "call", name: "two" });
    await log.flush();
    expect((await collect(log.query())).map(({ name }) => name)).toEqual(["one", "two"]);
    expect(await log.verify()).toMatchObject({ ok: true });
  });

  test("a removed end is found, and so is a missing head", async () => {
    const storage = createMemoryStorage();
    const log = openActivity(storageSink(storage, "activity"));
    for (const name of ["one", "two", "three"]) {
      log.record({ kind: "call", name });
      await log.flush();
    }
    const blocks: string[] = [];
    for await (const { value } of storage.log.after("activity", "")) blocks.push(value);
    await storage.log.delete("activity");
    for (const block of blocks.slice(0, 2)) await storage.log.append("activity", block);
    const reason = "the log is shorter than its head says, or belongs to another one";
    expect(await log.verify()).toMatchObject({ ok: false, reason });
    await storage.kv.delete("activity/head");
    expect(await log.verify()).toMatchObject({ ok: false, reason: "the head is missing" });
    await storage.kv.set("activity/head", "x");
    expect(await log.verify()).toMatchObject({ ok: false, reason: "the head cannot be read" });
  });

  test("a writer that stopped before it stored the head leaves a valid log", async () => {
    const storage = createMemoryStorage();
    let isStopped = false;
    const set: typeof storage.kv.set = async (key, ...rest) => {
      if (isStopped && key.endsWith("/head")) throw new Error("stopped");
      return storage.kv.set(key, ...rest);
    };
    const log = openActivity(storageSink({ ...storage, kv: { ...storage.kv, set } }, "activity"));
    for (const name of ["one", "two"]) {
      log.record({ kind: "call", name });
      isStopped = name === "two";
      await log.flush().catch(() => {});
    }
    const next = openActivity(storageSink(storage, "activity"));
    expect(await next.verify()).toMatchObject({ ok: true, entries: 2 });
    next.record({ kind: "call", name: "three" });
    await next.flush();
    expect(await next.verify()).toMatchObject({ ok: true, entries: 3 });
  });
});

const sealOf = (block: string) => block.match(/"seal":"([\w-]+)"/)![1]!;

test("memorySink is bounded, and the rest stays valid", async () => {
  const sink = memorySink({ maxChars: 2_000 });
  const log = openActivity(sink);
  const heads: string[] = [];
  for (let at = 0; at < 50; at += 1) {
    log.record({ kind: "call", name: `call ${at}` });
    const verdict = await log.verify();
    if (!verdict.ok) throw new Error(verdict.reason);
    heads.push(verdict.head);
  }
  expect(sink.text.length).toBeLessThanOrEqual(2_000);
  const names: (string | undefined)[] = [];
  for await (const { name, seq } of log.query({ newestFirst: true })) {
    expect(name).toBe(`call ${seq - 1}`);
    names.push(name);
  }
  expect(names[0]).toBe("call 49");
  expect(names.length).toBeGreaterThan(3);
  expect(await log.verify({ contains: heads.at(-2) ?? "" })).toMatchObject({ ok: true, entries: names.length });
  expect(await log.verify({ contains: heads[0] ?? "" })).toMatchObject({ ok: false });
});

test("a flipped byte is found, also after the oldest blocks were dropped", async () => {
  const sink = memorySink({ maxChars: 1_000 });
  const log = openActivity(sink);
  for (let at = 0; at < 20; at += 1) {
    log.record({ kind: "call", name: `call ${at}` });
    await log.flush();
  }
  const { head, base } = await sink.read(false);
  const check = (text: string) =>
    verifyActivity({ ...(head && { head }), ...(base && { base }), texts: textsOf(text) }, true);
  expect(await check(sink.text)).toMatchObject({ ok: true });
  expect(await check(sink.text.replace("call 19", "call 18"))).toMatchObject({ ok: false });
  const [first = "", ...rest] = sink.text.split(/(?<=\}\n)(?=\{"seq")/);
  expect(first).toContain('"seal"');
  expect(await check(rest.join(""))).toMatchObject({ ok: false });
});

test("a block larger than the limit is kept alone", async () => {
  const log = openActivity(memorySink({ maxChars: 10 }));
  const entries: ActivityEntry[] = [];
  for (const name of ["one", "two"]) {
    log.record({ kind: "call", name });
    await log.flush();
  }
  for await (const entry of log.query()) entries.push(entry);
  expect(entries.map(({ name }) => name)).toEqual(["two"]);
});

async function* textsOf(text: string) {
  yield { part: "memory", text };
}
