import type { Host, ServerEntry, ServerStatus } from "portolan-host";
import { secondsFlag, withNeeds } from "../arguments/flags.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { examineFiles } from "../doctor/configuration.ts";
import { examine } from "../doctor/examine.ts";
import type { ExaminedStep, Finding, FindingDetails } from "../doctor/finding.ts";
import { Failure, toFailure } from "../failure.ts";
import { findServer, readConfiguration } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { eraFlag } from "../servers/target-flags.ts";
import { wrap, wrapStep } from "../terminal/wrap.ts";

/** A server in the report. */
interface ExaminedServer {
  readonly name: string;
  readonly state: ServerStatus["state"];
  readonly version?: string;
  readonly startMs?: number;
  /** Undefined if they could not be listed. */
  readonly tools?: number;
}

/** Examines one server, or all configured ones, and explains what is wrong. */
export async function run(
  context: CommandContext,
  [given]: readonly string[],
  flags: Flags,
): Promise<CommandResult | undefined> {
  const isOne = given !== undefined || context.command.length > 0;
  const odd = ["env", "cwd", "header", "client-id"].find((name) => flags[name === "client-id" ? "clientId" : name]);
  if (!isOne && odd !== undefined) throw new Failure("usage", `--${odd} is for one server; name it`);
  const machine = await readConfiguration(context);
  const entries = isOne ? [await findServer(context, given, flags)] : machine.entries;
  const names = new Set(entries.map(({ name }) => name));
  const files = examineFiles(machine).filter(({ server }) => !isOne || names.has(server));
  const timeoutMs = secondsFlag(flags, "timeout") ?? 20_000;
  const slowMs = secondsFlag(flags, "slow") ?? 5_000;
  const era = await eraFlag(flags);
  const looked = entries.map((entry): ServerEntry => {
    const settings = { ...entry.settings, connectMs: timeoutMs, idleMs: timeoutMs, ...(era !== undefined && { era }) };
    return { ...entry, settings };
  });
  const look = async (host: Host) => {
    const left = new Set(looked.map(({ name }) => name));
    const what = () => `examining ${context.screen.safe([...left].join(", "))}`;
    const wait = context.terminal.waits.start(what());
    const told = await Promise.all(
      looked.map(async (entry) => {
        const found = await findingsOf(examine(context, host, entry, { timeoutMs, slowMs })).catch(unexamined);
        left.delete(entry.name);
        wait.say(what());
        return found.map((it): Finding => ({ ...it, next: withNeeds(it.next, context.system), server: entry.name }));
      }),
    ).finally(() => wait.end());
    const toolsOf = (name: string) => host.catalog.tools.filter(({ server }) => server === name).length;
    return { servers: host.servers.map((status) => toExamined(status, toolsOf(status.name))), findings: told.flat() };
  };
  const { servers, findings } = await withHost(context, looked, look, { isQuiet: true, showsStarts: true });
  const all = context.secrets.hideIn([...files, ...findings]);
  const shown: CommandResult = {
    value: { servers: servers, findings: all },
    text: () => show(context, servers, all),
  };
  const errors = all.filter(({ level }) => level === "error");
  if (errors.length === 0) return shown;
  context.print(context.isJson ? JSON.stringify(shown.value) : shown.text());
  throw new Failure("failed", `${errors.length === 1 ? "1 error" : `${errors.length} errors`} found`);
}

/** Returns the findings of all steps of an examination. */
async function findingsOf(steps: AsyncIterable<ExaminedStep>): Promise<FindingDetails[]> {
  const found: FindingDetails[] = [];
  for await (const { findings } of steps) found.push(...findings);
  return found;
}

/** Reports a server whose examination failed, so that the others are still reported. */
function unexamined(reason: unknown): FindingDetails[] {
  const { message: why } = toFailure(reason);
  return [{ id: "failed", level: "error", what: "it could not be examined", why, next: "portolan servers" }];
}

function toExamined({ name, state, profile, startMs, listProblems = [] }: ServerStatus, tools: number): ExaminedServer {
  if (state !== "ready") return { name, state };
  const isListed = !listProblems.some(({ list, kind }) => list === "tools" && kind === "failed");
  return {
    name,
    state,
    ...(isListed && { tools }),
    ...(profile && { version: profile.version }),
    ...(startMs !== undefined && { startMs }),
  };
}

function countOf(tools: number | undefined): string {
  return tools === undefined ? "tools unknown" : `${tools} ${tools === 1 ? "tool" : "tools"}`;
}

const colours = { error: "red", warning: "yellow", note: "dim" } as const;
const marks = { error: "bad", warning: "warn", note: "dot" } as const;

function show(
  { screen, system }: CommandContext,
  servers: readonly ExaminedServer[],
  findings: readonly Finding[],
): string {
  const lines: string[] = [];
  const fit = (text: string, indent: number) => (screen.isTerminal ? wrap(text, screen.columns - indent) : [text]);
  const tell = ({ level, what, why, next }: Finding) => {
    const step = screen.isTerminal ? wrapStep(screen.step(next), screen.columns - 8) : [screen.step(next)];
    lines.push(
      `  ${screen.style(colours[level], screen.mark(marks[level]))} ${fit(screen.safe(what), 4).join("\n    ")}`,
      ...fit(screen.safe(why), 4).map((line) => `    ${screen.style("dim", line)}`),
      `    ${screen.mark("next")} ${step.join("\n      ")}`,
    );
  };
  for (const finding of findings.filter(({ server }) => server === "")) tell(finding);
  for (const { name, state, version, startMs, tools } of servers) {
    const own = findings.filter(({ server }) => server === name);
    const isReady = state === "ready";
    const hasErrors = own.some(({ level }) => level === "error");
    const mark =
      isReady && !hasErrors
        ? screen.style("green", screen.mark("ok"))
        : isReady
          ? screen.style("red", screen.mark("bad"))
          : screen.style("yellow", screen.mark("warn"));
    const about = isReady ? [version, `${startMs} ms`, countOf(tools)].join(` ${screen.mark("dot")} `) : state;
    lines.push(`${mark} ${screen.style("bold", screen.safe(name))} ${screen.style("dim", about)}`);
    for (const finding of own) tell(finding);
  }
  if (servers.length === 0 && findings.length === 0) {
    lines.push(
      `No servers are configured for ${system.cwd}.`,
      `  ${screen.mark("next")} ${screen.step("portolan add --help")}`,
    );
  }
  return lines.join("\n");
}
