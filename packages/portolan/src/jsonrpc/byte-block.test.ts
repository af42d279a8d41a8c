import { expect, test } from "vitest";
import { ByteBlock, release } from "./byte-block.ts";

const piece = Uint8Array.from({ length: 1_000_000 }, (_, at) => at % 251);
const times = 20;
const whole = Buffer.concat(Array.from({ length: times }, () => piece));

test("a block returns all bytes in order, however often it has grown", () => {
  const block = new ByteBlock();
  for (let count = 0; count < times; count++) block.push(piece);
  expect(block.length).toBe(whole.length);
  expect(whole.equals(block.take())).toBe(true);
  expect(block.length).toBe(0);
  expect(block.take()).toHaveLength(0);
  block.push(Uint8Array.of(1, 2));
  expect([...block.take()]).toEqual([1, 2]);
});

test("a block decodes its text without a loss", () => {
  const block = new ByteBlock();
  const text = "a£€😀\ufeff".repeat(10_000);
  for (let count = 0; count < 200; count++) block.pushText(text);
  expect(block.takeText() === text.repeat(200)).toBe(true);
  expect(block.takeText()).toBe("");
});

test("released bytes give their memory back at once", () => {
  const block = new ByteBlock();
  for (let count = 0; count < times; count++) block.push(piece);
  const bytes = block.take();
  expect(bytes.buffer.byteLength).toBeGreaterThanOrEqual(whole.length);
  release(bytes);
  expect(bytes.buffer.byteLength).toBe(0);
});

test("bytes of an ordinary buffer are not changed by a release", () => {
  const bytes = Uint8Array.of(1, 2, 3);
  release(bytes);
  expect([...bytes]).toEqual([1, 2, 3]);
});
