import { PortolanError } from "portolan";
import type { Host, ListProblem, ServerEntry } from "portolan-host";
import { againWith } from "../arguments/flags.ts";
import type { CommandContext } from "../command.ts";
import { processEndOf, withoutOptionNames } from "../failure.ts";
import { targetArgument } from "../servers/find-server.ts";
import { strayLine } from "../servers/host.ts";
import { explainList, listProblemsOf } from "../servers/list-problems.ts";
import { authFor } from "../servers/sign-in.ts";
import { findWithheld } from "../servers/withheld.ts";
import { quote } from "../terminal/escape.ts";
import { explainAddress, orProxy } from "./address.ts";
import { explainCommand } from "./command.ts";
import { examineEntry } from "./configuration.ts";
import { type ExaminedStep, entryLocation, type FindingDetails } from "./finding.ts";
import { examineTools } from "./tools.ts";

/** The time limits of an examination. */
export interface ExamineLimits {
  readonly timeoutMs: number;
  /** A slower start is reported. */
  readonly slowMs: number;
}

/** Starts one server and reports its problems, step by step. */
export async function* examine(
  context: CommandContext,
  host: Host,
  entry: ServerEntry,
  limits: ExamineLimits,
): AsyncGenerator<ExaminedStep> {
  for await (const { step, findings } of takeSteps(context, host, entry, limits)) {
    const place = entry.source.kind === "file" ? { place: entryLocation(entry) } : {};
    const passed = await Promise.all(findings.map((finding) => withWithheld(context, entry, finding)));
    yield { step, findings: passed.map((finding) => ({ ...finding, ...place })) };
  }
}

async function* takeSteps(
  context: CommandContext,
  host: Host,
  entry: ServerEntry,
  limits: ExamineLimits,
): AsyncGenerator<ExaminedStep> {
  const { name } = entry;
  const problem = examineEntry(entry);
  yield { step: "entry", findings: problem ? [problem] : [] };
  if (problem) return;
  const barrier = blockedFinding(host, name);
  yield { step: "trust", findings: barrier ? [barrier] : [] };
  if (barrier) return;
  const heard: string[] = [];
  const events = host.events({ kinds: ["warning"], server: name });
  const listening = (async () => {
    for await (const event of events) if (event.kind === "warning") heard.push(event.message);
  })();
  const failure = await host.start(name).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  await events.return?.();
  await listening;
  const problems = listProblemsOf(host, entry);
  const check = `portolan check ${targetArgument(entry, context.system)}`;
  // Problems of lists are warnings, too.
  const others = heard.filter((message) => !problems.some((problem) => problem.message === message));
  if (failure === undefined) {
    yield { step: "start", findings: examineStart(host, name, limits) };
    yield { step: "lists", findings: problems.map((it) => toFinding(it, check)) };
    yield { step: "tools", findings: examineDefinitions(host, name) };
  } else yield { step: "start", findings: await explain(context, entry, failure) };
  yield { step: "messages", findings: examineWarnings(others, "command" in entry.target, check) };
}

/** Adds the variables of the shell that a server missed. */
async function withWithheld(
  context: CommandContext,
  entry: ServerEntry,
  finding: FindingDetails,
): Promise<FindingDetails> {
  const withheld = await findWithheld(context, entry, finding.why);
  if (!withheld) return finding;
  const { sentence, next, names } = withheld;
  return { ...finding, why: `${finding.why}; ${sentence}`, next, repair: { kind: "pass-variables", names } };
}

/** Converts the problem of a list to a finding. `check` is the command that grades the server. */
function toFinding(problem: ListProblem, check: string): FindingDetails {
  const { kind, message: what } = problem;
  if (kind === "failed") {
    const { title, why: reason } = explainList(problem);
    return {
      id: "list-failed",
      level: "error",
      what: `it does not list its ${title}: ${reason}`,
      why: `its ${title} are not known, so they cannot be used`,
      next: `look at the log of the server, and compare it with the protocol: ${check}`,
    };
  }
  if (kind === "unsupported") {
    return {
      id: "missing-method",
      level: "warning",
      what,
      why: "other clients may fail to list the rest",
      next: "answer with an empty list, or do not announce the feature",
    };
  }
  if (kind === "repeated") {
    const next = "rename one of them";
    return { id: "tool-collision", level: "warning", what: "two features have the same name", why: what, next };
  }
  return {
    id: kind === "invalid" ? "invalid-feature" : "truncated-list",
    level: "warning",
    what,
    why:
      kind === "invalid" ? "it violates the protocol; other clients may show nothing at all" : "the rest is not known",
    next: `correct the server; this shows what the protocol says: ${check}`,
  };
}

function blockedFinding(host: Host, name: string): FindingDetails | undefined {
  const { state, isChanged } = host.servers.find((status) => status.name === name) ?? {};
  if (state === "disabled") {
    const next = "enable it in its file";
    const repair = { kind: "enable" } as const;
    return { id: "disabled", level: "note", what: "it is disabled", why: "its entry says so", next, repair };
  }
  if (!host.isTrusted(name)) {
    const since = isChanged ? "changed since you trusted it" : "is not trusted yet";
    return {
      id: "untrusted",
      level: "warning",
      what: `it was not examined, because it ${since}`,
      why: "a configured server starts only after you have seen its command",
      next: `portolan trust ${quote(name)}`,
    };
  }
  return undefined;
}

function examineStart(host: Host, name: string, { slowMs }: ExamineLimits): FindingDetails[] {
  const { startMs = 0 } = host.servers.find((status) => status.name === name) ?? {};
  if (startMs <= slowMs) return [];
  return [
    {
      id: "slow-start",
      level: "warning",
      what: `it took ${(startMs / 1_000).toFixed(1)} s to start`,
      why: "some clients time out earlier, and all of them wait",
      next: "install it instead of downloading it at each start (npx, uvx), and let it answer before it does other work",
    },
  ];
}

function examineDefinitions(host: Host, name: string): FindingDetails[] {
  const tools = host.catalog.tools.filter(({ server }) => server === name).map(({ definition }) => definition);
  const findings = examineTools(tools);
  if (host.changedDefinitions().some(({ server }) => server === name)) {
    findings.push({
      id: "changed-definitions",
      level: "warning",
      what: "definitions have changed since they were accepted",
      why: "changed tools cannot be called before you have seen them",
      next: `portolan trust ${quote(name)} --changes`,
    });
  }
  return findings;
}

/** Reports warnings that did not stop the server. */
function examineWarnings(heard: readonly string[], isCommand: boolean, check: string): FindingDetails[] {
  const findings: FindingDetails[] = [];
  const stray = isCommand ? heard.filter((message) => strayLine.test(message)) : [];
  const others = heard.filter((message) => !stray.includes(message));
  if (stray[0] !== undefined) {
    findings.push({
      id: "stdout-pollution",
      level: "warning",
      what: `${stray.length === 1 ? "a line" : `${stray.length} lines`} on its standard output ${stray.length === 1 ? "is" : "are"} not a message`,
      why: `the first: ${stray[0]}; other clients fail at this`,
      next: "print to standard error instead (console.error, stderr), also from libraries",
    });
  }
  for (const message of new Set(others)) {
    const next = `compare it with the protocol: ${check}`;
    findings.push({ id: "odd", level: "note", what: "it behaves unexpectedly", why: message, next });
  }
  return findings;
}

async function explain(context: CommandContext, entry: ServerEntry, failure: unknown): Promise<FindingDetails[]> {
  const { target } = entry;
  const message = withoutOptionNames(failure instanceof Error ? failure.message : String(failure));
  const code = failure instanceof PortolanError ? failure.code : undefined;
  if (code === "invalid-argument") {
    const next = `correct ${entryLocation(entry)}`;
    return [{ id: "unusable-entry", level: "error", what: "its entry cannot be used as it is", why: message, next }];
  }
  if (code === "version-mismatch") return [explainVersion(entry, message)];
  if (code === "timeout") {
    return [
      {
        id: "no-answer",
        level: "error",
        what: "it does not answer",
        why: `${message}; it starts slowly, or it is not an MCP server${"url" in target ? orProxy(target, context.system, " is silent") : ""}`,
        next: againWith(
          context.system,
          "--timeout",
          String(Math.ceil((2 * (entry.settings.connectMs ?? 20_000)) / 1_000)),
        ),
      },
    ];
  }
  if ("command" in target)
    return [explainCommand(entry, target, { message, processEnd: processEndOf(failure) }, context.system)];
  if ("url" in target) {
    const url = new URL(target.url);
    const sent = await authFor(context, entry).authorize({ server: url, method: "POST", url });
    return explainAddress(entry, target, message, { system: context.system, hasToken: Object.keys(sent).length > 0 });
  }
  return [{ id: "failed", level: "error", what: "it failed", why: message, next: "look at the log of the server" }];
}

function explainVersion({ settings }: ServerEntry, message: string): FindingDetails {
  const { era = "auto" } = settings;
  const isEra = era === "stateless" || era === "stateful";
  return {
    id: isEra ? "era-mismatch" : "wrong-revision",
    level: "error",
    what: isEra ? `it is not a ${era} server` : "it supports no revision that portolan supports",
    why: message,
    next: era === "auto" ? "update the server, or portolan" : "omit --era, so that the era is detected",
  };
}
