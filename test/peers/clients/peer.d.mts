/** Plain data from another implementation; the tests look at it, nothing computes with it. */
// biome-ignore lint/suspicious/noExplicitAny: what a peer hands over has no type that we may trust
export type Data = any;

export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

export interface Question {
  method: string;
  params: Data;
}

/** How the user, the model and the host behind a client answer. */
export interface Answers {
  /** The signal aborts when the server takes its question back. */
  elicit(params: Data, signal: AbortSignal): Data;
  sample(params: Data): Data;
  roots(): Data;
}

export interface ConnectOptions {
  /** The name the client gives itself. */
  name: string;
  /** How SDK v2 finds the version: `legacy` offers it, `pin` insists on it, `auto` finds out. */
  mode?: "legacy" | "auto" | "pin";
  version: string;
  /** The server, a script for node that serves over stdio. */
  script?: string;
  /** The server, where one listens already. */
  url?: string;
  /** Speaks the transport of 2024-11-05 to the url. */
  httpSse?: boolean;
  env?: { [name: string]: string };
  answers: Answers;
  /** The capabilities of the client; all of them unless said otherwise. */
  declares?: Data;
}

export interface Following {
  stop(): Promise<void>;
  /** Which side ended a subscription, where there are subscriptions. */
  ended?: Promise<"local" | "graceful" | "remote">;
}

/** Another implementation's client, connected to a child process or a url, behind one face for all of them. */
export interface PeerClient {
  readonly name: string;
  /** What was agreed. */
  readonly version: string;
  /** Of the server process; none for a url. */
  readonly pid: number;
  /** How the server process ended; undefined for a url. */
  readonly exit: Promise<{ code: number | null; signal: string | null; wasKilled: boolean } | undefined>;
  /** May be changed between calls. */
  readonly answers: Answers;
  /** What the client found wrong with the messages it received. */
  readonly errors: readonly string[];
  readonly heard: readonly { method: string; params: Data }[];
  readonly asked: Question[];
  /** Resolves with the params of the first such notification, heard before or after. */
  hears(method: string, matches?: (params: Data) => boolean): Promise<Data>;
  readonly server: { info: Data; capabilities: Data; instructions: string | undefined };
  callTool(
    name: string,
    args?: object,
    options?: { signal?: AbortSignal; onProgress?: (progress: Progress) => void },
  ): Promise<Data>;
  /** Every page, and how many there were. */
  listTools(): Promise<{ all: Data[]; pages: number }>;
  listResources(): Promise<{ all: Data[]; pages: number }>;
  listTemplates(): Promise<{ all: Data[]; pages: number }>;
  listPrompts(): Promise<{ all: Data[]; pages: number }>;
  listToolsFrom(cursor: string): Promise<Data>;
  readResource(uri: string): Promise<Data>;
  getPrompt(name: string, args?: object): Promise<Data>;
  complete(params: object): Promise<Data>;
  ping(): Promise<Data>;
  setLogLevel(level: string): Promise<void>;
  /** Hears changes of a resource, by the means of the version that was agreed. */
  follow(uri: string): Promise<Following>;
  followLists(): Promise<Following>;
  close(): Promise<void>;
}

export type Connect = (options: ConnectOptions) => Promise<PeerClient>;
