import type { Verdict } from "./report.ts";
import type { RevisionDate } from "./revisions.ts";

/** A requirement that servers of an SDK do not fulfil. */
export interface KnownGap {
  readonly scenario: string;
  readonly grade: "fail" | "warn";
  /** The requirement, and what the SDK does instead. */
  readonly why: string;
  /** Where the gap occurs. Default: everywhere. */
  readonly on?: readonly RevisionDate[];
  /** The author of a server can repair it, for example by an option of the SDK. Default: false. */
  readonly authorCanRepair?: boolean;
}

const badCursor: KnownGap = {
  scenario: "pages/bad-cursor",
  grade: "warn",
  why: "J1: an invalid cursor should be refused with -32602; the SDK ignores it",
};
const badLevel: KnownGap = {
  scenario: "logging/bad-level",
  grade: "warn",
  why: "J8: an unknown level should be refused with -32602; the SDK answers -32603",
};
const notFound: KnownGap = {
  scenario: "resources/not-found",
  grade: "warn",
  why: "A11: a missing resource should be -32002 before 2026-07-28; it is -32602 on all revisions",
};
const newerMembers: KnownGap = {
  scenario: "eras/newer-members",
  grade: "warn",
  on: ["2024-11-05", "2025-03-26"],
  why: "2.9: members of newer revisions are sent to older clients (execution, outputSchema, completions)",
};
const newerResults: KnownGap = {
  scenario: "eras/newer-results",
  grade: "warn",
  on: ["2024-11-05", "2025-03-26"],
  why: "2.9: structuredContent, a member of 2025-06-18, is sent to older clients",
};
const mirrored: KnownGap = {
  scenario: "structured/mirrored",
  grade: "warn",
  why: "G5: structured content should also be returned as JSON text; the SDK leaves that to the author",
  authorCanRepair: true,
};
const origin: KnownGap = {
  scenario: "http/origin",
  grade: "fail",
  why: "E20: the Origin must be checked; the SDK does so only if configured",
  authorCanRepair: true,
};
const forbidden: KnownGap = {
  scenario: "http/origin-forbidden",
  grade: "fail",
  why: "E20: a foreign Origin must be refused with 403; the SDK checks it only if configured",
  authorCanRepair: true,
};
const host: KnownGap = {
  scenario: "http/host",
  grade: "warn",
  why: "2.10: the Host should be checked; the SDK does so only if configured",
  authorCanRepair: true,
};
const batchTaken: KnownGap = {
  scenario: "batch/refused",
  grade: "warn",
  why: "5.3.3: batches are an error since 2025-06-18; over HTTP they are still answered",
};

const onBoth: readonly KnownGap[] = [badCursor, badLevel, notFound, newerMembers, newerResults, mirrored];

const onStdio: readonly KnownGap[] = [
  {
    scenario: "batch/answered",
    grade: "fail",
    why: "A8: a batch must be received on 2025-03-26; over stdio it is dropped",
  },
  {
    scenario: "batch/empty",
    grade: "warn",
    why: "5.2.1: an empty batch should be refused with -32600; over stdio it is dropped",
  },
  {
    scenario: "batch/undefined",
    grade: "warn",
    why: "A10: a batch should be refused with -32600; over stdio it is dropped",
  },
  {
    scenario: "batch/refused",
    grade: "warn",
    why: "5.3.3: a batch should be refused with -32600; over stdio it is dropped",
  },
  {
    scenario: "base/invalid-request",
    grade: "warn",
    why: "A10: a message that is not a request should be refused with -32600; over stdio it is dropped",
  },
  {
    scenario: "stdio/parse-error-answered",
    grade: "warn",
    why: "A10: a line that is not JSON should be refused with -32700; it is dropped",
  },
];

const onHttp: readonly KnownGap[] = [
  origin,
  forbidden,
  host,
  batchTaken,
  {
    scenario: "batch/empty",
    grade: "warn",
    why: "5.2.1: an empty batch should be refused with -32600; over HTTP it is accepted with 202",
  },
  {
    scenario: "base/invalid-request",
    grade: "warn",
    why: "A10: a message that is not a request should be refused with -32600; over HTTP the SDK answers -32700",
  },
];

const ofV1: readonly KnownGap[] = [
  {
    scenario: "base/invalid-params",
    grade: "warn",
    why: "A10: invalid params should be refused with -32602; the SDK answers -32603",
  },
  {
    scenario: "base/unknown-tool",
    grade: "warn",
    why: "G12: an unknown tool should be refused with -32602; the SDK answers a result with isError",
  },
  {
    scenario: "ask/undeclared",
    grade: "fail",
    why: "B6: capabilities that were not negotiated must not be used; the SDK asks for sampling all the same",
  },
  {
    scenario: "ask/undeclared-early",
    grade: "warn",
    why: "B6: capabilities that were not negotiated should not be used; the SDK asks for sampling all the same",
  },
];

/** The known gaps of servers that are written with the official TypeScript SDKs, by version and transport. */
export const knownGaps: { readonly [sdk: string]: readonly KnownGap[] } = {
  "v1 stdio": [...onBoth, ...ofV1, ...onStdio],
  "v1 http": [...onBoth, ...ofV1, ...onHttp],
  "v1 http-sse": [
    ...onBoth,
    ...ofV1,
    {
      scenario: "base/invalid-request",
      grade: "warn",
      why: "A10: a message that is not a request should be refused with -32600; the SDK answers 400 with plain text",
    },
    {
      scenario: "http-sse/origin",
      grade: "fail",
      why: "D4: the Origin must be checked; the SDK does so only if configured",
      authorCanRepair: true,
    },
  ],
  "v2 stdio": [
    ...onBoth,
    ...onStdio,
    {
      scenario: "discover/unknown-version",
      grade: "fail",
      why: "B4: every request of an unsupported version is refused with -32022; the SDK checks only the first request",
    },
  ],
  "v2 http with sessions": [...onBoth, ...onHttp],
  "v2 http without sessions": [
    ...onBoth,
    forbidden,
    host,
    {
      scenario: "http/accept",
      grade: "warn",
      why: "E5: a request that accepts neither JSON nor an event stream should be refused; the SDK answers JSON",
    },
  ],
};

/** Describes the known gap of an SDK that a verdict shows. Undefined if there is none, or if the author can repair it. */
export function knownGapOf({ scenario, grade, revision, transport }: Omit<Verdict, "knownGap">): string | undefined {
  const found = Object.entries(knownGaps).flatMap(([sdk, gaps]) => {
    const [version = "", over] = sdk.split(" ");
    const gap = gaps.find(
      (one) => one.scenario === scenario && one.grade === grade && (one.on?.includes(revision) ?? true),
    );
    return gap && !gap.authorCanRepair && over === transport ? [{ version, why: gap.why }] : [];
  });
  const [first] = found;
  if (!first) return undefined;
  return `the official TypeScript SDK ${[...new Set(found.map(({ version }) => version))].join(", ")}: ${first.why}`;
}
