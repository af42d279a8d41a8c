import { nameOf, PortolanError } from "../../errors.ts";
import { toLatin } from "../display/confusables.ts";
import { type ArgumentTests, compileArguments } from "./arguments.ts";
import { compileGlob } from "./glob.ts";
import type { Caution, Decision, Effect, Policy, PolicyCall, Rule } from "./rule.ts";

/** Checks rules and makes them quick to ask; what is wrong with one is said with its place. */
export function compilePolicy(rules: readonly Rule[]): Policy {
  if (!Array.isArray(rules)) throw bad("policy", "an array of rules", nameOf(rules));
  const kept = rules.map((rule: unknown, index) => {
    if (typeof rule === "object" && rule !== null) return { ...(rule as Rule) };
    throw bad(`policy[${index}]`, "a rule", nameOf(rule));
  });
  const compiled = kept.map(compileRule);
  return {
    rules: kept,
    decide: (call) => decide(compiled, call),
    allowsAlways: (call) => allowsAlways(compiled, call),
  };
}

/** Whether a call is of a tool that is meant. */
type Names = (call: PolicyCall) => boolean;

interface CompiledRule {
  readonly decision: Decision;
  readonly rule: Rule;
  readonly isNamed: Names | undefined;
  readonly isOfServer: Names | undefined;
  readonly args: ArgumentTests | undefined;
  /** The same rule for names in plain letters; none for a rule that allows, which is meant to the letter. */
  readonly plain: CompiledRule | undefined;
}

const noCautions: readonly Caution[] = Object.freeze([]);
const undecided: Decision = freeze({ effect: "ask", reason: "No rule says otherwise.", cautions: noCautions });

/** On the way of every call: nothing is made unless there is something to warn about. */
function decide(rules: readonly CompiledRule[], call: PolicyCall): Decision {
  let plain: PolicyCall | undefined;
  let near: CompiledRule | undefined;
  for (const compiled of rules) {
    try {
      if (matches(compiled, call)) return withCautions(decisionOf(compiled, near), compiled.rule, call);
      if (near !== undefined || compiled.plain === undefined) continue;
      plain ??= inPlainLetters(call);
      if (isNear(compiled.plain, plain)) near = compiled;
    } catch (error) {
      return failed(compiled, error);
    }
  }
  return withCautions(undecided, undefined, call);
}

/** What one rule would stop, but for a letter or a quote, another does not allow without asking. */
function decisionOf({ decision }: CompiledRule, near: CompiledRule | undefined): Decision {
  if (near === undefined || decision.effect !== "allow") return decision;
  const rule = near.decision.rule ?? 0;
  return {
    effect: "ask",
    rule,
    reason: `It is all but what rule ${rule + 1} of the policy is about.`,
    cautions: noCautions,
  };
}

/** The first rule that is about the tool must not depend on anything else. */
function allowsAlways(rules: readonly CompiledRule[], call: PolicyCall): boolean {
  const plain = inPlainLetters(call);
  const first = rules.find(
    (compiled) => concerns(compiled, call) || (compiled.plain && concerns(compiled.plain, plain)),
  );
  return first?.rule.then === "allow" && first.args === undefined && first.rule.when === undefined;
}

/** Whether a rule is about a call that it does not match, if its server reads it with some goodwill. */
function isNear(compiled: CompiledRule, plain: PolicyCall): boolean {
  const { rule, args } = compiled;
  // What a function of the application says is said.
  if (rule.when !== undefined || !concerns(compiled, plain)) return false;
  return args === undefined || args.nearlyHold(plain.args);
}

/** The call with the names that its tool and server seem to have; most have them already. */
function inPlainLetters(call: PolicyCall): PolicyCall {
  if (/^[a-z\d_.-]*$/.test(call.name)) return call;
  const [server, tool] = [toLatin(call.server), toLatin(call.tool)];
  return { ...call, server, tool, name: `${server}.${tool}` };
}

function matches(compiled: CompiledRule, call: PolicyCall): boolean {
  if (!concerns(compiled, call)) return false;
  const { rule, args } = compiled;
  if (args !== undefined && !args.hold(call.args)) return false;
  if (rule.when === undefined) return true;
  const said: unknown = rule.when(call);
  // A promise is no answer, and taking it for a yes would open the door.
  if (said && said !== true)
    throw new PortolanError("invalid-definition", `expected true or false, got ${nameOf(said)}`);
  return said === true;
}

/** Whether a rule is about a tool, apart from what it is called with. */
function concerns({ rule, isNamed, isOfServer }: CompiledRule, call: PolicyCall): boolean {
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
    if (!known.has(member)) throw bad(where, `only ${[...known].join(", ")}`, JSON.stringify(member));
  }
  if (!effects.includes(rule.then)) throw bad(`${where}.then`, "allow, ask or deny", nameOf(rule.then));
  for (const flag of flags) {
    const value: unknown = rule[flag];
    if (value !== undefined && typeof value !== "boolean") throw bad(`${where}.${flag}`, "a boolean", nameOf(value));
  }
  if (rule.when !== undefined && typeof rule.when !== "function") {
    throw bad(`${where}.when`, "a function", nameOf(rule.when));
  }
  if (rule.reason !== undefined && typeof rule.reason !== "string") {
    throw bad(`${where}.reason`, "a string", nameOf(rule.reason));
  }
  if (rule.args !== undefined && (typeof rule.args !== "object" || rule.args === null || Array.isArray(rule.args))) {
    throw bad(`${where}.args`, "an object of tests by path", nameOf(rule.args));
  }
  const reason = rule.reason ?? `Rule ${index + 1} of the policy says ${rule.then}.`;
  const allows = rule.then === "allow";
  const decision = freeze({ effect: rule.then, rule: index, reason, cautions: noCautions });
  const args = rule.args && compileArguments(rule.args, allows, `${where}.args`);
  const withNames = (read: (pattern: string) => string, plain?: CompiledRule): CompiledRule => ({
    decision,
    rule,
    isNamed: compilePatterns(rule.match, `${where}.match`, /[.*]/, (it) => (allows ? parted(it) : whole(read(it)))),
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
  compile: (pattern: string) => Names,
): Names | undefined {
  if (given === undefined) return undefined;
  const patterns: readonly unknown[] = Array.isArray(given) ? given : [given];
  const globs = patterns.map((pattern) => {
    if (typeof pattern === "string" && shape.test(pattern)) return compile(pattern);
    throw bad(where, `a name such as git.push, with * for any characters`, nameOf(pattern));
  });
  if (globs.length === 0) throw bad(where, "at least one name", "none");
  const [only, second] = globs;
  return second === undefined ? only : (call) => globs.some((glob) => glob(call));
}

function ofServer(pattern: string): Names {
  const glob = compileGlob(pattern);
  return ({ server }) => glob(server);
}

function whole(pattern: string): Names {
  const glob = compileGlob(pattern);
  return ({ name }) => glob(name);
}

/** Server and tool apart: what is allowed for all tools of `git` is not for a server that somebody has called `git.x`. */
function parted(pattern: string): Names {
  const dots = [...pattern.matchAll(/\./g)].map(({ index }) => index);
  if (dots.length === 0) return whole(pattern);
  const pairs = dots.map((at) => [compileGlob(pattern.slice(0, at)), compileGlob(pattern.slice(at + 1))] as const);
  return ({ server, tool }) => pairs.some(([isServer, isTool]) => isServer(server) && isTool(tool));
}

function freeze(decision: Decision): Decision {
  return Object.freeze(decision);
}

function bad(where: string, expected: string, got: string): PortolanError {
  return new PortolanError("invalid-definition", `${where}: expected ${expected}, got ${got}`);
}
