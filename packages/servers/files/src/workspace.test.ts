import { expect, test } from "vitest";
import { Turns } from "./workspace.ts";

test("work on one thing waits for the work before it, even if that failed; other things do not wait", async () => {
  const turns = new Turns();
  const seen: string[] = [];
  let release = () => {};
  const first = turns.take("a", async () => {
    await new Promise<void>((resolve) => {
      release = resolve;
    });
    seen.push("first");
    throw new Error("failed");
  });
  const second = turns.take("a", async () => seen.push("second"));
  await turns.take("b", async () => seen.push("other"));
  release();
  await expect(first).rejects.toThrow("failed");
  await second;
  expect(seen).toEqual(["other", "first", "second"]);
});
