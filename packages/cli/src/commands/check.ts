import { childEnvironment } from "portolan/client/stdio";
import {
  formatReport,
  grade,
  type RevisionDate,
  revisions,
  type Scenario,
  scenarios,
  type Target,
} from "portolan-check";
import type { ServerEntry } from "portolan-host";
import type { Context, Flags, Shown } from "../command.ts";
import { Failure } from "../failure.ts";
import { listFlag, secondsFlag } from "../flags.ts";
import { requireUsable } from "../hosting.ts";
import { proxyFor } from "../proxy/choose.ts";
import type { Screen } from "../screen.ts";
import { authFor } from "../signing-in.ts";
import { findTarget, typedFor } from "../targets.ts";
import { wrap } from "../wrap.ts";

/** Grades a server by what the protocol asks of it. */
export async function run(context: Context, [given]: readonly string[], flags: Flags): Promise<Shown | undefined> {
  const { screen, world, signal } = context;
  const { entry } = await findTarget(context, given);
  await requireUsable(context, entry);
  const wanted = listFlag(flags, "revision");
  const timeoutMs = secondsFlag(flags, "timeout");
  const filter = filterOf(listFlag(flags, "only"));
  const isDrawn = world.stderr.isTTY && !screen.isDumb;
  let tried = 0;
  const report = await grade(await targetOf(context, entry), {
    ...(wanted.length > 0 && { revisions: wanted.map(toRevision) }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    signal,
    filter,
    onVerdict({ scenario }) {
      tried += 1;
      if (isDrawn) world.stderr.write(`\r\u001b[K${screen.cut(`${tried} ${scenario}`)}`);
    },
  }).finally(() => isDrawn && world.stderr.write("\r\u001b[K"));
  const shown: Shown = {
    value: report,
    text: () => fitted(screen.safe(formatReport(report).trimEnd(), { lines: "keep" }), screen),
  };
  if (report.isPassed) return shown;
  context.print(context.isJson ? JSON.stringify(shown.value) : shown.text());
  const failed = new Set(report.verdicts.filter((verdict) => verdict.grade === "fail").map(({ scenario }) => scenario));
  const message = report.problem ?? `${failed.size} of what must hold does not: ${[...failed].join(", ")}`;
  throw new Failure("protocol", message, { next: `portolan doctor ${typedFor(entry, world)}` });
}

/** A report in the lines of a terminal; why something is not spoken at all is worth one. */
function fitted(report: string, screen: Screen): string {
  if (!screen.isTerminal) return report;
  const lines = report.split("\n");
  return lines
    .flatMap((line) => (line.includes(" not spoken: ") ? [screen.cut(line)] : wrap(line, screen.columns)))
    .join("\n");
}

async function targetOf(context: Context, entry: ServerEntry): Promise<Target> {
  const { target: way } = entry;
  if ("command" in way) {
    const { command, args = [], cwd } = way;
    // It gets to see what it would in a host, and none of our secrets.
    const env = childEnvironment(context.world.env, way.env);
    return { command, args, env, inherits: false, ...(cwd !== undefined && { cwd }) };
  }
  if (!("url" in way)) throw new Failure("usage", "expected a command or an address");
  const url = new URL(way.url);
  const proxy = proxyFor(url, context.world.env);
  if (proxy) {
    // What a proxy adds and takes away would be graded as the server's.
    throw new Failure("usage", `check goes straight to a server, and ${proxy.variable} names a proxy to this one`, {
      next: `NO_PROXY=${url.hostname} portolan check …, where it is reached without the proxy`,
    });
  }
  const signed = await authFor(context, entry).authorize({ server: url, method: "POST", url });
  return { url: way.url, headers: { ...signed, ...way.headers } };
}

function toRevision(given: string): RevisionDate {
  const known = revisions.map(({ date }) => date);
  const found = known.find((date) => date === given);
  if (found) return found;
  throw new Failure("usage", `--revision: expected one of ${known.join(", ")}, got ${JSON.stringify(given)}`);
}

/** Scenarios by name, `*` for any characters. */
function filterOf(patterns: readonly string[]): (scenario: Scenario) => boolean {
  if (patterns.length === 0) return () => true;
  const tests = patterns.map((pattern) => {
    const words = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const test = new RegExp(`^${words.join(".*")}$`);
    if (!scenarios.some(({ id }) => test.test(id))) {
      const some = [...new Set(scenarios.map(({ id }) => `${id.split("/")[0]}/*`))].join(", ");
      throw new Failure("usage", `--only: no scenario is called ${JSON.stringify(pattern)}; there are ${some}`);
    }
    return test;
  });
  return ({ id }) => tests.some((test) => test.test(id));
}
