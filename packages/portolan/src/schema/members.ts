import { type Keyword, keyword, map, names, namesByName, type Site } from "./keyword.ts";
import { anything, attempt, type Check, fail, MAYBE, NO, type Run, report, spend, stops, within, YES } from "./run.ts";
import { isObject } from "./shape.ts";

const properties: Keyword = keyword(map, (schemas, site, keywordName) => {
  const keys = Object.keys(schemas);
  const checks = keys.map((key) => site.compile(schemas[key], keywordName, key));
  return (value, run) => {
    if (!isObject(value)) return true;
    let passes = true;
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index] as string;
      if (!Object.hasOwn(value, key) || within(run, key, checks[index] as Check, value[key])) continue;
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
});

/** Applies a check to objects that have a certain member. */
function having(name: string, check: Check): Check {
  return (value, run) => !isObject(value) || !Object.hasOwn(value, name) || check(value, run);
}

const missing: Check = (_value, run) => report(run, "required, got nothing");

function required(name: string): Check {
  return (value, run) => !isObject(value) || Object.hasOwn(value, name) || within(run, name, missing, undefined);
}

/** Applies a check to all members that are not left out. */
function eachMember(check: Check, isLeftOut: (name: string, run: Run) => boolean): Check {
  return (value, run) => {
    if (!isObject(value) || (check === anything && run.seen === undefined)) return true;
    let passes = true;
    for (const name in value) {
      spend(run, 1);
      if (isLeftOut(name, run) || within(run, name, check, value[name])) continue;
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
}

const patternProperties: Keyword = keyword(map, (schemas, site, name) =>
  Object.entries(schemas).map(([pattern, schema]) => {
    const match = site.match(pattern, name);
    return eachMember(site.compile(schema, name, pattern), (key, run) => {
      const verdict = match(key, run);
      if (verdict === MAYBE) {
        run.isUnsure = true;
        run.seen?.push(key);
      }
      return verdict !== YES;
    });
  }),
);

const additionalProperties: Keyword = (schema, site, name) => {
  const named = new Set(keysOf(site, "properties"));
  const matchers = keysOf(site, "patternProperties").map((pattern) => site.match(pattern, "patternProperties"));
  const check = site.compile(schema, name);
  // What may belong to a pattern is left out as well: patternProperties tells the run that it is unsure.
  return eachMember(check, (key, run) => named.has(key) || matchers.some((match) => match(key, run) !== NO));
};

function keysOf(site: Site, name: string): string[] {
  return Object.keys(site.schema[name] ?? {});
}

const unevaluatedProperties: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  return (value, run) => {
    const seen = new Set(run.seen);
    return eachMember(check, (key) => seen.has(key))(value, run);
  };
};

const propertyNames: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  return (value, run) => {
    if (!isObject(value)) return true;
    for (const key in value) {
      spend(run, 1);
      if (attempt(check, key, run) === NO) return fail(run, key, 'member names that match "propertyNames"');
    }
    return true;
  };
};

/** Of draft-07: for each name there is either a schema, or an array of further names. */
const dependencies: Keyword = keyword(map, (entries, site, name) =>
  Object.entries(entries).flatMap(([key, entry]) =>
    names.is(entry) ? entry.map((other) => having(key, required(other))) : having(key, site.compile(entry, name, key)),
  ),
);

/** Keywords that apply schemas to the members of an object, or because of them. */
export const memberKeywords: { readonly [name: string]: Keyword } = {
  properties,
  patternProperties,
  additionalProperties,
  unevaluatedProperties,
  propertyNames,
  required: keyword(names, (list) => list.map(required)),
  dependencies,
  dependentSchemas: keyword(map, dependencies),
  dependentRequired: keyword(namesByName, dependencies),
};
