export type Side = "server" | "client";

/** The result of one scenario; `why` has the reason of a failure. */
export interface Verdict {
  passed: boolean;
  why: string;
}

/** The result of one check of a scenario. */
export interface Check {
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  errorMessage?: string;
}

/** The scenarios of each revision, by side. */
export type Expected = { [revision: string]: { [side in Side]: string[] } };

/** Scenarios that are known to fail, with the reason, by side. */
export type Exceptions = { [side in Side]: { [scenario: string]: string } };

/** Scenarios that belong to no revision: of extensions on either side, and for authorization servers. */
export interface Unversioned {
  extensions: string[];
  servers: string[];
  authority: string[];
}

/** Path of the Node that runs the suite and nothing else. */
export const suiteNode: string;
export const expected: Expected;
export const exceptions: Exceptions;
export const unversioned: Unversioned;

/** Returns the scenarios of the suite by revision; those of extensions belong to none. */
export function listScenarios(): Promise<Expected>;

/** Returns the scenarios of the suite that belong to no revision. */
export function listUnversioned(): Promise<Unversioned>;

/** Returns the verdicts on a running authorization server with the client "conformance", by scenario. */
export function judgeAuthority(issuer: string): Promise<Map<string, Verdict>>;

/** Starts the server under test on a free port, and returns its URL and its output. Default: our server. */
export function startServer(script?: string): Promise<{ url: string; printed: string; close: () => Promise<void> }>;

/** Returns the verdicts on a running server, by scenario. */
export function judgeServer(url: string, revision: string): Promise<Map<string, Verdict>>;

/** Returns the verdicts on a running server in the scenarios of extensions. */
export function judgeExtensions(url: string): Promise<Map<string, Verdict>>;

/**
 * Returns the verdict on a client in one scenario. For "extensions" the suite chooses the revision. Call it for one
 * client at a time. Default command: our client.
 */
export function judgeClient(
  scenario: string,
  revision: string,
  command?: string,
): Promise<Verdict & { printed: string }>;

/** Returns what is wrong with a verdict: a failure without an exception, or an exception that passes. */
export function deviationOf(verdict: Verdict | undefined, exception: string | undefined): string | undefined;

/** Evaluates checks: passed if there is a success beyond valid messages, no failure and no warning. */
export function judge(checks: Check[]): Verdict;
