import { nameOf, PortolanError } from "../errors.ts";
import { logLevels } from "../protocol/log-levels.ts";
import { isObject } from "../schema/shape.ts";
import type { RunOptions } from "./agent/run.ts";
import type { HostOptions } from "./api.ts";
import { checkBounds } from "./bounds.ts";
import { checkAnswerers } from "./to-answer.ts";

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

/** What is checked elsewhere, where it is understood. */
const anything: Wanted = ["anything", () => true];
const object: Wanted = ["an object", isObject];
const names: Wanted = ["a list of names", isListOf(isText)];
const fun: Wanted = ["a function", isFunction];
const modelWords = "{ id, capabilities, stream } such as those of portolan/models";

const hostOptions: Table<HostOptions> = {
  servers: [
    "servers by name, entries as readConfigs gives them, or the path of a file",
    (value) =>
      isText(value) ||
      (Array.isArray(value) ? value.every((entry) => isObject(entry) && "way" in entry) : isObject(value)),
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

function isModel(value: unknown): boolean {
  return has("stream")(value) && isObject(value) && isText(value["id"]) && isObject(value["capabilities"]);
}

function unusable(name: string, expected: string, value: unknown): PortolanError {
  return new PortolanError("invalid-argument", `${name}: expected ${expected}, got ${nameOf(value)}`);
}
