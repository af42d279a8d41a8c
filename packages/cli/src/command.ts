import type { Failure } from "./failure.ts";
import type { OnlyServer } from "./generate/only-server.ts";
import type { State } from "./state.ts";
import type { System } from "./system.ts";
import type { Screen } from "./terminal/screen.ts";
import type { Secrets } from "./terminal/secrets.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The context of a running command: input, output, and the state of the user. */
export interface CommandContext {
  readonly system: System;
  readonly screen: Screen;
  readonly state: State;
  /** The secrets of the configured servers. Warnings and failures are shown without them. */
  readonly secrets: Secrets;
  /** Asks the person at the terminal. */
  readonly terminal: Terminal;
  /** Output is JSON: with `--json`, or in a pipe. */
  readonly isJson: boolean;
  /** Aborts at the first Ctrl-C. The second one ends the program. */
  readonly signal: AbortSignal;
  /** The words after `--`: the command of a server. */
  readonly command: readonly string[];
  /** The server of a command that `gen cli` wrote. It is the target of everything, and `command` has its name. */
  readonly only?: OnlyServer | undefined;
  /** Handles Ctrl-C instead of the default, until the returned function is called. `leave` ends the program at once. */
  onInterrupt(handle: () => "leave" | undefined): () => void;
  /** Resolves at the first Ctrl-C or SIGTERM, for commands that serve until they are stopped. The next one ends the program. */
  untilStopped(): Promise<void>;
  /** Writes a line to standard output. */
  print(line: string): void;
  /** Writes a line to standard error for the person at the terminal. Does nothing in a pipe. */
  note(line: string): void;
  /** Writes a problem that does not end the command to standard error, with control characters escaped. */
  warn(message: string): void;
  /** Writes a line of a server's standard error to ours; a terminal shows its control characters escaped. */
  readonly forwardStderr: (line: string) => void;
}

/** The output of a command: `value` as JSON for programs, `text` for people. */
export interface CommandResult {
  readonly value: unknown;
  readonly text: () => string;
  /** The text alone, for `--text`. */
  readonly plain?: () => string;
  /** The reason why a part of the output is missing. It is shown first, and decides the exit code. */
  readonly failure?: Failure | undefined;
}

/** The given flags, by their long names. */
export type Flags = { readonly [name: string]: string | boolean | readonly string[] | undefined };

/** The code of a command. */
export interface CommandModule {
  run(context: CommandContext, args: readonly string[], flags: Flags): Promise<CommandResult | undefined>;
}

/** One row of the command table. `load` imports the code only when the command runs. */
export interface CommandDefinition {
  readonly name: string;
  /** The usage after the name: `<target> <tool> [arguments...]`. */
  readonly usage?: string;
  readonly summary: string;
  /** Flags and their descriptions, as help shows them. `--name <value...>` is repeatable. */
  readonly flags?: { readonly [flags: string]: string };
  readonly examples?: readonly string[];
  readonly isHidden?: boolean;
  /** With a target, `--help` runs the command with the flag `describe` instead of showing the usage. */
  readonly helpShowsTool?: boolean;
  load(): Promise<CommandModule>;
}
