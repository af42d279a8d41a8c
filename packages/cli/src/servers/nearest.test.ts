import { expect, test } from "vitest";
import { nearest } from "./nearest.ts";

const names = ["files", "filesystem", "git", "github", "time"];

test.each([
  ["fiels", ["files"]],
  ["File", ["files"]],
  ["gihub", ["github"]],
  ["tiem", ["time"]],
  ["weather", []],
  ["", []],
])("%s is meant for %j", (typed, meant) => {
  expect(nearest(typed, names)).toEqual(meant);
});
