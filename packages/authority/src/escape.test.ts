import { expect, test } from "vitest";
import { escapeHidden } from "./escape.ts";

test("escapes escape sequences, C1 controls and bidirectional characters, and keeps lines", () => {
  const shown = [String.raw`a\u{1b}]0;x\u{7}`, "\n\tb", String.raw`\u{9b}31m\u{202e}\u{200b}`, "é🌊"].join("");
  expect(escapeHidden("a\u001b]0;x\u0007\n\tb\u009b31m\u202e\u200bé🌊")).toBe(shown);
});
