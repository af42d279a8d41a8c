import type { JsonObject, Tool } from "portolan";
import { PortolanError } from "portolan";
import { checkOptions, nameOf, type OptionNames } from "portolan/internal";
import { canonicalJson } from "portolan/storage";
import { toLatin } from "../display/suspicious.ts";
import { maxComparedItems } from "../limits.ts";

/** Compiled rules. */
export interface Policy {
  readonly rules: readonly Rule[];
  /** The first matching rule decides. Without a match the effect is "ask". */
  decide(call: PolicyCall): Decision;
  /** True if the tool is allowed with any arguments outside conversations, so that the result may be cached. */
  allowsAlways(call: PolicyCall): boolean;
}

/** One rule. A call matches if all given members match; missing members match every call. */
export interface Rule {
  /**
   * Names as `server.tool`; `*` stands for any characters. One of them must match. In a rule that allows, the part
   * before a dot is the complete name of the server.
   */
  readonly match?: string | readonly string[];
  /** Names of servers; `*` stands for any characters. Use it where names contain dots. */
  readonly server?: string | readonly string[];
  /** Decides whether the rule matches. If it throws, the call is denied. */
  readonly when?: (call: PolicyCall) => boolean;
  /** Matches tools by their hint, if the server is trusted; others count as writing. */
  readonly readOnly?: boolean;
  /** Matches tools by their hint, if the server is trusted; others count as destructive. */
  readonly destructive?: boolean;
  /** Matches tools by their hint, if the server is trusted; others count as not idempotent. */
  readonly idempotent?: boolean;
  /** Matches tools by their hint, if the server is trusted; others count as reaching the network. */
  readonly openWorld?: boolean;
  /**
   * True: only tools that apps offer. False: only tools of servers. Default: false for a rule that allows, so that no rule
   * covers code that its author did not think of; both for any other rule.
   */
  readonly app?: boolean;
  /**
   * Tests by the path of an argument: `path`, `options.force`, `files.*.path`. If `*` covers several values, all must
   * pass in a rule that allows, and one in any other rule.
   */
  readonly args?: { readonly [path: string]: ArgumentTest };
  /** Allows calls even after untrusted content has entered the conversation. */
  readonly evenAfterUntrusted?: boolean;
  /** Allows calls even while resources of other servers are in the conversation. */
  readonly evenWithResources?: boolean;
  /** What happens to a call that matches. */
  readonly then: Effect;
  /** Shown to the user, and to the model if the call is denied. */
  readonly reason?: string;
}

/** The decision about a call. */
export type Effect = "allow" | "ask" | "deny";

/**
 * Tests of one argument; all given members must pass. A missing argument fails every test. In a rule that allows,
 * `startsWith` and `matches` also fail for a value with a `..` step.
 */
export interface ArgumentTest {
  readonly equals?: unknown;
  readonly oneOf?: readonly unknown[];
  readonly startsWith?: string;
  /** `*` stands for any characters. */
  readonly matches?: string;
  readonly min?: number;
  readonly max?: number;
}

/** A call as rules see it. */
export interface PolicyCall {
  readonly server: string;
  readonly tool: string;
  /** `server.tool`. */
  readonly name: string;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
  /** True if the server's hints are trusted. */
  readonly trusted: boolean;
  readonly definition: Tool;
  readonly args: JsonObject;
  /** The URI of the app that offers the tool; undefined for a tool of the server itself. */
  readonly app?: string;
  /** Servers whose untrusted content is in the conversation. */
  readonly contentFrom: readonly string[];
  /** Servers whose resources are in the conversation. */
  readonly resourcesFrom: readonly string[];
}

/** The result of a policy. Shared between calls, so do not change it. */
export interface Decision {
  readonly effect: Effect;
  /** Index of the rule that decided; undefined if no rule matched. */
  readonly rule?: number;
  readonly reason: string;
  readonly cautions: readonly Caution[];
}

/** A reason to ask about a call that a rule allows, or to take special care. */
export interface Caution {
  /**
   * `untrusted-content`: text from a server may have caused this call. `data-flow`: data of one server may go to
   * another.
   */
  readonly kind: "untrusted-content" | "data-flow";
  readonly from: readonly string[];
}

/** Compiles rules. Throws with the place of an invalid one. */
export function compilePolicy(rules: readonly Rule[]): Policy {
  if (!Array.isArray(rules)) throw invalidRule("policy", "an array of rules", nameOf(rules));
  const kept = rules.map((rule: unknown, index) => {
    if (typeof rule === "object" && rule !== null) return { ...(rule as Rule) };
    throw invalidRule(`policy[${index}]`, "a rule", nameOf(rule));
  });
  const compiled = kept.map(compileRule);
  return {
    rules: kept,
    decide: (call) => decide(compiled, call),
    allowsAlways: (call) => allowsAlways(compiled, call),
  };
}

/** Tests the names of a call. */
type CallTest = (call: PolicyCall) => boolean;

interface CompiledRule {
  readonly decision: Decision;
  readonly rule: Rule;
  readonly isNamed: CallTest | undefined;
  readonly isOfServer: CallTest | undefined;
  readonly args: ArgumentTests | undefined;
  /** The rule with look-alike letters replaced; undefined for a rule that allows, which must match exactly. */
  readonly plain: CompiledRule | undefined;
}

const effects: readonly Effect[] = ["allow", "ask", "deny"];

const flagNames = {
  ...{ readOnly: 1, destructive: 1, idempotent: 1, openWorld: 1, app: 1 },
  ...{ evenAfterUntrusted: 1, evenWithResources: 1 },
} satisfies Partial<OptionNames<Rule>>;
const otherNames = { match: 1, server: 1, when: 1, args: 1, then: 1, reason: 1 } satisfies Partial<OptionNames<Rule>>;
const memberNames = { ...flagNames, ...otherNames } satisfies OptionNames<Rule>;
const ruleSynonyms = { tool: "match", tools: "match", effect: "then", action: "then", arguments: "args" };

function compileRule(rule: Rule, index: number): CompiledRule {
  const where = `policy[${index}]`;
  checkOptions(rule, memberNames, where, { code: "invalid-definition", synonyms: ruleSynonyms });
  if (!effects.includes(rule.then)) throw invalidRule(`${where}.then`, "allow, ask or deny", nameOf(rule.then));
  for (const flag of Object.keys(flagNames) as (keyof typeof flagNames)[]) {
    const value: unknown = rule[flag];
    if (value !== undefined && typeof value !== "boolean")
      throw invalidRule(`${where}.${flag}`, "a boolean", nameOf(value));
  }
  if (rule.when !== undefined && typeof rule.when !== "function") {
    throw invalidRule(`${where}.when`, "a function", nameOf(rule.when));
  }
  if (rule.reason !== undefined && typeof rule.reason !== "string") {
    throw invalidRule(`${where}.reason`, "a string", nameOf(rule.reason));
  }
  if (rule.args !== undefined && (typeof rule.args !== "object" || rule.args === null || Array.isArray(rule.args))) {
    throw invalidRule(`${where}.args`, "an object of tests by path", nameOf(rule.args));
  }
  const reason = rule.reason ?? `Rule ${index + 1} of the policy says ${rule.then}.`;
  const allows = rule.then === "allow";
  const decision: Decision = Object.freeze({ effect: rule.then, rule: index, reason, cautions: noCautions });
  const args = rule.args && compileArguments(rule.args, allows, `${where}.args`);
  const withNames = (read: (pattern: string) => string, plain?: CompiledRule): CompiledRule => ({
    decision,
    rule,
    isNamed: compilePatterns(rule.match, `${where}.match`, /[.*]/, (it) =>
      allows ? splitGlob(it) : nameGlob(read(it)),
    ),
    isOfServer: compilePatterns(rule.server, `${where}.server`, /./, (it) => ofServer(read(it))),
    args,
    plain,
  });
  return withNames((it) => it, allows ? undefined : withNames(toLatin));
}

function compilePatterns(
  given: Rule["match"],
  where: string,
  shape: RegExp,
  compile: (pattern: string) => CallTest,
): CallTest | undefined {
  if (given === undefined) return undefined;
  const patterns: readonly unknown[] = Array.isArray(given) ? given : [given];
  const globs = patterns.map((pattern) => {
    if (typeof pattern === "string" && shape.test(pattern)) return compile(pattern);
    throw invalidRule(where, `a name such as git.push, with * for any characters`, nameOf(pattern));
  });
  if (globs.length === 0) throw invalidRule(where, "at least one name", "none");
  const [only, second] = globs;
  return second === undefined ? only : (call) => globs.some((glob) => glob(call));
}

function ofServer(pattern: string): CallTest {
  const glob = compileGlob(pattern);
  return ({ server }) => glob(server);
}

function nameGlob(pattern: string): CallTest {
  const glob = compileGlob(pattern);
  return ({ name }) => glob(name);
}

/** Matches server and tool separately: a rule for all tools of `git` must not cover a server named `git.x`. */
function splitGlob(pattern: string): CallTest {
  const dots = [...pattern.matchAll(/\./g)].map(({ index }) => index);
  if (dots.length === 0) return nameGlob(pattern);
  const pairs = dots.map((at) => [compileGlob(pattern.slice(0, at)), compileGlob(pattern.slice(at + 1))] as const);
  return ({ server, tool }) => pairs.some(([isServer, isTool]) => isServer(server) && isTool(tool));
}

const noCautions: readonly Caution[] = Object.freeze([]);

const undecided: Decision = Object.freeze({
  effect: "ask",
  reason: "You have not allowed this before.",
  cautions: noCautions,
});

/** Hot path: allocates only where there is a caution. */
function decide(rules: readonly CompiledRule[], call: PolicyCall): Decision {
  let plain: PolicyCall | undefined;
  let similarRule: CompiledRule | undefined;
  for (const compiled of rules) {
    try {
      if (matches(compiled, call)) return withCautions(decisionOf(compiled, similarRule), compiled.rule, call);
      if (similarRule !== undefined || compiled.plain === undefined) continue;
      plain ??= toPlainNames(call);
      if (nearlyMatches(compiled.plain, plain)) similarRule = compiled;
    } catch (error) {
      return failed(compiled, error);
    }
  }
  return withCautions(undecided, undefined, call);
}

/** Asks instead of allowing a call that another rule would stop if a letter or a quote were different. */
function decisionOf({ decision }: CompiledRule, similarRule: CompiledRule | undefined): Decision {
  if (similarRule === undefined || decision.effect !== "allow") return decision;
  const rule = similarRule.decision.rule ?? 0;
  return {
    effect: "ask",
    rule,
    reason: `It is almost what rule ${rule + 1} of the policy forbids or asks about.`,
    cautions: noCautions,
  };
}

/** The first rule about the tool must not depend on anything else. */
function allowsAlways(rules: readonly CompiledRule[], call: PolicyCall): boolean {
  const plain = toPlainNames(call);
  const first = rules.find((compiled) => isAbout(compiled, call) || (compiled.plain && isAbout(compiled.plain, plain)));
  return first?.rule.then === "allow" && first.args === undefined && first.rule.when === undefined;
}

/** True if a rule that does not match would match another spelling of the names or arguments. */
function nearlyMatches(compiled: CompiledRule, plain: PolicyCall): boolean {
  const { rule, args } = compiled;
  // A function of the application gets no second interpretation.
  if (rule.when !== undefined || !isAbout(compiled, plain)) return false;
  return args === undefined || args.nearlyHold(plain.args);
}

/** Returns the call with look-alike letters of its names replaced; most calls are returned unchanged. */
function toPlainNames(call: PolicyCall): PolicyCall {
  if (/^[a-z\d_.-]*$/.test(call.name)) return call;
  const [server, tool] = [toLatin(call.server), toLatin(call.tool)];
  return { ...call, server, tool, name: `${server}.${tool}` };
}

function matches(compiled: CompiledRule, call: PolicyCall): boolean {
  if (!isAbout(compiled, call)) return false;
  const { rule, args } = compiled;
  if (args !== undefined && !args.hold(call.args)) return false;
  if (rule.when === undefined) return true;
  const verdict: unknown = rule.when(call);
  // A promise is truthy; treating it as true would allow every call.
  if (verdict && verdict !== true)
    throw new PortolanError("invalid-definition", `expected true or false, got ${nameOf(verdict)}`);
  return verdict === true;
}

/** True if a rule matches the tool, apart from its arguments. */
function isAbout({ rule, isNamed, isOfServer }: CompiledRule, call: PolicyCall): boolean {
  if (isNamed !== undefined && !isNamed(call)) return false;
  if (isOfServer !== undefined && !isOfServer(call)) return false;
  const { app = rule.then === "allow" ? false : undefined } = rule;
  if (app !== undefined && app !== (call.app !== undefined)) return false;
  if (rule.readOnly !== undefined && rule.readOnly !== call.readOnly) return false;
  if (rule.destructive !== undefined && rule.destructive !== call.destructive) return false;
  if (rule.idempotent !== undefined && rule.idempotent !== call.idempotent) return false;
  return rule.openWorld === undefined || rule.openWorld === call.openWorld;
}

/** A rule that fails denies the call, because it might have denied it. */
function failed({ decision }: CompiledRule, error: unknown): Decision {
  const why = error instanceof Error ? error.message : String(error);
  const reason = `Rule ${(decision.rule ?? 0) + 1} of the policy failed: ${why}`;
  return { ...decision, effect: "deny", reason };
}

function withCautions(decision: Decision, rule: Rule | undefined, call: PolicyCall): Decision {
  const { contentFrom, resourcesFrom } = call;
  if (decision.effect === "deny" || (contentFrom.length === 0 && resourcesFrom.length === 0)) return decision;
  const cautions: Caution[] = [];
  const canHarm = !call.readOnly || call.openWorld;
  if (canHarm && contentFrom.length > 0 && rule?.evenAfterUntrusted !== true) {
    cautions.push({ kind: "untrusted-content", from: contentFrom });
  }
  if (rule?.evenWithResources !== true) {
    const others = resourcesFrom.filter((server) => server !== call.server);
    if (others.length > 0) cautions.push({ kind: "data-flow", from: others });
  }
  return cautions.length === 0 ? decision : { ...decision, effect: "ask", cautions };
}

function invalidRule(where: string, expected: string, got: string): PortolanError {
  return new PortolanError("invalid-definition", `${where}: expected ${expected}, got ${got}`);
}

/** Tests one value. */
type Check = (value: unknown) => boolean;

/** Compiled tests of a rule's arguments. */
export interface ArgumentTests {
  hold(args: unknown): boolean;
  /** True if the tests pass, or would pass if the server converted an argument. */
  nearlyHold(args: unknown): boolean;
}

/** Compiles the tests of a rule's arguments; `isStrict` for a rule that allows. */
export function compileArguments(
  tests: { readonly [path: string]: ArgumentTest },
  isStrict: boolean,
  where: string,
): ArgumentTests {
  const compiled = Object.entries(tests).map(([path, test]) => {
    const steps = path.split(".");
    if (steps.includes("")) throw invalidRule(where, "paths such as options.force", JSON.stringify(path));
    const check = compileTest(test, isStrict, `${where}[${JSON.stringify(path)}]`);
    const nearlyMatches: Check = (value) => check(value) || interpretationsOf(value).some(check);
    return { steps, check, nearlyMatches };
  });
  return {
    hold: (args) => compiled.every(({ steps, check }) => holds(args, steps, 0, check, isStrict)),
    nearlyHold: (args) => compiled.every(({ steps, nearlyMatches }) => holds(args, steps, 0, nearlyMatches, isStrict)),
  };
}

function holds(value: unknown, steps: readonly string[], at: number, check: Check, isStrict: boolean): boolean {
  const step = steps[at];
  if (step === undefined) return check(value);
  if (typeof value !== "object" || value === null) return false;
  if (step !== "*") {
    // Own members only: inherited ones were not sent by the caller.
    return Object.hasOwn(value, step) && holds(value[step as keyof typeof value], steps, at + 1, check, isStrict);
  }
  const items = Object.values(value);
  const one = (item: unknown) => holds(item, steps, at + 1, check, isStrict);
  return isStrict ? items.length > 0 && items.every(one) : items.some(one);
}

const members: { readonly [name in keyof ArgumentTest]-?: (given: unknown, isStrict: boolean) => Check | undefined } = {
  equals: (given) => equalTo(given),
  oneOf: (given) => {
    if (!Array.isArray(given)) return undefined;
    const checks = given.map(equalTo);
    return (value) => checks.some((check) => check(value));
  },
  startsWith: (given, isStrict) =>
    typeof given === "string" ? textCheck((value) => value.startsWith(given), isStrict) : undefined,
  matches: (given, isStrict) => (typeof given === "string" ? textCheck(compileGlob(given), isStrict) : undefined),
  min: (given) => (isNumber(given) ? (value) => isNumber(value) && value >= given : undefined),
  max: (given) => (isNumber(given) ? (value) => isNumber(value) && value <= given : undefined),
};

function compileTest(test: ArgumentTest, isStrict: boolean, where: string): Check {
  const given = typeof test === "object" && test !== null ? Object.entries(test) : [];
  const checks = given.map(([name, value]) => {
    const make = Object.hasOwn(members, name) ? members[name as keyof ArgumentTest] : undefined;
    const check = make?.(value, isStrict);
    if (check) return check;
    const expected = make ? expectedOf[name as keyof ArgumentTest] : `one of ${Object.keys(members).join(", ")}`;
    throw invalidRule(`${where}.${name}`, expected, make ? nameOf(value) : JSON.stringify(name));
  });
  if (checks.length === 0) throw invalidRule(where, `at least one of ${Object.keys(members).join(", ")}`, nameOf(test));
  return (value) => checks.every((check) => check(value));
}

const expectedOf: { readonly [name in keyof ArgumentTest]-?: string } = {
  equals: "a JSON value",
  oneOf: "an array of JSON values",
  startsWith: "a string",
  matches: "a string",
  min: "a number",
  max: "a number",
};

function equalTo(given: unknown): Check {
  if (typeof given !== "object" || given === null) return (value) => value === given;
  const text = canonicalJson(given);
  return (value) => typeof value === "object" && value !== null && canonicalJson(value) === text;
}

/** In a rule that allows, a prefix must not match a path that leaves it with `..`. */
function textCheck(check: (value: string) => boolean, isStrict: boolean): Check {
  if (!isStrict) return (value) => typeof value === "string" && check(value);
  return (value) => typeof value === "string" && check(value) && !parentStep.test(value);
}

const parentStep = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:[/\\]|%2f|%5c|$)/i;

function isNumber(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}

/**
 * Returns other values that a server may convert an argument to: a number in quotes to a number, a single item to a
 * list, a path to its normalized form. The value itself is not included.
 */
function interpretationsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value))
    return value.slice(0, maxComparedItems).flatMap((item) => [item, ...interpretationsOfOne(item)]);
  return interpretationsOfOne(value);
}

function interpretationsOfOne(value: unknown): readonly unknown[] {
  if (typeof value === "number" || typeof value === "boolean") return [String(value)];
  if (typeof value !== "string") return [];
  const text = value.trim();
  const interpretations: unknown[] = [text, toPath(text)];
  if (text !== "" && Number.isFinite(Number(text))) interpretations.push(Number(text));
  if (/^(?:true|false)$/i.test(text)) interpretations.push(text.toLowerCase() === "true");
  return interpretations;
}

/** Normalizes a text as a path or an address. */
function toPath(text: string): string {
  const plain = decode(text.normalize("NFKC")).replaceAll("\\", "/");
  const [, scheme = "", rest = ""] = /^([a-z][a-z\d+.-]*:\/\/)?([\s\S]*)$/i.exec(plain) ?? [];
  const steps: string[] = [];
  for (const step of rest.split("/")) {
    if (step === "..") steps.pop();
    else if (step !== "." && step !== "") steps.push(step);
  }
  return `${scheme}${rest.startsWith("/") ? "/" : ""}${steps.join("/")}`;
}

function decode(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });
}

/** Compiles a pattern in which `*` stands for any characters. A test takes linear time. */
export function compileGlob(pattern: string): (text: string) => boolean {
  const [first = "", ...rest] = pattern.split(/\*+/);
  const last = rest.pop();
  if (last === undefined) return (text) => text === first;
  if (rest.length === 0) {
    if (first === "" && last === "") return () => true;
    if (last === "") return (text) => text.startsWith(first);
    if (first === "") return (text) => text.endsWith(last);
  }
  const shortest = first.length + last.length;
  return (text) => {
    if (text.length < shortest || !text.startsWith(first) || !text.endsWith(last)) return false;
    const end = text.length - last.length;
    let at = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found === -1 || found + part.length > end) return false;
      at = found + part.length;
    }
    return true;
  };
}

/** The assumed behaviour of a tool. */
export interface ToolHints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
}

/** The worst case, which the spec assumes without hints. */
const unknownHints: ToolHints = { readOnly: false, destructive: true, idempotent: false, openWorld: true };

/** Returns the annotations of a trusted server's tool; the worst case for others, and for each missing hint. */
export function hintsOf(tool: Tool, trusted: boolean): ToolHints {
  const { annotations } = tool;
  if (!trusted || typeof annotations !== "object" || annotations === null) return unknownHints;
  const readOnly = annotations.readOnlyHint === true;
  return {
    readOnly,
    destructive: !readOnly && annotations.destructiveHint !== false,
    idempotent: readOnly || annotations.idempotentHint === true,
    openWorld: annotations.openWorldHint !== false,
  };
}
