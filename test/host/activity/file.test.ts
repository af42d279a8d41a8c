import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { openActivityFile, verifyActivityFile } from "portolan-host";
import { describe, expect, test } from "vitest";
import { entriesOf, freshFile, namesIn, writeBlocks } from "./kit.ts";

const goodHead = async (file: string) => {
  const verdict = await verifyActivityFile(file);
  if (!verdict.ok) throw new Error(verdict.reason);
  return verdict.head;
};

describe("an activity file", () => {
  test("has lines of JSON readable by its owner only, and no other file than its head", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one", "two"]);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(lines.map((line) => Object.keys(JSON.parse(line))[0])).toEqual(["seq", "seal", "seq", "seal"]);
    for (const path of [file, `${file}.head`]) expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(file)).sort()).toEqual([basename(file), `${basename(file)}.head`]);
  });

  test("continues when it is opened again, and creates its folder", async () => {
    const file = join(dirname(freshFile()), "a", "b", "activity.ndjson");
    await writeBlocks(file, ["one"]);
    await writeBlocks(file, ["two"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 2, blocks: 2 });
    expect(await namesIn(file)).toEqual(["one", "two"]);
  });

  test("verifies as empty when it was never written", async () => {
    const file = freshFile();
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 0 });
    expect(await verifyActivityFile(join(dirname(file), "no", "such", "folder"))).toMatchObject({
      ok: true,
      entries: 0,
    });
    expect(await entriesOf(file)).toEqual([]);
  });

  test("returns its entries newest first", async () => {
    const file = freshFile();
    const log = await openActivityFile(file);
    for (let number = 0; number < 3_000; number++) log.record({ kind: "call", name: `${number} é`.padEnd(90, "é") });
    await log.close();
    const names = await namesIn(file, true);
    expect(names.map((name) => Number.parseInt(name, 10))).toEqual(
      Array.from({ length: 3_000 }, (_, at) => 2_999 - at),
    );
  });
});

describe("verification", () => {
  test("detects a flipped bit in any byte of the log or its head", async () => {
    const file = freshFile();
    await writeBlocks(file, ["öne", "two"]);
    for (const path of [file, `${file}.head`]) {
      const bytes = readFileSync(path);
      for (let at = 0; at < bytes.length; at++) {
        // Flips one bit per byte, a different one each time; all eight would take too long.
        const changed = Buffer.from(bytes);
        changed[at]! ^= 1 << (at % 8);
        writeFileSync(path, changed);
        expect(await verifyActivityFile(file), `byte ${at} of ${basename(path)}`).toMatchObject({ ok: false });
      }
      writeFileSync(path, bytes);
      expect(await verifyActivityFile(file)).toMatchObject({ ok: true });
    }
  });

  test("detects invalid bytes that decode to the same text", async () => {
    const file = freshFile();
    await writeBlocks(file, ["�"]);
    const bytes = readFileSync(file);
    const at = bytes.indexOf("�");
    writeFileSync(file, Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 3)]));
    expect(readFileSync(file, "utf8")).toBe(bytes.toString("utf8"));
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
  });

  test("detects truncation by whole blocks, also after more was written", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one"]);
    const { size } = statSync(file);
    await writeBlocks(file, ["two", "three"]);
    truncateSync(file, size);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false, isTorn: false });
    await writeBlocks(file, ["four"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false, isTorn: false });
    expect(await namesIn(file)).toEqual(["one", "four"]);
  });

  test("detects truncation within a line, and the next entry starts on its own line", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one"]);
    const { size } = statSync(file);
    await writeBlocks(file, ["two", "three"]);
    truncateSync(file, size + 20);
    await writeBlocks(file, ["four"]);
    expect(await namesIn(file)).toEqual(["one", "four"]);
    expect(statSync(`${file}.torn`).size).toBe(20);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false, isTorn: false });
  });

  test("detects a replaced log, also after more was written", async () => {
    const [file, other] = [freshFile(), freshFile()];
    await writeBlocks(file, ["one", "two"]);
    await writeBlocks(other, ["one", "a name that is longer", "three"]);
    writeFileSync(file, readFileSync(other));
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
    await writeBlocks(file, ["four"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
  });

  test("detects truncation with a deleted head: by the repair entry, and by a head stored elsewhere", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one", "two"]);
    const { size } = statSync(file);
    await writeBlocks(file, ["three"]);
    const head = await goodHead(file);
    truncateSync(file, size);
    rmSync(`${file}.head`);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
    await writeBlocks(file, ["four"]);
    expect(await entriesOf(file)).toContainEqual(expect.objectContaining({ name: "activity-mended", head: "missing" }));
    expect(await verifyActivityFile(file, { contains: head })).toMatchObject({ ok: false });
  });

  test("detects an older head", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one"]);
    const older = readFileSync(`${file}.head`);
    await writeBlocks(file, ["two", "three"]);
    writeFileSync(`${file}.head`, older);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
  });

  test("reports damage in the middle, and the log can still be written", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one", "two"]);
    writeFileSync(file, readFileSync(file, "utf8").replace("one", "eno"));
    await writeBlocks(file, ["three"]);
    expect(await namesIn(file)).toEqual(["eno", "two", "three"]);
    expect(await verifyActivityFile(file)).toMatchObject({
      ok: false,
      at: { part: basename(file), line: 2 },
      isTorn: false,
    });
  });
});

describe("after a crashed writer", () => {
  test("a half-written block is repaired at the next opening, and no complete entry is lost", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one"]);
    const [log, head] = [readFileSync(file), readFileSync(`${file}.head`)];
    const more = await openActivityFile(file);
    more.record({ kind: "call", name: "twö" });
    more.record({ kind: "call", name: "three" });
    await more.close();
    const whole = readFileSync(file);
    const block = whole.subarray(log.length);
    const lineEnds = [...block.keys()].filter((at) => block[at] === 10);
    for (let length = 1; length < block.length; length += 3) {
      writeFileSync(file, whole.subarray(0, log.length + length));
      writeFileSync(`${file}.head`, head);
      rmSync(`${file}.torn`, { force: true });
      expect(await verifyActivityFile(file), `${length} bytes`).toMatchObject({ ok: false, isTorn: true });
      const wholeLines = lineEnds.filter((end) => end < length).length;
      expect(await namesIn(file), `${length} bytes`).toEqual(["one", "twö", "three"].slice(0, 1 + wholeLines));
      expect(await verifyActivityFile(file), `${length} bytes`).toMatchObject({ ok: true, entries: 2 + wholeLines });
      const rest = block.subarray(wholeLines === 0 ? 0 : lineEnds[wholeLines - 1]! + 1, length);
      expect(existsSync(`${file}.torn`) ? readFileSync(`${file}.torn`) : Buffer.alloc(0)).toEqual(rest);
    }
  });

  test("a block without its head needs no repair", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one"]);
    const head = readFileSync(`${file}.head`);
    await writeBlocks(file, ["two"]);
    writeFileSync(`${file}.head`, head);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 2 });
    await writeBlocks(file, ["three"]);
    expect(await namesIn(file)).toEqual(["one", "two", "three"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 3 });
  });

  test.each([
    ["zeros", Buffer.alloc(4_096)],
    ["invalid UTF-8", Buffer.from([0xff, 0xfe, 10])],
    ["incomplete JSON", Buffer.from('{"seq":2,"kind"\n')],
    ["an entry with a wrong number", Buffer.from('{"seq":7,"kind":"call"}\n')],
    ["an entry without a number", Buffer.from('{"kind":"call"}\n')],
  ])("%s at the end of the log is moved to the .torn file", async (_, rest) => {
    const file = freshFile();
    await writeBlocks(file, ["one"]);
    appendFileSync(file, rest);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false, isTorn: true });
    expect(await entriesOf(file)).toMatchObject([
      { name: "one" },
      { kind: "error", name: "activity-mended", entries: 0, bytesMoved: rest.length },
    ]);
    expect(readFileSync(`${file}.torn`)).toEqual(rest);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true });
  });
});

describe("rotated files", () => {
  const fill = async () => {
    const file = freshFile();
    const names = Array.from({ length: 20 }, (_, index) => `call ${index}`);
    await writeBlocks(file, names, { maxBytes: 1_000 });
    const rotated = readdirSync(dirname(file)).filter((name) => /\.\d+$/.test(name)).length;
    return { file, names, rotated };
  };

  test("form one chain, oldest first, and none exceeds its limit", async () => {
    const { file, names, rotated } = await fill();
    expect(rotated).toBeGreaterThan(3);
    expect(await namesIn(file)).toEqual(names);
    expect(await namesIn(file, true)).toEqual(names.toReversed());
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 20, blocks: 20 });
    for (let number = 1; number <= rotated; number++) {
      const { size, mode } = statSync(`${file}.${number}`);
      expect(size).toBeLessThanOrEqual(1_000);
      expect(mode & 0o777).toBe(0o600);
    }
  });

  test("fail verification when one is missing or swapped", async () => {
    const { file, rotated } = await fill();
    for (let number = 1; number <= rotated; number++) {
      renameSync(`${file}.${number}`, `${file}.away`);
      expect(await verifyActivityFile(file), `without ${number}`).toMatchObject({ ok: false });
      renameSync(`${file}.away`, `${file}.${number}`);
    }
    renameSync(`${file}.1`, `${file}.away`);
    renameSync(`${file}.2`, `${file}.1`);
    renameSync(`${file}.away`, `${file}.2`);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false, at: { part: `${basename(file)}.1` } });
  });

  test("fail verification when a line was moved from one to the next", async () => {
    const { file } = await fill();
    const first = readFileSync(`${file}.1`, "utf8");
    const lastLine = first.lastIndexOf("\n", first.length - 2) + 1;
    writeFileSync(`${file}.1`, first.slice(0, lastLine));
    writeFileSync(`${file}.2`, first.slice(lastLine) + readFileSync(`${file}.2`, "utf8"));
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
  });

  test("are continued when the writer was killed between rotating a file and writing the next", async () => {
    const { file, names, rotated } = await fill();
    renameSync(file, `${file}.${rotated + 1}`);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 20 });
    await writeBlocks(file, ["last"], { maxBytes: 1_000 });
    expect(await namesIn(file)).toEqual([...names, "last"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 21 });
    expect(readdirSync(dirname(file)).filter((name) => /\.\d+$/.test(name)).length).toBe(rotated + 1);
  });

  test("are continued when the head is deleted", async () => {
    const { file, names, rotated } = await fill();
    renameSync(file, `${file}.${rotated + 1}`);
    rmSync(`${file}.head`);
    await writeBlocks(file, ["last"], { maxBytes: 1_000 });
    expect(await namesIn(file)).toEqual([...names, "last"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true });
  });
});
