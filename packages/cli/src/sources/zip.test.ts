import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { maxBundleFiles, maxUnpackedBytes } from "./limits.ts";
import { type PackedFile, readZip, writeZip } from "./zip.ts";

const text = (path: string, content = path): PackedFile => ({ path, bytes: Buffer.from(content), isExecutable: false });

test("reads what it writes: paths, contents and permissions, in the order of the paths", () => {
  const files = [text("b/ö.txt", "x".repeat(10_000)), { ...text("a.sh"), isExecutable: true }, text("empty", "")];
  const read = readZip(writeZip(files));
  expect(read.map((file) => [file.path, file.size, file.isExecutable])).toEqual([
    ["a.sh", 4, true],
    ["b/ö.txt", 10_000, false],
    ["empty", 0, false],
  ]);
  expect(read.map((file) => file.read().toString())).toEqual(["a.sh", "x".repeat(10_000), ""]);
});

test("writes the same bytes for the same files in any order", () => {
  const files = [text("a"), text("b"), text("c/d")];
  expect(writeZip(files.toReversed()).equals(writeZip(files))).toBe(true);
  expect(writeZip([])).toHaveLength(22);
  expect(readZip(writeZip([]))).toEqual([]);
});

/** Changes a member of the first entry in the list of files. */
function withMember(
  change: (zip: Buffer, entry: number) => void,
  files = [text("a", "aaaaaaaaaaaaaaaaaaaaaaaaa")],
): Buffer {
  const zip = Buffer.from(writeZip(files));
  change(zip, zip.readUInt32LE(zip.length - 22 + 16));
  return zip;
}

/** Gives the first file another name of the same length, in its header and in the list. */
const renamed = (name: string) => {
  const zip = Buffer.from(writeZip([text("x".repeat(Buffer.byteLength(name)))]));
  const at = zip.readUInt32LE(zip.length - 22 + 16);
  zip.write(name, 30, "utf8");
  zip.write(name, at + 46, "utf8");
  return zip;
};

describe("refuses", () => {
  test.each([
    "../evil",
    "a/../../evil",
    "/etc/passwd",
    "./a",
    "a//b",
    "C:evil",
    "a\\..\\b",
    "a/NUL",
    "com1.txt",
    "dots.",
    "space ",
    "a\u0000b",
    "a\nb",
    "a:stream",
  ])("the path %j", (path) => {
    expect(() => readZip(renamed(path))).toThrow(/^the bundle is refused: the path /);
  });

  test.each<[string, (zip: Buffer, entry: number) => void, RegExp]>([
    ["a symbolic link", (zip, at) => zip.writeUInt32LE((0o120777 << 16) >>> 0, at + 38), /is a link or a device/],
    ["a device", (zip, at) => zip.writeUInt32LE((0o020666 << 16) >>> 0, at + 38), /is a link or a device/],
    [
      "a folder that ends without a slash",
      (zip, at) => zip.writeUInt32LE((0o040755 << 16) >>> 0, at + 38),
      /is a link/,
    ],
    ["encryption", (zip, at) => zip.writeUInt16LE(1, at + 8), /is encrypted/],
    ["another compression", (zip, at) => zip.writeUInt16LE(12, at + 10), /compressed in a way/],
    ["a path that is not UTF-8", (zip, at) => zip.writeUInt8(0xff, at + 46), /not UTF-8/],
    ["another name in the header", (zip) => zip.write("b", 30), /another name or form in its own header/],
    ["an offset beyond the end", (zip, at) => zip.writeUInt32LE(0xfffffff0, at + 42), /header of "a" is damaged/],
    ["content beyond the end", (zip, at) => zip.writeUInt32LE(0x7fffffff, at + 20), /reaches beyond the end/],
    ["a size above the limit", (zip, at) => zip.writeUInt32LE(maxUnpackedBytes + 1, at + 24), /are unpacked/],
    ["a damaged list", (zip, at) => zip.writeUInt32LE(0, at), /the list of its files is damaged/],
    ["too many files", (zip) => setCounts(zip, maxBundleFiles + 1), /at most 50000 are read/],
    ["ZIP64", (zip) => setCounts(zip, 0xffff), /ZIP64/],
    ["more files than it has", (zip) => setCounts(zip, 2), /list of its files is damaged/],
  ])("%s", (_, change, message) => {
    expect(() => readZip(withMember(change))).toThrow(message);
  });

  test("bytes after the archive that no comment covers, and a file that is no archive or a part of one", () => {
    const zip = writeZip([text("a")]);
    for (const wrong of [
      Buffer.concat([zip, Buffer.from("x")]),
      Buffer.from("no zip"),
      zip.subarray(0, -1),
      Buffer.alloc(0),
    ]) {
      expect(() => readZip(wrong)).toThrow("not a zip archive, or not a whole one");
    }
  });

  test("two files with one path, also in another case or composition, and a file that is a folder", () => {
    expect(() => readZip(writeZip([text("a"), text("a")]))).toThrow("two files have the path");
    expect(() => readZip(writeZip([text("dir/README"), text("DIR/readme")]))).toThrow("two files have the path");
    expect(() => readZip(writeZip([text("\u00e9"), text("e\u0301")]))).toThrow("two files have the path");
    expect(() => readZip(writeZip([text("a"), text("a/b")]))).toThrow("is a file and a folder");
  });

  test("files that share bytes", () => {
    // The content of one file is another file with its header, and the list points there too.
    const noise = createHash("sha512").update("noise").digest();
    const more = createHash("sha512").update("more").digest();
    const inner = writeZip([{ path: "b", bytes: noise, isExecutable: false }]).subarray(0, 31 + noise.length);
    const other = { path: "b", bytes: noise, isExecutable: false };
    const zip = Buffer.from(writeZip([{ path: "a", bytes: Buffer.concat([inner, more]), isExecutable: false }, other]));
    const list = zip.readUInt32LE(zip.length - 22 + 16);
    expect(readZip(zip).map(({ path }) => path)).toEqual(["a", "b"]);
    zip.writeUInt32LE(zip.indexOf(inner), list + 46 + 1 + 42);
    expect(() => readZip(zip)).toThrow('"b" shares bytes with another file');
  });
});

function setCounts(zip: Buffer, count: number): void {
  zip.writeUInt16LE(count, zip.length - 22 + 8);
  zip.writeUInt16LE(count, zip.length - 22 + 10);
}

test("a signature at the end does no harm, as the comment of the archive or after it", () => {
  const zip = Buffer.from(writeZip([text("a")]));
  zip.writeUInt16LE(4, zip.length - 2);
  expect(
    readZip(Buffer.concat([zip, Buffer.from("sign")]))[0]
      ?.read()
      .toString(),
  ).toBe("a");
  const signature = Buffer.from("MCPB_SIG_V1\u0004\0\0\0signMCPB_SIG_END");
  const signed = Buffer.concat([writeZip([text("a")]), signature]);
  expect(readZip(signed)[0]?.read().toString()).toBe("a");
  expect(() => readZip(Buffer.concat([signed, Buffer.from("x")]))).toThrow("not a whole one");
  expect(() => readZip(signature)).toThrow("not a whole one");
});

describe("a file is not unpacked", () => {
  test("if it is larger than the list says: nothing beyond that size is inflated", () => {
    const zip = Buffer.from(writeZip([{ path: "bomb", bytes: Buffer.alloc(64 * 1024 * 1024), isExecutable: false }]));
    expect(zip.length).toBeLessThan(100_000);
    zip.writeUInt32LE(10, zip.readUInt32LE(zip.length - 22 + 16) + 24);
    const reason = (() => {
      try {
        return readZip(zip)[0]?.read();
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(reason).toMatchObject({
      message: expect.stringContaining("larger than it says"),
      cause: { code: "ERR_BUFFER_TOO_LARGE" },
    });
  });

  test("if its content or its checksum was changed", () => {
    const zip = withMember((bytes, at) => bytes.writeUInt32LE(crc32("b"), at + 16));
    expect(() => readZip(zip)[0]?.read()).toThrow('"a" is damaged');
    const stored = withMember((bytes) => bytes.write("b", 31), [text("a", "xyz")]);
    expect(() => readZip(stored)[0]?.read()).toThrow('"a" is damaged');
  });
});
