import { describe, expect, test } from "vitest";
import { openActivity } from "./log.ts";
import { emptyHead, memorySink, sealBody } from "./sinks.ts";
import { verifyActivity } from "./verify.ts";

const readText = (text: string) => ({
  async *[Symbol.asyncIterator]() {
    yield { part: "log", text };
  },
});

async function smallLog() {
  const sink = memorySink();
  const log = openActivity(sink, { now: () => 0 });
  log.record({ kind: "server", server: "files", name: "started" });
  log.record({ kind: "call", server: "files", name: "read", args: { path: "/tmp/ä" } });
  await log.flush();
  log.record({ kind: "decision", effect: "allow", name: "öffnen �" });
  await log.flush();
  const { head } = await sink.read(false);
  return { text: sink.text, head: head! };
}

describe("verify", () => {
  test("accepts what was written, and finds an earlier head in it", async () => {
    const log = openActivity(memorySink());
    expect(await log.verify()).toEqual({ ok: true, entries: 0, blocks: 0, head: "" });
    log.record({ kind: "call" });
    const first = await log.verify();
    expect(first).toMatchObject({ ok: true, entries: 1, blocks: 1, head: expect.stringMatching(/^[\w-]{43}$/) });
    log.record({ kind: "call" });
    if (!first.ok) throw new Error(first.reason);
    expect(await log.verify({ contains: first.head })).toMatchObject({ ok: true, blocks: 2 });
    expect(await log.verify({ contains: "another" })).toMatchObject({ ok: false });
  });

  test("finds every change of one byte", async () => {
    const { text, head } = await smallLog();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at++) {
      for (const mask of [1, 0x20, 0x80]) {
        bytes[at]! ^= mask;
        const changed = new TextDecoder("latin1").decode(bytes);
        const decoded = isUtf8(bytes) ? bytes.toString("utf8") : changed;
        expect(await verifyActivity({ head, texts: readText(decoded) }, true), `byte ${at}`).toMatchObject({
          ok: false,
        });
        bytes[at]! ^= mask;
      }
    }
    expect(await verifyActivity({ head, texts: readText(bytes.toString("utf8")) }, true)).toMatchObject({ ok: true });
  });

  test("finds removed, duplicated and swapped lines", async () => {
    const { text, head } = await smallLog();
    const lines = text.trimEnd().split("\n");
    const check = (changed: readonly string[]) =>
      verifyActivity({ head, texts: readText(changed.map((line) => `${line}\n`).join("")) }, true);
    expect(await check(lines)).toMatchObject({ ok: true });
    for (const index of lines.keys()) {
      expect(await check(lines.toSpliced(index, 1))).toMatchObject({ ok: false });
      expect(await check(lines.toSpliced(index, 0, lines[index]!))).toMatchObject({ ok: false });
      expect(await check(lines.toSpliced(index, 0, ""))).toMatchObject({ ok: false });
      const other = (index + 1) % lines.length;
      expect(await check(lines.with(index, lines[other]!).with(other, lines[index]!))).toMatchObject({ ok: false });
    }
  });

  test("finds every cut, and reports a cut inside a block as torn", async () => {
    const { text, head } = await smallLog();
    for (let length = 0; length < text.length; length++) {
      const verdict = await verifyActivity({ head, texts: readText(text.slice(0, length)) }, true);
      expect(verdict, `after ${length} characters`).toMatchObject({ ok: false });
      const isAtSeal = length === 0 || /"by":"\w+"\}\n$/.test(text.slice(0, length));
      expect(verdict, `after ${length} characters`).toMatchObject({ isTorn: !isAtSeal });
    }
  });

  test("finds a block that was sealed again, even if the next one is changed to match", async () => {
    const { text, head } = await smallLog();
    const lines = text.trimEnd().split("\n");
    const body = `${lines.slice(0, 2).join("\n")}\n`.replace("/tmp/ä", "/tmp/a");
    const forged = await sealBody([new TextEncoder().encode(body)], 2, emptyHead, "forger");
    const forgedText = new TextDecoder().decode(forged.bytes);
    const rest = `${lines.slice(3).join("\n")}\n`;
    const relinked = rest.replace(sealOf(text), forged.head.seal);
    expect(relinked).not.toBe(rest);
    for (const tail of [rest, relinked]) {
      const texts = readText(`${forgedText}${tail}`);
      expect(await verifyActivity({ head, texts }, true)).toMatchObject({ ok: false });
      expect(await verifyActivity({ texts: readText(`${forgedText}${tail}`) }, false)).toMatchObject({ ok: false });
    }
  });

  test("finds a seal in another spelling", async () => {
    const { text, head } = await smallLog();
    const texts = readText(text.replace('"block":1,', '"block":01,'));
    expect(await verifyActivity({ head, texts }, true)).toMatchObject({ ok: false });
  });

  test("reports a missing line", async () => {
    const { text, head } = await smallLog();
    const texts = readText(text.slice(text.indexOf("\n") + 1));
    expect(await verifyActivity({ head, texts }, true)).toMatchObject({ reason: "entries were added or removed" });
  });

  test("reports the place of the damage", async () => {
    const { text, head } = await smallLog();
    const changed = text.replace("öffnen", "sehen");
    expect(await verifyActivity({ head, texts: readText(changed) }, true)).toEqual({
      ok: false,
      at: { part: "log", line: 5 },
      reason: "the block was changed after it was sealed",
      isTorn: false,
    });
  });

  test("stops at an endless line or block", async () => {
    const line = { head: "missing" as const, texts: readText("x".repeat(2 * 1024 * 1024)) };
    expect(await verifyActivity(line, true)).toMatchObject({ reason: "a line is longer than any entry" });
    const block = { head: "missing" as const, texts: readText(`${"x".repeat(1_000)}\n`.repeat(70_000)) };
    expect(await verifyActivity(block, true)).toMatchObject({ reason: "a block is longer than any sealed one" });
  });
});

const sealOf = (block: string) => block.match(/"seal":"([\w-]+)"/)![1]!;

function isUtf8(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
