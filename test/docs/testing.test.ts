import { expect, test } from "vitest";
import { pathTo, run } from "../examples/example.ts";

test.each([
  { file: "examples/testing/greeter.test.mjs", tests: 30 },
  { file: "examples/testing/channel.test.mjs", tests: 14 },
  { file: "examples/testing/storage.test.mjs", tests: 43 },
])("$file passes all $tests tests with Node's test runner", async ({ file, tests }) => {
  const { code, stdout } = await run(pathTo(file));
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`# pass ${tests}\n# fail 0\n`) });
});
