import { connect } from "portolan/client";
import { childEnvironment } from "portolan/client/stdio";
import {
  formatReport,
  grade,
  type Report,
  type RevisionDate,
  revisions,
  type Scenario,
  scenarios,
  type Target,
} from "portolan-check";
import type { ServerEntry } from "portolan-host";
import { listFlag, secondsFlag, withoutValues } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure, httpStatusOf, toFailure } from "../failure.ts";
import { proxyFor } from "../http-proxy/choose.ts";
import { findServer, targetArgument } from "../servers/find-server.ts";
import { explainStart, requireUsable, strayLine, withStray } from "../servers/host.ts";
import { createLink } from "../servers/link.ts";
import { authFor } from "../servers/sign-in.ts";
import type { System } from "../system.ts";
import { maskSecrets, quoteCommand } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";
import { wrap } from "../terminal/wrap.ts";
import { info } from "../version.ts";

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
  const target = await targetOf(context, entry);
  const wait = context.terminal.waits.start(`checking ${screen.safe(entry.name)}`);
  // By default a process may take three times as long to start, as in the scenarios.
  await requireAnswering(context, entry, timeoutMs ?? 30_000).catch((reason: unknown) => {
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

/**
 * Fails if a server does not start, does not answer at all or requires sign-in: a report would blame it for the protocol.
 * Everything else is left to the report.
 */
async function requireAnswering(context: CommandContext, entry: ServerEntry, connectMs: number): Promise<void> {
  const { target, settings } = entry;
  const { signal } = context;
  const said: string[] = [];
  let stray: string | undefined;
  const onError = ({ message }: Error) => {
    if (strayLine.test(message)) stray ??= message;
  };
  const tried = "url" in target ? { ...entry, target: { auth: authFor(context, entry), ...target } } : entry;
  try {
    const link = await createLink(tried, context, (line) => void (said.length < maxSaidLines && said.push(line)));
    const { era } = settings;
    const client = await connect(link, {
      info,
      signal,
      connectMs,
      cache: false,
      onError,
      ...(era !== undefined && { era }),
    });
    await client.close();
  } catch (reason) {
    signal.throwIfAborted();
    const { kind } = toFailure(reason);
    const status = httpStatusOf(reason);
    const isAbsent = kind === "unreachable" && (status === undefined || status === 404);
    if (!isAbsent && kind !== "timeout" && kind !== "auth") return;
    throw await explainStart(context, entry, withSaid(toFailure(reason), said, stray));
  }
}

/** The first lines of what a server wrote before it fell silent. */
const maxSaidLines = 5;

/** Adds what a silent server wrote first, in place of its latest output. The reason of an ended process has it already. */
function withSaid(failure: Failure, said: readonly string[], stray: string | undefined): Failure {
  const { kind, message, next, cause } = failure;
  if (kind === "timeout" && stray !== undefined) return withStray(failure, stray);
  if (kind !== "timeout" || said.length === 0) return failure;
  const reason = message.replace(/; its latest output: [\s\S]*$/, "");
  return new Failure(kind, `${reason}; it wrote: ${said.join(" | ")}`, { next, cause });
}

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

async function targetOf(context: CommandContext, entry: ServerEntry): Promise<Target> {
  const { target } = entry;
  if ("command" in target) {
    const { command, args = [], cwd } = target;
    // The server gets the same environment as in a host, without our secrets.
    const env = childEnvironment(context.system.env, target.env);
    return { command, args, env, inherits: false, ...(cwd !== undefined && { cwd }) };
  }
  if (!("url" in target)) throw new Failure("usage", "expected a command or an address");
  const url = new URL(target.url);
  const proxy = proxyFor(url, context.system.env);
  if (proxy) {
    // The report would blame the server for changes that a proxy makes.
    throw new Failure("usage", `check needs a direct connection, but ${proxy.variable} sets a proxy for this server`, {
      next: `if it can be reached directly: NO_PROXY=${url.hostname} portolan ${quoteCommand(withoutValues(context.system.argv))}`,
    });
  }
  const signed = await authFor(context, entry).authorize({ server: url, method: "POST", url });
  return { url: target.url, headers: { ...signed, ...target.headers } };
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
