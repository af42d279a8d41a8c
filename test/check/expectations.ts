import type { Report, RevisionDate } from "../../packages/check/src/index.ts";

/** A known fault of a peer. */
interface Known {
  readonly scenario: string;
  readonly grade: "fail" | "warn";
  /** The requirement, and what the peer does instead. */
  readonly why: string;
  /** Where the fault occurs, if not everywhere. */
  readonly on?: readonly RevisionDate[];
}

const badCursor: Known = {
  scenario: "pages/bad-cursor",
  grade: "warn",
  why: "J1: an invalid cursor should be refused with -32602; the list does not look at it",
};
const badLevel: Known = {
  scenario: "logging/bad-level",
  grade: "warn",
  why: "J8: a bad level is -32602; the validator's own error becomes -32603",
};
const notFound: Known = {
  scenario: "resources/not-found",
  grade: "warn",
  why: "A11: a missing resource should be -32002 before 2026-07-28; it is -32602 on all revisions",
};
const newerMembers: Known = {
  scenario: "eras/newer-members",
  grade: "warn",
  on: ["2024-11-05", "2025-03-26"],
  why: "2.9: members of newer revisions are sent to older peers (execution, outputSchema, completions)",
};
const newerResults: Known = {
  scenario: "eras/newer-results",
  grade: "warn",
  on: ["2024-11-05", "2025-03-26"],
  why: "2.9: structuredContent is of 2025-06-18",
};
const mirrored: Known = {
  scenario: "structured/mirrored",
  grade: "warn",
  why: "G5: structured content should be mirrored as JSON text; the SDK leaves it to the author, and this one says a number",
};
const origin: Known = {
  scenario: "http/origin",
  grade: "fail",
  why: "E20: the Origin must be checked; the SDK does so only if configured",
};
const forbidden: Known = {
  scenario: "http/origin-forbidden",
  grade: "fail",
  why: "E20: a stranger's Origin must be refused with 403; the SDK checks it only if configured",
};
const host: Known = {
  scenario: "http/host",
  grade: "warn",
  why: "2.10: the Host is not checked either",
};
const batchTaken: Known = {
  scenario: "batch/refused",
  grade: "warn",
  why: "5.3.3: arrays are an error since 2025-06-18; over HTTP they are still answered",
};

const onBoth: readonly Known[] = [badCursor, badLevel, notFound, newerMembers, newerResults, mirrored];

const onStdio: readonly Known[] = [
  {
    scenario: "batch/answered",
    grade: "fail",
    why: "A8: a batch must be received on 2025-03-26; over stdio it is dropped",
  },
  { scenario: "batch/empty", grade: "warn", why: "5.2.1: an empty batch is -32600; over stdio it is dropped" },
  { scenario: "batch/undefined", grade: "warn", why: "A10: an array is no request; over stdio it is dropped" },
  { scenario: "batch/refused", grade: "warn", why: "5.3.3: an array is -32600; over stdio it is dropped" },
  {
    scenario: "base/invalid-request",
    grade: "warn",
    why: "A10: what is no request is -32600; over stdio it is dropped",
  },
  { scenario: "stdio/parse-error-answered", grade: "warn", why: "A10: what is no JSON is -32700; it is dropped" },
];

const onHttp: readonly Known[] = [
  origin,
  forbidden,
  host,
  batchTaken,
  { scenario: "batch/empty", grade: "warn", why: "5.2.1: an empty batch is -32600; over HTTP it is taken with 202" },
  { scenario: "base/invalid-request", grade: "warn", why: "A10: what is no request is -32600; over HTTP it is -32700" },
];

const ofV1: readonly Known[] = [
  {
    scenario: "base/invalid-params",
    grade: "warn",
    why: "A10: bad params are -32602; the validator's error becomes -32603",
  },
  { scenario: "base/unknown-tool", grade: "warn", why: "G12: an unknown tool is -32602; it is a result with isError" },
  {
    scenario: "ask/undeclared",
    grade: "fail",
    why: "B6: capabilities that were not negotiated must not be used; the SDK asks for sampling all the same",
  },
  { scenario: "ask/undeclared-early", grade: "warn", why: "B6: the same, where it is a should" },
];

/** The known faults of each peer, by transport. */
export const known: { readonly [peer: string]: readonly Known[] } = {
  "v1 stdio": [...onBoth, ...ofV1, ...onStdio],
  "v1 http": [...onBoth, ...ofV1, ...onHttp],
  "v1 http-sse": [
    ...onBoth,
    ...ofV1,
    {
      scenario: "base/invalid-request",
      grade: "warn",
      why: "A10: what is no request is -32600; it is 400 with plain text",
    },
    {
      scenario: "http-sse/origin",
      grade: "fail",
      why: "D4: the Origin must be checked; the SDK does so only if configured",
    },
  ],
  "v2 stdio": [
    ...onBoth,
    ...onStdio,
    {
      scenario: "discover/unknown-version",
      grade: "fail",
      why: "B4: every request of an unsupported version is -32022; after the first request the version is not looked at",
    },
  ],
  "v2 http with sessions": [...onBoth, ...onHttp],
  "v2 http without sessions": [
    ...onBoth,
    forbidden,
    host,
    { scenario: "http/accept", grade: "warn", why: "E5: an answer is JSON or events; who takes neither gets JSON" },
  ],
};

/** Compares a report with the known faults: new ones, and known ones that did not occur. */
export function compare(report: Report, peer: string): { unknown: string[]; gone: string[] } {
  const expected = known[peer] ?? [];
  const bad = report.verdicts.filter(({ grade }) => grade === "fail" || grade === "warn");
  const unknown = bad.filter(({ scenario, grade, revision }) => {
    return !expected.some(
      (one) => one.scenario === scenario && one.grade === grade && (one.on?.includes(revision) ?? true),
    );
  });
  const wasLookedAt = ({ scenario, on }: Known) =>
    report.verdicts.some((one) => one.scenario === scenario && (on?.includes(one.revision) ?? true));
  const found = new Set(bad.map(({ scenario }) => scenario));
  return {
    unknown: unknown.map(({ scenario, revision, evidence }) => `${scenario}, ${revision}: ${evidence}`),
    gone: expected.filter((one) => wasLookedAt(one) && !found.has(one.scenario)).map(({ scenario }) => scenario),
  };
}
