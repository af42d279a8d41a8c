import { nameOf } from "../errors.ts";
import { assertions } from "./assertions.ts";
import { compileAll, invalid, type Keyword, keyword, type Matcher, map, type Site, text } from "./keyword.ts";
import { applicators } from "./keywords.ts";
import { isPattern, longestText, riskOf } from "./pattern.ts";
import { fragmentOf, type Resource, Resources } from "./references.ts";
import { all, anything, type Check, keepTime, MAYBE, NO, nothing, type Scope, short, spend, YES } from "./run.ts";
import { isObject } from "./shape.ts";
import type { JsonSchema } from "./standard.ts";

export interface CompileOptions {
  readonly maxDepth: number;
  readonly maxSubschemas: number;
  readonly trusted: boolean;
}

/** A schema turned into functions. */
export interface Compiled {
  readonly check: Check;
  /** The outermost document, where a run starts. */
  readonly scope: Scope;
  /** Patterns that are not run, one line each. */
  readonly warnings: ReadonlySet<string>;
}

/** A keyword that checks nothing, but whose subschemas can be referred to. */
const definitions: Keyword = keyword(map, (schemas, site, name) => {
  compileAll(schemas, site, name);
  return undefined;
});
const reference: Keyword = keyword(text, (target, site, name) => site.refer(target, name));
const identifier: Keyword = keyword(text, () => undefined);

/** All keywords with a meaning; the others are annotations. */
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

/** What draft-07 does not have. What 2020-12 renamed it still understands, because many schemas name no dialect. */
const later = new Set([
  ...["$defs", "$anchor", "$dynamicAnchor", "$dynamicRef", "prefixItems", "minContains", "maxContains"],
  ...["dependentSchemas", "dependentRequired", "unevaluatedItems", "unevaluatedProperties"],
]);

/** Compiles a schema of one of the two supported dialects. */
export function compile(schema: JsonSchema | boolean, options: CompileOptions): Compiled {
  const dialect = isObject(schema) ? schema["$schema"] : undefined;
  const isDraft07 = isDialect07(dialect);
  if (isDraft07 === undefined) {
    throw invalid(`$schema: expected JSON Schema 2020-12 or draft-07, got ${short(dialect)}`);
  }
  return new Compiler(options, isDraft07).compile(schema);
}

/** `undefined` for a dialect that is not supported. */
function isDialect07(dialect: unknown): boolean | undefined {
  if (dialect === undefined) return false;
  const name = /^https?:\/\/json-schema\.org\/(draft.+)\/schema#?$/.exec(String(dialect))?.[1];
  return name === "draft-07" || (name === "draft/2020-12" ? false : undefined);
}

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
    // The list grows while targets outside the known keywords are compiled.
    for (const link of this.#links) link();
    return { check, scope: { dynamic: root.dynamic, outer: undefined }, warnings: this.#warnings };
  }

  #visit(schema: unknown, outer: Resource, path: string, depth: number): Check {
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

  #combine(schema: JsonSchema, site: Site): Check {
    const checks: Check[] = [];
    const unevaluated: Check[] = [];
    // In draft-07 a reference hides what stands beside it; only the definitions can still be referred to.
    const isHidden = this.#isDraft07 && schema["$ref"] !== undefined;
    for (const [name, value] of Object.entries(schema)) {
      const keyword = value === undefined ? undefined : keywords.get(name);
      if (keyword === undefined || (this.#isDraft07 && later.has(name))) continue;
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

  #refer(reference: string, from: Resource, path: string, name: string): Check {
    let target = nothing;
    this.#links.push(() => {
      const found = this.#resources.find(reference, from);
      if (found === undefined) {
        throw invalid(`${at(path)}${name} ${short(reference)} is not inside the schema, and is not fetched`);
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

/** Follows an anchor to the outermost document that has it. */
function dynamic(anchor: string, target: Check): Check {
  return (value, run) => {
    let check = target;
    for (let scope = run.scope; scope !== undefined; scope = scope.outer) check = scope.dynamic.get(anchor) ?? check;
    return check(value, run);
  };
}

function inScope({ dynamic }: Resource, check: Check): Check {
  return (value, run) => {
    const outer = run.scope;
    run.scope = { dynamic, outer };
    const passes = check(value, run);
    run.scope = outer;
    return passes;
  };
}

/** Keeps note of what the checks are applied to, and then applies the rest to what is left. */
function tracking(checks: readonly Check[], rest: readonly Check[]): Check {
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
