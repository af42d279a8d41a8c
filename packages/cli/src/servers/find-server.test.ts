import { expect, test } from "vitest";
import type { World } from "../system.ts";
import { knownAnswer, nearest, variableOf } from "./find-server.ts";

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

const worldOf = (env: { [name: string]: string }) => ({ env }) as unknown as World;

test.each([
  ["token", "PORTOLAN_INPUT_TOKEN"],
  ["api-key", "PORTOLAN_INPUT_API_KEY"],
  ["team.api key", "PORTOLAN_INPUT_TEAM_API_KEY"],
])("%s is answered by %s", (id, variable) => {
  expect(variableOf(id)).toBe(variable);
  expect(knownAnswer({ id, default: "d" }, worldOf({ [variable]: "v" }))).toBe("v");
});

test("without a variable the answer is what the file proposes, or nobody's", () => {
  expect(knownAnswer({ id: "size", default: "m" }, worldOf({}))).toBe("m");
  expect(knownAnswer({ id: "size" }, worldOf({}))).toBeUndefined();
});
