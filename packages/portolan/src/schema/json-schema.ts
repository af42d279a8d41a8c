import { nameOf, PortolanError } from "../errors.ts";
import type { Issue, JsonSchema } from "./infer.ts";
import { applicators, assertions } from "./keywords.ts";
import { isPattern, longestText, riskOf } from "./pattern.ts";
import {
  all,
  anything,
  compileAll,
  invalid,
  type Keyword,
  type KeywordCheck,
  keepTime,
  keyword,
  MAYBE,
  type Matcher,
  map,
  measure,
  NO,
  nothing,
  type SchemaIssue,
  type Scope,
  type Site,
  short,
  spend,
  text,
  type ValidationRun,
  YES,
} from "./run.ts";
import { isObject } from "./shape.ts";

/** Options of `compileJsonSchema`. */
export interface JsonSchemaOptions {
  /** The deepest nesting of the schema and of values. Default: 512. */
  readonly maxDepth?: number;
  /** At most this many subschemas. Default: 10,000. */
  readonly maxSubschemas?: number;
  /** True for a schema of the program itself. An untrusted schema gets less time and no risky patterns. Default: false. */
  readonly trusted?: boolean;
}

/** Checks a value against one schema. No issues: the value is valid. */
export interface JsonSchemaCheck {
  (value: unknown): readonly Issue[];
  /** The parts of the schema that are not checked, one line each. */
  readonly warnings: readonly string[];
}

const defaultMaxDepth = 512;
const defaultMaxSubschemas = 10_000;
/** The work allowed for any value, and for each member and item of a large one. */
const minSteps = 1_000_000;
const stepsPerNode = 50;
const stepsPerUntrustedNode = 10;

const maxIssues = 10;

const none: readonly Issue[] = Object.freeze([]);

/**
 * Compiles a JSON Schema of 2020-12, or of draft-07 if `$schema` names it. Nothing is ever fetched. Throws a
 * PortolanError "invalid-definition" if the schema is malformed, too large, of another dialect, or refers to something
 * outside itself. The check never throws: a value that cannot be checked within the limits is invalid.
 */
export function compileJsonSchema(schema: JsonSchema | boolean, options: JsonSchemaOptions = {}): JsonSchemaCheck {
  const { maxDepth = defaultMaxDepth, maxSubschemas = defaultMaxSubschemas, trusted = false } = options;
  const compiled = compile(schema, { maxDepth, maxSubschemas, trusted });
  const run: ValidationRun = {
    steps: 0,
    deadline: 0,
    issues: undefined,
    keys: [],
    seen: undefined,
    isUnsure: false,
    scope: undefined,
  };

  const passes = (value: unknown, size: number, issues: SchemaIssue[] | undefined): boolean => {
    run.steps = minSteps + size * (trusted ? stepsPerNode : stepsPerUntrustedNode);
    run.deadline = 0;
    run.issues = issues;
    run.seen = undefined;
    run.isUnsure = false;
    run.scope = compiled.scope;
    return compiled.check(value, run);
  };

  const explain = (value: unknown, size: number): readonly Issue[] => {
    const issues: SchemaIssue[] = [];
    run.keys = [];
    try {
      passes(value, size, issues);
    } catch (cause) {
      limitOf(cause);
    }
    if (issues.length === 0) return [{ path: "", message: "does not match the schema" }];
    return issues.slice(0, maxIssues).map(({ path, message }) => ({ path, message }));
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
    // Checks the JSON form of the value: without undefined members, with dates as text.
    const json = asJson(value);
    if (json === undefined) return [{ path: "", message: `expected a JSON value, got ${nameOf(value)}` }];
    return check(json.value);
  };
  return Object.assign(check, { warnings: [...compiled.warnings] });
}

/** Returns a message about the limit that ended a run. Rethrows any other error. */
function limitOf(cause: unknown): string {
  if (cause instanceof PortolanError && cause.code === "limit-reached") return cause.message;
  // Stack overflow: a schema that refers to itself, or a deep value under a deep schema.
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

interface CompileOptions {
  readonly maxDepth: number;
  readonly maxSubschemas: number;
  readonly trusted: boolean;
}

/** A compiled schema. */
interface Compiled {
  readonly check: KeywordCheck;
  /** The scope of the root, where a run starts. */
  readonly scope: Scope;
  /** The patterns that are not run, one line each. */
  readonly warnings: ReadonlySet<string>;
}

/** Compiles a schema of one of the two supported dialects. */
function compile(schema: JsonSchema | boolean, options: CompileOptions): Compiled {
  const dialect = isObject(schema) ? schema["$schema"] : undefined;
  const isDraft07 = isDialect07(dialect);
  if (isDraft07 === undefined) {
    throw invalid(`$schema: expected JSON Schema 2020-12 or draft-07, got ${short(dialect)}`);
  }
  return new Compiler(options, isDraft07).compile(schema);
}

/** Returns true for draft-07, false for 2020-12, and undefined for other dialects. */
function isDialect07(dialect: unknown): boolean | undefined {
  if (dialect === undefined) return false;
  const name = /^https?:\/\/json-schema\.org\/(draft.+)\/schema#?$/.exec(String(dialect))?.[1];
  return name === "draft-07" || (name === "draft/2020-12" ? false : undefined);
}

/** A keyword that checks nothing. References can point to its subschemas. */
const definitions: Keyword = keyword(map, (schemas, site, name) => {
  compileAll(schemas, site, name);
  return undefined;
});
const reference: Keyword = keyword(text, (target, site, name) => site.refer(target, name));
const identifier: Keyword = keyword(text, () => undefined);

/** All keywords that are evaluated. The others are annotations. */
const keywords = new Map<string, Keyword>(
  Object.entries({
    ...assertions,
    ...applicators,
    $defs: definitions,
    definitions,
    $ref: reference,
    $dynamicRef: reference,
    $id: identifier,
    $anchor: identifier,
    $dynamicAnchor: identifier,
  }),
);

/** Keywords that draft-07 does not have. Renamed ones work in both dialects, because many schemas name no dialect. */
const notInDraft07 = new Set([
  ...["$defs", "$anchor", "$dynamicAnchor", "$dynamicRef", "prefixItems", "minContains", "maxContains"],
  ...["dependentSchemas", "dependentRequired", "unevaluatedItems", "unevaluatedProperties"],
]);

class Compiler {
  readonly #options: CompileOptions;
  readonly #isDraft07: boolean;
  readonly #resources = new Resources();
  readonly #warnings = new Set<string>();
  /** References are resolved last, when all identifiers are known. */
  readonly #links: (() => void)[] = [];
  #count = 0;

  constructor(options: CompileOptions, isDraft07: boolean) {
    this.#options = options;
    this.#isDraft07 = isDraft07;
  }

  compile(schema: JsonSchema | boolean): Compiled {
    const root = this.#resources.enter(schema, undefined, this.#isDraft07);
    const check = this.#visit(schema, root, "", 0);
    // The list grows while it is read: targets in unknown keywords are compiled now.
    for (const link of this.#links) link();
    return { check, scope: { dynamic: root.dynamic, outer: undefined }, warnings: this.#warnings };
  }

  #visit(schema: unknown, outer: SchemaResource, path: string, depth: number): KeywordCheck {
    const { maxDepth, maxSubschemas } = this.#options;
    this.#count += 1;
    if (this.#count > maxSubschemas) throw invalid(`the schema has more than ${maxSubschemas} subschemas`);
    if (typeof schema === "boolean") return schema ? anything : nothing;
    if (!isObject(schema)) {
      throw invalid(`${at(path)}expected a schema (an object or a boolean), got ${nameOf(schema)}`);
    }
    if (depth >= maxDepth) throw invalid(`the schema is nested more than ${maxDepth} levels deep`);
    const { $schema, $dynamicAnchor } = schema;
    if ($schema !== undefined && isDialect07($schema) !== this.#isDraft07) {
      throw invalid(`${at(path)}expected one dialect throughout the schema, got ${short($schema)}`);
    }
    const resource = schema === outer.root ? outer : this.#resources.enter(schema, outer, this.#isDraft07);
    const check = this.#combine(schema, {
      schema,
      isDraft07: this.#isDraft07,
      pathOf: (key) => join(path, key),
      compile: (inner, ...keys) => this.#visit(inner, resource, keys.reduce(join, path), depth + 1),
      match: (pattern, name) => this.#match(pattern, name === "pattern" ? path : join(path, name)),
      refer: (reference, name) => this.#refer(reference, resource, path, name),
    });
    resource.checks.set(schema, check);
    if (typeof $dynamicAnchor === "string") resource.dynamic.set($dynamicAnchor, inScope(resource, check));
    return resource === outer ? check : inScope(resource, check);
  }

  #combine(schema: JsonSchema, site: Site): KeywordCheck {
    const checks: KeywordCheck[] = [];
    const unevaluated: KeywordCheck[] = [];
    // In draft-07 `$ref` disables its sibling keywords; only definitions can still be referenced.
    const isHidden = this.#isDraft07 && schema["$ref"] !== undefined;
    for (const [name, value] of Object.entries(schema)) {
      const keyword = value === undefined ? undefined : keywords.get(name);
      if (keyword === undefined || (this.#isDraft07 && notInDraft07.has(name))) continue;
      if (isHidden && name !== "$ref" && name !== "definitions") continue;
      const built = keyword(value, site, name) ?? [];
      const kept = name.startsWith("unevaluated") ? unevaluated : checks;
      for (const check of [built].flat()) kept.push(check);
    }
    if (unevaluated.length > 0) return tracking(checks, unevaluated);
    const [only] = checks;
    if (only === undefined) return anything;
    if (checks.length > 1) {
      const cost = 1 + (checks.length >> 3);
      return (value, run) => {
        spend(run, cost);
        return all(checks, value, run);
      };
    }
    return (value, run) => {
      spend(run, 1);
      return only(value, run);
    };
  }

  #match(pattern: string, path: string): Matcher {
    const { trusted } = this.#options;
    const isValid = isPattern(pattern);
    if (trusted && !isValid) throw invalid(`${at(path)}expected a regular expression (flag u), got ${short(pattern)}`);
    const risk = trusted ? undefined : isValid ? riskOf(pattern) : "is no regular expression";
    if (risk !== undefined) {
      this.#warnings.add(`${at(path)}the pattern ${short(pattern)} is not checked: it ${risk}`);
      return () => MAYBE;
    }
    const regex = new RegExp(pattern, "u");
    const longest = trusted ? Infinity : longestText(pattern);
    return (text, run) => {
      spend(run, 1 + (text.length >> 6));
      if (text.length > longest) return MAYBE;
      if (!trusted) keepTime(run);
      return regex.test(text) ? YES : NO;
    };
  }

  #refer(reference: string, from: SchemaResource, path: string, name: string): KeywordCheck {
    let target = nothing;
    this.#links.push(() => {
      const found = this.#resources.find(reference, from);
      if (found === undefined) {
        throw invalid(`${at(path)}${name} ${short(reference)} is not inside the schema; references are not fetched`);
      }
      const { schema, resource } = found;
      const anchor = fragmentOf(reference);
      const check = resource.checks.get(schema) ?? this.#visit(schema, resource, anchor.slice(1), 1);
      target = resource === from ? check : inScope(resource, check);
      if (name === "$dynamicRef" && resource.dynamic.has(anchor)) target = dynamic(anchor, target);
    });
    return (value, run) => target(value, run);
  }
}

/** Resolves a dynamic anchor to the outermost resource that has it. */
function dynamic(anchor: string, target: KeywordCheck): KeywordCheck {
  return (value, run) => {
    let check = target;
    for (let scope = run.scope; scope !== undefined; scope = scope.outer) check = scope.dynamic.get(anchor) ?? check;
    return check(value, run);
  };
}

function inScope({ dynamic }: SchemaResource, check: KeywordCheck): KeywordCheck {
  return (value, run) => {
    const outer = run.scope;
    run.scope = { dynamic, outer };
    const passes = check(value, run);
    run.scope = outer;
    return passes;
  };
}

/** Records what the checks evaluate, then runs the `unevaluated…` checks on the rest. */
function tracking(checks: readonly KeywordCheck[], rest: readonly KeywordCheck[]): KeywordCheck {
  return (value, run) => {
    spend(run, 1);
    const outer = run.seen;
    const seen: PropertyKey[] = [];
    run.seen = seen;
    const passes = all(checks, value, run) && all(rest, value, run);
    run.seen = outer;
    if (outer !== undefined) for (const key of seen) outer.push(key);
    return passes;
  };
}

function join(path: string, key: string | number): string {
  return path === "" ? String(key) : `${path}/${key}`;
}

function at(path: string): string {
  return path === "" ? "" : `${path}: `;
}

/** The root schema or a subschema with `$id`: the base of relative references inside it. */
interface SchemaResource {
  readonly uri: string;
  readonly root: unknown;
  readonly anchors: Map<string, JsonSchema>;
  /** Checks by dynamic anchor. */
  readonly dynamic: Map<string, KeywordCheck>;
  /** Checks by schema. */
  readonly checks: Map<unknown, KeywordCheck>;
}

/** The target of a reference, and its resource. */
interface ReferenceTarget {
  readonly schema: unknown;
  readonly resource: SchemaResource;
}

/** The base of relative references. Nothing is ever fetched. */
const baseUri = "schema:///";

/** All resources of one schema. */
class Resources {
  readonly #byUri = new Map<string, SchemaResource>();

  /** Returns the resource of a subschema: a new one if the subschema has an identifier. */
  enter(schema: JsonSchema | boolean, outer: SchemaResource | undefined, isDraft07: boolean): SchemaResource {
    const { $id, $ref, $anchor, $dynamicAnchor } = isObject(schema) ? schema : {};
    // In draft-07 `$ref` disables its sibling keywords.
    const id = typeof $id === "string" && !(isDraft07 && $ref !== undefined) ? $id : "";
    const [path = "", fragment = ""] = id.split("#");
    const resource = outer !== undefined && path === "" ? outer : this.#open(path, schema, outer);
    if (!isObject(schema)) return resource;
    for (const name of isDraft07 ? [fragment] : [$anchor, $dynamicAnchor]) {
      if (typeof name === "string" && name !== "") resource.anchors.set(name, schema);
    }
    return resource;
  }

  #open(path: string, root: unknown, outer: SchemaResource | undefined): SchemaResource {
    const uri = resolve(path, outer);
    const resource = { uri, root, anchors: new Map(), dynamic: new Map(), checks: new Map() };
    if (!this.#byUri.has(uri)) this.#byUri.set(uri, resource);
    return resource;
  }

  /** Finds the target of a reference. Undefined if it is not inside the schema. */
  find(reference: string, from: SchemaResource): ReferenceTarget | undefined {
    const resource = reference.startsWith("#") ? from : this.#byUri.get(resolve(reference, from));
    const fragment = fragmentOf(reference);
    if (resource === undefined) return undefined;
    if (fragment === "") return { schema: resource.root, resource };
    if (fragment.startsWith("/")) return this.#follow(fragment, resource);
    const schema = resource.anchors.get(fragment);
    return schema && { schema, resource };
  }

  /** Follows a JSON Pointer, which may lead into unknown keywords and through other resources. */
  #follow(pointer: string, from: SchemaResource): ReferenceTarget | undefined {
    let schema = from.root;
    let resource: SchemaResource = from;
    for (const token of pointer.slice(1).split("/")) {
      const key = token.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, key)) return undefined;
      schema = (schema as { [key: string]: unknown })[key];
      const id = isObject(schema) ? schema["$id"] : undefined;
      const entered: SchemaResource | undefined =
        typeof id === "string" ? this.#byUri.get(resolve(id, resource)) : undefined;
      if (entered !== undefined && entered.root === schema) resource = entered;
    }
    return { schema, resource };
  }
}

/** Returns the decoded fragment of a reference. */
function fragmentOf(reference: string): string {
  try {
    return decodeURIComponent(reference.split("#")[1] ?? "");
  } catch (cause) {
    throw invalid(`${short(reference)} is no valid URI`, cause);
  }
}

/** Returns the absolute form of a reference without its fragment. */
function resolve(reference: string, from: SchemaResource | undefined): string {
  const base = from?.uri ?? baseUri;
  const [path = ""] = reference.split("#");
  try {
    return path === "" ? base : new URL(path, base).href;
  } catch (cause) {
    throw invalid(`${short(reference)} is no valid URI`, cause);
  }
}
