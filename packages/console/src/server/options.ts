import type { Host, HostOptions } from "portolan-host";
import type { Model } from "portolan-host/models";
import type { EditableServer, FindingRecord, FoundServer, LoginStep } from "../api.ts";

/** Options of `startConsole`. */
export interface ConsoleOptions {
  /** Creates the host of this console with what the console adds to it. */
  readonly createHost: (parts: HostParts) => Promise<Host>;
  readonly models: readonly Model[];
  readonly tools: ConsoleTools;
  /** A private folder for conversations, recordings and settings. */
  readonly folder: string;
  /** The folder of the user's project, in which `.portolan/calls.json` keeps saved calls. */
  readonly project: string;
  /** The folder with the built page. */
  readonly assets: string;
  /** The version that the page shows. */
  readonly version: string;
  /** True if all servers are the sandbox of the project. */
  readonly isSandbox?: boolean;
  /** Rejects if it is in use. Default: the port of the last console of this folder, or any free port. */
  readonly port?: number;
  /** Tells consoles of one folder that serve different things apart: another process that finds this one reads it. */
  readonly purpose?: string;
  /** Is told of what failed without a page to show it. */
  readonly onError: (error: unknown) => void;
}

/** The options of the host that the console decides. */
export type HostParts = Pick<HostOptions, "answers" | "model" | "tasks" | "tap" | "extensions">;

/** Functions of the command that the console offers in the page. */
export interface ConsoleTools {
  /** Lists servers in the configurations of other products, and sentences about files that could not be read. */
  findServers(): Promise<{ readonly servers: readonly FoundServer[]; readonly problems: readonly string[] }>;
  /** Adds a server that `findServers` listed to the host. */
  adopt(host: Host, name: string, file: string): Promise<void>;
  /** Adds a server by a command line or an address, as they are typed. With `keep`, also writes it to the user's own configuration. */
  add(host: Host, server: TypedServer): Promise<void>;
  /** Returns what a person can change of a server. */
  entry(host: Host, name: string): EditableServer;
  /** Changes the command, address, variables or headers of a server, and starts it again. */
  replace(host: Host, name: string, change: ServerChange): Promise<void>;
  /** Sets variables of a server's environment for this host. */
  setVariables(host: Host, name: string, env: { readonly [name: string]: string }): Promise<void>;
  /**
   * Returns the text by which a saved call names a server, so that `portolan test` can start it. Throws if the text would
   * contain a secret.
   */
  savedTarget(host: Host, name: string): string;
  /** Examines one server as `portolan doctor` does. */
  examine(host: Host, name: string, options: ToolOptions): AsyncIterable<FindingRecord>;
  /** Grades one server as `portolan check` does. Returns the summary. */
  grade(host: Host, name: string, onFinding: (finding: FindingRecord) => void, options: ToolOptions): Promise<string>;
  /** Signs in to a server, or rejects. `visit` shows the page to open. */
  signIn(host: Host, name: string, watch: SignInWatch, options: ToolOptions): Promise<void>;
  signOut(host: Host, name: string): Promise<void>;
}

export interface ToolOptions {
  readonly signal: AbortSignal;
}

export interface TypedServer {
  readonly name: string;
  /** A command line or an address. */
  readonly target: string;
  readonly env?: { readonly [name: string]: string };
  readonly headers?: { readonly [name: string]: string };
  readonly keep?: boolean;
}

/** A change of a server as it is typed. Members that are left out stay. */
export interface ServerChange {
  readonly target?: string;
  /** All variables; `null` keeps the value of one. */
  readonly env?: { readonly [name: string]: string | null };
  readonly headers?: { readonly [name: string]: string | null };
  /** Also changes the file of the user. */
  readonly keep?: boolean;
}

/** Hears of the steps of a sign-in. */
export interface SignInWatch {
  visit(address: string): void;
  /** `again` does the step once more, after which it is told again. Never rejects. */
  step(step: LoginStep, again?: () => Promise<void>): void;
}

/** A running console. */
export interface RunningConsole extends AsyncDisposable {
  /** The address without a token. */
  readonly origin: string;
  /** True if another process runs the console of this folder. */
  readonly isElsewhere: boolean;
  /** The project and the purpose of the console that runs, which may be other ones than those that were asked for. */
  readonly project: string | undefined;
  readonly purpose: string | undefined;
  /** Makes an address that opens one session. */
  openAddress(): string;
  /**
   * Makes an address for the command line of a browser, which other users of the machine can see: a private file that
   * leads to the console.
   */
  browserAddress(): string;
  close(): Promise<void>;
}
