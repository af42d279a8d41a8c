import { type Context, ToolError } from "portolan/server";
import { expect, test } from "vitest";
import { ConsentedEffects, type ConsentLimits } from "./consent.ts";

let time = 1_000;

/** A context whose question was asked before: `once` returns the same key each time, as a sealed state does. */
function askedBy(owner: string): Context {
  const kept = new Map<string, unknown>();
  return {
    principal: { key: owner },
    async once<T>(key: string, effect: () => T) {
      if (!kept.has(key)) kept.set(key, effect());
      return kept.get(key) as T;
    },
    confirm: async () => true,
  } as unknown as Context;
}

function open(limits: Partial<ConsentLimits> = {}) {
  time = 1_000;
  let runs = 0;
  const effects = new ConsentedEffects<string>(limits, () => time);
  const run = async (ctx: Context, text = "") => {
    time += 1;
    return (
      await effects.run(ctx, "Run?", async () => {
        runs += 1;
        await new Promise((resolve) => setImmediate(resolve));
        if (text === "fail") throw new ToolError("The disk is full");
        return `${runs}${text}`;
      })
    )?.result;
  };
  return { run, runs: () => runs };
}

test("a repeated yes gets the first result, also while the effect runs", async () => {
  const { run, runs } = open();
  const [first, second] = [askedBy("ada"), askedBy("ada")];
  expect(await Promise.all([run(first), run(first)])).toEqual(["1", "1"]);
  expect(await run(first)).toBe("1");
  expect(await run(second)).toBe("2");
  expect(runs()).toBe(2);
});

test("a repeated yes gets the first failure, and nothing runs again", async () => {
  const { run, runs } = open();
  const ctx = askedBy("ada");
  await expect(run(ctx, "fail")).rejects.toThrow("The disk is full");
  await expect(run(ctx, "fail")).rejects.toThrow("The disk is full. Nothing was done again; call the tool again");
  expect(runs()).toBe(1);
});

test("refuses a yes to a question that is older than its lifetime", async () => {
  const { run, runs } = open({ lifetimeMs: 100 });
  const ctx = askedBy("ada");
  expect(await run(ctx)).toBe("1");
  time += 200;
  await expect(run(ctx)).rejects.toThrow("asked too long ago");
  expect(runs()).toBe(1);
});

test("forgets the oldest consents of a caller that has many, and refuses them", async () => {
  const { run, runs } = open({ perCaller: 2 });
  const questions = [askedBy("ada"), askedBy("ada"), askedBy("ada")];
  for (const ctx of questions) await run(ctx);
  await expect(run(questions[0]!)).rejects.toThrow("asked too long ago");
  expect(await run(questions[2]!)).toBe("3");
  expect(await run(askedBy("bob"))).toBe("4");
  expect(runs()).toBe(4);
});

test("forgets the oldest of many callers, and refuses its consents", async () => {
  const { run, runs } = open({ callers: 1 });
  const ctx = askedBy("ada");
  await run(ctx);
  await run(askedBy("bob"));
  await expect(run(ctx)).rejects.toThrow("asked too long ago");
  expect(runs()).toBe(2);
});

test("drops the oldest results of a caller beyond its bytes, and still runs nothing twice", async () => {
  const { run, runs } = open({ bytesPerCaller: 250 });
  const text = "x".repeat(150);
  const questions = [askedBy("ada"), askedBy("ada")];
  for (const ctx of questions) await run(ctx, text);
  await expect(run(questions[0]!)).rejects.toThrow("its result is no longer kept. Nothing was done again");
  expect(await run(questions[1]!)).toBe(`2${text}`);
  expect(runs()).toBe(2);
});

test("drops results of the caller that has most beyond the bytes of all callers", async () => {
  const { run, runs } = open({ bytes: 450 });
  const text = "x".repeat(150);
  const questions = [askedBy("hostile"), askedBy("hostile"), askedBy("innocent")];
  for (const ctx of questions) await run(ctx, text);
  await expect(run(questions[0]!)).rejects.toThrow("no longer kept");
  expect(await run(questions[2]!)).toBe(`3${text}`);
  expect(runs()).toBe(3);
});
