import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "..");
const folder = join(import.meta.dirname, "types/generated");
const program = readFileSync(join(import.meta.dirname, "types/program.txt"), "utf8");
const compile = (...args: string[]) =>
  spawnSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), ...args], {
    cwd: root,
    encoding: "utf8",
  });

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the whole project type-checks", () => {
  const { status, stdout } = compile("-b");
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});

test.each(["zod", "zod-3-25", "zod-4-0", "zod-4-1"])(
  "types/program.txt compiles with %s, and its marked lines are type errors",
  (zod) => {
    mkdirSync(folder, { recursive: true });
    const file = join(folder, `${zod}.ts`);
    writeFileSync(file, program.replace('from "zod"', `from "${zod}"`));
    const settings = {
      extends: "../../../tsconfig.base.json",
      compilerOptions: { noEmit: true },
      files: [`${zod}.ts`],
    };
    writeFileSync(join(folder, `${zod}.json`), JSON.stringify(settings));
    const { status, stdout } = compile("-p", join(folder, `${zod}.json`));
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  },
);
