import { expect, test } from "vitest";
import { nearest } from "../arguments/nearest.ts";
import type { System } from "../system.ts";
import { inputVariable, presetInput } from "./find-server.ts";

const names = ["files", "filesystem", "git", "github", "time"];

test.each([
  ["fiels", ["files"]],
  ["File", ["files"]],
  ["gihub", ["github"]],
  ["tiem", ["time"]],
  ["weather", []],
  ["", []],
])("finds for %s the names %j", (typed, meant) => {
  expect(nearest(typed, names)).toEqual(meant);
});

const systemOf = (env: { [name: string]: string }) => ({ env }) as unknown as System;

test.each([
  ["token", "PORTOLAN_INPUT_TOKEN"],
  ["api-key", "PORTOLAN_INPUT_API_KEY"],
  ["team.api key", "PORTOLAN_INPUT_TEAM_API_KEY"],
])("the variable for %s is %s", (id, variable) => {
  expect(inputVariable(id)).toBe(variable);
  expect(presetInput({ id, default: "d" }, systemOf({ [variable]: "v" }))).toBe("v");
});

test("without a variable uses the default of the file, if any", () => {
  expect(presetInput({ id: "size", default: "m" }, systemOf({}))).toBe("m");
  expect(presetInput({ id: "size" }, systemOf({}))).toBeUndefined();
});
