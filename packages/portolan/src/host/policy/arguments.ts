import { nameOf, PortolanError } from "../../errors.ts";
import { canonicalJson } from "../../storage/crypto.ts";
import { compileGlob } from "./glob.ts";
import { readingsOf } from "./readings.ts";
import type { ArgumentTest } from "./rule.ts";

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
    if (steps.includes("")) throw bad(where, "paths such as options.force", JSON.stringify(path));
    const check = compileTest(test, isStrict, `${where}[${JSON.stringify(path)}]`);
    const isNear: Check = (value) => check(value) || readingsOf(value).some(check);
    return { steps, check, isNear };
  });
  return {
    hold: (args) => compiled.every(({ steps, check }) => holds(args, steps, 0, check, isStrict)),
    nearlyHold: (args) => compiled.every(({ steps, isNear }) => holds(args, steps, 0, isNear, isStrict)),
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
    throw bad(`${where}.${name}`, expected, make ? nameOf(value) : JSON.stringify(name));
  });
  if (checks.length === 0) throw bad(where, `at least one of ${Object.keys(members).join(", ")}`, nameOf(test));
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
  return (value) => typeof value === "string" && check(value) && !climbs.test(value);
}

const climbs = /(?:^|[/\\]|%2f|%5c)(?:\.|%2e){2}(?:[/\\]|%2f|%5c|$)/i;

function isNumber(value: unknown): value is number {
  return typeof value === "number" && !Number.isNaN(value);
}

function bad(where: string, expected: string, got: string): PortolanError {
  return new PortolanError("invalid-definition", `${where}: expected ${expected}, got ${got}`);
}
