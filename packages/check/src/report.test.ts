import { expect, test } from "vitest";
import { formatReport, type Report, type Verdict } from "./report.ts";

const verdict: Verdict = {
  scenario: "base/ping",
  title: "a ping is answered with an empty result",
  requirements: ["J6"],
  strength: "must",
  revision: "2025-11-25",
  transport: "stdio",
  grade: "fail",
  evidence: "sent a ping; got a pong; expected an empty result",
};
const row = { transport: "stdio", isSpoken: true, pass: 40, fail: 1, warn: 0, notApplicable: 2 } as const;

const report: Report = {
  target: "node server.mjs",
  isPassed: false,
  hasOnlyKnownGaps: false,
  toolsCalled: ["echo"],
  toolsNotCalled: ["delete_all"],
  totals: [
    { revision: "2025-06-18", ...row },
    { revision: "2025-11-25", ...row },
    { ...row, revision: "2026-07-28", isSpoken: false, reason: "got error -32601", pass: 0, fail: 0, notApplicable: 0 },
  ],
  verdicts: [
    { ...verdict, revision: "2025-06-18" },
    verdict,
    { ...verdict, scenario: "base/ids", grade: "pass" },
    {
      ...verdict,
      scenario: "pages/bad-cursor",
      grade: "warn",
      strength: "should",
      title: "a bad cursor is refused",
      knownGap: "the official TypeScript SDK v1: the list does not look at it",
    },
    { ...verdict, scenario: "ask/form", grade: "not applicable", evidence: "the server has no known tool" },
  ],
};

test("groups what failed by revision, the newest first, and says what was skipped", () => {
  expect(formatReport(report)).toBe(`node server.mjs: failed: 1 required scenario

2026-07-28 stdio    not supported: got error -32601

2025-11-25 stdio    40 passed, 1 failed, 0 warnings, 2 skipped
- failed: base/ping (J6): a ping is answered with an empty result
    sent a ping; got a pong; expected an empty result
- warning: pages/bad-cursor (J6): a bad cursor is refused
    sent a ping; got a pong; expected an empty result
    known gap of the official TypeScript SDK v1: the list does not look at it

2025-06-18 stdio    40 passed, 1 failed, 0 warnings, 2 skipped
- failed: base/ping: as above

Skipped:
- the server has no known tool: ask/form

Tools called: echo
Tools not called: delete_all
`);
});

test("says that only known gaps failed", () => {
  expect(formatReport({ ...report, hasOnlyKnownGaps: true }).split("\n", 1)).toEqual([
    "node server.mjs: failed: 1 required scenario, only known gaps of SDKs",
  ]);
});

test("is plain JSON", () => {
  expect(JSON.parse(JSON.stringify(report))).toEqual(report);
});

test("states why there was nothing to grade", () => {
  const problem = "The server supports none of the revisions";
  const nothing = { totals: [], verdicts: [], toolsCalled: [], toolsNotCalled: [] };
  expect(formatReport({ ...report, ...nothing, problem })).toBe(`node server.mjs: failed\n${problem}\n`);
});
