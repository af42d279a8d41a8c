import { describe, expect, test } from "vitest";
import type { ActivityEntry, ActivityQuery } from "./log.ts";
import { openActivity } from "./log.ts";
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
  ])("finds %s", async (_, query, expected) => {
    expect(await find(query)).toEqual(expected);
  });
});
