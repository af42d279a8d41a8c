import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineSplitter } from "./lines.ts";

test("lines are the same in whatever pieces they arrive", () => {
  const property = fc.property(
    fc.array(fc.string({ unit: "grapheme" }).map((text) => `x${text.replace(/[\r\n]/g, "")}`)),
    fc.integer({ min: 1, max: 7 }),
    (lines, size) => {
      const heard: string[] = [];
      const splitter = createLineSplitter((line) => heard.push(line));
      const bytes = Buffer.from(lines.join("\r\n"));
      for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.subarray(at, at + size));
      splitter.end();
      expect(heard).toEqual(lines);
    },
  );
  fc.assert(property, { numRuns: 200 });
});
