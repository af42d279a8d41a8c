import type { CallToolResult } from "portolan";
import type {
  ApprovalQuestion,
  Grant,
  Host,
  HostAnswers,
  Rule,
  Run,
  RunDone,
  RunEvent,
  ServerEntry,
} from "portolan-host";
import type { EndEvent, Model } from "portolan-host/models";
import { flagOf, listFlag, withoutValues } from "../arguments/flags.ts";
import type { CommandContext, Flags } from "../command.ts";
import { Failure, type FailureKind, interruption, toFailure, withoutOptionNames } from "../failure.ts";
import { showResult } from "../output/content.ts";
import { grantName } from "../output/grants.ts";
import { showRunWaits } from "../output/progress.ts";
import { taskValue } from "../output/tasks.ts";
import { explainChanged, explainUnused } from "../servers/explain.ts";
import { findTarget, readConfiguration } from "../servers/find-server.ts";
import { applyTargetFlags } from "../servers/target-flags.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";
import { wrap } from "../terminal/wrap.ts";
import { untrustedLabel } from "./labels.ts";
import { MarkdownStream } from "./markdown.ts";

/**
 * Returns the servers for a model: those of `--server`, a command after `--`, or all configured ones. The flags of a
 * connection are for the command after `--`, or for the only server that is named and can have them.
 */
export async function findServers(context: CommandContext, flags: Flags): Promise<readonly ServerEntry[]> {
  const { server, timeout, era } = flags;
  const forAll = { timeout, era };
  const names = Array.isArray(server) ? server : [];
  const entries: ServerEntry[] = [];
  for (const name of names) entries.push((await findTarget({ ...context, command: [] }, name, forAll)).entry);
  if (context.command.length > 0) entries.push((await findTarget(context, undefined, forAll)).entry);
  for (const flag of connectionFlagNames) {
    const value = flags[flag];
    if (value === undefined) continue;
    const at = serverForFlag(entries, flag, context.command.length > 0);
    const entry = entries[at];
    if (entry) entries[at] = await applyTargetFlags(context, entry, { [flag]: value });
  }
  if (entries.length > 0) return entries;
  const configuration = await readConfiguration(context);
  // The servers of the other files are used.
  for (const { message } of configuration.errors) context.note(context.screen.safe(message));
  return Promise.all(configuration.entries.map((entry) => applyTargetFlags(context, entry, forAll)));
}

const connectionFlagNames = ["env", "cwd", "header", "clientId"] as const;

/** Returns the place of the server that a flag of a connection is for. */
function serverForFlag(
  entries: readonly ServerEntry[],
  flag: (typeof connectionFlagNames)[number],
  hasCommand: boolean,
): number {
  const [kind, what] = flag === "env" || flag === "cwd" ? ["command", "command or file"] : ["url", "address"];
  if (kind === "command" && hasCommand) return entries.length - 1;
  const fitting = entries.flatMap(({ target }, at) => (kind in target ? [at] : []));
  const [first] = fitting;
  if (first !== undefined && fitting.length === 1) return first;
  const count = fitting.length === 0 ? "none" : "several";
  throw new Failure("usage", `${flagOf(flag)} is for one ${what}, and the command line names ${count}`, {
    next: kind === "command" ? "write its command after --" : "name it with --server",
  });
}

/** Why a call is refused that matches `--deny`. */
const denyReason = "you denied it with --deny";

/** Returns the rules of `--deny`, `--allow` and `--yes-read-only`. The first that matches decides. */
export function policyOf(flags: Flags): Rule[] {
  const denied = patternsOf(flags, "deny");
  const allowed = patternsOf(flags, "allow");
  // A tool that the person named is allowed whatever the conversation contains.
  const always = { evenAfterUntrusted: true, evenWithResources: true } as const;
  return [
    ...(denied.length > 0 ? [{ match: denied, then: "deny", reason: denyReason } as const] : []),
    ...(allowed.length > 0 ? [{ match: allowed, then: "allow", ...always } as const] : []),
    ...(flags["yesReadOnly"] === true ? [{ readOnly: true, then: "allow" } as const] : []),
  ];
}

function patternsOf(flags: Flags, name: string): readonly string[] {
  const patterns = listFlag(flags, name);
  for (const pattern of patterns) {
    if (/.\../.test(pattern) || pattern === "*") continue;
    throw new Failure("usage", `--${name}: expected server.tool, got ${JSON.stringify(pattern)}`, {
      next: `all tools of a server: --${name} '${pattern}.*'`,
    });
  }
  return patterns;
}

/** Refuses what needs an approval if there is no person to ask, and adds its name to `refused`. */
export function refuseWithoutTerminal({ screen }: CommandContext, refused: Set<string>): HostAnswers {
  if (screen.isInteractive) return {};
  return {
    approve({ server, action }: ApprovalQuestion) {
      refused.add(action.kind === "tool" ? `${server}.${action.tool}` : `${server} ${action.uri}`);
      return { allow: false, isUnasked: true, reason: "there is no terminal to ask for it" };
    },
  };
}

/** Starts the servers that the person named, if any. Fails if none of them can be used. */
export async function requireNamed(
  context: CommandContext,
  host: Host,
  servers: readonly ServerEntry[],
  flags: Flags,
): Promise<void> {
  if (listFlag(flags, "server").length === 0 && context.command.length === 0) return;
  const starts = servers.map(({ name }) => host.start(name));
  const [only] = starts;
  if (only && starts.length === 1) {
    await only;
    return;
  }
  // The run waits for the others, and says which are missing.
  await Promise.any(starts).catch(({ errors: [first] }: AggregateError) => {
    const reasons = host.servers.flatMap((status) => explainUnused(context, servers, status) ?? []);
    const kind = kindOfState[host.servers[0]?.state ?? ""] ?? toFailure(first).kind;
    const message = reasons.map(({ message }) => message).join("\n");
    throw new Failure(kind, message || toFailure(first).message, { next: reasons[0]?.next, cause: first });
  });
}

const kindOfState: { readonly [state: string]: FailureKind } = {
  login: "auth",
  untrusted: "denied",
  misconfigured: "usage",
};

/** Fails if a server that the person named is not trusted, or if something was refused because there is no terminal. */
export function requireUnrefused(
  context: CommandContext,
  host: Pick<Host, "servers" | "catalog" | "grants">,
  flags: Flags,
  refused: ReadonlySet<string>,
): void {
  const named = listFlag(flags, "server");
  const untrusted = host.servers.find(({ name, state }) => state === "untrusted" && named.includes(name));
  if (untrusted) {
    throw new Failure("denied", `${untrusted.name} is not trusted yet, so it was not used`, {
      next: `portolan trust ${quote(untrusted.name)}`,
    });
  }
  for (const name of refused) {
    const [server] = host.servers.filter((it) => name.startsWith(`${it.name}.`));
    const label = server && untrustedLabel(host, flags, server.name, name.slice(server.name.length + 1));
    if (!label) continue;
    const message = `${[...refused].join(" and ")} needed approval, but there is no terminal to ask; ${label.message}`;
    throw new Failure("denied", message, { next: label.next });
  }
  if (refused.size > 0) throw refusal(context, [...refused]);
}

function refusal({ system }: CommandContext, refused: readonly string[]): Failure {
  const tools = refused.filter((name) => !name.includes(" "));
  const [command = "", ...rest] = withoutValues(system.argv);
  const allowed = tools.flatMap((name) => ["--allow", name]);
  const next =
    tools.length === 0
      ? "run it in a terminal, where you can answer"
      : quoteCommand(["portolan", command, ...allowed, ...rest]);
  return new Failure("denied", `${refused.join(" and ")} needed approval, but there is no terminal to ask`, { next });
}

/** Returns the name of a model with its notice. */
export function modelLabel({ id, notice }: Model): string {
  return notice === undefined ? id : `${id} (${notice})`;
}

/** Returns what a person should know about the model, and how to use a better one. */
export function modelHint({ id }: Model): string | undefined {
  if (id !== "demo") return undefined;
  return "The demo matches words to tools. For a language model, set ANTHROPIC_API_KEY or OPENAI_API_KEY and start again.";
}

/** Returns the same model without its notice, for a screen that has shown it. */
export function withoutNotice(model: Model): Model {
  const { id, capabilities, traits, repeatsResults } = model;
  return {
    ...{ id, capabilities, stream: (request) => model.stream(request) },
    ...(traits && { traits }),
    ...(repeatsResults !== undefined && { repeatsResults }),
  };
}

/** Returns the same model, which calls `ended` with the end of each turn. */
export function withTurnEnds(model: Model, ended: (event: EndEvent) => void): Model {
  return {
    ...model,
    async *stream(request) {
      for await (const event of model.stream(request)) {
        if (event.type === "end") ended(event);
        yield event;
      }
    },
  };
}

type ToolCall = Extract<RunEvent, { type: "tool"; stage: "call" }>;

/** The event with the result of a call. */
export type ToolAnswer = Extract<RunEvent, { type: "tool"; stage: "result" }>;

/** Options of `showRun`. */
export interface ShowRunOptions {
  /** The host of the run, and the entries of its servers. */
  readonly host: Pick<Host, "servers" | "changedDefinitions" | "grants">;
  readonly servers: readonly ServerEntry[];
  /** Notices that were already shown are not repeated. */
  readonly known?: Set<string>;
  /** The text is left to the caller. */
  readonly isTextOnly?: boolean;
  /** The text of the model has the results of tools, so only a mark is shown for them. */
  readonly repeatsResults?: boolean | undefined;
  /** The person can type commands of the chat. */
  readonly isChat?: boolean;
  /** The calls that the person has allowed. */
  readonly approvedCalls: Set<string>;
  /** Is called for each result of a tool, with its call. */
  readonly answered?: (answer: ToolAnswer, call: ToolCall | undefined) => void;
}

/** Shows a run: the text of the model on standard output, its tool calls on standard error. */
export async function showRun(context: CommandContext, run: Run, options: ShowRunOptions): Promise<RunDone> {
  const { host, known = new Set(), isTextOnly = false, repeatsResults = false, isChat = false } = options;
  const { terminal, screen } = context;
  const waits = showRunWaits(context, host);
  const calls = new Map<string, ToolCall>();
  /** Calls that may still be refused. Shown when they are made, so that none looks as if it had run. */
  const pending = new Map<string, ToolCall>();
  const undoSteps = new Set<string>();
  // After /clear the ids of calls begin again.
  options.approvedCalls.clear();
  // An answer of this run has said itself how to undo it.
  const stored = options.host.grants.list();
  const markdown = new MarkdownStream(screen, (text) => terminal.stream(text));
  const release = terminal.holdText(() => markdown.end());
  try {
    for await (const event of withNotices(context, run, options)) {
      if (event.type === "notice") {
        if (known.has(event.text)) continue;
        known.add(event.text);
      }
      // Output must not overwrite a question on the screen.
      await terminal.quiet();
      waits.see(event);
      if (event.type === "tool" && event.stage === "call") calls.set(event.id, event);
      if (event.type === "tool" && event.stage === "result") options.answered?.(event, calls.get(event.id));
      if (event.type === "tool" && event.stage === "result" && event.refusal !== undefined)
        for (const step of undoStepsFor(calls.get(event.id), stored, isChat)) undoSteps.add(step);
      if (context.isJson) print(context, event);
      else if (!isTextOnly || isShownBesideText(context, event)) {
        if (event.type === "tool" && event.stage === "call") {
          pending.set(event.id, event);
          continue;
        }
        const view = { markdown, repeatsResults, isChat };
        for (const call of takeMade(pending, event, options.approvedCalls)) show(context, call, view);
        show(context, event, view);
      }
      if (event.type !== "done" || context.isJson) continue;
      for (const step of undoSteps) terminal.say(`  ${screen.mark("next")} ${screen.step(step)}`);
    }
  } finally {
    waits.end();
    release();
  }
  return run.result;
}

/** Takes the calls that an event shows to be made: approved, with a result or progress, or with a question of a server. */
function takeMade(pending: Map<string, ToolCall>, event: ShownEvent, approved: ReadonlySet<string>): ToolCall[] {
  const made = [...pending.values()].filter(({ id }) => event.type === "question" || approved.has(id));
  const own = event.type === "tool" ? pending.get(event.id) : undefined;
  if (own && event.type === "tool" && !made.includes(own)) {
    if (event.stage === "result" && event.refusal !== undefined) pending.delete(event.id);
    else made.push(own);
  }
  for (const { id } of made) pending.delete(id);
  return made;
}

/** Returns the command that revokes a stored "no" to a call. */
function undoStepsFor(call: ToolCall | undefined, grants: readonly Grant[], isChat: boolean): string[] {
  const denial = grants.find(
    ({ kind, allow, server, subject }) => !allow && kind === "tool" && server === call?.server && subject === call.tool,
  );
  if (!denial) return [];
  const name = grantName(denial);
  return [isChat ? `/grants revoke ${name}` : `portolan grants --revoke ${quote(name)}`];
}

/** A notice with the next step. */
type Notice = Extract<RunEvent, { type: "notice" }> & { readonly next?: string };

/** An event as the command shows it. */
type ShownEvent = Exclude<RunEvent, { type: "notice" }> | Notice;

/**
 * Yields the events of a run in the words of the command, with notices about definitions that the model does not get, and
 * about servers that were started again.
 */
async function* withNotices(context: CommandContext, run: Run, options: ShowRunOptions): AsyncGenerator<ShownEvent> {
  for await (const event of run) {
    // The servers have listed their tools before the first event, and may list others at any time.
    for (const { server, message, next } of explainChanged(options.host))
      yield { type: "notice", server, text: message, next };
    for (const { name: server, restarts } of options.host.servers) {
      if (restarts === 0) continue;
      const times = restarts === 1 ? "" : ` (${restarts} times)`;
      const text = `${server} had ended, and was started again${times}; what it kept in memory is lost`;
      yield { type: "notice", server, text };
    }
    yield event.type === "notice" ? noticeFor(context, event, options) : event;
  }
}

/** Returns a notice in the words of the command. */
function noticeFor(context: CommandContext, notice: Notice, { host, servers }: ShowRunOptions): Notice {
  const status = host.servers.find(({ name }) => name === notice.server);
  const unused = status && explainUnused(context, servers, status);
  if (!unused) return { ...notice, text: withoutOptionNames(notice.text) };
  return { ...notice, text: unused.message, ...(unused.next !== undefined && { next: unused.next }) };
}

/** With the text alone on standard output, a script still gets notices, and a person also sees the calls. */
function isShownBesideText({ system }: CommandContext, { type }: ShownEvent): boolean {
  return type === "notice" || (type === "tool" && system.stderr.isTTY);
}

interface RunView {
  readonly markdown: MarkdownStream;
  readonly repeatsResults: boolean;
  readonly isChat: boolean;
}

function show(context: CommandContext, event: ShownEvent, view: RunView): void {
  const { screen, terminal } = context;
  switch (event.type) {
    case "text":
      view.markdown.push(screen.safe(event.delta, { lines: "keep" }));
      break;
    case "notice":
      terminal.say(screen.style("dim", `${screen.mark("dot")} ${screen.safe(event.text)}`));
      if (event.next !== undefined) terminal.say(`  ${screen.mark("next")} ${screen.step(event.next)}`);
      break;
    case "tool":
      if (event.stage === "progress") break;
      if (event.stage === "call") {
        const what = `${event.server}.${event.tool} ${JSON.stringify(event.args)}`;
        terminal.say(screen.cut(`${screen.style("cyan", screen.mark("tool"))} ${screen.safe(what)}`));
      } else if (event.refusal !== undefined && view.repeatsResults) break;
      else if (view.repeatsResults) terminal.say(`  ${resultMark(event.result, screen)}`);
      else showFolded(context, event.result, view.isChat ? "; /result shows all" : "");
      break;
    case "task":
      showTask(context, event);
      break;
    case "done":
      terminal.endStream();
  }
}

/** Shows the state of a call that is a task. Its end is shown by its result. */
function showTask({ screen, terminal }: CommandContext, { how, task }: Extract<RunEvent, { type: "task" }>): void {
  if (how === "ended") return;
  const { id, server, tool, state, message } = task;
  const text = message ?? (state === "input_required" ? "asks a question" : "is at work");
  const what = how === "created" ? `${server}.${tool} runs as task ${id}` : `task ${id}: ${text}`;
  terminal.say(screen.cut(screen.style("dim", `  ${screen.mark("dot")} ${screen.safe(what)}`)));
}

function resultMark({ isError }: CallToolResult, screen: Screen): string {
  return isError ? screen.style("red", screen.mark("bad")) : screen.style("green", screen.mark("ok"));
}

/** A longer result is folded, so that the answer stays on the screen. */
const shownResultLines = 3;

/** Shows the first lines of a result, and how many are left. */
function showFolded({ screen, terminal }: CommandContext, result: CallToolResult, hint: string): void {
  const mark = resultMark(result, screen);
  const lines = wrap(withoutOptionNames(showResult(result, screen)).trim(), terminal.columns - 4);
  const dim = (line: string) => screen.style("dim", line);
  for (const [at, line] of lines.slice(0, shownResultLines).entries()) {
    terminal.say(`  ${at === 0 ? mark : " "} ${dim(line)}`.trimEnd());
  }
  const left = lines.length - shownResultLines;
  if (left > 0)
    terminal.say(`    ${dim(`${screen.mark("more")} ${left} more ${left === 1 ? "line" : "lines"}${hint}`)}`);
}

/** Prints an event as a line of JSON, without members that only this process can use. */
function print({ print: printLine }: CommandContext, event: ShownEvent): void {
  if (event.type === "approval" || event.type === "question") {
    const { signal: _, ...question } = event.question;
    printLine(JSON.stringify({ ...event, question }));
  } else if (event.type === "done") {
    const { state: _, tasks: __, error, ...done } = event;
    printLine(JSON.stringify({ ...done, ...(error && { error: error.message }) }));
  } else if (event.type === "task") {
    printLine(JSON.stringify({ ...event, task: taskValue(event.task) }));
  } else if (event.type === "tool" && event.stage === "result") {
    // The result is there already.
    const { seen: _, ...result } = event;
    printLine(JSON.stringify(result));
  } else printLine(JSON.stringify(event));
}

const endReasons: { readonly [reason: string]: string } = {
  "max-turns": "the model reached its limit of turns",
  "max-calls": "the model reached its limit of tool calls",
  "max-tokens": "the model reached its limit of tokens",
  context: "the conversation is too long for the model",
  refusal: "the model refused",
};

/** Next steps for runs that ended early, by the reason. */
export type NextSteps = { readonly [reason in RunDone["reason"]]?: string };

/** Returns why a run failed, or undefined if it succeeded. */
export function runFailure({ reason, error }: RunDone, next: NextSteps): unknown {
  if (reason === "done") return undefined;
  if (reason === "failed" && error) return error;
  if (reason === "cancelled") return interruption();
  return new Failure("failed", endReasons[reason] ?? reason, { next: next[reason] });
}
