import { nameOf } from "../errors.ts";

/**
 * Checks one value. Returns undefined if it is valid, else one line such as `params.name: expected a string, got 3`.
 * Allocates nothing for a valid value.
 */
export type ShapeCheck = (value: unknown, path: string) => string | undefined;

/** Accepts everything, also undefined. */
export const any: ShapeCheck = () => undefined;

/** Accepts a string. */
export const string: ShapeCheck = (value, path) =>
  typeof value === "string" ? undefined : mismatch(path, "a string", value);

/** Accepts a finite number. */
export const number: ShapeCheck = (value, path) =>
  typeof value === "number" && Number.isFinite(value) ? undefined : mismatch(path, "a number", value);

/** Accepts a number without a fraction. */
export const integer: ShapeCheck = (value, path) =>
  Number.isInteger(value) ? undefined : mismatch(path, "an integer", value);

/** Accepts `true` and `false`. */
export const boolean: ShapeCheck = (value, path) =>
  typeof value === "boolean" ? undefined : mismatch(path, "a boolean", value);

/** Accepts undefined and the values that `check` accepts. */
export function optional(check: ShapeCheck): ShapeCheck {
  return (value, path) => (value === undefined ? undefined : check(value, path));
}

/** Accepts one of the literals. */
export function oneOf(...literals: readonly (string | number | boolean | null)[]): ShapeCheck {
  const expected =
    literals.length === 1 ? nameOf(literals[0]) : `one of ${literals.map((literal) => nameOf(literal)).join(", ")}`;
  return (value, path) => {
    for (const literal of literals) if (literal === value) return undefined;
    return mismatch(path, expected, value);
  };
}

/** Accepts an array whose items all pass. */
export function array(item: ShapeCheck): ShapeCheck {
  return (value, path) => {
    if (!Array.isArray(value)) return mismatch(path, "an array", value);
    for (let index = 0; index < value.length; index++) {
      const problem = item(value[index], "");
      if (problem !== undefined) return within(`${path}[${index}]`, problem);
    }
    return undefined;
  };
}

/** Accepts an object whose members all pass `member`. Default: any members. */
export function record(member?: ShapeCheck): ShapeCheck {
  return (value, path) => {
    if (!isObject(value)) return mismatch(path, "an object", value);
    if (member === undefined) return undefined;
    for (const name in value) {
      const problem = member(value[name], name);
      if (problem !== undefined) return within(path, problem);
    }
    return undefined;
  };
}

/** Accepts an object whose named members pass. Other members are allowed. */
export function object(fields: { readonly [name: string]: ShapeCheck }): ShapeCheck {
  const names = Object.keys(fields);
  const checks = Object.values(fields);
  return (value, path) => {
    if (!isObject(value)) return mismatch(path, "an object", value);
    for (let index = 0; index < names.length; index++) {
      const name = names[index] as string;
      const problem = (checks[index] as ShapeCheck)(value[name], name);
      if (problem !== undefined) return within(path, problem);
    }
    return undefined;
  };
}

/** Returns true for an object that is neither null nor an array. */
export function isObject(value: unknown): value is { [member: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function mismatch(path: string, expected: string, value: unknown): string {
  return `${path}: expected ${expected}, got ${nameOf(value)}`;
}

/** Adds a path to a problem, which begins with a path of its own or, for the value itself, with a colon. */
function within(path: string, problem: string): string {
  return path === "" || problem.startsWith(":") || problem.startsWith("[") ? path + problem : `${path}.${problem}`;
}
