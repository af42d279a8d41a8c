import { expect, test } from "vitest";
import { Gate } from "./kit.ts";

/** Work that ends when it is told to. */
function makeWork(begun: string[], name: string) {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const work = async () => {
    begun.push(name);
    await ended;
  };
  return { work, end };
}

test("a gate bounds the work that runs at once, and callers take turns", async () => {
  const gate = new Gate(1, 10);
  const begun: string[] = [];
  const works = ["a1", "a2", "a3", "b1"].map((name) => ({ name, ...makeWork(begun, name) }));
  const runs = works.map(({ name, work }) => gate.run(name[0], work));
  expect(begun).toEqual(["a1"]);
  for (const { end } of works) end();
  await Promise.all(runs);
  expect(begun).toEqual(["a1", "a2", "b1", "a3"]);
});

test("a full gate refuses the newest work of the caller that has most", async () => {
  const gate = new Gate(1, 2);
  const begun: string[] = [];
  const { work, end } = makeWork(begun, "first");
  const first = gate.run("hostile", work);
  const waits = gate.run("hostile", async () => "second");
  const refused = gate.run("hostile", async () => "third");
  await expect(gate.run("hostile", async () => "fourth")).rejects.toThrow("Too much work of this caller waits");
  const innocent = gate.run("innocent", async () => "innocent");
  await expect(refused).rejects.toThrow("Too much work of this caller waits");
  end();
  await first;
  expect(await Promise.all([waits, innocent])).toEqual(["second", "innocent"]);
});
