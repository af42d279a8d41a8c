import fc from "fast-check";
import { expect, test } from "vitest";
import { TextList } from "./text-list.ts";

test("take joins the pieces in order and empties the list", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 600, size: "max" }), (pieces) => {
      const list = new TextList();
      for (const piece of pieces) list.push(piece);
      const text = pieces.join("");
      expect(list.length).toBe(text.length);
      expect(list.take()).toBe(text);
      expect(list.length).toBe(0);
      expect(list.take()).toBe("");
    }),
  );
});

test("take returns much text without a loss, also if pieces end within a character", () => {
  for (const size of [1, 999, 2_000, 65_536]) {
    const text = "ab😀€".repeat(500_001);
    const list = new TextList();
    for (let at = 0; at < text.length; at += size) list.push(text.slice(at, at + size));
    expect(list.length).toBe(text.length);
    expect(list.take() === text).toBe(true);
    list.push("\ud83d");
    expect([list.length, list.take()]).toEqual([1, "\ud83d"]);
  }
});
