import type { ToolDefinition } from "portolan/server";
import { annotations, object, textResult } from "portolan-server-kit";
import type { Cell, Column } from "../database.ts";
import { type Kit, type StatementArguments, toBounds, toStatement } from "../kit.ts";
import { limit, parameters, rows, sql, usualRows } from "../schema.ts";
import { noteOn, showRows } from "../show.ts";

interface QueryResult {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  isCut: boolean;
  note?: string;
}

/** Runs a query. */
export function queryTool({
  database,
  limits,
}: Kit): ToolDefinition<StatementArguments & { limit?: number }, QueryResult, undefined> {
  const places = database.dialect === "sqlite" ? "?, ?1 or :name" : "$1 or :name";
  return {
    title: "Query",
    description: `Runs one query on ${database.about}, which cannot change anything. Write ${places} in the place of values and give them as parameters`,
    input: object(
      {
        sql: sql("One SELECT, VALUES or WITH statement", limits),
        parameters,
        limit: limit(limits),
      },
      ["parameters", "limit"],
    ),
    output: object({ ...rows }, ["note"]),
    annotations: annotations.reads,
    async run({ limit: wanted = Math.min(usualRows, limits.maxRows), ...statement }, ctx) {
      const result = await database.read(toStatement(statement), toBounds(limits, wanted), ctx.signal);
      const note = noteOn(result, wanted, limits.maxRows);
      const said = [`${result.rows.length} rows`, showRows(result), ...(note === undefined ? [] : [note])];
      return textResult(said.filter((line) => line !== "").join("\n"), {
        ...{ columns: result.columns, rows: result.rows, isCut: result.cutBy !== undefined },
        ...(note !== undefined && { note }),
      });
    },
  };
}
