import { expect, test } from "vitest";
import { revisions } from "./index.ts";

test("revisions agree on what each request counts as within a minute", () => {
  const counted = new Map<string, Set<string | undefined>>();
  for (const { requests } of revisions) {
    for (const [method, { countsAs }] of requests) {
      counted.set(method, (counted.get(method) ?? new Set()).add(countsAs));
    }
  }
  const rated = [...counted].flatMap(([method, kinds]) => [...kinds].map((kind) => [kind ?? "nothing", method]));
  expect(rated).toHaveLength(counted.size);
  expect(rated.filter(([kind]) => kind !== "nothing").sort()).toEqual([
    ["calls", "prompts/get"],
    ["calls", "resources/list"],
    ["calls", "resources/read"],
    ["calls", "tools/call"],
    ["completions", "completion/complete"],
  ]);
});

test("a request that runs a handler is counted", () => {
  const uncounted = revisions.flatMap(({ requests }) =>
    [...requests].filter(([, row]) => row.runsHandler && row.countsAs === undefined),
  );
  expect(uncounted).toEqual([]);
});
