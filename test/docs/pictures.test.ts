import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { readPng, reduceColours } from "../../scripts/palette.mjs";
import { pathTo } from "../examples/example.ts";
import { listFiles } from "./markdown.ts";

const pictures = readdirSync(pathTo("docs/pictures"));
const documents = listFiles(".md").map((path) => readFileSync(pathTo(path), "utf8"));

test("there are at most eight pictures of the console", () => {
  expect(pictures.length).toBeGreaterThan(0);
  expect(pictures.length).toBeLessThanOrEqual(8);
});

test("every picture that a document names exists", () => {
  const named = documents.flatMap((text) => [...text.matchAll(/pictures\/([\w-]+\.png)/g)].map(([, name]) => name));
  expect(named.filter((name) => !pictures.includes(name ?? ""))).toEqual([]);
});

test.each(pictures)("%s is shown by a document, 1280 wide, and small", (name) => {
  const picture = readFileSync(join(pathTo("docs/pictures"), name));
  expect(documents.some((text) => text.includes(`pictures/${name}`))).toBe(true);
  expect(readPng(picture).width).toBe(1280);
  expect(picture.length).toBeLessThanOrEqual(150 * 1024);
});

/** Writes the rows of a picture in red, green and blue; the first byte of each row is its filter. */
function png(width: number, rows: readonly (readonly number[])[]): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(rows.length, 4);
  header.set([8, 2], 8);
  const chunk = (kind: string, data: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(kind), data, Buffer.alloc(4)]);
  };
  const data = deflateSync(Buffer.from(rows.flat()));
  return Buffer.concat([Buffer.alloc(8), chunk("IHDR", header), chunk("IDAT", data)]);
}

describe("a picture with fewer colours", () => {
  test("keeps every pixel of a picture with few colours, whatever filters its rows have", () => {
    const rows = [
      [0, 255, 0, 0, 0, 0, 255],
      [1, 1, 2, 3, 1, 1, 1],
      [2, 1, 1, 1, 1, 1, 1],
      [3, 9, 9, 9, 9, 9, 9],
      [4, 7, 7, 7, 7, 7, 7],
    ];
    const { pixels } = readPng(png(2, rows));
    expect([...pixels.slice(0, 6)]).toEqual([0xff0000, 0x0000ff, 0x010203, 0x020304, 0x020304, 0x030405]);
    // Row 4 adds half of left and above, row 5 the neighbour that is nearest to left + above - corner.
    expect([...pixels.slice(6)]).toEqual([0x0a0a0b, 0x0f1011, 0x111112, 0x181819]);
    expect(readPng(reduceColours(png(2, rows))).pixels).toEqual(pixels);
  });

  test("keeps a rare colour among many that are nearly the same", () => {
    const row = [0];
    for (let shade = 0; shade < 400; shade += 1) row.push(200 + (shade % 40), 200 + Math.floor(shade / 40), 220);
    const { pixels } = readPng(reduceColours(png(401, [[...row, 180, 0, 0]])));
    expect(pixels[400]).toBe(0xb40000);
    expect(new Set(pixels).size).toBeLessThanOrEqual(256);
  });

  test("refuses what is no such picture", () => {
    expect(() => reduceColours(Buffer.alloc(40))).toThrow("expected a PNG");
  });
});
