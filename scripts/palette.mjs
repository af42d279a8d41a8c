// @ts-check
// Makes a picture smaller: a PNG with at most 256 colours, each other colour as the nearest of them.
import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from("89504e470d0a1a0a", "hex");
const maxColours = 256;

/** Reduces the colours of a PNG with eight bits per channel, as browsers write it. */
export function reduceColours(/** @type {Buffer} */ png) {
  const { width, height, pixels } = readPng(png);
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = choose([...counts.keys()].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0)));
  const places = new Map(palette.map((colour, at) => [colour, at]));
  const rows = Buffer.alloc((width + 1) * height);
  pixels.forEach((colour, at) => {
    const known = places.get(colour) ?? nearest(palette, colour);
    places.set(colour, known);
    // Each row begins with its filter, which is none.
    rows[at + Math.floor(at / width) + 1] = known;
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(palette.flatMap(channels))),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Colours that are nearer to each other than this count as one, so that rare colours have a place as well. */
const near = 12 ** 2;

/** Chooses the colours of the palette, from all colours with the most frequent ones first. */
function choose(/** @type {readonly number[]} */ colours) {
  /** @type {number[]} */
  const palette = [];
  for (const colour of colours) {
    if (palette.length === maxColours) break;
    if (colours.length <= maxColours || palette.every((other) => distance(channels(other), channels(colour)) > near))
      palette.push(colour);
  }
  return palette;
}

/** Reads a PNG with red, green and blue, whose opacity is ignored, or with a palette. Each pixel is one number. */
export function readPng(/** @type {Buffer} */ png) {
  const parts = [...chunksOf(png)];
  const find = (/** @type {string} */ name) => parts.filter(([kind]) => kind === name).map(([, data]) => data);
  const [header = Buffer.alloc(13)] = find("IHDR");
  const [palette] = find("PLTE");
  const size = { 2: 3, 3: 1, 6: 4 }[header[9] ?? 0];
  if (header[8] !== 8 || size === undefined || header[12] !== 0)
    throw new Error("expected a PNG of 8 bits per channel");
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const bytes = unfilter(inflateSync(Buffer.concat(find("IDAT"))), width * size, size);
  const pixels = Uint32Array.from({ length: width * height }, (_, at) =>
    palette ? palette.readUIntBE((bytes[at] ?? 0) * 3, 3) : bytes.readUIntBE(at * size, 3),
  );
  return { width, height, pixels };
}

/** @returns {Generator<[kind: string, data: Buffer]>} */
function* chunksOf(/** @type {Buffer} */ png) {
  for (let at = signature.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    yield [png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, at + 8 + length)];
    at += length + 12;
  }
}

/** Undoes the filter of each row. */
function unfilter(/** @type {Buffer} */ filtered, /** @type {number} */ rowBytes, /** @type {number} */ size) {
  const height = filtered.length / (rowBytes + 1);
  const bytes = Buffer.alloc(rowBytes * height);
  for (let y = 0; y < height; y += 1) {
    const filter = filtered[y * (rowBytes + 1)];
    for (let x = 0; x < rowBytes; x += 1) {
      const at = y * rowBytes + x;
      const left = x < size ? 0 : (bytes[at - size] ?? 0);
      const above = y === 0 ? 0 : (bytes[at - rowBytes] ?? 0);
      const corner = x < size || y === 0 ? 0 : (bytes[at - rowBytes - size] ?? 0);
      const guess = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter ?? 0] ?? 0;
      bytes[at] = (filtered[at + y + 1] ?? 0) + guess;
    }
  }
  return bytes;
}

/** The neighbour that is nearest to a linear guess. */
function paeth(/** @type {number} */ left, /** @type {number} */ above, /** @type {number} */ corner) {
  const [toLeft, toAbove, toCorner] = [above - corner, left - corner, left + above - 2 * corner].map(Math.abs);
  if (Number(toLeft) <= Number(toAbove) && Number(toLeft) <= Number(toCorner)) return left;
  return Number(toAbove) <= Number(toCorner) ? above : corner;
}

function nearest(/** @type {readonly number[]} */ palette, /** @type {number} */ colour) {
  const distances = palette.map((other) => distance(channels(other), channels(colour)));
  return distances.indexOf(Math.min(...distances));
}

function distance(/** @type {readonly number[]} */ one, /** @type {readonly number[]} */ other) {
  return one.reduce((sum, value, at) => sum + (value - (other[at] ?? 0)) ** 2, 0);
}

function channels(/** @type {number} */ colour) {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

function chunk(/** @type {string} */ kind, /** @type {Buffer} */ data) {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}
