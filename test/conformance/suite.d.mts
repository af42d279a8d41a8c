export type Side = "server" | "client";

/** What came of one scenario; `why` says what was wrong. */
export interface Verdict {
  passed: boolean;
  why: string;
}

/** What the suite has to say about one point of a scenario. */
export interface Check {
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  errorMessage?: string;
}

/** The scenarios of each revision, by side. */
export type Expected = { [revision: string]: { [side in Side]: string[] } };

/** The scenarios that are known not to pass, and why, by side. */
export type Exceptions = { [side in Side]: { [scenario: string]: string } };

/** Scenarios that belong to no revision: of extensions about authorization, and for authorization servers. */
export interface Beyond {
  extensions: string[];
  authority: string[];
}

/** The Node of the suite, on which nothing else may run. */
export const suiteNode: string;
export const expected: Expected;
export const exceptions: Exceptions;
export const beyond: Beyond;

/** The scenarios that the suite has; those of extensions belong to no revision. */
export function listScenarios(): Promise<Expected>;

/** Those that the suite has beside the ones of revisions. */
export function listBeyond(): Promise<Beyond>;

/** The verdicts on a running authorization server that knows the client "conformance", by scenario. */
export function judgeAuthority(issuer: string): Promise<Map<string, Verdict>>;

/** Starts the server under test, ours unless told otherwise, on a free port; `printed` is what it says of itself. */
export function startServer(script?: string): Promise<{ url: string; printed: string; close: () => Promise<void> }>;

/** The verdicts on a running server, by scenario. */
export function judgeServer(url: string, revision: string): Promise<Map<string, Verdict>>;

/** The verdict on a client at a revision, or for "extensions" at the one that the suite chooses; ours unless another command is given, in one scenario. Run one at a time. */
export function judgeClient(
  scenario: string,
  revision: string,
  command?: string,
): Promise<Verdict & { printed: string }>;

/** What is wrong about a verdict: a failure that is no exception, or an exception that passes. */
export function deviationOf(verdict: Verdict | undefined, exception: string | undefined): string | undefined;

/** Passed is what has a success of its own, no failure and no warning. */
export function judge(checks: Check[]): Verdict;
