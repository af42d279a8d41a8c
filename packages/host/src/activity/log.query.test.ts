import { describe, expect, test } from "vitest";
import type { ActivityEntry, ActivityQuery } from "./log.ts";
import { exportActivity, openActivity } from "./log.ts";
import { memorySink } from "./sinks.ts";

async function collect(entries: AsyncIterable<ActivityEntry>): Promise<ActivityEntry[]> {
  const all: ActivityEntry[] = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

describe("query", () => {
  const find = async (query: ActivityQuery) => {
    let now = 0;
    const log = openActivity(memorySink(), { now: () => now });
    for (const [kind, server, name] of [
      ["server", "files", "started"],
      ["call", "files", "read"],
      ["call", "git", "read"],
      ["decision", "git", 'push "now"\\'],
    ] as const) {
      now += 1_000;
      log.record({ kind, server, name, id: `${now}` });
      if (now === 2_000) await log.flush();
    }
    return (await collect(log.query(query))).map(({ seq }) => seq);
  };

  test.each<[string, ActivityQuery, number[]]>([
    ["everything", {}, [1, 2, 3, 4]],
    ["kinds", { kinds: ["call", "server"] }, [1, 2, 3]],
    ["a server", { server: "git" }, [3, 4]],
    ["a name", { name: "read" }, [2, 3]],
    ["an id", { id: "3000" }, [3]],
    ["a server and a name", { server: "git", name: "read" }, [3]],
    ["since", { since: new Date(3_000) }, [3, 4]],
    ["until", { until: "1970-01-01T00:00:03Z" }, [1, 2]],
    ["text in any case", { text: "PUSH" }, [4]],
    ["text with signs that JSON escapes", { text: '"now"\\' }, [4]],
    ["the first few", { limit: 2 }, [1, 2]],
    ["the latest", { newestFirst: true, limit: 3 }, [4, 3, 2]],
    ["none", { limit: 0 }, []],
    ["the numbers after one", { after: 2 }, [3, 4]],
    ["the numbers before one", { before: 3 }, [1, 2]],
    ["a page backwards", { before: 4, newestFirst: true, limit: 2 }, [3, 2]],
    ["the newest that are unknown yet", { after: 2, newestFirst: true }, [4, 3]],
    ["numbers in between, of one kind", { after: 1, before: 4, kinds: ["call"] }, [2, 3]],
    ["nothing after the last", { after: 4 }, []],
  ])("finds %s", async (_, query, expected) => {
    expect(await find(query)).toEqual(expected);
  });
});

describe("a page of a log", () => {
  test.each([
    ["backwards", { before: 3, newestFirst: true, limit: 1 }],
    ["forwards", { before: 2 }],
    ["from the newest on", { after: 4, newestFirst: true }],
  ])("is read %s without the rest of the log", async (_, query) => {
    const inner = memorySink();
    let read = 0;
    const log = openActivity({
      isLinear: true,
      append: (build) => inner.append(build),
      async read(newestFirst) {
        const reading = await inner.read(newestFirst);
        async function* counted() {
          for await (const text of reading.texts) {
            read += 1;
            yield text;
          }
        }
        return { ...reading, texts: counted() };
      },
      close: () => inner.close(),
    });
    for (let at = 0; at < 5; at += 1) {
      log.record({ kind: "call", name: `${at}` });
      await log.flush();
    }
    expect(await collect(log.query(query))).toHaveLength(1);
    expect(read).toBeLessThan(5);
  });
});

describe("exportActivity", () => {
  test("returns the lines of the entries exactly as they are stored, without seals", async () => {
    const sink = memorySink();
    const log = openActivity(sink);
    log.record({ kind: "call", server: "s", args: { token: "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789" } });
    await log.flush();
    log.record({ kind: "decision", server: "s" });
    await log.flush();
    let all = "";
    for await (const line of exportActivity(log)) all += line;
    const stored = sink.text.split("\n").filter((line) => line.startsWith('{"seq":'));
    expect(all).toBe(`${stored.join("\n")}\n`);
    expect(all.split("\n")).toHaveLength(3);
    expect(all).not.toContain("abcdefghijklmnop");
    const calls: string[] = [];
    for await (const line of exportActivity(log, { kinds: ["decision"] })) calls.push(line);
    expect(calls).toEqual([`${stored[1]}\n`]);
  });

  test("takes any log", async () => {
    async function* query() {
      yield { seq: 1, at: "1970-01-01T00:00:00.000Z", kind: "call" as const };
    }
    const lines: string[] = [];
    for await (const line of exportActivity({ query })) lines.push(line);
    expect(lines).toEqual(['{"seq":1,"at":"1970-01-01T00:00:00.000Z","kind":"call"}\n']);
  });
});

test("listeners hear the number of the newest entry after each write, until they stop", async () => {
  const log = openActivity(memorySink());
  const heard: number[] = [];
  const stop = log.listen?.((seq) => heard.push(seq));
  log.record({ kind: "call" });
  log.record({ kind: "call" });
  expect(heard).toEqual([]);
  await log.flush();
  log.record({ kind: "call" });
  await log.flush();
  expect(heard).toEqual([2, 3]);
  stop?.();
  log.record({ kind: "call" });
  await log.flush();
  expect(heard).toEqual([2, 3]);
});
