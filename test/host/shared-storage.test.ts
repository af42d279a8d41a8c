import { createServer } from "portolan/server";
import { createMemoryStorage, type Storage } from "portolan/storage";
import { createFileStorage } from "portolan/storage/node";
import { createRedisStorage } from "portolan/storage/redis";
import { openActivity, storageSink } from "portolan-host";
import { createClient } from "redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { startRedis } from "../storage/redis-server.ts";
import { inMemory, makeFolder, makeHost } from "./kit.ts";

/** Each makes the view of one process on the same data. */
const storages: { readonly [name: string]: () => Promise<() => Storage> } = {
  memory: async () => {
    const storage = createMemoryStorage();
    return () => storage;
  },
  "a folder": async () => {
    const storage = createFileStorage(await makeFolder());
    onTestFinished(() => storage.close());
    return () => storage;
  },
  Redis: async () => {
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    return () => {
      const storage = createRedisStorage(createClient({ url: `redis://127.0.0.1:${redis.port}` }));
      onTestFinished(() => storage.close());
      return storage;
    };
  },
};

const createNotes = (description = "Writes a note") =>
  createServer({ name: "notes", version: "1" }).tool("write", { description, run: () => "written" });

describe.each(Object.entries(storages))("two hosts over %s", (_, make) => {
  test("a grant of one counts at the other, and ends for both", async () => {
    const open = await make();
    let asked = 0;
    const approve = () => {
      asked += 1;
      return { allow: true, for: "always" } as const;
    };
    const hostOver = (storage: Storage) =>
      makeHost({ servers: { notes: inMemory(createNotes()) }, answers: { approve }, storage });
    const first = await hostOver(open());
    await first.callTool("notes", "write", {});
    const second = await hostOver(open());
    await second.callTool("notes", "write", {});
    expect(asked).toBe(1);
    const [grant] = second.grants.list();
    await second.grants.revoke(grant?.id ?? "");
    const third = await hostOver(open());
    await third.callTool("notes", "write", {});
    expect(asked).toBe(2);
  });

  test("a definition that one accepted is known as changed at the other", async () => {
    const open = await make();
    const hostOver = (description: string) =>
      makeHost({ servers: { notes: inMemory(createNotes(description)) }, storage: open() });
    const first = await hostOver("Writes a note");
    await first.start("notes");
    expect(first.changedDefinitions()).toEqual([]);
    const second = await hostOver("Sends your notes elsewhere");
    await second.start("notes");
    expect(second.changedDefinitions()).toMatchObject([{ server: "notes" }]);
  });

  test("logs of both form one chain, which either can verify", async () => {
    const open = await make();
    const logs = [open(), open()].map((storage) => openActivity(storageSink(storage, "activity")));
    for (let count = 0; count < 5; count += 1) {
      for (const log of logs) log.record({ kind: "call", count });
      await Promise.all(logs.map((log) => log.flush()));
    }
    for (const log of logs) expect(await log.verify()).toMatchObject({ ok: true, entries: 10, blocks: 10 });
    for (const log of logs) await log.close();
  });
});
