import { describe, expect, test } from "vitest";
import { CallEntry } from "./entry-bytes.ts";
import type { ActivityEntry } from "./log.ts";
import { openActivity } from "./log.ts";
import { memorySink } from "./sinks.ts";

const options = { flushMs: 60_000, now: () => Date.UTC(2030, 0, 2, 3, 4, 5, 6) };

async function collect(entries: AsyncIterable<ActivityEntry>): Promise<ActivityEntry[]> {
  const all: ActivityEntry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

describe("waiting entries", () => {
  test("have consecutive numbers, though two writers take turns with many entries waiting", async () => {
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

  test("get new numbers if another process wrote before, and nothing else changes", async () => {
    const sink = memorySink();
    await writeOne(sink);
    const log = openActivity(sink, options);
    log.record({ kind: "call", args: { seq: 7, more: [{ seq: 8 }] } });
    expect(await collect(log.query({ kinds: ["call"] }))).toMatchObject([
      { seq: 2, args: { seq: 7, more: [{ seq: 8 }] } },
    ]);
  });

  test("are redacted, also for secrets added after they were recorded", async () => {
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

  test("have the time of their recording in milliseconds", async () => {
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

describe("call entries", () => {
  const wide = "\u{1f30d}";
  const made = [
    call("echo", { a: [1, { b: null }] }, { content: [{ type: "text", text: 'a "b"\n' }] }),
    call('we"ird\n\\', {}, { content: [] }),
    call(wide, undefined, { structuredContent: { [wide]: "\ud800" }, isError: true }),
    call("long".repeat(1_000), {}, {}),
    new CallEntry("call", "c1", "s", "of a run", "user", 'r"1', { a: 1 }, '{"a":1}', 3, { content: [] }),
    new CallEntry("resource", "c1", "s", "file:///a", "user", undefined, undefined, undefined, 3, { contents: [] }),
    new CallEntry("prompt", "c2", "s", "file:///a", "user", "run 1", { a: "b" }, undefined, 3, { messages: [] }),
  ];

  test.each(made)("are written like any other entry: $name", async (entry) => {
    const [log, other] = [openActivity(memorySink(), options), openActivity(memorySink(), options)];
    log.record(entry);
    other.record({ ...entry });
    const [written] = await collect(log.query());
    expect(written).toEqual((await collect(other.query()))[0]);
    expect(written).toMatchObject({ kind: entry.kind, server: entry.server, id: entry.id });
  });

  test("contain the arguments as they were sent, however long they or the result are", async () => {
    const log = openActivity(memorySink(), options);
    for (const [text, result] of [
      ["short", "r"],
      ["x".repeat(20_000), "r"],
      ["short", "r".repeat(100_000)],
    ]) {
      const args = { kept: true, text };
      const entry = call("a", args, { result });
      args.kept = false;
      log.record(entry);
    }
    const entries = await collect(log.query());
    expect(entries.map(({ args }) => (args as { kept: boolean }).kept)).toEqual([true, true, true]);
  });

  test("that are deep are written and redacted", async () => {
    const sink = memorySink();
    const log = openActivity(sink, options);
    const deep = `${"[".repeat(5_000)}{"password":"hunter2"}${"]".repeat(5_000)}`;
    log.record(call("a", { deep: JSON.parse(deep) }, {}));
    expect(await collect(log.query())).toMatchObject([{ kind: "call", name: "a" }]);
    expect(sink.text).not.toContain("hunter2");
  });

  test("of more tools than are cached stay different", async () => {
    const log = openActivity(memorySink(), options);
    const names = Array.from({ length: 2_500 }, (_, at) => `tool-${at % 1_250}`);
    for (const name of names) log.record(call(name, {}, {}));
    expect((await collect(log.query())).map(({ name }) => name)).toEqual(names);
  });

  test("that are too long, too deep or contain secrets are shortened and redacted like others", async () => {
    const sink = memorySink();
    const log = openActivity(sink, options);
    log.record(call("a", { text: "x".repeat(100_000) }, {}));
    log.record(call("b", { password: "hunter2" }, { content: [{ type: "text", text: "password=hunter2" }] }));
    log.record(call("token=hunter2", {}, {}));
    const [first, second] = await collect(log.query());
    expect(first).toMatchObject({ kind: "call", name: "a", args: { text: { chars: 100_000 } } });
    expect(second).toMatchObject({ kind: "call", name: "b", args: { password: "[redacted]" } });
    expect(sink.text).not.toContain("hunter2");
  });

  function call(name: string, args: object | undefined, result: object): CallEntry {
    const text = args && JSON.stringify(args);
    return new CallEntry("call", "c7", 'serv"er', name, "model", undefined, args, text, 12, result);
  }
});

describe("a log under load", () => {
  test("writes before it is full, so that nothing is lost while the sink keeps up", async () => {
    const sink = memorySink();
    const log = openActivity(sink, { ...options, maxWaiting: 100 });
    for (let round = 0; round < 10; round++) {
      const before = sink.text.length;
      for (let count = 0; count < 30; count++) log.record({ kind: "call", name: `call ${count}` });
      await expect.poll(() => sink.text.length).toBeGreaterThan(before);
    }
    expect(log.lost).toBe(0);
    expect(await collect(log.query())).toHaveLength(300);
    await log.close();
  });
});

describe("the fast way of writing", () => {
  const texts = [
    "",
    "plain",
    'quo"te',
    "back\\slash",
    "line\nfeed",
    "\u007f",
    "é\u{1f30d}",
    "\ud800",
    "x".repeat(200),
    "y".repeat(5_000),
  ];

  test.each(texts)("writes the same JSON as the general way for the text %j", async (text) => {
    for (const ms of [0, 9, 10, 1_073_741_823, 1_073_741_824, 0.5, 1e21]) {
      const [sink, general] = [memorySink(), memorySink()];
      const entry = new CallEntry("call", "c1", "s", "t", "model", undefined, { text }, JSON.stringify({ text }), ms, {
        content: [{ type: "text", text }],
      });
      for (const [to, activity] of [
        [sink, entry],
        [general, entryInOrder(entry)],
      ] as const) {
        const log = openActivity(to, options);
        log.record(activity);
        await log.close();
      }
      expect(sink.text.split("\n")[0]).toBe(general.text.split("\n")[0]);
    }
  });

  test.each<[string, object]>([
    ["members in another order", { content: [{ text: "a", type: "text" }] }],
    ["a further member of the block", { content: [{ type: "text", text: "a", annotations: { audience: ["user"] } }] }],
    ["a further member of the result", { content: [{ type: "text", text: "a" }], isError: true }],
    [
      "two blocks",
      {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
    ],
    ["no block", { content: [] }],
    ["a block that is no text", { content: [{ type: "image", text: "a" }] }],
    ["a block without its text", { content: [{ type: "text" }] }],
  ])("keeps a result with %s", async (_, result) => {
    const sink = memorySink();
    const log = openActivity(sink, options);
    log.record(new CallEntry("call", "c1", "s", "t", "model", undefined, {}, "{}", 1, result));
    await log.close();
    expect(sink.text).toContain(`"result":${JSON.stringify(result)}}\n`);
  });

  test.each([
    ["in the arguments", { password: "hunter2" }, "harmless", "tool"],
    ["in the result", {}, "password=hunter2", "tool"],
    ["in the name", {}, "harmless", "password=hunter2"],
    ["in a long text", {}, `${"x".repeat(500)} password=hunter2`, "tool"],
  ])("redacts a secret %s among many other calls", async (_, args, text, name) => {
    const sink = memorySink();
    const log = openActivity(sink, options);
    const record = (of: object, result: string, tool: string) =>
      log.record(
        new CallEntry("call", "c1", "s", tool, "model", undefined, of, JSON.stringify(of), 1, {
          content: [{ type: "text", text: result }],
        }),
      );
    for (let count = 0; count < 50; count++) record({ count }, "harmless", "tool");
    record(args, text, name);
    for (let count = 0; count < 50; count++) record({ count }, "harmless", "tool");
    await log.close();
    expect(sink.text).not.toContain("hunter2");
    expect(sink.text).toContain("[redacted]");
  });
});

/** The members of an entry in the order in which calls are written. */
function entryInOrder({ kind, server, name, args, by, id, ms, result }: CallEntry) {
  return { kind, server, name, args, by, id, ms, result };
}

async function writeOne(sink: ReturnType<typeof memorySink>): Promise<void> {
  const log = openActivity(sink, options);
  log.record({ kind: "server" });
  await log.close();
}
