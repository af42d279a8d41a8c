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

describe("a log in a file", () => {
  test("is lines of JSON for its owner only, and leaves nothing behind but its head", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one", "two"]);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(lines.map((line) => Object.keys(JSON.parse(line))[0])).toEqual(["seq", "seal", "seq", "seal"]);
    for (const path of [file, `${file}.head`]) expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(dirname(file)).sort()).toEqual([basename(file), `${basename(file)}.head`]);
  });

  test("goes on when it is opened again, and makes the folder that it lies in", async () => {
    const file = join(dirname(freshFile()), "a", "b", "activity.ndjson");
    await writeBlocks(file, ["one"]);
    await writeBlocks(file, ["two"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 2, blocks: 2 });
    expect(await namesIn(file)).toEqual(["one", "two"]);
  });

  test("that was never written is whole and empty", async () => {
    const file = freshFile();
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 0 });
    expect(await verifyActivityFile(join(dirname(file), "no", "such", "folder"))).toMatchObject({
      ok: true,
      entries: 0,
    });
    expect(await entriesOf(file)).toEqual([]);
  });

  test("is read from its end without reading the rest", async () => {
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

describe("damage", () => {
  test("of any byte, in the log or in its head, is found", async () => {
    const file = freshFile();
    await writeBlocks(file, ["öne", "two"]);
    for (const path of [file, `${file}.head`]) {
      const bytes = readFileSync(path);
      for (let at = 0; at < bytes.length; at++) {
        // One bit, which is another at each byte, keeps this short.
        const changed = Buffer.from(bytes);
        changed[at]! ^= 1 << (at % 8);
        writeFileSync(path, changed);
        expect(await verifyActivityFile(file), `byte ${at} of ${basename(path)}`).toMatchObject({ ok: false });
      }
      writeFileSync(path, bytes);
      expect(await verifyActivityFile(file)).toMatchObject({ ok: true });
    }
  });

  test("that reads like what was written is found", async () => {
    const file = freshFile();
    await writeBlocks(file, ["�"]);
    const bytes = readFileSync(file);
    const at = bytes.indexOf("�");
    writeFileSync(file, Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 3)]));
    expect(readFileSync(file, "utf8")).toBe(bytes.toString("utf8"));
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
  });

  test("by cutting off whole blocks is found, also after more was written", async () => {
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

  test("by cutting off within a line is found, and the next entry stands in a line of its own", async () => {
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

  test("by writing the log anew is found, also after more was written", async () => {
    const [file, other] = [freshFile(), freshFile()];
    await writeBlocks(file, ["one", "two"]);
    await writeBlocks(other, ["one", "a name that is longer", "three"]);
    writeFileSync(file, readFileSync(other));
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
    await writeBlocks(file, ["four"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
  });

  test("by cutting off and taking the head away is told by the log itself, and by a head kept elsewhere", async () => {
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

  test("by an older head is found", async () => {
    const file = freshFile();
    await writeBlocks(file, ["one"]);
    const older = readFileSync(`${file}.head`);
    await writeBlocks(file, ["two", "three"]);
    writeFileSync(`${file}.head`, older);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
  });

  test("in the middle does not keep the log from going on", async () => {
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

describe("a writer that ended in the middle", () => {
  test("leaves a block that is torn until the next one mends it, and nothing is lost", async () => {
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

  test("after its block and before its head leaves nothing to mend", async () => {
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
    ["no text", Buffer.from([0xff, 0xfe, 10])],
    ["no JSON", Buffer.from('{"seq":2,"kind"\n')],
    ["an entry with another number", Buffer.from('{"seq":7,"kind":"call"}\n')],
    ["an entry without number", Buffer.from('{"kind":"call"}\n')],
  ])("may leave %s, which is put aside", async (_, nonsense) => {
    const file = freshFile();
    await writeBlocks(file, ["one"]);
    appendFileSync(file, nonsense);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false, isTorn: true });
    expect(await entriesOf(file)).toMatchObject([
      { name: "one" },
      { kind: "error", name: "activity-mended", entries: 0, bytesMoved: nonsense.length },
    ]);
    expect(readFileSync(`${file}.torn`)).toEqual(nonsense);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true });
  });
});

describe("files put aside", () => {
  const fill = async () => {
    const file = freshFile();
    const names = Array.from({ length: 20 }, (_, index) => `call ${index}`);
    await writeBlocks(file, names, { maxBytes: 1_000 });
    const aside = readdirSync(dirname(file)).filter((name) => /\.\d+$/.test(name)).length;
    return { file, names, aside };
  };

  test("carry the chain on, oldest first, and none grows beyond its bound", async () => {
    const { file, names, aside } = await fill();
    expect(aside).toBeGreaterThan(3);
    expect(await namesIn(file)).toEqual(names);
    expect(await namesIn(file, true)).toEqual(names.toReversed());
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 20, blocks: 20 });
    for (let number = 1; number <= aside; number++) {
      const { size, mode } = statSync(`${file}.${number}`);
      expect(size).toBeLessThanOrEqual(1_000);
      expect(mode & 0o777).toBe(0o600);
    }
  });

  test("are missed when one is taken away or exchanged", async () => {
    const { file, aside } = await fill();
    for (let number = 1; number <= aside; number++) {
      renameSync(`${file}.${number}`, `${file}.away`);
      expect(await verifyActivityFile(file), `without ${number}`).toMatchObject({ ok: false });
      renameSync(`${file}.away`, `${file}.${number}`);
    }
    renameSync(`${file}.1`, `${file}.away`);
    renameSync(`${file}.2`, `${file}.1`);
    renameSync(`${file}.away`, `${file}.2`);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false, at: { part: `${basename(file)}.1` } });
  });

  test("are not whole when a line was moved from one to the next", async () => {
    const { file } = await fill();
    const first = readFileSync(`${file}.1`, "utf8");
    const lastLine = first.lastIndexOf("\n", first.length - 2) + 1;
    writeFileSync(`${file}.1`, first.slice(0, lastLine));
    writeFileSync(`${file}.2`, first.slice(lastLine) + readFileSync(`${file}.2`, "utf8"));
    expect(await verifyActivityFile(file)).toMatchObject({ ok: false });
  });

  test("go on when the writer was killed between putting a file aside and writing the next", async () => {
    const { file, names, aside } = await fill();
    renameSync(file, `${file}.${aside + 1}`);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 20 });
    await writeBlocks(file, ["last"], { maxBytes: 1_000 });
    expect(await namesIn(file)).toEqual([...names, "last"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true, entries: 21 });
    expect(readdirSync(dirname(file)).filter((name) => /\.\d+$/.test(name)).length).toBe(aside + 1);
  });

  test("are found again when the head is gone", async () => {
    const { file, names, aside } = await fill();
    renameSync(file, `${file}.${aside + 1}`);
    rmSync(`${file}.head`);
    await writeBlocks(file, ["last"], { maxBytes: 1_000 });
    expect(await namesIn(file)).toEqual([...names, "last"]);
    expect(await verifyActivityFile(file)).toMatchObject({ ok: true });
  });
});
