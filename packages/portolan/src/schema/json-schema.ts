import { nameOf, PortolanError } from "../errors.ts";
import { compile } from "./compile.ts";
import type { Issue } from "./issues.ts";
import { type Finding, measure, type Run } from "./run.ts";
import type { JsonSchema } from "./standard.ts";

export interface JsonSchemaOptions {
  /** Levels of nesting allowed in the schema and in values (default 512). */
  readonly maxDepth?: number;
  /** Subschemas allowed in the schema (default 10,000). */
  readonly maxSubschemas?: number;
  /** Whether the schema is our own. A stranger's schema (the default) gets less time and no risky patterns. */
  readonly trusted?: boolean;
}

/** Checks a value against one schema; no issues means valid. */
export interface JsonSchemaCheck {
  (value: unknown): readonly Issue[];
  /** What of the schema is not checked, one line each. */
  readonly warnings: readonly string[];
}

const DEFAULT_MAX_DEPTH = 512;
const DEFAULT_MAX_SUBSCHEMAS = 10_000;
/** The work allowed for any value, and for each member and item of a large one. */
const MIN_STEPS = 1_000_000;
const STEPS_PER_NODE = 50;
const STEPS_PER_NODE_UNTRUSTED = 10;

const MAX_ISSUES = 10;

const none: readonly Issue[] = Object.freeze([]);

/**
 * Prepares a check for a JSON Schema: 2020-12, or draft-07 when `$schema` says so. Nothing is ever fetched.
 * Throws a PortolanError "invalid-definition" when the schema is malformed, too large, of another dialect, or refers
 * to something outside itself. The check itself never throws: what cannot be checked within its bounds is not valid.
 */
export function compileJsonSchema(schema: JsonSchema | boolean, options: JsonSchemaOptions = {}): JsonSchemaCheck {
  const { maxDepth = DEFAULT_MAX_DEPTH, maxSubschemas = DEFAULT_MAX_SUBSCHEMAS, trusted = false } = options;
  const compiled = compile(schema, { maxDepth, maxSubschemas, trusted });
  const run: Run = {
    steps: 0,
    deadline: 0,
    findings: undefined,
    keys: [],
    seen: undefined,
    isUnsure: false,
    scope: undefined,
  };

  const passes = (value: unknown, size: number, findings: Finding[] | undefined): boolean => {
    run.steps = MIN_STEPS + size * (trusted ? STEPS_PER_NODE : STEPS_PER_NODE_UNTRUSTED);
    run.deadline = 0;
    run.findings = findings;
    run.seen = undefined;
    run.isUnsure = false;
    run.scope = compiled.scope;
    return compiled.check(value, run);
  };

  const explain = (value: unknown, size: number): readonly Issue[] => {
    const findings: Finding[] = [];
    run.keys = [];
    try {
      passes(value, size, findings);
    } catch (cause) {
      limitOf(cause);
    }
    if (findings.length === 0) return [{ path: "", message: "does not match the schema" }];
    return findings.slice(0, MAX_ISSUES).map(({ path, message }) => ({ path, message }));
  };

  const check = (value: unknown): readonly Issue[] => {
    const size = measure(value, maxDepth);
    if (size < 0) return [{ path: "", message: `nested more than ${maxDepth} levels deep` }];
    if (size > 0) {
      try {
        return passes(value, size, undefined) ? none : explain(value, size);
      } catch (cause) {
        return [{ path: "", message: limitOf(cause) }];
      }
    }
    // What is checked is what would travel: without undefined members, with dates as text.
    const travelling = asJson(value);
    if (travelling === undefined) return [{ path: "", message: `expected a JSON value, got ${nameOf(value)}` }];
    return check(travelling.value);
  };
  return Object.assign(check, { warnings: [...compiled.warnings] });
}

/** Says which limit ended a run; rethrows what is a mistake of ours. */
function limitOf(cause: unknown): string {
  if (cause instanceof PortolanError && cause.code === "limit-reached") return cause.message;
  // The stack is used up: by a schema that refers to itself, or by a deep value under a deep schema.
  if (cause instanceof RangeError) return "too deeply nested to check";
  throw cause;
}

function asJson(value: unknown): { value: unknown } | undefined {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
