import { formatResult, grade, type Verdict } from "portolan-check";
import type { ToolOptions } from "portolan-console";
import type { FindingRecord } from "portolan-console/api";
import type { Host, ServerEntry, ServerStatus } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { examineFiles } from "../doctor/configuration.ts";
import { examine } from "../doctor/examine.ts";
import type { ExaminationStep, FindingDetails, Repair } from "../doctor/finding.ts";
import { Failure } from "../failure.ts";
import { readConfiguration, targetArgument } from "../servers/find-server.ts";
import { gradedTarget, requireAnswering } from "../servers/graded-target.ts";
import { quote } from "../terminal/escape.ts";

/** A longer start is reported. */
const slowMs = 5_000;
const timeoutMs = 20_000;

/** The heading of each step, and the sentence for one that found nothing. */
const steps: { readonly [step in ExaminationStep]: readonly [heading: string, passed: string] } = {
  entry: ["Configuration", "its entry is complete"],
  trust: ["Trust", "it is enabled, and you trust it"],
  start: ["Start", "it starts and answers"],
  lists: ["Lists", "all its lists are complete"],
  tools: ["Tools", "models accept its tools as they are"],
  messages: ["Messages", "it sends nothing unexpected"],
};

/** Examines one server of a console's host. Each step yields what it found, or that it passed. */
export async function* examineForConsole(
  context: CommandContext,
  host: Host,
  entry: ServerEntry,
  { signal }: ToolOptions,
): AsyncGenerator<FindingRecord> {
  const { name } = entry;
  const ofFiles = examineFiles(await readConfiguration(context)).filter(({ server }) => server === name);
  const examination = examine(context, host, entry, { timeoutMs, slowMs })[Symbol.asyncIterator]();
  const hide = (finding: FindingRecord) => context.secrets.hideIn(finding);
  while (true) {
    const next = examination.next();
    const { done, value } = await untilAborted(next, signal);
    if (done) return;
    const [heading, passed] = steps[value.step];
    const found = value.step === "entry" ? [...ofFiles, ...value.findings] : value.findings;
    for (const finding of found) yield hide(toRecord(finding, name, heading));
    if (found.length > 0) continue;
    const why = factsOf(value.step, host, name);
    yield { id: `${value.step}-ok`, step: heading, level: "ok", what: passed, why, next: "" };
  }
}

/** Rejects with the reason of the signal. A start that has begun goes on in the host. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function factsOf(step: ExaminationStep, host: Host, name: string): string {
  const status: Partial<ServerStatus> = host.servers.find((server) => server.name === name) ?? {};
  const tools = host.catalog.tools.filter(({ server }) => server === name).length;
  if (step === "start") return `${status.profile?.version ?? ""} in ${status.startMs ?? 0} ms`.trim();
  return step === "tools" ? `${tools} ${tools === 1 ? "tool" : "tools"}` : "";
}

function toRecord(finding: FindingDetails, server: string, step: string): FindingRecord {
  const { id, level, what, why, next, place, repair } = finding;
  const fix = repair && fixOf(repair, server);
  return { id, step, level, what, why, next, ...(place !== undefined && { place }), ...(fix && { fix }) };
}

/** Returns the request to the console that makes a repair. */
function fixOf(repair: Repair, server: string): NonNullable<FindingRecord["fix"]> {
  switch (repair.kind) {
    case "variable": {
      const { name, isSecret } = repair;
      const takes = { server, env: {} };
      return { label: `Set ${name}`, verb: "server.set-variables", takes, asks: { name, isSecret } };
    }
    case "pass-variables": {
      const { names } = repair;
      const takes = { server, env: Object.fromEntries(names.map((name) => [name, `\${env:${name}}`])) };
      return { label: `Pass ${names.join(" and ")} of your shell`, verb: "server.set-variables", takes };
    }
    case "sign-in":
      return { label: "Sign in", verb: "login.begin", takes: { server } };
    case "enable":
      return { label: "Enable it", verb: "server.enable", takes: { server, isOn: true } };
  }
}

/** Grades one server in a process or connection of its own. Returns the result in a few words. */
export async function gradeForConsole(
  context: CommandContext,
  host: Host,
  entry: ServerEntry,
  onFinding: (finding: FindingRecord) => void,
  { signal }: ToolOptions,
): Promise<string> {
  const { name } = entry;
  if (!host.isTrusted(name)) {
    const next = `portolan trust ${quote(name)}`;
    throw new Failure("denied", `${name} is not trusted yet, so it was not started`, { next });
  }
  const target = await gradedTarget(context, entry);
  await requireAnswering(context, entry, { connectMs: 30_000, signal });
  const word = targetArgument(entry, context.system);
  const onVerdict = (verdict: Verdict) => onFinding(context.secrets.hideIn(toVerdictRecord(verdict, word)));
  const report = await grade(target, { signal, onVerdict });
  const { problem } = report;
  return context.secrets.hide(problem === undefined ? formatResult(report) : `${formatResult(report)}: ${problem}`);
}

const levels = { pass: "ok", fail: "error", warn: "warning", "not applicable": "note" } as const;

function toVerdictRecord(verdict: Verdict, target: string): FindingRecord {
  const { scenario, title, requirements, evidence, revision, transport, knownGap } = verdict;
  const isGood = verdict.grade === "pass" || verdict.grade === "not applicable";
  const gap = knownGap === undefined ? "" : `; known gap of ${knownGap}`;
  return {
    id: scenario,
    step: `${revision} over ${transport}`,
    level: levels[verdict.grade],
    what: title,
    why: verdict.grade === "pass" ? requirements.join(", ") : `${evidence}${gap}`,
    next: isGood ? "" : `portolan check --only ${quote(scenario)} --revision ${revision} ${target}`,
  };
}
