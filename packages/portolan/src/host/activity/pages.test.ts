import { describe, expect, test } from "vitest";
import type { ActivityEntry } from "./entry.ts";
import { openActivity } from "./log.ts";
import { memorySink } from "./memory-sink.ts";

const options = { flushMs: 60_000, now: () => Date.UTC(2030, 0, 2, 3, 4, 5, 6) };

async function collect(entries: AsyncIterable<ActivityEntry>): Promise<ActivityEntry[]> {
  const all: ActivityEntry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

describe("entries that wait", () => {
  test("are numbered in one row, though two writers take turns and each has many waiting", async () => {
    const sink = memorySink();
    const logs = [openActivity(sink, options), openActivity(sink, options)] as const;
    for (let round = 0; round < 3; round++) {
      for (const [at, log] of logs.entries()) {
        for (let count = 0; count < 200; count++) log.record({ kind: "call", name: `${at}-${round}-${count}` });
      }
      await Promise.all(logs.map((log) => log.flush()));
    }
    const entries = await collect(logs[0].query());
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 1_200 }, (_, at) => at + 1));
    expect(new Set(entries.map(({ name }) => name)).size).toBe(1_200);
    expect(await logs[1].verify()).toMatchObject({ ok: true, entries: 1_200 });
  });

  test("get other numbers where somebody wrote before, and only their own numbers change", async () => {
    const sink = memorySink();
    await writeOne(sink);
    const log = openActivity(sink, options);
    log.record({ kind: "call", args: { seq: 7, more: [{ seq: 8 }] } });
    expect(await collect(log.query({ kinds: ["call"] }))).toMatchObject([
      { seq: 2, args: { seq: 7, more: [{ seq: 8 }] } },
    ]);
  });

  test("lose their secrets, also those that became known after they were recorded", async () => {
    const sink = memorySink();
    const log = openActivity(sink, options);
    log.record({ kind: "call", name: "first", args: { text: "harmless" } });
    log.record({ kind: "call", name: "second", "1": "one", args: { password: "hunter2", text: "open sesame" } });
    log.addSecret("open sesame");
    await log.flush();
    expect(sink.text).not.toMatch(/hunter2|sesame/);
    expect(await collect(log.query())).toMatchObject([
      { seq: 1, name: "first", args: { text: "harmless" } },
      { seq: 2, name: "second", "1": "one", args: { password: "[redacted]", text: "[redacted]" } },
    ]);
  });

  test("say when they were recorded, to the millisecond", async () => {
    let now = -1;
    const log = openActivity(memorySink(), { ...options, now: () => now });
    for (now of [-1, 0, 999, 1_000.75, Date.UTC(2030, 0, 2, 3, 4, 5, 6)]) log.record({ kind: "call" });
    expect((await collect(log.query())).map(({ at }) => at)).toEqual([
      "1969-12-31T23:59:59.999Z",
      "1970-01-01T00:00:00.000Z",
      "1970-01-01T00:00:00.999Z",
      "1970-01-01T00:00:01.000Z",
      "2030-01-02T03:04:05.006Z",
    ]);
  });
});

async function writeOne(sink: ReturnType<typeof memorySink>): Promise<void> {
  const log = openActivity(sink, options);
  log.record({ kind: "server" });
  await log.close();
}
