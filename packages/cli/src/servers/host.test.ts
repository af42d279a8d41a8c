import type { ServerEntry } from "portolan-host";
import { expect, test } from "vitest";
import { withGrace } from "./host.ts";

function graceOf(connectMs: number | undefined, target: ServerEntry["target"] = { command: "node" }): unknown {
  const settings = connectMs === undefined ? {} : { connectMs };
  const entry = { name: "a", target, settings, source: { kind: "code" } } as unknown as ServerEntry;
  return (withGrace(entry).target as { graceMs?: number }).graceMs;
}

test("a server gets a quarter of --timeout for each step of its shutdown, 300 ms to 2 s", () => {
  expect([100, 2_000, 60_000].map((connectMs) => graceOf(connectMs))).toEqual([300, 500, 2_000]);
});

test("a server without --timeout, with a grace of its own or at an address is left as it is", () => {
  expect(graceOf(undefined)).toBeUndefined();
  expect(graceOf(100, { command: "node", graceMs: 700 })).toBe(700);
  expect(graceOf(100, { url: "http://127.0.0.1:1/" })).toBeUndefined();
});
