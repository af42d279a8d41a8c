import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeHome, runPortolan } from "./kit.ts";

/** Runs the command with a cache of its own. Returns the file with what it has compiled. */
function withCache() {
  const cwd = makeHome();
  const folder = join(cwd, "cache/portolan");
  return {
    folder,
    run: (args: readonly string[], env: { [name: string]: string } = {}) =>
      runPortolan(args, { cwd, env: { XDG_CACHE_HOME: join(cwd, "cache"), ...env } }),
    file: () => join(folder, readdirSync(folder)[0]!),
  };
}

test("keeps what it has compiled for the user alone, and the next run of the same command uses all of it", async () => {
  const { folder, run, file } = withCache();
  expect(await run(["--version"])).toMatchObject({ code: 0, stderr: "" });
  expect([statSync(folder).mode & 0o777, statSync(file()).mode & 0o777]).toEqual([0o700, 0o600]);
  // A run that must compile a part writes a new file.
  const { ino, size } = statSync(file());
  expect(await run(["--version"])).toMatchObject({ code: 0, stderr: "" });
  expect(statSync(file()).ino).toBe(ino);
  expect((await run(["serve", "--help"])).code).toBe(0);
  expect(statSync(file()).size).toBeGreaterThanOrEqual(size);
  expect((await run(["rubbish"])).code).toBe(2);
  expect((await run(["--version"])).code).toBe(0);
  expect(readdirSync(folder)).toHaveLength(1);
});

test.each<[string, (file: string) => void]>([
  ["is empty", (file) => truncateSync(file)],
  ["is cut", (file) => truncateSync(file, 5_000)],
  ["is rubbish", (file) => writeFileSync(file, "rubbish".repeat(1_000))],
  [
    "has other bytes",
    (file) =>
      writeFileSync(
        file,
        Buffer.from(readFileSync(file)).map((byte, at) => (at > 20_000 ? byte ^ 1 : byte)),
      ),
  ],
  ["can be written by others", (file) => chmodSync(file, 0o666)],
])("compiles again when the file %s", async (_, damage) => {
  const { run, file } = withCache();
  const { stdout } = await run(["--version"]);
  const { size } = statSync(file());
  damage(file());
  expect(await run(["--version"])).toEqual({ code: 0, stdout, stderr: "" });
  expect(statSync(file()).mode & 0o777).toBe(0o600);
  expect(statSync(file()).size).toBeGreaterThan(size * 0.9);
});

test("writes nothing when the cache cannot be written, has no home, or is switched off", async () => {
  const { folder, run } = withCache();
  const { stdout } = await run(["--version"], { NODE_DISABLE_COMPILE_CACHE: "1" });
  expect(() => readdirSync(folder)).toThrow("ENOENT");
  mkdirSync(join(folder, ".."));
  writeFileSync(folder, "no folder");
  expect(await run(["--version"])).toEqual({ code: 0, stdout, stderr: "" });
  const missing = join(folder, "../missing");
  expect(await run(["--version"], { XDG_CACHE_HOME: "", HOME: missing })).toEqual({ code: 0, stdout, stderr: "" });
  expect(() => statSync(missing)).toThrow("ENOENT");
});
