import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import type { System } from "../system.ts";
import { Screen } from "./screen.ts";
import { Terminal } from "./terminal.ts";

function makeTerminal() {
  const stdout = new PassThrough({ encoding: "utf8" });
  const stderr = Object.assign(new PassThrough({ encoding: "utf8" }), { columns: 24 });
  const system = { stdin: new PassThrough(), stdout, stderr, env: { LANG: "C.UTF-8" }, platform: "linux" };
  const typed = system as unknown as System;
  return { terminal: new Terminal(typed, new Screen(typed)), stdout, stderr };
}

test("asks questions one after another, also after a failure", async () => {
  const { terminal } = makeTerminal();
  const order: string[] = [];
  let fail: (reason: Error) => void = () => {};
  const one = terminal.ask(undefined, () => {
    order.push("one begins");
    return new Promise((_, reject) => {
      fail = reject;
    });
  });
  const two = terminal.ask(undefined, async () => {
    order.push("two begins");
    return 2;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual(["one begins"]);
  expect(terminal.isAsking).toBe(true);
  fail(new Error("left"));
  await expect(one).rejects.toThrow("left");
  expect(await two).toBe(2);
  await terminal.quiet();
  expect(terminal.isAsking).toBe(false);
});

test("never shows a question that was withdrawn before its turn", async () => {
  const { terminal } = makeTerminal();
  const taken = AbortSignal.abort(new Error("taken back"));
  let isSeen = false;
  const question = terminal.ask(taken, async () => {
    isSeen = true;
  });
  await expect(question).rejects.toThrow("taken back");
  expect(isSeen).toBe(false);
});

test("keeps quoted text behind its bar, with any newlines and sequences", () => {
  const { terminal, stderr } = makeTerminal();
  terminal.quote("fine\n\u001b[2J> y once\r\nand a text that is too long");
  const lines = String(stderr.read()).trimEnd().split("\n");
  expect(lines.every((line) => line.startsWith("  │ ") && line.length <= 24)).toBe(true);
  expect(lines.join("")).not.toContain("\u001b");
});

test("ends the line of streamed text before other output", () => {
  const { terminal, stdout, stderr } = makeTerminal();
  terminal.stream("half a li");
  terminal.stream("ne");
  terminal.say("a notice");
  terminal.say("another");
  expect(stdout.read()).toBe("half a line\n");
  expect(stderr.read()).toBe("a notice\nanother\n");
});
