import type { Channel } from "portolan";
import { logLevels, PortolanError } from "portolan";
import type { Clock, EraPolicy, HttpAuth, HttpHeaders, Link } from "portolan/client";
import { checkOptions, isObject, nameOf, type OptionNames } from "portolan/internal";
import type { RunOptions } from "./agent/run.ts";
import type { RootDefinition } from "./answers/forms.ts";
import type { SamplingLimits } from "./answers/sampling-budget.ts";
import type { HostOptions } from "./api.ts";
import type { FeatureLimits } from "./catalog/load-lists.ts";
import type { Model } from "./models/model.ts";
import type { RootWatch } from "./node/roots.ts";
import { checkAnswerers } from "./open-questions.ts";
import type { HostTasksOptions } from "./tasks/tasks.ts";

/** One server of a host: how to reach it, and where that is configured. */
export interface ServerEntry {
  /** The user's name for the server, unique in a host. */
  readonly name: string;
  readonly target: ServerTarget;
  readonly settings: ServerSettings;
  readonly source: EntrySource;
  /** The target before variables were expanded. A trust decision is bound to it. */
  readonly configured: ServerTarget;
  /** The reason why the entry is invalid. Such an entry is shown and never started. */
  readonly problem?: string;
  /** The user typed the server for this one use. Its definitions are used as they are now, and none is pinned. */
  readonly isTyped?: boolean;
}

/** How to reach a server. */
export type ServerTarget = CommandTarget | HttpTarget | CustomTarget;

/** A server that the host starts as a child process. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Variables for the child, in addition to the few that every program needs. */
  readonly env?: { readonly [name: string]: string };
  /** Longest duration of each step of the shutdown: end of input, SIGTERM, SIGKILL. Default: 2 seconds. */
  readonly graceMs?: number;
}

/** A server at an HTTP address. */
export interface HttpTarget {
  readonly url: string;
  readonly headers?: HttpHeaders;
  readonly auth?: HttpAuth;
  /** `true` speaks HTTP+SSE from the start. Default: detected. */
  readonly legacySse?: boolean;
}

/** A server that the application connects to itself. `open` is called again after a lost connection. */
export interface CustomTarget {
  readonly open: () => Link | Channel | Promise<Link | Channel>;
}

/** Settings of a server, whatever its target is. */
export interface ServerSettings {
  /** Listed, but never started. */
  readonly disabled?: boolean;
  /** Trusts the server's hints about its tools (read-only, destructive…). Default: true for servers defined in code. */
  readonly trustHints?: boolean;
  /** Trusts the content of its results. Do not set it where others can write that content. */
  readonly trustContent?: boolean;
  /** Tools that models see, by name; `*` stands for any characters. Default: all. */
  readonly only?: readonly string[];
  /** Tools that models do not see, by name; `*` stands for any characters. */
  readonly except?: readonly string[];
  readonly era?: EraPolicy;
  /** Longest duration of connecting. Default: 60 seconds. */
  readonly connectMs?: number;
  /** Longest silence during a call. Default: 60 seconds. */
  readonly idleMs?: number;
  /** Starts with the host instead of at first use. */
  readonly eager?: boolean;
  /** The `portolan` command keeps the server running between commands. A host runs each server anyway. */
  readonly keepAlive?: boolean;
}

/** The place where an entry is configured. */
export type EntrySource =
  /** In the application's code. */
  | { readonly kind: "code" }
  | {
      readonly kind: "file";
      readonly file: string;
      /** The place in the file, such as `mcpServers.files`. */
      readonly path: string;
      /** The product whose format the file has: `claude-code`, `vscode`, `cursor`… */
      readonly product: string;
      /** A project's file comes with the project and may be written by others; a user's file is the user's own. */
      readonly scope: "project" | "user";
    };

/** Throws if an option of `createHost` is unknown or has a wrong type. */
export function checkHostOptions(options: HostOptions): void {
  check("createHost", options, hostOptions);
  checkAnswerers(options.answers ?? {});
  const { limits = {}, sampling = {}, pingMs } = options;
  checkBounds("", { pingMs });
  checkOptions(limits, limitNames, "limits");
  checkBounds("limits.", { ...limits });
  checkOptions(sampling, { ...samplingLimitNames, review: 1, servers: 1 }, "sampling");
  expect("sampling.review", sampling.review, reviews);
  for (const [server, own] of Object.entries(sampling.servers ?? {})) {
    checkOptions(own, { ...samplingLimitNames, review: 1 }, `sampling.servers.${server}`);
    expect(`sampling.servers.${server}.review`, own.review, reviews);
  }
}

/** Throws if an option of `host.run` is unknown or has a wrong type. */
export function checkRunOptions(options: RunOptions): void {
  check("run", options, runOptions);
  checkAnswerers(options.answers ?? {});
  const { maxTurns, maxCalls, maxTokens, contextTokens, maxResultChars } = options;
  checkBounds("", { maxTurns, maxCalls, maxTokens, contextTokens, maxResultChars });
}

/** Throws if something else than a list of models is given. */
export function checkModels(models: readonly Model[]): void {
  if (!isListOf(isModel)(models)) throw unusable("models", `a list of ${modelWords}`, models);
}

/** Throws unless every limit is a number of at least `least`; undefined ones are skipped. */
export function checkBounds(of: string, bounds: { readonly [name: string]: unknown }, least = 0): void {
  for (const [name, bound] of Object.entries(bounds)) {
    // NaN fails this comparison as well.
    if (bound === undefined || (typeof bound === "number" && bound >= least)) continue;
    throw new PortolanError(
      "invalid-argument",
      `${of}${name}: expected a number of at least ${least}, got ${nameOf(bound)}`,
    );
  }
}

/** The description of a valid value, and its test. */
type Expected = readonly [expected: string, fits: (value: unknown) => boolean];

type Table<T> = { readonly [name in keyof Required<T>]: Expected };

const isText = (value: unknown): boolean => typeof value === "string";
const isIterable = (value: unknown): boolean => typeof Object(value)[Symbol.iterator] === "function" && !isText(value);
const isFunction = (value: unknown): boolean => typeof value === "function";
const isListOf = (fits: (value: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(fits);
const isOneOf = (...words: readonly unknown[]) => words.includes.bind(words);

const has =
  (...methods: readonly string[]) =>
  (value: unknown): boolean =>
    isObject(value) && methods.every((method) => isFunction(value[method]));

function isModel(value: unknown): boolean {
  return has("stream")(value) && isObject(value) && isText(value["id"]) && isObject(value["capabilities"]);
}

function isTasks(value: unknown): boolean {
  if (typeof value === "boolean") return true;
  const { resume = "wait", ...others } = Object(value) as HostTasksOptions;
  return isObject(value) && (resume === "wait" || resume === "connect") && Object.keys(others).length === 0;
}

function isAppContext({ app, content }: { readonly [name: string]: unknown }): boolean {
  return isText(app) && isListOf((block) => isObject(block) && isText(block["type"]))(content);
}

/** Checked elsewhere. */
const anything: Expected = ["anything", () => true];
const object: Expected = ["an object", isObject];
const names: Expected = ["a list of names", isListOf(isText)];
const callback: Expected = ["a function", isFunction];
const modelWords = "{ id, capabilities, stream } such as those of portolan-host/models";

const hostOptions: Table<HostOptions> = {
  servers: [
    "servers by name, entries from readConfigs, or the path of a file",
    (value) =>
      isText(value) ||
      (Array.isArray(value) ? value.every((entry) => isObject(entry) && "target" in entry) : isObject(value)),
  ],
  model: [`${modelWords}, or a list of them`, (value) => isModel(value) || isListOf(isModel)(value)],
  policy: anything,
  answers: object,
  roots: ["a list of { uri }", isListOf((root) => isObject(root) && isText(root["uri"]))],
  sampling: object,
  questionsPerMinute: anything,
  storage: ["{ kv } of a storage", (value) => isObject(value) && has("get", "set", "delete", "list")(value["kv"])],
  account: ["a name", isText],
  activity: ["a log of openActivity or openActivityFile", has("record", "ready", "flush", "query", "close")],
  info: object,
  auth: callback,
  via: callback,
  observer: ["{ begin } such as traceClient() of portolan/otel", has("begin")],
  tap: callback,
  extensions: ["a list of extensions such as tasks() of portolan/client/tasks", isListOf(has("on"))],
  tasks: ['true, false or { resume: "connect" | "wait" }', isTasks],
  logLevel: ["a level from debug to emergency", isOneOf(...logLevels)],
  limits: object,
  startsAtOnce: anything,
  pingMs: anything,
  clock: ["{ now, after }", has("now", "after")],
};

const runOptions: Table<RunOptions> = {
  model: [modelWords, isModel],
  system: ["a text", isText],
  attach: [
    "a list of { server, uri }, or of what takeContext() of an app returns",
    isListOf((item) => isObject(item) && isText(item["server"]) && (isText(item["uri"]) || isAppContext(item))),
  ],
  apps: ["a list or a set of what openApp returns", isIterable],
  history: anything,
  servers: names,
  only: names,
  except: names,
  answers: object,
  approvals: ['"wait" or "pause"', isOneOf("wait", "pause")],
  tasks: ['"wait" or "background"', isOneOf("wait", "background")],
  decisions: [
    "true or false by the callId of each question",
    (value) => isObject(value) && Object.values(value).every((decision) => typeof decision === "boolean"),
  ],
  checkpoint: callback,
  uncertain: ['"ask-again" or "tell-model"', isOneOf("ask-again", "tell-model")],
  maxTurns: anything,
  maxCalls: anything,
  maxTokens: anything,
  contextTokens: anything,
  maxResultChars: anything,
  signal: ["an AbortSignal", has("addEventListener", "removeEventListener")],
};

/** Names of other products for our options. */
const synonyms = { mcpServers: "servers", models: "model", rules: "policy", log: "activity" };
const limitNames = { maxItems: 1, maxChars: 1 } satisfies OptionNames<FeatureLimits>;
const samplingLimitNames = {
  maxTokens: 1,
  tokens: 1,
  requests: 1,
  requestsPerMinute: 1,
} satisfies OptionNames<SamplingLimits>;
const reviews: Expected = ['"both", "request" or "none"', isOneOf("both", "request", "none")];

function check<T extends object>(of: string, options: T, table: Table<T>): void {
  if (!isObject(options)) throw unusable(of, "an object of options", options);
  checkOptions(options, table as object as OptionNames<T>, of, { synonyms });
  for (const name in table) expect(name, options[name], table[name]);
}

function expect(name: string, value: unknown, [expected, fits]: Expected): void {
  if (value !== undefined && !fits(value)) throw unusable(name, expected, value);
}

function unusable(name: string, expected: string, value: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${name}: expected ${expected}, got ${nameOf(value)}`);
}

/** The directories that servers may work in. On Node only those that exist are listed. */
export class ExposedRoots {
  readonly #clock: Clock;
  readonly #changed: () => void;
  /** Undefined until roots are set. */
  #all: readonly RootDefinition[] | undefined;
  #watching: Promise<RootWatch> | undefined;
  #watch: RootWatch | undefined;
  #isOver = false;

  /** `changed` is called when the list changes. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  get present(): readonly RootDefinition[] | undefined {
    return this.#watch?.present ?? this.#all;
  }

  /** As they were set. */
  get all(): readonly RootDefinition[] {
    return this.#all ?? [];
  }

  async set(roots: readonly RootDefinition[]): Promise<void> {
    for (const { uri } of roots) if (!uri.startsWith("file://")) throw unusableRoots(uri);
    this.#all = roots;
    this.#watching ??= import("#root-watch").then(({ watchRoots }) => watchRoots(this.#clock, this.#changed));
    const watch = await this.#watching;
    if (this.#isOver) return;
    this.#watch = watch;
    await watch.set(roots);
    this.#changed();
  }

  end(): void {
    this.#isOver = true;
    this.#watch?.end();
  }
}

function unusableRoots(uri: string): PortolanError {
  const message = `roots: expected an address that begins with file://, got ${nameOf(uri)}; convert a path with pathToFileURL of node:url`;
  return new PortolanError("invalid-argument", message);
}
