import fc from "fast-check";
import { expect, test } from "vitest";
import { createLineSplitter } from "./line-splitter.ts";

test("yields the same lines for any chunks", () => {
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

test("drops a line above the limit without buffering it, and yields the next one", () => {
  const lines: string[] = [];
  const splitter = createLineSplitter((line) => lines.push(line), 10);
  for (const text of ["12345", "67890", "12345", "\nnext\n12345678901\nlast"]) splitter.push(Buffer.from(text));
  splitter.end();
  expect(lines).toEqual(["next", "last"]);
});
