import type { State } from "./state.ts";
import type { System } from "./system.ts";
import type { Screen } from "./terminal/screen.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** What every command can use. */
export interface CommandContext {
  readonly system: System;
  readonly screen: Screen;
  readonly state: State;
  /** The person, where there is one. */
  readonly terminal: Terminal;
  /** Output as JSON, because it was asked for or goes into a pipe. */
  readonly isJson: boolean;
  /** Aborts at the first Ctrl-C; the second ends the program. */
  readonly signal: AbortSignal;
  /** What stands behind `--`: the command of a server. */
  readonly command: readonly string[];
  /** Has Ctrl-C do something else, until what it gives is called; `leave` ends the program at once. */
  onInterrupt(handle: () => "leave" | undefined): () => void;
  /** A line on standard output. */
  print(line: string): void;
  /** A line for the person at the terminal, on standard error; nothing in a pipe. */
  note(line: string): void;
  /** Writes a line of a server's standard error to ours; a terminal shows its control characters escaped. */
  readonly forwardStderr: (line: string) => void;
}

/** What a command shows: as JSON in a pipe, as text to people. */
export interface CommandResult {
  readonly value: unknown;
  readonly text: () => string;
}

/** Flags by their long names. */
export type Flags = { readonly [name: string]: string | boolean | readonly string[] | undefined };

/** What a command does. */
export interface CommandModule {
  run(context: CommandContext, args: readonly string[], flags: Flags): Promise<CommandResult | undefined>;
}

/** A command as help shows it; its code is loaded when it is used. */
export interface CommandDefinition {
  readonly name: string;
  /** What follows the name: `<target> <tool> [arguments...]`. */
  readonly usage?: string;
  readonly summary: string;
  /** Flags as help shows them, with what they do; `--name <value...>` can be given several times. */
  readonly flags?: { readonly [flags: string]: string };
  readonly examples?: readonly string[];
  readonly isHidden?: boolean;
  load(): Promise<CommandModule>;
}
