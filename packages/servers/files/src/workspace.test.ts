import { expect, test } from "vitest";
import { KeyedMutex } from "./workspace.ts";

test("runs work on one key in order, even after a failure, and does not block other keys", async () => {
  const mutex = new KeyedMutex();
  const seen: string[] = [];
  let release = () => {};
  const first = mutex.run("a", async () => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    seen.push("first");
    throw new Error("failed");
  });
  const second = mutex.run("a", async () => seen.push("second"));
  await mutex.run("b", async () => seen.push("other"));
  release();
  await expect(first).rejects.toThrow("failed");
  await second;
  expect(seen).toEqual(["other", "first", "second"]);
});
