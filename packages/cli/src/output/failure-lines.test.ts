import { expect, test } from "vitest";
import type { System } from "../system.ts";
import { Screen } from "../terminal/screen.ts";
import { failureLines } from "./failure-lines.ts";

const system = {
  argv: ["ls"],
  env: { LANG: "C.UTF-8" },
  platform: "linux",
  self: "/bin/portolan",
  cwd: "/",
  stdin: {},
  stdout: { isTTY: true, columns: 40 },
  stderr: { isTTY: true },
} as unknown as System;
const linesOf = (message: string, next?: string) =>
  failureLines(new Screen(system, { colour: false }), { kind: "interrupted", message, next }, 40).join("\n");

test("a failure is its kind and message, further lines behind a bar, and the next step", () => {
  expect(linesOf("a ended:\nno disk is free in this folder, and none can be made\nbye", "try again")).toBe(
    [
      "✗ interrupted: a ended:",
      "  │ no disk is free in this folder, and",
      "  │ none can be made",
      "  │ bye",
      "  → try again",
    ].join("\n"),
  );
});

test("a failure that says no more than its kind has no colon", () => {
  expect(linesOf("interrupted")).toBe("✗ interrupted");
});
