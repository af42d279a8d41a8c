import { havingAll } from "./assertions.ts";
import { compileAll, type Keyword, keyword, type Matcher, map, namesByName, partOf, type Site } from "./keyword.ts";
import { anything, attempt, type Check, fail, MAYBE, NO, type Run, spend, stops, within, YES } from "./run.ts";
import { isObject } from "./shape.ts";

/** Applies each check to the member or item of its own. */
export function atKeys(keys: readonly PropertyKey[], checks: readonly Check[], concerns: (value: unknown) => boolean): Check {
  return (value, run) => {
    if (!concerns(value)) return true;
    spend(run, keys.length >> 3);
    const members = value as { readonly [key: PropertyKey]: unknown };
    let passes = true;
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as PropertyKey;
      if (!Object.hasOwn(members, key) || within(run, key, checks[index] as Check, members[key])) continue;
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
}

/** Applies a check to all members that are not left out. */
function eachMember(value: unknown, run: Run, check: Check, isLeftOut: (name: string, run: Run) => boolean): boolean {
  if (!isObject(value) || (check === anything && run.seen === undefined)) return true;
  let passes = true;
  for (const name in value) {
    spend(run, 1);
    if (isLeftOut(name, run) || within(run, name, check, value[name])) continue;
    if (stops(run)) return false;
    passes = false;
  }
  return passes;
}

function matchersOf(site: Site): Matcher[] {
  const patterns = site.schema["patternProperties"];
  return isObject(patterns) ? Object.keys(patterns).map((pattern) => site.match(pattern, "patternProperties")) : [];
}

const patternProperties: Keyword = keyword(map, (schemas, site, keywordName) => {
  const matchers = matchersOf(site);
  const checks = compileAll(schemas, site, keywordName);
  const member = (run: Run, name: string, value: unknown): boolean => {
    let passes = true;
    for (let index = 0; index < matchers.length; index++) {
      const verdict = (matchers[index] as Matcher)(name, run);
      if (verdict === MAYBE) {
        run.isUnsure = true;
        run.seen?.push(name);
      } else if (verdict === YES && !within(run, name, checks[index] as Check, value)) passes = false;
    }
    return passes;
  };
  return (value, run) => {
    if (!isObject(value)) return true;
    let passes = true;
    for (const name in value) {
      if (member(run, name, value[name])) continue;
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
});

const additionalProperties: Keyword = (schema, site, keywordName) => {
  const check = site.compile(schema, keywordName);
  const { properties } = site.schema;
  const names = new Set(isObject(properties) ? Object.keys(properties) : []);
  const matchers = matchersOf(site);
  // A member that may belong to a pattern is left out as well: patternProperties tells the run that it is unsure.
  const isLeftOut = (name: string, run: Run): boolean =>
    names.has(name) || (matchers.length > 0 && matchers.some((match) => match(name, run) !== NO));
  return (value, run) => eachMember(value, run, check, isLeftOut);
};

const unevaluatedProperties: Keyword = (schema, site, keywordName) => {
  const check = site.compile(schema, keywordName);
  return (value, run) => {
    const seen = new Set(run.seen);
    return eachMember(value, run, check, (name) => seen.has(name));
  };
};

const propertyNames: Keyword = (schema, site, keywordName) => {
  const check = site.compile(schema, keywordName);
  return (value, run) => {
    if (!isObject(value)) return true;
    for (const name in value) {
      spend(run, 1);
      if (attempt(check, name, run) === NO) return fail(run, name, 'member names that match "propertyNames"');
    }
    return true;
  };
};

/** Applies each check to objects that have a member of that name. */
function dependent(names: readonly string[], checks: readonly Check[]): Check {
  return (value, run) => {
    if (!isObject(value)) return true;
    spend(run, names.length >> 3);
    let passes = true;
    for (let index = 0; index < names.length; index++) {
      if (!Object.hasOwn(value, names[index] as string) || (checks[index] as Check)(value, run)) continue;
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
}

/** Of draft-07; for each name there is either a schema or an array of further names. */
const dependencies: Keyword = keyword(map, (entries, site, keywordName) =>
  dependent(
    Object.keys(entries),
    Object.entries(entries).map(([name, entry]) =>
      namesByName.is({ entry }) ? havingAll(entry as string[]) : site.compile(entry, keywordName, name),
    ),
  ),
);

/** Keywords that apply schemas to the members of an object, or because of them. */
export const memberKeywords: { readonly [name: string]: Keyword } = {
  properties: keyword(map, (schemas, site, name) =>
    atKeys(Object.keys(schemas), compileAll(schemas, site, name), isObject),
  ),
  patternProperties,
  additionalProperties,
  propertyNames,
  dependencies,
  dependentSchemas: dependencies,
  dependentRequired: keyword(namesByName, (entries) =>
    dependent(Object.keys(entries), Object.values(entries).map(havingAll)),
  ),
  unevaluatedProperties,
};
