import { expect, test } from "vitest";
import { ByteList } from "./byte-list.ts";

test("one piece is handed back without a copy", () => {
  const list = new ByteList();
  const piece = Uint8Array.of(1, 2, 3);
  list.push(piece);
  expect(list.take()).toBe(piece);
});

test("pieces come back joined in order, and the list is empty afterwards", () => {
  const list = new ByteList();
  list.push(Uint8Array.of(1));
  list.push(Uint8Array.of(2, 3));
  expect(list.length).toBe(3);
  expect(list.take()).toEqual(Uint8Array.of(1, 2, 3));
  expect(list.length).toBe(0);
  expect(list.take()).toEqual(new Uint8Array(0));
});

test("a long dribble of single bytes is kept in few pieces", () => {
  const list = new ByteList();
  const bytes = Uint8Array.from({ length: 10_000 }, (_, at) => at % 251);
  for (let at = 0; at < bytes.length; at++) list.push(bytes.subarray(at, at + 1));
  const pieces = list.takePieces();
  expect(pieces.length).toBeLessThan(300);
  expect(pieces.flatMap((piece) => [...piece])).toEqual([...bytes]);
});

test("large pieces are kept as they are", () => {
  const list = new ByteList();
  const large = new Uint8Array(64 * 1024);
  for (let count = 0; count < 600; count++) list.push(large);
  const pieces = list.takePieces();
  expect(pieces).toHaveLength(600);
  expect(pieces.every((piece) => piece === large)).toBe(true);
});
