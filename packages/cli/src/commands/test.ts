import type { Host, ServerEntry } from "portolan-host";
import { type CallVerdict, type OutgoingCall, readCalls, runCall, type SavedCall } from "portolan-recording";
import { withNeeds } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure, type FailureKind, interruption, toFailure } from "../failure.ts";
import { explainAt } from "../servers/explain.ts";
import { suggest, targetArgument } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { findSaved } from "../servers/saved-target.ts";
import { quoteCommand } from "../terminal/escape.ts";
import { wrap, wrapStep } from "../terminal/wrap.ts";

/** A saved call with its verdict. */
interface TestedCall extends CallVerdict {
  readonly server: string;
  readonly tool: string;
  /** The next step for a call that got no result. */
  readonly next?: string;
}

/** Runs the saved calls of the project, and compares their results with what is expected. */
export async function run(context: CommandContext, names: readonly string[], flags: Flags): Promise<CommandResult> {
  const { system, screen, terminal } = context;
  const { file, calls, problem } = await readCalls(system.cwd);
  if (problem !== undefined) throw new Failure("usage", problem, { next: "correct the file" });
  if (calls.length === 0) throw new Failure("usage", `no calls are saved in ${file}`, { next: "portolan console" });
  const wanted = callsNamed(names, calls);
  context.secrets.add(wanted.flatMap((call) => variablesIn(call).flatMap((name) => system.env[name] ?? [])));
  const found = await findServers(context, wanted, flags);
  const entries = [...found.values()].flatMap((entry) => (entry instanceof Error ? [] : [entry]));
  const tested: TestedCall[] = [];
  const kinds = new Set<FailureKind>();
  const work = async (host: Host) => {
    const wait = terminal.waits.start("");
    try {
      for (const call of wanted) {
        wait.say(`testing ${screen.safe(call.name)}`);
        let failure: Failure | undefined;
        const send = (outgoing: OutgoingCall) =>
          sendTo(context, host, outgoing, found.get(call.server)).catch((reason: unknown) => {
            failure = toFailure(reason);
            throw reason;
          });
        const verdict = await runCall(call, { env: system.env, send });
        if (context.signal.aborted) throw interruption();
        const { next } = failure ?? {};
        const { server, tool } = call;
        tested.push({ ...verdict, ms: Math.round(verdict.ms), server, tool, ...(next !== undefined && { next }) });
        if (!verdict.isPassed) kinds.add(failure?.kind ?? "failed");
      }
    } finally {
      wait.end();
    }
  };
  await withHost(context, entries, work, { showsStarts: true });
  const shown = context.secrets.hideIn(tested);
  const failed = shown.filter(({ isPassed }) => !isPassed);
  const result: CommandResult = {
    value: { file, passed: shown.length - failed.length, failed: failed.length, calls: shown },
    text: () => show(context, shown),
  };
  if (failed.length === 0) return result;
  context.print(context.isJson ? JSON.stringify(result.value) : result.text());
  const count = `${failed.length} of ${shown.length} saved ${shown.length === 1 ? "call" : "calls"} failed`;
  const [first] = failed;
  // Nothing was found out about the calls: the person has to allow them first.
  if (kinds.size === 1 && kinds.has("denied"))
    throw new Failure("denied", `${first?.problems[0]}; ${count}`, { next: first?.next });
  const { timeout } = flags;
  const kept = typeof timeout === "string" ? ["--timeout", timeout] : [];
  const again = quoteCommand(["portolan", "test", ...failed.slice(0, maxNamed).map(({ name }) => name), ...kept]);
  throw new Failure("failed", count, { next: withNeeds(again, system) });
}

/** More names would hide the command. */
const maxNamed = 3;

/** Returns the calls with these names, in which `*` stands for any characters. Without names, all. */
function callsNamed(names: readonly string[], calls: readonly SavedCall[]): readonly SavedCall[] {
  if (names.length === 0) return calls;
  const chosen = new Set<SavedCall>();
  for (const name of names) {
    const words = name.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const pattern = new RegExp(`^${words.join(".*")}$`, "s");
    const fitting = calls.filter((call) => call.name === name || pattern.test(call.name));
    if (fitting.length === 0) {
      const known = suggest(
        name,
        calls.map((call) => call.name),
        "portolan test",
      );
      throw new Failure("usage", `no saved call is named ${JSON.stringify(name)}; ${known}`);
    }
    for (const call of fitting) chosen.add(call);
  }
  return calls.filter((call) => chosen.has(call));
}

function variablesIn({ argumentsText }: SavedCall): string[] {
  return [...argumentsText.matchAll(/\$\{env:(\w+)\}/g)].map(([, name = ""]) => name);
}

/** Finds the server of each call: its entry, or why there is none. The calls of the others are run all the same. */
async function findServers(
  context: CommandContext,
  calls: readonly SavedCall[],
  flags: Flags,
): Promise<ReadonlyMap<string, ServerEntry | Error>> {
  const found = new Map<string, ServerEntry | Error>();
  for (const { server } of calls) {
    if (found.has(server)) continue;
    try {
      found.set(server, await findSaved(context, server, flags));
    } catch (reason) {
      // A flag of the command that does not fit is no fault of one server.
      if (!(reason instanceof Failure) || /^--timeout/.test(reason.message)) throw reason;
      found.set(server, reason);
    }
  }
  return found;
}

async function sendTo(
  context: CommandContext,
  host: Host,
  { server, tool, argumentsText }: OutgoingCall,
  entry: ServerEntry | Error | undefined,
) {
  if (entry instanceof Error) throw entry;
  const { signal } = context;
  const { idleMs } = entry?.settings ?? {};
  let schemaProblems: readonly string[] = [];
  try {
    const result = await host.callTool(server, tool, undefined, {
      by: "user",
      argumentsText,
      output: "report",
      onOutputProblems(problems) {
        schemaProblems = problems;
      },
      signal,
      ...(idleMs !== undefined && { idleMs }),
    });
    return { result, schemaProblems };
  } catch (reason) {
    throw entry ? (missingTool(context, host, entry, tool) ?? explainAt(reason, host, context, entry)) : reason;
  }
}

/** Returns the failure of a tool that the server does not list; undefined if it lists none, or this one. */
function missingTool({ system }: CommandContext, host: Host, entry: ServerEntry, tool: string): Failure | undefined {
  const names = host.catalog.tools.filter(({ server }) => server === entry.name).map(({ name }) => name);
  if (names.length === 0 || names.includes(tool)) return undefined;
  const next = `portolan ls ${targetArgument(entry, system)}`;
  const what = `${entry.name} has no tool ${JSON.stringify(tool)}; ${suggest(tool, names, next)}`;
  return new Failure("usage", what, { next });
}

function show({ screen }: CommandContext, tested: readonly TestedCall[]): string {
  const lines = tested.flatMap(({ name, server, tool, isPassed, ms, problems, next }) => {
    const mark = isPassed ? screen.style("green", screen.mark("ok")) : screen.style("red", screen.mark("bad"));
    const about = screen.style("dim", `${screen.safe(`${server}.${tool}`)} ${ms} ms`);
    const reasons = problems.flatMap((problem) => {
      const [first = "", ...rest] = wrap(screen.safe(problem, { lines: "keep" }), screen.columns - 4);
      return [`    ${first}`, ...rest.map((line) => `    ${line}`)];
    });
    const steps = next === undefined ? [] : wrapStep(screen.step(next), screen.columns - 6);
    if (steps.length > 0) reasons.push(`    ${screen.mark("next")} ${steps.join("\n      ")}`);
    return [`${mark} ${screen.style("bold", screen.safe(name))} ${about}`, ...reasons];
  });
  // The failure of the command has the number of those that failed.
  const hasFailed = tested.some(({ isPassed }) => !isPassed);
  return [...lines, ...(hasFailed ? [] : [`${tested.length} passed`])].join("\n");
}
