import { ToolError } from "portolan/server";
import type { Session } from "./session.ts";

/** Volatile functions that only read or compute, so that a query may call them. */
const harmless: readonly string[] = [
  ...["random", "random_normal", "gen_random_uuid", "uuid_generate_v1", "uuid_generate_v1mc", "uuid_generate_v4"],
  ...["clock_timestamp", "timeofday", "pg_sleep", "pg_sleep_for", "pg_sleep_until"],
  ...["pg_database_size", "pg_tablespace_size", "pg_relation_size", "pg_total_relation_size", "pg_table_size"],
  ...["pg_indexes_size", "pg_is_in_recovery", "pg_blocking_pids", "currval", "lastval", "pg_sequence_last_value"],
];

/** Functions of extensions that run a text as a statement, although they are not declared VOLATILE. */
const runsText: readonly string[] = ["crosstab", "crosstab2", "crosstab3", "crosstab4", "connectby", "xpath_table"];

/** Bytes of a name; PostgreSQL cuts longer ones. */
const maxNameBytes = 63;

/**
 * Throws if a statement names a function that may act outside its transaction, such as `pg_terminate_backend`, `dblink`
 * or `pg_advisory_lock`: a rollback does not undo that. PostgreSQL declares them VOLATILE, as it does a function whose
 * author declares nothing.
 *
 * The names are searched in the whole text, also in strings and comments. So a statement may be refused needlessly, but
 * no spelling hides a call.
 */
export async function refuseActing(session: Session, sql: string): Promise<void> {
  // It can spell any name by numbers.
  if (/u&"/i.test(sql)) throw new ToolError('Names with Unicode escapes (U&"…") are not supported; write them plainly');
  const { called, named } = namesIn(sql);
  const found: string[] = [];
  await session.run(actingFunctions, [JSON.stringify(called), JSON.stringify(named), sql], ([name]) => {
    if (typeof name === "string") found.push(name);
  });
  const [first] = found.filter((name) => !harmless.includes(name));
  if (first === undefined) return;
  throw new ToolError(
    `query only reads, and ${first} may act outside the transaction: it is not declared STABLE or IMMUTABLE; leave it out, or use the tool execute, which the server has with --write`,
  );
}

/**
 * Finds the names in a text, in every way in which PostgreSQL could read them: `called` are those that a parenthesis or
 * a comment follows, `named` are all.
 */
export function namesIn(sql: string): { readonly called: string[]; readonly named: string[] } {
  const called = new Set<string>();
  const named = new Set<string>();
  for (const { 0: word, index } of sql.matchAll(/[A-Za-z_\u0080-\uFFFF][\w$\u0080-\uFFFF]*/g)) {
    const opening = /"?\s*(?:\(|\/\*|--)/y;
    opening.lastIndex = index + word.length;
    const isCalled = opening.test(sql);
    // A dollar is part of a name, and also the end of a string such as $a$…$a$.
    for (const part of new Set([word, word.slice(word.lastIndexOf("$") + 1)])) {
      for (const name of [cut(part), cut(part.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()))]) {
        named.add(name);
        if (isCalled) called.add(name);
      }
    }
  }
  return { called: [...called], named: [...named] };
}

/** Returns the first bytes of a name, as PostgreSQL does. */
function cut(name: string): string {
  if (name.length <= maxNameBytes / 4) return name;
  const bytes = Buffer.from(name);
  // A character that does not fit is left out whole.
  return bytes.length <= maxNameBytes ? name : bytes.toString("utf8", 0, maxNameBytes).replace(/\uFFFD+$/, "");
}

const texts = (names: readonly string[]) => names.map((name) => `'${name}'`).join(", ");

/**
 * Finds the functions and operators that may act, by the names in a statement. `$1` are the names that are called, `$2`
 * all names: `row.name` calls a function of a row. `$3` is the statement, for names that are no words.
 */
const actingFunctions = `
  SELECT p.proname::text FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_aggregate a ON a.aggfnoid = p.oid
  WHERE (p.provolatile = 'v' OR p.proname IN (${texts(runsText)})
      OR EXISTS (SELECT 1 FROM pg_catalog.pg_proc part
        WHERE part.oid IN (a.aggtransfn, a.aggfinalfn, a.aggmtransfn, a.aggmfinalfn) AND part.provolatile = 'v'))
    AND (p.proname::text IN (SELECT pg_catalog.json_array_elements_text($1::json))
      OR (p.oid >= 16384 AND p.proname::text ~ '[^[:alnum:]_$]'
        AND pg_catalog.strpos($3::text, pg_catalog.replace(p.proname::text, '"', '""')) > 0)
      OR (p.oid >= 16384 AND p.proname::text IN (SELECT pg_catalog.json_array_elements_text($2::json))
        AND EXISTS (SELECT 1 FROM pg_catalog.pg_type t WHERE t.oid = p.proargtypes[0] AND t.typtype IN ('c', 'p'))))
  UNION
  SELECT 'the operator ' || o.oprname FROM pg_catalog.pg_operator o
    JOIN pg_catalog.pg_proc p ON p.oid = o.oprcode AND p.provolatile = 'v'
  WHERE pg_catalog.strpos($3::text, o.oprname::text) > 0
  ORDER BY 1`;
