import type { Completer } from "portolan/server";
import { callerOf } from "portolan-server-kit";
import type { ServerDependencies } from "./server.ts";

const maxSuggestions = 100;

/** Completes table names: those that start with the typed text first, then those that contain it. */
export function completeTable({ database }: ServerDependencies): Completer<undefined> {
  return async (value, _, ctx) => {
    const filter = { ...(value !== "" && { search: value.slice(0, 200) }), limit: maxSuggestions, details: false };
    return rank(
      (await database.tables(filter, ctx.signal, callerOf(ctx))).map(({ name }) => name),
      value,
    );
  };
}

/** Completes column names, of the chosen table or of all. */
export function completeColumn({ database, limits }: ServerDependencies): Completer<undefined> {
  return async (value, { table }, ctx) => {
    const which = table === undefined || table === "" ? { limit: limits.maxTables } : { name: table, limit: 1 };
    const tables = await database.tables({ ...which, details: true }, ctx.signal, callerOf(ctx));
    return rank([...new Set(tables.flatMap(({ columns }) => columns.map(({ name }) => name)))], value);
  };
}

function rank(names: readonly string[], typed: string): string[] {
  const wanted = typed.toLowerCase();
  const begins = names.filter((name) => name.toLowerCase().startsWith(wanted));
  const others = names.filter((name) => !begins.includes(name) && name.toLowerCase().includes(wanted));
  return [...begins, ...others].slice(0, maxSuggestions);
}
