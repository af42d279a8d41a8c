import { PortolanError, RpcError } from "portolan";
import type { Host, ListName, ListProblem, ServerEntry } from "portolan-host";
import { Failure, toFailure } from "../failure.ts";
import type { System } from "../system.ts";
import { targetArgument } from "./find-server.ts";

/** The names of the lists for people. */
const titles: { readonly [list in ListName]: string } = {
  tools: "tools",
  prompts: "prompts",
  resources: "resources",
  templates: "resource templates",
};

/** Returns the lists of a server that were not read completely. */
export function listProblemsOf(host: Host, { name }: ServerEntry): readonly ListProblem[] {
  return host.servers.find((status) => status.name === name)?.listProblems ?? [];
}

/** Describes a list that could not be read. */
export function explainList({ list, message, error }: ListProblem): {
  title: string;
  why: string;
  kind: Failure["kind"];
} {
  const { message: why, kind } = toFailure(error ?? message);
  // A server may answer with the code for invalid params, but the command line was not wrong.
  return { title: titles[list], why, kind: error instanceof RpcError ? "protocol" : kind };
}

/** Returns the failure of a command that needs some lists of a server; undefined if these could be read. */
export function listFailure(
  host: Host,
  entry: ServerEntry,
  needed: readonly ListName[],
  system: System,
): Failure | undefined {
  const failed = listProblemsOf(host, entry).filter(({ kind, list }) => kind === "failed" && needed.includes(list));
  const [first] = failed;
  if (!first) return undefined;
  const lines = failed.map((problem) => {
    const { title, why } = explainList(problem);
    const isOld = host.catalog[problem.list].length > 0 ? "; the ones known are from an earlier start" : "";
    return `${entry.name} did not list its ${title}: ${why}${isOld}`;
  });
  return new Failure(explainList(first).kind, lines.join("\n"), {
    next: `portolan doctor ${targetArgument(entry, system)}`,
    cause: first.error,
  });
}

/** Explains why a server answers no list of tools, although it works; undefined otherwise. */
export function whyToolsUnlisted(host: Host, entry: ServerEntry): string | undefined {
  const problem = listProblemsOf(host, entry).find(
    ({ list, kind, error }) =>
      list === "tools" &&
      (kind === "unsupported" || (kind === "failed" && isAnswered(error))) &&
      !host.catalog.tools[0],
  );
  if (!problem) return undefined;
  return problem.kind === "failed"
    ? `${entry.name} did not list its tools: ${explainList(problem).why}`
    : `${entry.name}: ${problem.message}`;
}

/** True if the server answered, with an error or with something invalid. */
function isAnswered(error: Error | undefined): boolean {
  return error instanceof RpcError || (error instanceof PortolanError && error.code === "answer-invalid");
}

/** Returns the failure of a feature that is not in its list, because the list was not read or leaves it out. */
export function missingFailure(
  host: Host,
  entry: ServerEntry,
  list: ListName,
  name: string | undefined,
  system: System,
): Failure | undefined {
  const failure = listFailure(host, entry, [list], system);
  if (failure) return failure;
  const problems = listProblemsOf(host, entry).filter((problem) => problem.list === list);
  const problem =
    problems.find(({ item }) => item !== undefined && item === name) ??
    problems.find(({ kind }) => kind === "unsupported" || kind === "truncated");
  if (!problem) return undefined;
  return new Failure("protocol", `${entry.name}: ${problem.message}`, {
    next: `portolan doctor ${targetArgument(entry, system)}`,
  });
}
