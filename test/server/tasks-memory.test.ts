import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("10,000 running tasks take little memory, ended ones their results, and a further one is refused", () => {
  const program = fileURLToPath(new URL("fixtures/many-tasks.mjs", import.meta.url));
  const outcome = JSON.parse(execFileSync(process.execPath, ["--expose-gc", program], { encoding: "utf8" }));
  expect(outcome).toMatchObject({ tasks: 10_000, beyond: { code: -31_429, data: { limit: "process" } } });
  // 12 KiB for a handler, its exchange and its record; 5 KiB for a record with a result of 1,000 characters.
  expect(outcome.running).toBeLessThan(120);
  expect(outcome.ended).toBeLessThan(60);
}, 400_000);
