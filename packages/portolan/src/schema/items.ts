import { count, type Keyword, keyword, list, partOf, type Site } from "./keyword.ts";
import { anything, attempt, type Check, NO, report, spend, stops, within, YES } from "./run.ts";

/** Applies a check to one item. */
function item(index: number, check: Check): Check {
  return (value, run) => !Array.isArray(value) || index >= value.length || within(run, index, check, value[index]);
}

/** Applies a check to all items from one on, except those left out. */
function eachItem(check: Check, start: number, leftOut?: ReadonlySet<unknown>): Check {
  return (value, run) => {
    if (!Array.isArray(value) || (check === anything && run.seen === undefined)) return true;
    spend(run, value.length >> 3);
    let passes = true;
    for (let index = start; index < value.length; index++) {
      if (leftOut?.has(index) || within(run, index, check, value[index])) continue;
      if (stops(run)) return false;
      passes = false;
    }
    return passes;
  };
}

const first = (schemas: readonly unknown[], site: Site, name: string): Check[] =>
  schemas.map((schema, index) => item(index, site.compile(schema, name, index)));

const items: Keyword = (schema, site, name) => {
  if (Array.isArray(schema)) {
    const checks = first(schema, site, name);
    const { additionalItems } = site.schema;
    if (additionalItems === undefined) return checks;
    return [...checks, eachItem(site.compile(additionalItems, "additionalItems"), schema.length)];
  }
  const before = site.isDraft07 ? undefined : site.schema["prefixItems"];
  return eachItem(site.compile(schema, name), Array.isArray(before) ? before.length : 0);
};

const contains: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  const { minContains = 1, maxContains = Infinity } = site.isDraft07 ? {} : site.schema;
  const least = Number(minContains);
  const most = Number(maxContains);
  return (value, run) => {
    if (!Array.isArray(value)) return true;
    spend(run, value.length);
    const { seen } = run;
    let sure = 0;
    let possible = 0;
    for (let index = 0; index < value.length; index++) {
      run.seen = undefined;
      const verdict = attempt(check, value[index], run);
      run.seen = seen;
      if (verdict === NO) continue;
      seen?.push(index);
      possible += 1;
      if (verdict === YES) sure += 1;
    }
    if (possible >= least && sure <= most) return true;
    const [bound, limit] = possible < least ? ["least", least] : ["most", most];
    return report(run, `expected at ${bound} ${limit} items that match "contains", got ${possible}`);
  };
};

const unevaluatedItems: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  return (value, run) => eachItem(check, 0, new Set(run.seen))(value, run);
};

/** Keywords that apply schemas to the items of an array. */
export const itemKeywords: { readonly [name: string]: Keyword } = {
  prefixItems: keyword(list, first),
  items,
  additionalItems: partOf(({ items }) => Array.isArray(items)),
  contains,
  minContains: keyword(count, () => undefined),
  maxContains: keyword(count, () => undefined),
  unevaluatedItems,
};
