import { dereference, type Schema as PlainSchema } from "@cfworker/json-schema";
import { PortolanError } from "../errors.ts";
import { type Draft, draftOf, isNames, keywordsOf, splitDependencies } from "./keywords.ts";
import { isPattern } from "./pattern.ts";
import { describe, isObject } from "./shape.ts";
import type { JsonSchema } from "./standard.ts";

/** A schema checked, copied and indexed, so that validation neither changes the author's object nor fails halfway. */
export interface PreparedSchema {
  readonly root: PlainSchema | boolean;
  readonly draft: Draft;
  readonly lookup: { [uri: string]: PlainSchema | boolean };
  /** What was left out, one line each. */
  readonly warnings: string[];
  hasUniqueItems: boolean;
  keyPatterns: number;
}

export interface PrepareOptions {
  readonly maxDepth: number;
  readonly maxSubschemas: number;
  /** Whether `format` is checked. */
  readonly formats: boolean;
  /** Says why a pattern is to be left out; without it every pattern is run, and an invalid one is refused. */
  readonly refusePattern: ((pattern: string) => string | undefined) | undefined;
  /** Called whenever validation enters a subschema, with the work to be done there; may throw to stop it. */
  readonly spend: (cost: number) => undefined;
}

/** Each level of nested `$id` doubles the work of the index. */
const MAX_NESTED_IDS = 4;

export function prepareSchema(schema: JsonSchema | boolean, options: PrepareOptions): PreparedSchema {
  const dialect = isObject(schema) ? schema["$schema"] : undefined;
  const draft = draftOf(dialect);
  if (draft === undefined) {
    throw invalid(`$schema: expected JSON Schema 2020-12 or draft-07, got ${quote(dialect)}`);
  }
  const copier = new Copier(schema, draft, options);
  return copier.prepare();
}

interface Place {
  readonly path: string;
  readonly depth: number;
  readonly ids: number;
  /** Counts what was left out below: a keyword that turns a yes below into a no must then be left out itself. */
  readonly losses: { count: number };
}

interface Reference {
  readonly copy: PlainSchema;
  readonly path: string;
  readonly text: string;
  readonly isDynamic: boolean;
}

class Copier {
  readonly #source: JsonSchema | boolean;
  readonly #draft: Draft;
  readonly #options: PrepareOptions;
  readonly #warnings: string[] = [];
  readonly #anchors: { copy: PlainSchema; name: string; isDynamic: boolean }[] = [];
  readonly #references: Reference[] = [];
  #count = 0;
  #hasUniqueItems = false;
  #keyPatterns = 0;

  constructor(source: JsonSchema | boolean, draft: Draft, options: PrepareOptions) {
    this.#source = source;
    this.#draft = draft;
    this.#options = options;
  }

  prepare(): PreparedSchema {
    const root = this.#copy(this.#source, { path: "", depth: 0, ids: 0, losses: { count: 0 } });
    return {
      root,
      draft: this.#draft,
      lookup: this.#index(root),
      warnings: this.#warnings,
      hasUniqueItems: this.#hasUniqueItems,
      keyPatterns: this.#keyPatterns,
    };
  }

  #copy(schema: unknown, place: Place): PlainSchema | boolean {
    if (typeof schema === "boolean") return schema;
    if (!isObject(schema)) {
      throw invalid(`${at(place.path)}expected a schema (an object or a boolean), got ${describe(schema)}`);
    }
    const { maxDepth, maxSubschemas } = this.#options;
    if (place.depth >= maxDepth) throw invalid(`the schema is nested more than ${maxDepth} levels deep`);
    this.#count += 1;
    if (this.#count > maxSubschemas) throw invalid(`the schema has more than ${maxSubschemas} subschemas`);
    const copy: PlainSchema = {};
    const ids = place.ids + (place.depth > 0 && typeof schema["$id"] === "string" ? 1 : 0);
    if (ids > MAX_NESTED_IDS) throw invalid(`${at(place.path)}$id is nested more than ${MAX_NESTED_IDS} levels deep`);
    let cost = 1;
    for (const [name, value] of Object.entries(schema)) {
      const keyword = keywordsOf[this.#draft].get(name);
      if (keyword === undefined || value === undefined) continue;
      const path = place.path === "" ? name : `${place.path}/${name}`;
      const inner = { path, depth: place.depth + 1, ids, losses: place.losses };
      if (typeof keyword === "function") {
        const expected = keyword(value);
        if (expected !== undefined) throw invalid(`${path}: expected ${expected}, got ${describe(value)}`);
        copy[name] = value;
        cost += sizeOf(value, maxDepth);
      } else if (keyword === "schema" || (keyword === "items" && !Array.isArray(value))) {
        this.#copySchema(copy, name, value, inner);
      } else if (keyword === "list" || keyword === "items") {
        this.#copyList(copy, name, value, inner);
      } else {
        cost += this.#copyMap(copy, name, value, inner);
      }
    }
    this.#settle(copy, place);
    const { spend } = this.#options;
    // The validator reads every keyword it knows when it enters a subschema: this one, of another draft, counts its steps.
    Object.defineProperty(copy, "$recursiveAnchor", { get: () => spend(cost) });
    return copy;
  }

  #copySchema(copy: PlainSchema, name: string, value: unknown, place: Place): void {
    const turns = name === "not" || name === "if" || name === "contains";
    const losses = { count: 0 };
    const result = this.#copy(value, turns ? { ...place, losses } : place);
    if (losses.count === 0) copy[name] = result;
    else place.losses.count += 1;
  }

  #copyList(copy: PlainSchema, name: string, value: unknown, place: Place): void {
    if (!Array.isArray(value)) throw invalid(`${place.path}: expected an array of schemas, got ${describe(value)}`);
    const losses = { count: 0 };
    const inner = name === "oneOf" ? { ...place, losses } : place;
    const list = value.map((member, index) => this.#copy(member, { ...inner, path: `${place.path}/${index}` }));
    if (losses.count === 0) copy[name] = list;
    else place.losses.count += 1;
  }

  #copyMap(copy: PlainSchema, name: string, value: unknown, place: Place): number {
    if (!isObject(value)) throw invalid(`${place.path}: expected an object of schemas, got ${describe(value)}`);
    const members = Object.entries(value).map(([key, member]) => {
      if (name === "dependencies" && isNames(member)) return [key, member];
      return [key, this.#copy(member, { ...place, path: `${place.path}/${key}` })];
    });
    // Not by assignment, which would lose a member named __proto__.
    copy[name] = Object.fromEntries(members);
    return members.length;
  }

  #mayRun(pattern: string, path: string): boolean {
    const { refusePattern } = this.#options;
    const isValid = isPattern(pattern);
    if (refusePattern === undefined) {
      if (isValid) return true;
      throw invalid(`${path}: expected a regular expression (flag u), got ${quote(pattern)}`);
    }
    const why = isValid ? refusePattern(pattern) : "is no regular expression";
    if (why === undefined) return true;
    this.#warnings.push(`${path}: the pattern ${quote(pattern)} is not checked: it ${why}`);
    return false;
  }

  /** Brings the copy into the form the validator understands. */
  #settle(copy: PlainSchema, { path, losses }: Place): void {
    if (copy.$schema !== undefined && draftOf(copy.$schema) !== this.#draft) {
      throw invalid(`${at(path)}expected one dialect throughout the schema, got ${quote(copy.$schema)}`);
    }
    if (copy.pattern !== undefined && !this.#mayRun(copy.pattern, at(path).slice(0, -2))) {
      delete copy.pattern;
      losses.count += 1;
    }
    if (copy.patternProperties !== undefined) this.#settleKeyPatterns(copy, copy.patternProperties, path, losses);
    if (copy.dependencies !== undefined) splitDependencies(copy, copy.dependencies);
    if (!this.#options.formats) delete copy.format;
    if (copy.uniqueItems === true) this.#hasUniqueItems = true;
    // In draft-07 a reference hides what stands beside it; only the definitions stay reachable.
    if (this.#draft === "7" && copy.$ref !== undefined) delete copy.$id;
    this.#note(copy, path);
  }

  #settleKeyPatterns(copy: PlainSchema, patterns: object, path: string, losses: Place["losses"]): void {
    const kept = Object.entries(patterns).filter(([key]) => this.#mayRun(key, `${path}/patternProperties`));
    this.#keyPatterns += kept.length;
    if (kept.length === Object.keys(patterns).length) return;
    copy.patternProperties = Object.fromEntries(kept);
    // Which members the pattern was for is unknown, so that any member may be one of them.
    copy.additionalProperties = true;
    losses.count += 1;
  }

  #note(copy: PlainSchema, path: string): void {
    const { $anchor, $dynamicAnchor, $dynamicRef, $ref } = copy;
    if ($anchor !== undefined) this.#anchors.push({ copy, name: $anchor, isDynamic: false });
    if ($dynamicAnchor !== undefined) this.#anchors.push({ copy, name: $dynamicAnchor, isDynamic: true });
    // Anchors are indexed by #index: the validator would also index them under the enclosing $id.
    delete copy.$anchor;
    delete copy["$dynamicAnchor"];
    delete copy["$dynamicRef"];
    if ($ref !== undefined) this.#references.push({ copy, path, text: $ref, isDynamic: false });
    if ($dynamicRef === undefined) return;
    let referring = copy;
    if ($ref !== undefined) {
      referring = {};
      copy.allOf = [...(copy.allOf ?? []), referring];
    }
    referring.$ref = $dynamicRef;
    this.#references.push({ copy: referring, path, text: $dynamicRef, isDynamic: true });
  }

  #index(root: PlainSchema | boolean): { [uri: string]: PlainSchema | boolean } {
    const lookup = Object.create(null) as { [uri: string]: PlainSchema | boolean };
    try {
      dereference(root, lookup);
      this.#indexAnchors(lookup);
      // The list grows while targets outside the known keywords are copied.
      for (const reference of this.#references) this.#resolve(reference, root, lookup);
    } catch (cause) {
      if (cause instanceof PortolanError) throw cause;
      throw invalid(`an identifier or a reference is no valid URI`, cause);
    }
    return lookup;
  }

  /** Refuses the schema when the target of a reference is not inside it. */
  #resolve(
    { copy, path, text, isDynamic }: Reference,
    root: PlainSchema | boolean,
    lookup: PreparedSchema["lookup"],
  ): void {
    const uri = copy.__absolute_ref__ ?? "";
    if (lookup[uri] === undefined) this.#copyTarget(uri, root, lookup);
    if (lookup[uri] === undefined)
      throw invalid(`${at(path)}$ref ${quote(text)} is not inside the schema, and is not fetched`);
    if (isDynamic && this.#hasRivals(text.split("#")[1] ?? "")) {
      throw invalid(`${at(path)}$dynamicRef ${quote(text)} has several targets, which is not supported`);
    }
  }

  /** Only the way validation took can tell apart dynamic anchors of one name. */
  #hasRivals(name: string): boolean {
    return this.#anchors.filter((anchor) => anchor.isDynamic && anchor.name === name).length > 1;
  }

  #indexAnchors(lookup: PreparedSchema["lookup"]): void {
    for (const { copy, name } of this.#anchors) lookup[`${copy.__absolute_uri__?.split("#")[0]}#${name}`] = copy;
  }

  /** A reference may point into a keyword that is unknown here, and makes a schema of what it finds. */
  #copyTarget(uri: string, root: PlainSchema | boolean, lookup: PreparedSchema["lookup"]): void {
    const [base = "", pointer = ""] = uri.split("#");
    if (typeof root === "boolean" || base !== root.__absolute_uri__ || !pointer.startsWith("/")) return;
    let target: unknown = this.#source;
    for (const token of pointer.slice(1).split("/")) {
      const key = decodeURIComponent(token).replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof target !== "object" || target === null || !Object.hasOwn(target, key)) return;
      target = (target as { [key: string]: unknown })[key];
    }
    const copy = this.#copy(target, { path: pointer.slice(1), depth: 1, ids: 0, losses: { count: 0 } });
    dereference(copy, lookup, new URL(base), pointer);
    this.#indexAnchors(lookup);
  }
}

/** How much work comparing with a piece of data is. */
function sizeOf(data: unknown, depth: number): number {
  if (typeof data === "string") return 1 + (data.length >> 6);
  if (typeof data !== "object" || data === null || depth === 0) return 1;
  let size = 1;
  for (const member of Object.values(data)) size += sizeOf(member, depth - 1);
  return size;
}

function quote(text: unknown): string {
  const quoted = JSON.stringify(text) ?? "nothing";
  return quoted.length > 200 ? `${quoted.slice(0, 197)}...` : quoted;
}

function at(path: string): string {
  return path === "" ? "" : `${path}: `;
}

function invalid(message: string, cause?: unknown): PortolanError {
  return new PortolanError(
    "invalid-definition",
    `JSON Schema: ${message}`,
    cause === undefined ? undefined : { cause },
  );
}
