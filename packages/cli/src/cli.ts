import { Command, CommanderError, Option } from "commander";
import { withNeeds, withoutValues } from "./arguments/flags.ts";
import { nearest } from "./arguments/nearest.ts";
import type { CommandContext, CommandDefinition, Flags } from "./command.ts";
import { commandGroups, commands } from "./command-table.ts";
import { exitCodes, Failure, interruption, isCancellation, toFailure } from "./failure.ts";
import type { GeneratedServer, OnlyServer } from "./generate/only-server.ts";
import { failureLines } from "./output/failure-lines.ts";
import type { System } from "./system.ts";
import { quote, quoteCommand, toVisibleJson } from "./terminal/escape.ts";
import { Screen } from "./terminal/screen.ts";
import { Secrets } from "./terminal/secrets.ts";
import { Terminal } from "./terminal/terminal.ts";
import { wrap, wrapHanging } from "./terminal/wrap.ts";
import { version } from "./version.ts";

/** The context before a command is chosen. Help needs no more. */
interface BaseContext extends Omit<CommandContext, "state" | "isJson"> {
  /** `--text` turns it off. */
  isJson: boolean;
  /** The exit code of a command whose output is incomplete. */
  exitCode: number;
}

/** Runs one command line. Resolves to the exit code. `generated` is the server of a command that `gen cli` wrote. */
export async function runCli(given: System, generated?: GeneratedServer): Promise<number> {
  const onlyParts = generated && (await import("./generate/only-server.ts"));
  const only = generated && onlyParts?.toOnlyServer(generated, given);
  const argv = only && onlyParts ? onlyParts.toOwnArguments(given.argv, only) : given.argv;
  if (only && onlyParts && !Array.isArray(argv)) {
    const text = typeof argv === "string" ? argv : onlyParts.helpOf(only, new Screen(given));
    given.stdout.write(`${text}\n`);
    return 0;
  }
  const system = only ? { ...given, argv: argv as readonly string[] } : given;
  const [own, words] = splitAtDashes(system.argv);
  const command = only && words.length === 0 ? [only.name] : words;
  const stop = listenForInterrupt(system);
  const screen = new Screen(system, { colour: !own.includes("--no-color") });
  const secrets = new Secrets();
  const terminal = new Terminal(system, screen);
  const context: BaseContext = {
    system,
    screen,
    secrets,
    command,
    isJson: own.includes("--json") || !screen.isTerminal,
    only,
    exitCode: 0,
    signal: stop.signal,
    terminal,
    onInterrupt: stop.handle,
    untilStopped: stop.untilStopped,
    print(line) {
      terminal.waits.clear();
      system.stdout.write(`${context.isJson ? toVisibleJson(line) : line}\n`);
    },
    note(line) {
      terminal.waits.clear();
      if (!system.stderr.isTTY) return;
      for (const part of wrap(line, terminal.columns)) system.stderr.write(`${screen.style("dim", part)}\n`);
    },
    warn(message) {
      terminal.waits.clear();
      const line = `${screen.mark("warn")} ${screen.safe(secrets.hide(message))}`;
      // The terminal itself would break words.
      system.stderr.write(`${system.stderr.isTTY ? wrapHanging(line, terminal.columns, 0, 2) : line}\n`);
    },
    forwardStderr(line) {
      terminal.waits.clear();
      const shown = secrets.hide(line);
      system.stderr.write(`${system.stderr.isTTY ? screen.safe(shown) : shown}\n`);
    },
  };
  try {
    // Without a command, show the overview of servers.
    const line = own.every((word) => word === "--json" || word === "--no-color")
      ? ["servers", ...own]
      : withToolHelp(own);
    await createProgram(context).parseAsync(line, { from: "user" });
    return context.exitCode;
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
    const known = thrown instanceof CommanderError ? toUsageFailure(thrown, own, words.length > 0) : toFailure(thrown);
    // Ctrl-C aborts work whose errors only say that it was cancelled.
    const meant = /^unknown command/.test(known.message) ? await asServer(context, own, words) : undefined;
    const failure = stop.signal.aborted && isCancellation(known) ? interruption() : (meant ?? known);
    printFailure(context, forOnly(failure, only, onlyParts, system));
    return exitCodes[failure.kind];
  } finally {
    terminal.waits.endAll();
    stop.end();
  }
}

/** Returns the failure of a command line that begins with the name of a configured server; undefined for another. */
async function asServer(
  context: BaseContext,
  own: readonly string[],
  words: readonly string[],
): Promise<Failure | undefined> {
  const [name = "", ...rest] = own;
  const { readConfiguration } = await import("./servers/find-server.ts");
  const found = await readConfiguration(context).catch(() => undefined);
  const isServer = found?.entries.some((entry) => entry.name === name || name.startsWith(`${entry.name}.`));
  if (!isServer) return undefined;
  const command = words.length > 0 ? ["--", ...words] : [];
  const verb = rest.length > 0 ? "call" : "ls";
  return new Failure("usage", `${name} is a server, and no command`, {
    next: quoteCommand(["portolan", verb, ...withoutValues(own), ...command]),
  });
}

/** Returns a failure whose next step is one of the generated command. */
function forOnly(
  failure: Failure,
  only: OnlyServer | undefined,
  parts: typeof import("./generate/only-server.ts") | undefined,
  system: System,
): Failure {
  if (!only || !parts) return failure;
  const { kind, message, next } = failure;
  const unset = kind === "unreachable" || kind === "auth" ? parts.unsetVariables(only, system) : [];
  if (unset.length > 0) {
    const are = unset.length === 1 ? "is" : "are";
    const lines = `${message.split("\n", 1)[0]}\n${unset.join(" and ")} ${are} not set, and this command passes ${unset.length === 1 ? "it" : "them"} to the server`;
    return new Failure(kind, lines, { next: `set ${unset.join(" and ")} in your shell, and try again` });
  }
  return new Failure(kind, message, { next: next === undefined ? undefined : parts.nextStepOf(next, only) });
}

/** Splits the arguments at the first `--`: ours, and the command of a server. */
function splitAtDashes(argv: readonly string[]): [own: readonly string[], command: readonly string[]] {
  const at = argv.indexOf("--");
  return at < 0 ? [argv, []] : [argv.slice(0, at), argv.slice(at + 1)];
}

/** Replaces `--help` by `--describe` in a line such as `call files.read --help`. */
function withToolHelp(own: readonly string[]): string[] {
  const [name, target = "-"] = own;
  const isAbout = !target.startsWith("-") && commands.find((it) => it.name === name)?.helpShowsTool === true;
  return own.map((word) => (isAbout && (word === "--help" || word === "-h") ? "--describe" : word));
}

function createProgram(context: BaseContext): Command {
  const { system } = context;
  const program = new Command("portolan")
    .description(
      "Use Model Context Protocol servers from the terminal: inspect, call, chat with, write and serve them. Without a command, portolan lists the servers that are configured on this machine.",
    )
    .version(version, "-V, --version", "Show the version.")
    .helpOption("-h, --help", "Show this help.")
    .helpCommand(false)
    .exitOverride()
    // `toUsageFailure` suggests only what is close.
    .showSuggestionAfterError(false)
    .configureHelp({
      subcommandTerm: (command) => command.name(),
      minWidthToWrap: 10,
      styleUsage: (usage) => {
        const { screen } = context;
        return screen.isTerminal ? wrap(usage, screen.columns - 9).join("\n         ") : usage;
      },
    })
    .configureOutput({
      writeOut: (text) => void system.stdout.write(text),
      // `printFailure` reports every error once.
      writeErr: () => {},
      getOutHelpWidth: () => context.screen.columns,
    });
  for (const definition of commands) addCommand(program, definition, context);
  const more = `Flags and examples of a command: portolan <command> --help\n${exitCodeText}`;
  program.addHelpText(
    "after",
    () =>
      `\n${wrap(more, context.screen.columns - 2)
        .join("\n")
        .replaceAll("\u00a0", " ")}`,
  );
  return program;
}

/** The exit codes, for help. */
const exitCodeText = `Exit codes: 0\u00a0done, ${Object.entries(exitCodes)
  .map(([kind, code]) => `${code}\u00a0${kind}`)
  .join(", ")}.`;

/** Explanations that help adds for words in the usage of a command. */
const explanations: { readonly [word: string]: string } = {
  target:
    "A target is a configured server (files, or files.read for its tool), an address, a server file (./server.ts), a recording (talk.jsonl), or a command after --.",
  "[targets...]":
    "Without a target, the configured servers that should always run are started, and all that are kept running are listed.",
  "[tool] [arguments...]":
    "Arguments are key=value with the type from the tool's schema, key:=json, a JSON object, or - to read one from standard input. On a terminal, missing arguments are asked for.",
};

function addCommand(program: Command, definition: CommandDefinition, context: BaseContext): void {
  const { name, usage, summary, flags = {}, examples = [], isHidden = false, helpShowsTool } = definition;
  const command = program
    .command(usage === undefined ? name : `${name} ${usage}`, { hidden: isHidden })
    .description(summary)
    .helpGroup(`${groupOf(name)}:`)
    .exitOverride()
    .configureOutput(program.configureOutput())
    .option("--json", "Print JSON, as in a pipe.")
    .option("--no-color", "Print without colours.");
  for (const [flag, description] of Object.entries(flags)) addFlag(command, flag, description);
  if (helpShowsTool) command.addOption(new Option("--describe").hideHelp());
  const notes = Object.entries(explanations).flatMap(([word, description]) =>
    usage?.includes(word) ? [description] : [],
  );
  if (notes.length > 0)
    command.addHelpText("after", () => `\n${wrap(notes.join("\n"), context.screen.columns - 2).join("\n")}`);
  if (examples.length > 0)
    command.addHelpText("after", `\nExamples:\n${examples.map((line) => `  $ ${line}`).join("\n")}`);
  command.action(async (...given: unknown[]) => {
    const chosen = given.at(-2) as Flags;
    const args = given
      .slice(0, -2)
      .flat()
      .filter((value): value is string => typeof value === "string");
    // `log --text <text>` is another flag.
    const isText = chosen["text"] === true;
    if (isText && chosen["json"] === true) throw new Failure("usage", "expected --json or --text, not both");
    if (isText) context.isJson = false;
    const [{ run }, { openState }] = await Promise.all([definition.load(), import("./state.ts")]);
    const state = openState(context.system, context.warn);
    const shown = await run({ ...context, state }, args, chosen).catch((thrown: unknown) => {
      throw isHidden ? toFailure(thrown, state.folder) : withNextStep(toFailure(thrown, state.folder), name);
    });
    if (!shown) return;
    const { failure } = shown;
    if (failure) {
      printFailure(context, failure);
      context.exitCode = exitCodes[failure.kind];
    }
    if (isText && shown.plain) context.print(shown.plain().replace(/\n$/, ""));
    else context.print(context.isJson ? JSON.stringify(shown.value) : shown.text());
  });
}

function groupOf(name: string): string {
  const [heading = "Other commands"] = Object.entries(commandGroups).find(([, names]) => names.includes(name)) ?? [];
  return heading;
}

/**
 * Adds a flag. One whose value ends with dots is repeatable; each use takes one word, so that it swallows no argument.
 */
function addFlag(command: Command, flag: string, description: string): void {
  if (!flag.endsWith("...>")) command.option(flag, description);
  else command.option(flag.replace("...>", ">"), description, (value, before: string[] = []) => [...before, value]);
}

/** Converts a usage error of the parser to a failure, with the word that was probably meant. */
function toUsageFailure({ message }: CommanderError, own: readonly string[], hasServerCommand: boolean): Failure {
  const [name] = own;
  const [said = message] = message.replace(/^error: /, "").split("\n");
  const command = commands.find((it) => it.name === name);
  if (command && said.startsWith("too many arguments")) return tooMany(command, own);
  const [, missing] = /^missing required argument '(.*)'$/.exec(said) ?? [];
  const usage = usageOf(command, hasServerCommand);
  const lacks = hasServerCommand && missing === "target" ? /<(.*?)>/.exec(usage)?.[1] : missing;
  const first =
    missing === undefined ? said : `missing <${lacks}>; expected: portolan ${command?.name ?? ""} ${usage}`.trimEnd();
  const isArgument = first.startsWith("unknown option") && command?.usage?.includes("[arguments...]");
  const near = nearestOf(said, command);
  const meant =
    near === undefined ? (isArgument ? "arguments are name=value, without dashes" : "") : `did you mean ${near}?`;
  return new Failure("usage", meant ? `${first}; ${meant}` : first, { next: nextAfter(name, command) });
}

/** Returns the failure of a command with more arguments than it takes. One of them may be a flag without its dashes. */
function tooMany(command: CommandDefinition, own: readonly string[]): Failure {
  const { name, usage } = command;
  const flags = Object.keys(command.flags ?? {}).map((flag) => flag.split(" ", 1)[0] ?? "");
  const word = own.slice(1).find((it) => flags.includes(`--${it}`));
  const message =
    usage === undefined ? `${name} takes flags only` : `too many arguments; expected: portolan ${name} ${usage}`;
  if (word === undefined) return new Failure("usage", message, { next: nextAfter(name, command) });
  const meant = own.map((it) => (it === word ? `--${word}` : it));
  return new Failure("usage", `${message}; did you mean --${word}?`, {
    next: quoteCommand(["portolan", ...withoutValues(meant)]),
  });
}

/** Returns the command or flag that is close to an unknown one. */
function nearestOf(said: string, command: CommandDefinition | undefined): string | undefined {
  const [, kind, typed = ""] = /^unknown (command|option) '(.*)'$/.exec(said) ?? [];
  if (kind === undefined) return undefined;
  const flags = [...Object.keys(command?.flags ?? {}), "--json", "--no-color", "--help"];
  const known = flags.flatMap((flag) => flag.match(/--[\w-]+/g) ?? []);
  const names = kind === "command" ? commands.filter(({ isHidden }) => !isHidden).map(({ name }) => name) : known;
  return nearest(typed, names)[0];
}

/** Returns the arguments of a command. A command of a server after `--` is its target. */
function usageOf(command: CommandDefinition | undefined, hasServerCommand: boolean): string {
  const { usage = "" } = command ?? {};
  if (!hasServerCommand || !usage.startsWith("<target> ")) return usage;
  return `${usage.replace(/^<target> \[?<?([\w-]+)[\]>]/, "<$1>")} -- <command>`;
}

/** Adds the help of the command to a wrong command line that has no better next step. */
function withNextStep(failure: Failure, name: string): Failure {
  const { kind, message, next, cause } = failure;
  if (kind !== "usage" || next !== undefined) return failure;
  return new Failure(kind, message, { next: `portolan ${name} --help`, cause });
}

/** Suggests the next command. If the first word looks like a server, that is `ls`. */
function nextAfter(name: string | undefined, command: CommandDefinition | undefined): string {
  if (command) return `portolan ${command.name} --help`;
  const isTarget = name !== undefined && /^https?:|[\\/]|\.[cm]?[jt]s$|\.jsonl$/.test(name);
  return isTarget ? `portolan ls ${quote(name)}` : "portolan --help";
}

/** Writes a failure to standard error: lines for people, with further lines behind a bar; one JSON object in a pipe. */
function printFailure({ system, screen, terminal, isJson, secrets }: BaseContext, failure: Failure): void {
  terminal.waits.endAll();
  const { kind } = failure;
  const message = secrets.hide(failure.message);
  const next = failure.next === undefined ? undefined : secrets.hide(withNeeds(failure.next, system));
  if (isJson) {
    const error = { kind, message, ...(next !== undefined && { next }) };
    system.stderr.write(`${toVisibleJson(JSON.stringify({ error }))}\n`);
    return;
  }
  const columns = system.stderr.isTTY ? screen.columns : undefined;
  const lines = failureLines(screen, { kind, message, next }, columns);
  system.stderr.write(`${lines.join("\n")}\n`);
}

/**
 * Handles signals: the first Ctrl-C aborts the command; the second one, SIGTERM and SIGHUP end the program. A command that
 * serves until it is stopped gets the first SIGTERM as a Ctrl-C.
 */
function listenForInterrupt(system: System): {
  readonly signal: AbortSignal;
  readonly handle: CommandContext["onInterrupt"];
  readonly untilStopped: CommandContext["untilStopped"];
  end(): void;
} {
  const { stdout, stderr } = system;
  const controller = new AbortController();
  const handlers: Parameters<CommandContext["onInterrupt"]>[0][] = [];
  const interrupt = () => {
    const handler = handlers.at(-1);
    const isLast = handler ? handler() === "leave" : controller.signal.aborted;
    if (isLast) system.exit(exitCodes.interrupted);
    if (!handler) controller.abort(interruption());
  };
  let isServing = false;
  const terminate = (signal: number) => {
    if (!isServing || controller.signal.aborted) system.exit(128 + signal);
    controller.abort(interruption());
  };
  const closed = ({ code, message }: NodeJS.ErrnoException) => {
    // A reader such as `head` closes the pipe when it has seen enough: no error. A full disk is one.
    if (code === "EPIPE" || code === "EOF" || stdout.isTTY) system.exit(0);
    stderr.write(`${JSON.stringify({ error: { kind: "failed", message: `cannot write the output: ${message}` } })}\n`);
    system.exit(exitCodes.failed);
  };
  // SIGHUP too: when the terminal closes, servers must not outlive it.
  const releases = [system.onSignal(["SIGINT"], interrupt), system.onSignal(["SIGTERM", "SIGHUP"], terminate)];
  stdout.on("error", closed);
  // The message is lost when standard error is closed; the exit code still reports the failure.
  stderr.on("error", () => {});
  return {
    signal: controller.signal,
    handle(interrupted) {
      handlers.push(interrupted);
      return () => {
        handlers.splice(handlers.indexOf(interrupted), 1);
      };
    },
    untilStopped() {
      isServing = true;
      const { signal } = controller;
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    },
    end() {
      for (const release of releases) release();
      // `closed` stays registered: output that is still being written may find a closed pipe.
    },
  };
}
