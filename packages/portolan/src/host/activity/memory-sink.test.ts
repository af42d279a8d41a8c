import { expect, test } from "vitest";
import type { ActivityEntry } from "./entry.ts";
import { openActivity } from "./log.ts";
import { memorySink } from "./memory-sink.ts";
import { verifyActivity } from "./verify.ts";

test("what is kept in memory is bounded, and what is left of it is whole", async () => {
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

test("one flipped byte is found, also after the beginning was let go", async () => {
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

test("a block that is larger than all there is room for is kept alone", async () => {
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
