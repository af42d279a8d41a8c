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
  totals: [
    { revision: "2025-06-18", ...row },
    { revision: "2025-11-25", ...row },
    { ...row, revision: "2026-07-28", isSpoken: false, reason: "got error -32601", pass: 0, fail: 0, notApplicable: 0 },
  ],
  verdicts: [
    { ...verdict, revision: "2025-06-18" },
    verdict,
    { ...verdict, scenario: "base/ids", grade: "pass" },
    { ...verdict, scenario: "pages/bad-cursor", grade: "warn", strength: "should", title: "a bad cursor is refused" },
  ],
};

test("lists each failed scenario once for all revisions", () => {
  expect(formatReport(report)).toBe(`node server.mjs: failed

2025-06-18 stdio    40 passed, 1 failed, 0 warnings, 2 not applicable
2025-11-25 stdio    40 passed, 1 failed, 0 warnings, 2 not applicable
2026-07-28 stdio    not supported: got error -32601

Required, but failed:
- base/ping (J6): a ping is answered with an empty result
    2025-06-18 over stdio, 2025-11-25 over stdio
    sent a ping; got a pong; expected an empty result

Recommended, but failed:
- pages/bad-cursor (J6): a bad cursor is refused
    2025-11-25 over stdio
    sent a ping; got a pong; expected an empty result
`);
});

test("is plain JSON", () => {
  expect(JSON.parse(JSON.stringify(report))).toEqual(report);
});

test("states why there was nothing to grade", () => {
  const problem = "The server supports none of the revisions";
  expect(formatReport({ ...report, totals: [], verdicts: [], problem })).toBe(
    `node server.mjs: failed\n${problem}\n\n`,
  );
});
