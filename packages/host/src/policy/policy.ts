import type { JsonObject, Tool } from "portolan";
import { PortolanError } from "portolan";
import { nameOf } from "portolan/internal";
import { canonicalJson } from "portolan/storage";
import { toLatin } from "../display/suspicious.ts";
import { maxComparedItems } from "../limits.ts";

/** Rules that were checked once and are quick to ask. */
export interface Policy {
  readonly rules: readonly Rule[];
  /** The first rule that matches decides; without one the user is asked. */
  decide(call: PolicyCall): Decision;
  /** Whether a tool is allowed whatever it is called with, outside of conversations: that need be asked only once. */
  allowsAlways(call: PolicyCall): boolean;
}

/** One rule: what it says about a call must hold, all of it; what it does not say does not matter. */
export interface Rule {
  /**
   * Names as `server.tool`, `*` for any characters; one of them must match. In a rule that allows, what stands before a
   * dot is the whole name of the server.
   */
  readonly match?: string | readonly string[];
  /** Names of servers, `*` for any characters: exact where names have dots. */
  readonly server?: string | readonly string[];
  readonly when?: (call: PolicyCall) => boolean;
  readonly readOnly?: boolean;
  readonly destructive?: boolean;
  readonly idempotent?: boolean;
  readonly openWorld?: boolean;
  /**
   * Tests by the path of an argument: `path`, `options.force`, `files.*.path`. Where `*` stands for several, a rule
   * that allows needs all of them, and any other needs one.
   */
  readonly args?: { readonly [path: string]: ArgumentTest };
  /** Allows even after untrusted content has entered the conversation. */
  readonly evenAfterUntrusted?: boolean;
  /** Allows even while resources of other servers are in the conversation. */
  readonly evenWithResources?: boolean;
  readonly then: Effect;
  /** Shown to the user, and told to the model when the call is denied. */
  readonly reason?: string;
}

/** What happens to a call. */
export type Effect = "allow" | "ask" | "deny";

/**
 * What one argument must be; all that is said must hold. An argument that is not there fails every test, and so does a
 * value with a `..` step in `startsWith` and `matches` of a rule that allows.
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

/** A call as a policy sees it. */
export interface PolicyCall {
  readonly server: string;
  readonly tool: string;
  /** `server.tool`. */
  readonly name: string;
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
  /** Whether the server's hints count. */
  readonly trusted: boolean;
  readonly definition: Tool;
  readonly args: JsonObject;
  /** Servers whose untrusted content is in the conversation. */
  readonly contentFrom: readonly string[];
  /** Servers whose resources are in the conversation. */
  readonly resourcesFrom: readonly string[];
}

/** What a policy says about a call; shared between calls, so not to be changed. */
export interface Decision {
  readonly effect: Effect;
  /** The place of the rule that decided; none when no rule did. */
  readonly rule?: number;
  readonly reason: string;
  readonly cautions: readonly Caution[];
}

/** Why a call that a rule allows is asked about, or what to know when it is asked about anyway. */
export interface Caution {
  /**
   * `untrusted-content`: what a server wrote may have led the model to this call. `data-flow`: data of one server may
   * go to another.
   */
  readonly kind: "untrusted-content" | "data-flow";
  readonly from: readonly string[];
}

/** Checks rules and makes them quick to ask; what is wrong with one is said with its place. */
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

/** Whether a call is of a tool that is meant. */
type CallTest = (call: PolicyCall) => boolean;

interface CompiledRule {
  readonly decision: Decision;
  readonly rule: Rule;
  readonly isNamed: CallTest | undefined;
  readonly isOfServer: CallTest | undefined;
  readonly args: ArgumentTests | undefined;
  /** The same rule for names in plain letters; none for a rule that allows, which is meant to the letter. */
  readonly plain: CompiledRule | undefined;
}

const effects: readonly Effect[] = ["allow", "ask", "deny"];

const flags = [
  "readOnly",
  "destructive",
  "idempotent",
  "openWorld",
  "evenAfterUntrusted",
  "evenWithResources",
] as const;

const known = new Set<string>([...flags, "match", "server", "when", "args", "then", "reason"]);

function compileRule(rule: Rule, index: number): CompiledRule {
  const where = `policy[${index}]`;
  for (const member of Object.keys(rule)) {
    if (!known.has(member)) throw invalidRule(where, `only ${[...known].join(", ")}`, JSON.stringify(member));
  }
  if (!effects.includes(rule.then)) throw invalidRule(`${where}.then`, "allow, ask or deny", nameOf(rule.then));
  for (const flag of flags) {
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
  const decision = freeze({ effect: rule.then, rule: index, reason, cautions: noCautions });
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

/** Server and tool apart: what is allowed for all tools of `git` is not for a server that somebody has called `git.x`. */
function splitGlob(pattern: string): CallTest {
  const dots = [...pattern.matchAll(/\./g)].map(({ index }) => index);
  if (dots.length === 0) return nameGlob(pattern);
  const pairs = dots.map((at) => [compileGlob(pattern.slice(0, at)), compileGlob(pattern.slice(at + 1))] as const);
  return ({ server, tool }) => pairs.some(([isServer, isTool]) => isServer(server) && isTool(tool));
}

const noCautions: readonly Caution[] = Object.freeze([]);

function freeze(decision: Decision): Decision {
  return Object.freeze(decision);
}

const undecided: Decision = freeze({ effect: "ask", reason: "No rule says otherwise.", cautions: noCautions });

/** On the way of every call: nothing is made unless there is something to warn about. */
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

/** What one rule would stop, but for a letter or a quote, another does not allow without asking. */
function decisionOf({ decision }: CompiledRule, similarRule: CompiledRule | undefined): Decision {
  if (similarRule === undefined || decision.effect !== "allow") return decision;
  const rule = similarRule.decision.rule ?? 0;
  return {
    effect: "ask",
    rule,
    reason: `It is all but what rule ${rule + 1} of the policy is about.`,
    cautions: noCautions,
  };
}

/** The first rule that is about the tool must not depend on anything else. */
function allowsAlways(rules: readonly CompiledRule[], call: PolicyCall): boolean {
  const plain = toPlainNames(call);
  const first = rules.find((compiled) => isAbout(compiled, call) || (compiled.plain && isAbout(compiled.plain, plain)));
  return first?.rule.then === "allow" && first.args === undefined && first.rule.when === undefined;
}

/** Whether a rule is about a call that it does not match, if its server reads it with some goodwill. */
function nearlyMatches(compiled: CompiledRule, plain: PolicyCall): boolean {
  const { rule, args } = compiled;
  // What a function of the application says is said.
  if (rule.when !== undefined || !isAbout(compiled, plain)) return false;
  return args === undefined || args.nearlyHold(plain.args);
}

/** The call with the names that its tool and server seem to have; most have them already. */
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
  // A promise is no answer, and taking it for a yes would open the door.
  if (verdict && verdict !== true)
    throw new PortolanError("invalid-definition", `expected true or false, got ${nameOf(verdict)}`);
  return verdict === true;
}

/** Whether a rule is about a tool, apart from what it is called with. */
function isAbout({ rule, isNamed, isOfServer }: CompiledRule, call: PolicyCall): boolean {
  if (isNamed !== undefined && !isNamed(call)) return false;
  if (isOfServer !== undefined && !isOfServer(call)) return false;
  if (rule.readOnly !== undefined && rule.readOnly !== call.readOnly) return false;
  if (rule.destructive !== undefined && rule.destructive !== call.destructive) return false;
  if (rule.idempotent !== undefined && rule.idempotent !== call.idempotent) return false;
  return rule.openWorld === undefined || rule.openWorld === call.openWorld;
}

/** A rule that cannot say whether it applies might have denied. */
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

/** A test of one value. */
type Check = (value: unknown) => boolean;

/** The tests of a rule's arguments. */
export interface ArgumentTests {
  hold(args: unknown): boolean;
  /** Whether they hold, or would if the server took an argument for what it is not. */
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
    // Own members only: what every object has was not sent by anybody.
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

/** A beginning says nothing about a path that climbs out of it again. */
function textCheck(check: (value: string) => boolean, isStrict: boolean): Check {
  if (!isStrict) return (value) => typeof value === "string" && check(value);
  return (value) => typeof value === "string" && check(value) && !parentStep.test(value);
}

const parentStep = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:[/\\]|%2f|%5c|$)/i;

function isNumber(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}

/**
 * What a server may take an argument for: a number in quotes for a number, one item for a list of it, a path for where it
 * leads. The value itself is not among them.
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

/** A text as a path or an address that was followed to its end. */
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

/** Compiles a pattern in which `*` stands for any characters; the time of a test grows with the text alone. */
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

/** What a tool is taken to do. */
export interface Hints {
  readonly readOnly: boolean;
  readonly destructive: boolean;
  readonly idempotent: boolean;
  readonly openWorld: boolean;
}

/** The worst that the spec allows to assume. */
const unknownHints: Hints = { readOnly: false, destructive: true, idempotent: false, openWorld: true };

/** What a tool's annotations say, where its server is trusted; otherwise, and where they say nothing, the worst. */
export function hintsOf(tool: Tool, trusted: boolean): Hints {
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
