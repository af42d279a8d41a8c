import { type KnownGap, knownGaps, type Report } from "../../packages/check/src/index.ts";

/** Compares a report with the known gaps: new ones, and known ones that did not occur. */
export function compare(report: Report, peer: string): { unknown: string[]; gone: string[] } {
  const expected = knownGaps[peer] ?? [];
  const bad = report.verdicts.filter(({ grade }) => grade === "fail" || grade === "warn");
  const unknown = bad.filter(({ scenario, grade, revision }) => {
    return !expected.some(
      (one) => one.scenario === scenario && one.grade === grade && (one.on?.includes(revision) ?? true),
    );
  });
  const wasLookedAt = ({ scenario, on }: KnownGap) =>
    report.verdicts.some((one) => one.scenario === scenario && (on?.includes(one.revision) ?? true));
  const found = new Set(bad.map(({ scenario }) => scenario));
  return {
    unknown: unknown.map(({ scenario, revision, evidence }) => `${scenario}, ${revision}: ${evidence}`),
    gone: expected.filter((one) => wasLookedAt(one) && !found.has(one.scenario)).map(({ scenario }) => scenario),
  };
}
