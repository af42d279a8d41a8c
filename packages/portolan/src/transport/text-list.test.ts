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
