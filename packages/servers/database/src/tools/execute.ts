import type { ToolDefinition } from "portolan/server";
import { annotations, count, object, textResult } from "portolan-server-kit";
import { mayRun } from "../ask.ts";
import type { Cell, Column } from "../database.ts";
import { type Kit, type StatementArguments, toBounds, toStatement } from "../kit.ts";
import { parameters, rows, sql, usualRows } from "../schema.ts";
import { noteOn, showRows } from "../show.ts";

interface ExecuteResult {
  changes: number;
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  isCut: boolean;
  note?: string;
}

/** Runs a statement that changes something, after a yes. */
export function executeTool({
  database,
  limits,
  asks,
  schemaChanged,
}: Kit): ToolDefinition<StatementArguments, ExecuteResult, undefined> {
  return {
    title: "Change the database",
    description: `Runs one statement that changes ${database.about}, as a transaction of its own${asks ? ", after the user has said yes" : ""}`,
    input: object({ sql: sql("One statement such as INSERT, UPDATE, DELETE or CREATE TABLE", limits), parameters }, [
      "parameters",
    ]),
    output: object({ changes: count("How many rows were changed, added or removed"), ...rows }, ["note"]),
    annotations: annotations.destroys,
    async run(args, ctx) {
      const statement = toStatement(args);
      if (!(await mayRun(ctx, asks, database.about, statement)))
        return ctx.cancelled("The user said no; nothing was changed.");
      const wanted = Math.min(usualRows, limits.maxRows);
      const result = await ctx.once("run", async () => database.write(statement, toBounds(limits, wanted), ctx.signal));
      if (result.isSchemaChanged) schemaChanged();
      const note = noteOn(result, wanted, wanted);
      const said = [`Done; ${result.changes} rows changed`, showRows(result), ...(note === undefined ? [] : [note])];
      return textResult(said.filter((line) => line !== "").join("\n"), {
        ...{ changes: result.changes, columns: result.columns, rows: result.rows, isCut: result.cutBy !== undefined },
        ...(note !== undefined && { note }),
      });
    },
  };
}
