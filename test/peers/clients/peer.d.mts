/** Plain data from another implementation; tests only compare it. */
// biome-ignore lint/suspicious/noExplicitAny: data of a peer has no type that we may trust
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

/** The answers of the user, the model and the host behind a client. */
export interface Answers {
  /** The signal aborts when the server withdraws its question. */
  elicit(params: Data, signal: AbortSignal): Data;
  sample(params: Data): Data;
  roots(): Data;
}

export interface ConnectOptions {
  /** The client's name in its client info. */
  name: string;
  /** The negotiation mode of SDK v2: `legacy` offers the version, `pin` requires it, `auto` probes. */
  mode?: "legacy" | "auto" | "pin";
  version: string;
  /** The server: a Node script that serves over stdio. */
  script?: string;
  /** The server: the URL of a running one. */
  url?: string;
  /** Uses the HTTP+SSE transport of 2024-11-05 with the URL. */
  httpSse?: boolean;
  env?: { [name: string]: string };
  answers: Answers;
  /** The capabilities of the client. Default: all. */
  declares?: Data;
}

export interface Following {
  stop(): Promise<void>;
  /** Resolves with the side that ended the subscription, on revisions that have subscriptions. */
  ended?: Promise<"local" | "graceful" | "remote">;
}

/** Another implementation's client, connected to a child process or a URL, behind one common interface. */
export interface PeerClient {
  readonly name: string;
  /** The negotiated version. */
  readonly version: string;
  /** Process id of the server; meaningless for a URL. */
  readonly pid: number;
  /** Resolves when the server process exits; with undefined for a URL. */
  readonly exit: Promise<{ code: number | null; signal: string | null; wasKilled: boolean } | undefined>;
  /** May be changed between calls. */
  readonly answers: Answers;
  /** Errors that the client reported about received messages. */
  readonly errors: readonly string[];
  readonly heard: readonly { method: string; params: Data }[];
  readonly asked: Question[];
  /** Resolves with the params of the first matching notification, received before or after this call. */
  hears(method: string, matches?: (params: Data) => boolean): Promise<Data>;
  readonly server: { info: Data; capabilities: Data; instructions: string | undefined };
  callTool(
    name: string,
    args?: object,
    options?: { signal?: AbortSignal; onProgress?: (progress: Progress) => void },
  ): Promise<Data>;
  /** Lists all pages; also returns the number of pages. */
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
  /** Subscribes to changes of a resource, in the way of the negotiated version. */
  follow(uri: string): Promise<Following>;
  followLists(): Promise<Following>;
  close(): Promise<void>;
}

export type Connect = (options: ConnectOptions) => Promise<PeerClient>;
