import { expect, test } from "vitest";
import { argumentWords } from "./argument-words.ts";

test.each([
  [{ flight: "PT521", seats: 2, isPaid: true }, "flight: PT521, seats: 2, isPaid: true"],
  [{ to: ["ada@example.com", "alan@example.com"] }, "to: ada@example.com and alan@example.com"],
  [{ rows: [1, 2, 3, 4], none: [], deep: [{ a: 1 }] }, "rows: 4 items, none: none, deep: 1 item"],
  [{ where: { city: "Oslo", zip: 1, street: "x", no: 2 } }, "where: { city, zip, street, … }"],
  [{ text: { digest: "sha256:0", chars: 9_000, head: "Dear Ada,\n\nthank you" } }, "text: Dear Ada, thank you"],
  [{ empty: null }, "empty: null"],
  [{}, ""],
  [undefined, ""],
])("%j is written in words", (args, words) => {
  expect(argumentWords(args, 200)).toBe(words);
});

test("long arguments are cut between characters", () => {
  expect(argumentWords({ text: "🧭".repeat(500) }, 200)).toMatch(/^text: (🧭)+…$/u);
  expect(Array.from(argumentWords(Object.fromEntries(Array.from({ length: 99 }, (_, n) => [n, n])), 60))).toHaveLength(
    60,
  );
});
