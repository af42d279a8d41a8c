import { createClock } from "portolan/testing";
import { expect, test } from "vitest";
import type { RunOptions } from "./agent/run.ts";
import type { HostOptions } from "./api.ts";
import { checkBounds, checkHostOptions, checkRunOptions, ExposedRoots } from "./options.ts";

test.each<[object, string]>([
  [{ polcy: [] }, "createHost: unknown option `polcy`; did you mean `policy`?"],
  [{ mcpServers: {} }, "createHost: unknown option `mcpServers`; did you mean `servers`?"],
  [{ limits: { maxItem: 3 } }, "limits: unknown option `maxItem`; did you mean `maxItems`?"],
  [{ sampling: { token: 3 } }, "sampling: unknown option `token`; did you mean `tokens`?"],
  [{ sampling: { servers: { s: { reviews: "none" } } } }, "sampling.servers.s: unknown option `reviews`"],
  [{ sampling: { review: "all" } }, 'sampling.review: expected "both", "request" or "none", got "all"'],
  [{ storage: {} }, "storage: expected { kv } of a storage, got an object"],
  [{ answers: { approve: true } }, 'answers.approve: expected a function or "later", got boolean true'],
])("createHost rejects %j", (options, message) => {
  expect(() => checkHostOptions(options as HostOptions)).toThrow(message);
});

test("options that are undefined are valid", () => {
  expect(() => checkHostOptions({ account: undefined } as object)).not.toThrow();
  expect(() => checkRunOptions({ maxTurns: undefined } as object)).not.toThrow();
});

test.each<[object, string]>([
  [{ maxTurn: 1 }, "run: unknown option `maxTurn`; did you mean `maxTurns`?"],
  [{ approvals: "later" }, 'approvals: expected "wait" or "pause", got "later"'],
  [{ maxCalls: -1 }, "maxCalls: expected a number of at least 0, got number -1"],
])("run rejects %j", (options, message) => {
  expect(() => checkRunOptions(options as RunOptions)).toThrow(message);
});

test("checkBounds accepts numbers from the least on, and undefined", () => {
  expect(() => checkBounds("x.", { a: 1, b: undefined, c: Number.POSITIVE_INFINITY }, 1)).not.toThrow();
  expect(() => checkBounds("x.", { a: Number.NaN })).toThrow("x.a: expected a number of at least 0, got number NaN");
});

test("roots are listed only if they exist, and must be file addresses", async () => {
  let changes = 0;
  const roots = new ExposedRoots(createClock(), () => {
    changes += 1;
  });
  expect(roots.present).toBeUndefined();
  const here = { uri: new URL(".", import.meta.url).href };
  await roots.set([here, { uri: new URL("missing/", import.meta.url).href }]);
  expect([roots.present, changes]).toEqual([[here], 1]);
  await expect(roots.set([{ uri: "/tmp" }])).rejects.toThrow("expected an address that begins with file://");
  roots.end();
});
