import type { RevisionDate, Transport } from "./revisions.ts";
import type { Strength } from "./scenario.ts";

export type Grade = "pass" | "fail" | "warn" | "not applicable";

/** How a server did in one scenario. */
export interface Verdict {
  readonly scenario: string;
  readonly title: string;
  readonly requirements: readonly string[];
  readonly strength: Strength;
  readonly revision: RevisionDate;
  readonly transport: Transport;
  readonly grade: Grade;
  /** What was sent, what came, what was expected; or why it does not apply. */
  readonly evidence: string;
}

/** A revision over a transport, and how often each grade was given there. */
export interface Totals {
  readonly revision: RevisionDate;
  readonly transport: Transport;
  readonly isSpoken: boolean;
  /** Why it is not spoken. */
  readonly reason?: string;
  readonly pass: number;
  readonly fail: number;
  readonly warn: number;
  readonly notApplicable: number;
}

/** All that was found out about a server, as plain JSON. */
export interface Report {
  readonly target: string;
  /** Nothing that must hold failed, and there was something to grade. */
  readonly isPassed: boolean;
  readonly totals: readonly Totals[];
  readonly verdicts: readonly Verdict[];
  /** Why there was nothing to grade. */
  readonly problem?: string;
}

/** A report to read: the totals, then everything that did not pass, once for all places where it did not. */
export function formatReport({ target, totals, verdicts, isPassed, problem }: Report): string {
  const lines = [`${target}: ${isPassed ? "passed" : "failed"}`, ...(problem === undefined ? [] : [problem]), ""];
  for (const row of totals) lines.push(formatTotals(row));
  for (const [grade, heading] of [
    ["fail", "What must hold and does not:"],
    ["warn", "What should hold and does not:"],
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
  if (!isSpoken) return `${place} not spoken: ${reason}`;
  return `${place} ${pass} passed, ${fail} failed, ${warn} warnings, ${notApplicable} not applicable`;
}
