import type { RevisionDate, Transport } from "./revisions.ts";
import type { Strength } from "./scenario.ts";

export type Grade = "pass" | "fail" | "warn" | "not applicable";

/** The result of one scenario. */
export interface Verdict {
  readonly scenario: string;
  readonly title: string;
  readonly requirements: readonly string[];
  readonly strength: Strength;
  readonly revision: RevisionDate;
  readonly transport: Transport;
  readonly grade: Grade;
  /** Sent, received and expected; or the reason why the scenario does not apply. */
  readonly evidence: string;
}

/** The number of each grade for one revision over one transport. */
export interface Totals {
  readonly revision: RevisionDate;
  readonly transport: Transport;
  readonly isSpoken: boolean;
  /** Why the server does not support it. */
  readonly reason?: string;
  readonly pass: number;
  readonly fail: number;
  readonly warn: number;
  readonly notApplicable: number;
}

/** The result of a grading, as plain JSON. */
export interface Report {
  readonly target: string;
  /** True if no required scenario failed, and there was something to grade. */
  readonly isPassed: boolean;
  readonly totals: readonly Totals[];
  readonly verdicts: readonly Verdict[];
  /** Why there was nothing to grade. */
  readonly problem?: string;
}

/** Formats a report: the totals, then each scenario that did not pass, once for all revisions and transports. */
export function formatReport({ target, totals, verdicts, isPassed, problem }: Report): string {
  const lines = [`${target}: ${isPassed ? "passed" : "failed"}`, ...(problem === undefined ? [] : [problem]), ""];
  for (const row of totals) lines.push(formatTotals(row));
  for (const [grade, heading] of [
    ["fail", "Required, but failed:"],
    ["warn", "Recommended, but failed:"],
  ]) {
    const found = verdicts.filter((verdict) => verdict.grade === grade);
    if (found.length > 0) lines.push("", String(heading));
    for (const verdict of found) {
      const all = found.filter(({ scenario }) => scenario === verdict.scenario);
      if (all[0] !== verdict) continue;
      const { scenario, title, requirements, evidence } = verdict;
      const places = all.map(({ revision, transport }) => `${revision} over ${transport}`);
      lines.push(`- ${scenario} (${requirements.join(", ")}): ${title}`);
      lines.push(`    ${places.join(", ")}`, `    ${evidence}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

function formatTotals({ revision, transport, isSpoken, reason, pass, fail, warn, notApplicable }: Totals): string {
  const place = `${revision} ${transport.padEnd(8)}`;
  if (!isSpoken) return `${place} not supported: ${reason}`;
  return `${place} ${pass} passed, ${fail} failed, ${warn} warnings, ${notApplicable} not applicable`;
}
