import { show } from "./json.ts";
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
  /** The SDK that is known to fail this scenario, and how. Whether this server uses that SDK is unknown. */
  readonly knownGap?: string;
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
  /** True if every required scenario that failed is a known gap of an SDK. */
  readonly hasOnlyKnownGaps: boolean;
  readonly toolsCalled: readonly string[];
  /** Tools that were not called, because scenarios did not need them or must not call them. */
  readonly toolsNotCalled: readonly string[];
  readonly totals: readonly Totals[];
  readonly verdicts: readonly Verdict[];
  /** Why there was nothing to grade. */
  readonly problem?: string;
}

/** Formats a report: the newest revision first, each with its scenarios that did not pass, then what was skipped. */
export function formatReport(report: Report): string {
  const { target, totals, verdicts, problem } = report;
  const lines = [`${target}: ${formatResult(report)}`, ...(problem === undefined ? [] : [problem])];
  const shown = new Set<string>();
  for (const row of totals.toSorted((a, b) => (a.revision < b.revision ? 1 : a.revision > b.revision ? -1 : 0))) {
    lines.push("", formatTotals(row));
    const own = verdicts.filter(({ revision, transport }) => revision === row.revision && transport === row.transport);
    for (const grade of ["fail", "warn"] as const) {
      for (const verdict of own.filter((one) => one.grade === grade)) lines.push(...formatVerdict(verdict, shown));
    }
  }
  return `${[...lines, ...formatSkipped(report)].join("\n")}\n`;
}

/** Returns the result in a few words. */
export function formatResult({ isPassed, hasOnlyKnownGaps, verdicts }: Report): string {
  if (isPassed) return "passed";
  const failed = new Set(verdicts.filter(({ grade }) => grade === "fail").map(({ scenario }) => scenario)).size;
  if (failed === 0) return "failed";
  const count = `${failed} required scenario${failed === 1 ? "" : "s"}`;
  return `failed: ${count}${hasOnlyKnownGaps ? ", only known gaps of SDKs" : ""}`;
}

/** Formats a scenario that did not pass. Its details are shown for the newest revision only. */
function formatVerdict(verdict: Verdict, shown: Set<string>): string[] {
  const { scenario, title, requirements, evidence, grade, knownGap } = verdict;
  const label = grade === "fail" ? "failed" : "warning";
  const key = `${grade} ${scenario}`;
  if (shown.has(key)) return [`- ${label}: ${scenario}: as above`];
  shown.add(key);
  return [
    `- ${label}: ${scenario} (${requirements.join(", ")}): ${title}`,
    `    ${evidence}`,
    ...(knownGap === undefined ? [] : [`    known gap of ${knownGap}`]),
  ];
}

/** Formats the scenarios that were not run, by reason, and the tools that were not called. */
function formatSkipped({ verdicts, toolsCalled, toolsNotCalled }: Report): string[] {
  const reasons = new Map<string, Set<string>>();
  for (const { grade, scenario, evidence } of verdicts) {
    if (grade !== "not applicable") continue;
    reasons.set(evidence, (reasons.get(evidence) ?? new Set()).add(scenario));
  }
  const lines = reasons.size === 0 ? [] : ["", "Skipped:"];
  for (const [reason, names] of reasons) lines.push(`- ${reason}: ${[...names].join(", ")}`);
  if (toolsCalled.length + toolsNotCalled.length === 0) return lines;
  const list = (names: readonly string[]) => names.map((name) => show(name, 80)).join(", ");
  lines.push("", `Tools called: ${list(toolsCalled) || "none"}`);
  if (toolsNotCalled.length > 0) lines.push(`Tools not called: ${list(toolsNotCalled)}`);
  return lines;
}

function formatTotals({ revision, transport, isSpoken, reason, pass, fail, warn, notApplicable }: Totals): string {
  const place = `${revision} ${transport.padEnd(8)}`;
  if (!isSpoken) return `${place} not supported: ${reason}`;
  return `${place} ${pass} passed, ${fail} failed, ${warn} warnings, ${notApplicable} skipped`;
}
