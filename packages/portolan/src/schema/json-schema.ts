import { type OutputUnit, validate } from "@cfworker/json-schema";
import { PortolanError } from "../errors.ts";
import { type Issue, toIssues } from "./issues.ts";
import { isCostlyOnLongText, riskOf, SAFE_TEXT_LENGTH } from "./pattern.ts";
import { type PreparedSchema, type PrepareOptions, prepareSchema } from "./prepare.ts";
import { describe } from "./shape.ts";
import type { JsonSchema } from "./standard.ts";

export interface JsonSchemaOptions {
  /** Levels of nesting allowed in the schema and in values (default 512). */
  readonly maxDepth?: number;
  /** Subschemas allowed in the schema (default 10,000). */
  readonly maxSubschemas?: number;
  /** Whether the schema is our own. A stranger's schema (the default) gets a time limit and no risky patterns. */
  readonly trusted?: boolean;
  /** Whether `format` is checked; by default it is an annotation. */
  readonly formats?: boolean;
}

/** Checks a value against one schema; no issues means valid. */
export interface JsonSchemaCheck {
  (value: unknown): readonly Issue[];
  /** What of the schema is not checked, one line each. */
  readonly warnings: readonly string[];
}

const DEFAULT_MAX_DEPTH = 512;
const DEFAULT_MAX_SUBSCHEMAS = 10_000;
const MAX_STEPS = 1_000_000;
const STEPS_PER_NODE = 50;
/** For unique items every item is compared with every other; comparing objects counts twentyfold. */
const MAX_COMPARISONS = 400_000_000;
const OBJECT_COMPARISON = 20;
const MAX_NAME_MATCHES = 10_000_000;
const MAX_MS_UNTRUSTED = 1_000;
/** Values up to this size are looked at a second time to name everything that is wrong. */
const MAX_NODES_EXPLAINED = 2_000;

const none: readonly Issue[] = Object.freeze([]);

/**
 * Prepares a check for a JSON Schema: 2020-12, or draft-07 when `$schema` says so. Nothing is ever fetched.
 * Throws a PortolanError "invalid-definition" when the schema is malformed, too large, of another dialect, or refers
 * to something outside itself. The check itself never throws: what cannot be checked within its bounds is not valid.
 */
export function compileJsonSchema(schema: JsonSchema | boolean, options: JsonSchemaOptions = {}): JsonSchemaCheck {
  const { maxDepth = DEFAULT_MAX_DEPTH, maxSubschemas = DEFAULT_MAX_SUBSCHEMAS } = options;
  const { trusted = false, formats = false } = options;
  const budget = { steps: 0, deadline: Infinity };
  const spend = (cost: number): undefined => {
    budget.steps -= cost;
    if (budget.steps < 0 || (budget.deadline !== Infinity && performance.now() > budget.deadline)) {
      throw new PortolanError("limit-reached", "checking against the JSON Schema takes too long");
    }
  };
  const prepare = (refusePattern: PrepareOptions["refusePattern"]): PreparedSchema =>
    prepareSchema(schema, { maxDepth, maxSubschemas, formats, refusePattern, spend });
  const prepared = prepare(trusted ? undefined : riskOf);
  let forLongText: PreparedSchema | undefined;

  const run = (value: unknown, size: Size): readonly Issue[] => {
    let active = prepared;
    if (!trusted && size.longestText > SAFE_TEXT_LENGTH) {
      forLongText ??= prepare((pattern) => (isCostlyOnLongText(pattern) ? "is costly on long text" : undefined));
      active = forLongText;
    }
    const tooLarge = largeness(active, size);
    if (tooLarge !== undefined) return [{ path: "", message: tooLarge }];
    budget.steps = MAX_STEPS + STEPS_PER_NODE * size.nodes;
    budget.deadline = trusted ? Infinity : performance.now() + MAX_MS_UNTRUSTED;
    try {
      const { root, draft, lookup } = active;
      const { valid, errors } = validate(value, root, draft, lookup, true);
      if (valid) return none;
      return toIssues(size.nodes > MAX_NODES_EXPLAINED ? errors : allErrors(value, active, errors), {
        value,
        root,
        lookup,
      });
    } catch (cause) {
      return [{ path: "", message: unchecked(cause) }];
    }
  };

  const check = (value: unknown): readonly Issue[] => {
    const size = newSize();
    if (!measure(value, maxDepth, size)) return [{ path: "", message: `nested more than ${maxDepth} levels deep` }];
    if (size.isPlain) return run(value, size);
    // What is checked is what would travel: without undefined members, with dates as text.
    const travelling = asJson(value);
    if (travelling === undefined) return [{ path: "", message: `expected a JSON value, got ${describe(value)}` }];
    return check(travelling.value);
  };
  return Object.assign(check, { warnings: prepared.warnings });
}

/** Runs again without stopping at the first wrong member; keeps what is known when that takes too long. */
function allErrors(value: unknown, { root, draft, lookup }: PreparedSchema, known: OutputUnit[]): OutputUnit[] {
  try {
    return validate(value, root, draft, lookup, false).errors;
  } catch {
    return known;
  }
}

/** Work that the validator does in one go, and that can only be refused before it starts. */
function largeness(prepared: PreparedSchema, size: Size): string | undefined {
  if (prepared.hasUniqueItems && size.pairs > MAX_COMPARISONS) return "too many array items to look for repeated ones";
  if (prepared.keyPatterns * size.nodes > MAX_NAME_MATCHES)
    return "too many members to match their names with patterns";
  return undefined;
}

/** Rethrows what is a mistake of ours; the others are limits of the validator, which recurses and encodes names. */
function unchecked(cause: unknown): string {
  if (cause instanceof PortolanError && cause.code === "limit-reached") return "takes too long to check";
  if (cause instanceof RangeError) return "too large or too deeply nested to check";
  if (cause instanceof URIError) return "a member name is no valid Unicode text";
  throw cause;
}

interface Size {
  nodes: number;
  longestText: number;
  /** Comparisons needed to find equal items in all arrays: which of them must be unique is not known beforehand. */
  pairs: number;
  /** False when serializing would change something. */
  isPlain: boolean;
}

function newSize(): Size {
  return { nodes: 0, longestText: 0, pairs: 0, isPlain: true };
}

/** Sizes a value up before it is checked; false when it is nested too deeply. */
function measure(value: unknown, depthLeft: number, size: Size): boolean {
  size.nodes += 1;
  if (typeof value === "string") {
    if (value.length > size.longestText) size.longestText = value.length;
    return true;
  }
  if (typeof value === "number") {
    if (!Number.isFinite(value)) size.isPlain = false;
    return true;
  }
  if (typeof value !== "object") {
    if (typeof value !== "boolean") size.isPlain = false;
    return true;
  }
  if (value === null) return true;
  if (depthLeft === 0) return false;
  if (Array.isArray(value)) {
    let weight = 1;
    for (const item of value) {
      if (typeof item === "object") weight = OBJECT_COMPARISON;
      if (!measure(item, depthLeft - 1, size)) return false;
    }
    size.pairs += weight * value.length * value.length;
    return true;
  }
  if ("toJSON" in value && typeof value.toJSON === "function") size.isPlain = false;
  for (const [name, member] of Object.entries(value)) {
    if (name.length > size.longestText) size.longestText = name.length;
    if (!measure(member, depthLeft - 1, size)) return false;
  }
  return true;
}

function asJson(value: unknown): { value: unknown } | undefined {
  try {
    const text = JSON.stringify(value);
    return text === undefined ? undefined : { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}
