import {
  formatReport,
  grade,
  type Report,
  type RevisionDate,
  revisions,
  type Scenario,
  scenarios,
} from "portolan-check";
import { listFlag, secondsFlag, withoutValues } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { findServer, targetArgument } from "../servers/find-server.ts";
import { gradedTarget, requireAnswering } from "../servers/graded-target.ts";
import { requireUsable } from "../servers/host.ts";
import type { System } from "../system.ts";
import { maskSecrets, quoteCommand } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";
import { wrap } from "../terminal/wrap.ts";

/** Grades how well a server follows the protocol. */
export async function run(
  context: CommandContext,
  [given]: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const { screen, system, signal } = context;
  const entry = await findServer(context, given, flags);
  await requireUsable(context, entry);
  const wanted = [...listFlag(flags, "revision").map(toRevision), ...revisionsOf(entry.settings.era)];
  const timeoutMs = secondsFlag(flags, "timeout");
  const filter = filterOf(listFlag(flags, "only"));
  const tools = listFlag(flags, "tool");
  let tried = 0;
  const target = await gradedTarget(context, entry);
  const wait = context.terminal.waits.start(`checking ${screen.safe(entry.name)}`);
  // By default a process may take three times as long to start, as in the scenarios.
  await requireAnswering(context, entry, { connectMs: timeoutMs ?? 30_000, signal }).catch((reason: unknown) => {
    wait.end();
    throw reason;
  });
  const graded = await grade(target, {
    ...(wanted.length > 0 && { revisions: wanted }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    signal,
    filter,
    tools,
    onVerdict({ scenario }) {
      tried += 1;
      wait.say(`checking ${screen.safe(`${entry.name}: ${tried} ${scenario}`)}`);
    },
  }).finally(() => wait.end());
  const own = "args" in target && target.args?.[0] === system.self;
  const words =
    "url" in target ? [target.url] : own ? [targetArgument(entry, system)] : [target.command, ...(target.args ?? [])];
  // Its evidence quotes addresses and answers.
  const report = context.secrets.hideIn({ ...graded, target: maskSecrets(words).join(" ") });
  const shown: CommandResult = {
    value: report,
    text: () => fitReport([formatReport(report).trimEnd(), ...adviceFor(report)].join("\n"), screen),
  };
  if (report.isPassed || (report.hasOnlyKnownGaps && flags["allowKnownGaps"] === true)) return shown;
  context.print(context.isJson ? JSON.stringify(shown.value) : shown.text());
  const failed = new Set(report.verdicts.filter((verdict) => verdict.grade === "fail").map(({ scenario }) => scenario));
  const count = `${failed.size} required scenario${failed.size === 1 ? "" : "s"}`;
  const message = report.problem ?? `${count} failed: ${[...failed].join(", ")}`;
  const next = failed.size === 0 ? `portolan doctor ${targetArgument(entry, system)}` : againAfter(system, [...failed]);
  throw new Failure("protocol", message, { next });
}

/** Returns the command that runs what failed once more. */
function againAfter({ argv }: System, failed: readonly string[]): string {
  const words = withoutValues(argv);
  const end = words.indexOf("--") < 0 ? words.length : words.indexOf("--");
  const kept = words.slice(1, end).filter((word, at, own) => !/^--only(?:=|$)/.test(word) && own[at - 1] !== "--only");
  const only = failed.slice(0, maxOnly).flatMap((name) => ["--only", name]);
  return `correct the server, then: portolan ${quoteCommand(["check", ...only, ...kept, ...words.slice(end)])}`;
}

/** More names would hide the command. */
const maxOnly = 3;

/** Names the flags for tools that may be called too, and for gaps that the author cannot repair. */
function adviceFor({ toolsNotCalled, isPassed, hasOnlyKnownGaps }: Report): string[] {
  const advice = [
    ...(toolsNotCalled.length > 0
      ? ["Only known test tools and read-only tools are called. To allow others: --tool"]
      : []),
    ...(!isPassed && hasOnlyKnownGaps ? ["To pass in spite of known gaps of SDKs: --allow-known-gaps"] : []),
  ];
  return advice.length === 0 ? [] : ["", ...advice];
}

/** Fits a report to the terminal. Why a revision is not supported gets one line. */
function fitReport(report: string, screen: Screen): string {
  // Evidence and names come from the server. Each line is escaped alone, so that the report keeps its lines.
  const lines = report.split("\n").map((line) => screen.safe(line));
  if (!screen.isTerminal) return lines.join("\n");
  return lines
    .flatMap((line) => (line.includes(" not supported: ") ? [screen.cut(line)] : wrap(line, screen.columns)))
    .join("\n");
}

function toRevision(given: string): RevisionDate {
  const known = revisions.map(({ date }) => date);
  const found = known.find((date) => date === given);
  if (found) return found;
  throw new Failure("usage", `--revision: expected one of ${known.join(", ")}, got ${JSON.stringify(given)}`);
}

/** Returns the revisions of an era. Empty for all. */
function revisionsOf(era = "auto"): RevisionDate[] {
  const own = revisions.filter(({ date, isStateless }) => [date, isStateless ? "stateless" : "stateful"].includes(era));
  return own.map(({ date }) => date);
}

/** Returns a filter for scenario names, where `*` stands for any characters. */
function filterOf(patterns: readonly string[]): (scenario: Scenario) => boolean {
  if (patterns.length === 0) return () => true;
  const tests = patterns.map((pattern) => {
    const words = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const test = new RegExp(`^${words.join(".*")}$`);
    if (!scenarios.some(({ id }) => test.test(id))) {
      const some = [...new Set(scenarios.map(({ id }) => `${id.split("/")[0]}/*`))].join(", ");
      throw new Failure("usage", `--only: no scenario matches ${JSON.stringify(pattern)}; known: ${some}`);
    }
    return test;
  });
  return ({ id }) => tests.some((test) => test.test(id));
}
