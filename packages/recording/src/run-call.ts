import type { CallToolResult } from "portolan";
import { type Expectation, judge, textOf } from "./expectations.ts";
import { maxProblems } from "./limits.ts";
import type { SavedCall } from "./saved-calls.ts";

/** How a saved call went. */
export interface CallVerdict {
  readonly name: string;
  readonly isPassed: boolean;
  readonly ms: number;
  /** Sentences about what was not as expected. */
  readonly problems: readonly string[];
}

/** The request of a saved call. */
export interface OutgoingCall {
  readonly server: string;
  readonly tool: string;
  /** Send it exactly as it is. */
  readonly argumentsText: string;
}

/** A result, and where its structured content breaks the output schema. */
export interface IncomingResult {
  readonly result: CallToolResult;
  readonly schemaProblems: readonly string[];
}

export interface RunCallOptions {
  /** Sends the call. A rejection fails it with its message. */
  readonly send: (call: OutgoingCall) => Promise<IncomingResult>;
  /** The variables for `${env:NAME}`. */
  readonly env: { readonly [name: string]: string | undefined };
  /** Milliseconds of any origin. Default: those of the process. */
  readonly now?: () => number;
}

/** Runs a saved call and compares its result with what is expected. A tool that reports an error has failed, unless `isError` says otherwise. */
export async function runCall(
  { name, server, tool, argumentsText, expect }: SavedCall,
  { send, env, now = () => performance.now() }: RunCallOptions,
): Promise<CallVerdict> {
  const { text, missing } = expandVariables(argumentsText, env);
  if (missing.length > 0) {
    return { name, isPassed: false, ms: 0, problems: missing.map((variable) => `the variable ${variable} is not set`) };
  }
  const started = now();
  let incoming: IncomingResult;
  try {
    incoming = await send({ server, tool, argumentsText: text });
  } catch (reason) {
    const problem = reason instanceof Error ? reason.message : String(reason);
    return { name, isPassed: false, ms: now() - started, problems: [problem] };
  }
  const ms = now() - started;
  const { result, schemaProblems } = incoming;
  const unexpected = expect.some((one) => "isError" in one) || result.isError !== true;
  const problems = [
    ...(unexpected ? [] : [`the tool failed: ${textOf(result)}`]),
    ...expect.flatMap((one: Expectation) => judge(one, { result, ms, schemaProblems }) ?? []),
  ];
  return { name, isPassed: problems.length === 0, ms, problems: problems.slice(0, maxProblems) };
}

/** Replaces `${env:NAME}` in JSON text by the values of variables, written as JSON. */
export function expandVariables(
  text: string,
  env: RunCallOptions["env"],
): { readonly text: string; readonly missing: readonly string[] } {
  const missing = new Set<string>();
  const expanded = text.replace(/\$\{env:(\w+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value === undefined) missing.add(name);
    // The text is JSON, so that the placeholder stands within a string.
    return JSON.stringify(value ?? "").slice(1, -1);
  });
  return { text: expanded, missing: [...missing] };
}
