import type { Channel } from "portolan";
import { logLevels, PortolanError } from "portolan";
import type { Clock, EraPolicy, HttpAuth, HttpHeaders, Link } from "portolan/client";
import { isObject, nameOf } from "portolan/internal";
import type { RunOptions } from "./agent/run.ts";
import type { RootDefinition } from "./answers/forms.ts";
import type { HostOptions } from "./api.ts";
import { checkAnswerers } from "./consent.ts";
import type { RootWatch } from "./node/roots.ts";

/** One server as a host knows it: how it is reached, and who said so. */
export interface ServerEntry {
  /** What the user calls it; once in a host. */
  readonly name: string;
  readonly target: ServerTarget;
  readonly settings: ServerSettings;
  readonly source: Source;
  /** What exactly was written, before variables were put in: what a trust decision is bound to. */
  readonly configured: ServerTarget;
  /** Why it cannot be started as it is; such an entry is shown, never started. */
  readonly problem?: string;
}

/** How a server is reached. */
export type ServerTarget = CommandTarget | HttpTarget | CustomTarget;

/** A server to start as a child process. */
export interface CommandTarget {
  readonly command: string;
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** Given to the child beside the few variables every program needs. */
  readonly env?: { readonly [name: string]: string };
  /** How long each step of its shutdown may take: end of input, SIGTERM, SIGKILL. 2 s unless said. */
  readonly graceMs?: number;
}

/** A server to reach over the network. */
export interface HttpTarget {
  readonly url: string;
  readonly headers?: HttpHeaders;
  readonly auth?: HttpAuth;
  /** `true` speaks HTTP+SSE from the start; it is found out unless said. */
  readonly legacySse?: boolean;
}

/** A server that the application reaches in its own way; called again when the connection was lost. */
export interface CustomTarget {
  readonly open: () => Link | Channel | Promise<Link | Channel>;
}

/** What a host may say about a server, however it is reached. */
export interface ServerSettings {
  /** Known, but never started. */
  readonly disabled?: boolean;
  /** Whether its hints about its tools (read-only, destructive…) count; by default those of servers named in code do. */
  readonly trustHints?: boolean;
  /** Whether its results may be taken at their word: what others could have written there must not be. */
  readonly trustContent?: boolean;
  /** Names of its tools, `*` for any characters: only these are visible to models. */
  readonly only?: readonly string[];
  /** Names of its tools, `*` for any characters: these are not visible to models. */
  readonly except?: readonly string[];
  readonly era?: EraPolicy;
  /** How long it may take to connect; 60 s unless said. */
  readonly connectMs?: number;
  /** How long a call may be silent; 60 s unless said. */
  readonly idleMs?: number;
  /** Started with the host instead of when it is first needed. */
  readonly eager?: boolean;
}

/** Where an entry was written. */
export type Source =
  /** Named by the application itself. */
  | { readonly kind: "code" }
  | {
      readonly kind: "file";
      readonly file: string;
      /** Where in the file: `mcpServers.files`. */
      readonly path: string;
      /** Whose convention the file follows: `claude-code`, `vscode`, `cursor`… */
      readonly product: string;
      /** A project brings its file along with what others wrote; a user's file is the user's own. */
      readonly scope: "project" | "user";
    };

/** Throws for options of a host that would do nothing, or not what was meant. */
export function checkHostOptions(options: HostOptions): void {
  check("createHost", options, hostOptions);
  checkAnswerers(options.answers ?? {});
  checkBounds("limits.", { ...options.limits });
  const { sampling = {} } = options;
  expect("sampling.review", sampling.review, reviews);
  for (const [server, own] of Object.entries(sampling.servers ?? {})) {
    expect(`sampling.servers.${server}.review`, own.review, reviews);
  }
}

/** Throws for options of a run that would do nothing, or not what was meant. */
export function checkRunOptions(options: RunOptions): void {
  check("run", options, runOptions);
  checkAnswerers(options.answers ?? {});
  const { maxTurns, maxCalls, maxTokens, contextTokens, maxResultChars } = options;
  checkBounds("", { maxTurns, maxCalls, maxTokens, contextTokens, maxResultChars });
}

/** Throws for a bound that bounds nothing; one that is undefined is left out. */
export function checkBounds(of: string, bounds: { readonly [name: string]: unknown }, least = 0): void {
  for (const [name, bound] of Object.entries(bounds)) {
    // Not a number is not at least anything.
    if (bound === undefined || (typeof bound === "number" && bound >= least)) continue;
    throw new PortolanError(
      "invalid-argument",
      `${of}${name}: expected a number of at least ${least}, got ${nameOf(bound)}`,
    );
  }
}

/** What an option must be, in words and as a test. */
type Wanted = readonly [expected: string, fits: (value: unknown) => boolean];

type Table<T> = { readonly [name in keyof Required<T>]: Wanted };

const isText = (value: unknown): boolean => typeof value === "string";
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

/** What is checked elsewhere, where it is understood. */
const anything: Wanted = ["anything", () => true];
const object: Wanted = ["an object", isObject];
const names: Wanted = ["a list of names", isListOf(isText)];
const fun: Wanted = ["a function", isFunction];
const modelWords = "{ id, capabilities, stream } such as those of portolan-host/models";

const hostOptions: Table<HostOptions> = {
  servers: [
    "servers by name, entries as readConfigs gives them, or the path of a file",
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
  activity: ["a log as openActivity or openActivityFile gives it", has("record", "ready", "flush", "query", "close")],
  info: object,
  auth: fun,
  via: fun,
  logLevel: ["a level from debug to emergency", isOneOf(...logLevels)],
  limits: object,
  startsAtOnce: anything,
  clock: ["{ now, after }", has("now", "after")],
};

const runOptions: Table<RunOptions> = {
  model: [modelWords, isModel],
  system: ["words", isText],
  attach: [
    "a list of { server, uri }",
    isListOf((item) => isObject(item) && isText(item["server"]) && isText(item["uri"])),
  ],
  history: anything,
  servers: names,
  only: names,
  except: names,
  answers: object,
  approvals: ['"wait" or "pause"', isOneOf("wait", "pause")],
  decisions: [
    "true or false by the callId of each question",
    (value) => isObject(value) && Object.values(value).every((decision) => typeof decision === "boolean"),
  ],
  maxTurns: anything,
  maxCalls: anything,
  maxTokens: anything,
  contextTokens: anything,
  maxResultChars: anything,
  signal: ["an AbortSignal", has("addEventListener", "removeEventListener")],
};

const reviews: Wanted = ['"both", "request" or "none"', isOneOf("both", "request", "none")];

function check<T extends object>(of: string, options: T, table: Table<T>): void {
  if (!isObject(options)) throw unusable(of, "an object of options", options);
  for (const [name, value] of Object.entries(options)) {
    const wanted = Object.hasOwn(table, name) ? table[name as keyof T] : undefined;
    if (!wanted) {
      const known = Object.keys(table).join(", ");
      throw new PortolanError("invalid-argument", `${of}: there is no option ${name}; there are ${known}`);
    }
    expect(name, value, wanted);
  }
}

function expect(name: string, value: unknown, [expected, fits]: Wanted): void {
  if (value !== undefined && !fits(value)) throw unusable(name, expected, value);
}

function unusable(name: string, expected: string, value: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${name}: expected ${expected}, got ${nameOf(value)}`);
}

/** The directories that servers may work in: those that are there, where that can be looked at. */
export class ExposedRoots {
  readonly #clock: Clock;
  readonly #changed: () => void;
  /** Unknown until somebody says which there are. */
  #all: readonly RootDefinition[] | undefined;
  #watching: Promise<RootWatch | undefined> | undefined;
  #watch: RootWatch | undefined;
  #isOver = false;

  /** `changed` is called when there are others than before. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  get present(): readonly RootDefinition[] | undefined {
    return this.#watch?.present ?? this.#all;
  }

  async set(roots: readonly RootDefinition[]): Promise<void> {
    for (const { uri } of roots) if (!uri.startsWith("file://")) throw unusableRoots(uri);
    this.#all = roots;
    // Elsewhere than on Node there are no directories to look at.
    this.#watching ??= import("./node/roots.ts").then(
      ({ RootWatch }) => new RootWatch(this.#clock, this.#changed),
      () => undefined,
    );
    const watch = await this.#watching;
    if (this.#isOver) return;
    this.#watch = watch;
    await watch?.set(roots);
    this.#changed();
  }

  end(): void {
    this.#isOver = true;
    this.#watch?.end();
  }
}

function unusableRoots(uri: string): PortolanError {
  const message = `roots: expected an address that begins with file://, got ${nameOf(uri)}; pathToFileURL of node:url makes one of a path`;
  return new PortolanError("invalid-argument", message);
}
