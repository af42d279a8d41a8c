import { expect, test } from "vitest";
import { type Finding, type Findings, groupOf, toMatrix } from "../../scripts/interop/matrix.mjs";
import { toTable } from "../../scripts/interop/table.mjs";

const way = { peer: "peer", side: "server", wire: "stdio", version: "2025-11-25" } as const;
const ok: Finding = { mark: "ok" };
const absent: Finding = { mark: "absent" };
const lacking = (reason: string): Finding => ({ mark: "lacking", reason });

function cellsOf(features: Findings["features"]): { [group: string]: string | undefined } {
  const { heading, rows } = toMatrix([{ ...way, features }]);
  return Object.fromEntries(heading.map((group, at) => [group, rows[0]?.[at]]));
}

test("a group is ok when at least one feature works and none fails", () => {
  expect(cellsOf({ "tools: list": ok, "tools: text": absent })).toMatchObject({ tools: "ok", prompts: "–" });
});

test("a group is FAIL with a failed feature, and ? with a feature that did not run", () => {
  const cells = cellsOf({
    "tools: list": ok,
    "tools: text": { mark: "failed" },
    "prompts: list": ok,
    "prompts: get": { mark: "not run" },
  });
  expect(cells).toMatchObject({ tools: "FAIL", prompts: "?" });
});

test("missing features have numbered reasons, and equal reasons have the same number", () => {
  const features = { "log: level": lacking("one"), log: ok, pages: lacking("two"), progress: lacking("one") };
  expect(cellsOf(features)).toMatchObject({ logging: "ok 1", pagination: "– 2", progress: "– 1" });
});

test("a problem names the peer, side, transport, version and feature", () => {
  const features = { "tools: text": { mark: "failed" }, "tools: list": ok } as const;
  const { problems } = toMatrix([{ ...way, habit: "json", features }]);
  expect(problems).toEqual(["peer, server, stdio, 2025-11-25, json: tools: text failed"]);
});

test("a feature belongs to one group, and an unknown feature throws", () => {
  expect(groupOf("resources: watch")).toBe("subscriptions");
  expect(groupOf("resources: read")).toBe("resources");
  expect(groupOf("elicitation: form")).toBe("questions");
  expect(() => groupOf("resources: something else")).toThrow("in no group");
});

test("a table has one line for each row, and wraps headings at words", () => {
  expect(toTable(["a", "b c"], [["1", "22"]]).split("\n")).toEqual(["   b", "a  c", "-  --", "1  22"]);
});
