import { compileAll, count, type Keyword, keyword, list, partOf } from "./keyword.ts";
import { atKeys } from "./members.ts";
import { anything, attempt, type Check, NO, type Run, report, spend, stops, within, YES } from "./run.ts";

/** Applies a check to all items from one on, except those left out. */
function eachItem(value: unknown, run: Run, check: Check, start: number, leftOut?: ReadonlySet<unknown>): boolean {
  if (!Array.isArray(value) || (check === anything && run.seen === undefined)) return true;
  spend(run, value.length >> 3);
  let passes = true;
  for (let index = start; index < value.length; index++) {
    if (leftOut?.has(index) || within(run, index, check, value[index])) continue;
    if (stops(run)) return false;
    passes = false;
  }
  return passes;
}

const prefixItems: Keyword = keyword(list, (schemas, site, name) =>
  atKeys([...schemas.keys()], compileAll(schemas, site, name), Array.isArray),
);

const items: Keyword = (schema, site, name) => {
  const isTuple = Array.isArray(schema);
  const rest = isTuple ? site.schema["additionalItems"] : schema;
  const prefix = isTuple ? schema : site.isDraft07 ? undefined : site.schema["prefixItems"];
  const start = Array.isArray(prefix) ? prefix.length : 0;
  const check = rest === undefined ? anything : site.compile(rest, isTuple ? "additionalItems" : name);
  const others: Check = (value, run) => eachItem(value, run, check, start);
  ...
};
