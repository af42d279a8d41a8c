import { compileAll, type Keyword, keyword, list, partOf } from "./keyword.ts";
import { anything, attempt, type Check, type Finding, fail, MAYBE, NO, type Run, short, spend, YES } from "./run.ts";
import { isObject } from "./shape.ts";

/** Alternatives, of which only one may match if they exclude each other. */
const choice = (isExclusive: boolean): Keyword =>
  keyword(list, (schemas, site, name) => {
    const checks = compileAll(schemas, site, name);
    return (value, run) => {
      spend(run, checks.length >> 3);
      let isPossible = false;
      let sure = 0;
      for (let index = 0; index < checks.length; index++) {
        const verdict = attempt(checks[index] as Check, value, run);
        if (verdict === NO) continue;
        // Where members are noted, later alternatives may apply to others.
        if (!isExclusive && run.seen === undefined) return true;
        isPossible = true;
        if (verdict === YES) sure += 1;
        if (isExclusive && sure > 1) return fail(run, value, "only one of the alternatives to match");
      }
      return isPossible || explain(schemas, checks, value, run);
    };
  });

const not: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  return (value, run) => attempt(check, value, run) !== YES || fail(run, value, 'something that does not match "not"');
};

const condition: Keyword = (schema, site, name) => {
  const check = site.compile(schema, name);
  const { then: consequent, else: alternative } = site.schema;
  const whenTrue = consequent === undefined ? anything : site.compile(consequent, "then");
  const whenFalse = alternative === undefined ? anything : site.compile(alternative, "else");
  return (value, run) => {
    const verdict = attempt(check, value, run);
    // Where the condition is not known, either branch will do.
    if (verdict === MAYBE && attempt(whenTrue, value, run) !== NO) return true;
    return (verdict === YES ? whenTrue : whenFalse)(value, run);
  };
};

/** Reports that no alternative matches: by what is wrong with the one that was meant, if that can be told. */
function explain(schemas: readonly unknown[], checks: readonly Check[], value: unknown, run: Run): false {
  const { findings, seen } = run;
  if (findings === undefined) return false;
  let best: Finding[] = [];
  let bestDepth = run.keys.length;
  for (const check of checks) {
    const trial: Finding[] = [];
    run.findings = trial;
    run.seen = undefined;
    check(value, run);
    // An alternative that fails at the value itself (another type, another constant) was not the one that was meant.
    const isOther = trial.some(({ depth }) => depth === run.keys.length);
    const depth = isOther ? 0 : Math.max(...trial.map((finding) => finding.depth));
    if (depth > bestDepth) [best, bestDepth] = [trial, depth];
    else if (depth === bestDepth) best = [];
  }
  run.findings = findings;
  run.seen = seen;
  findings.push(...best);
  return best.length > 0 ? false : fail(run, value, alternatives(schemas));
}

/** Names the alternatives when each is a plain type or constant, as nullable and literal unions are. */
function alternatives(schemas: readonly unknown[]): string {
  const names = schemas.map((schema) => {
    if (!isObject(schema)) return undefined;
    if ("const" in schema) return short(schema["const"]);
    if (Array.isArray(schema["enum"])) return short(schema["enum"]);
    return typeof schema["type"] === "string" ? schema["type"] : undefined;
  });
  const isPlain = names.every((name) => name !== undefined);
  return isPlain ? [...new Set(names)].slice(0, 20).join(" or ") : "a match for one of the alternatives";
}

/** Keywords that combine schemas for the same value. */
export const logicKeywords: { readonly [name: string]: Keyword } = {
  allOf: keyword(list, compileAll),
  anyOf: choice(false),
  oneOf: choice(true),
  not,
  if: condition,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: partOf((schema) => schema["if"] !== undefined),
  else: partOf((schema) => schema["if"] !== undefined),
};
