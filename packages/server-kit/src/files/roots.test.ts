import { expect, test } from "vitest";
import { narrowed, segmentsBelow } from "./roots.ts";

test.each([
  ["/root", "/root", []],
  ["/root", "/root/a/b", ["a", "b"]],
  ["/root", "/root/..a", ["..a"]],
  ["/root", "/root-evil", undefined],
  ["/root", "/rootevil/a", undefined],
  ["/root", "/", undefined],
  ["/root", "/other/root", undefined],
  ["/", "/etc", ["etc"]],
])("below %s lies %s: %j", (folder, path, expected) => {
  expect(segmentsBelow(folder, path)).toEqual(expected);
});

test("serves the inner one of two nested folders", () => {
  const roots = [{ name: "work", given: "/work", real: "/work" }];
  const folder = (real: string) => ({ given: real, real });
  expect(narrowed(roots, [folder("/work/a"), folder("/work-b"), folder("/etc")])).toEqual([
    { name: "a", given: "/work/a", real: "/work/a" },
  ]);
  expect(narrowed(roots, [folder("/")])).toEqual(roots);
  expect(narrowed(roots, [folder("/etc")])).toEqual([]);
});
