import { type Context, type JsonSchema, type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import type { Bounds, Cell, Column, Statement } from "../database.ts";
import type { DatabaseLimits } from "../options.ts";
import type { Kit } from "../server.ts";
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

/** Shows the plan of a statement. */
export function explainTool({
  database,
  limits,
}: Kit): ToolDefinition<StatementArguments, { plan: string }, undefined> {
  return {
    title: "Explain",
    description: `How ${database.about} would run a statement: scans, indexes, order. Nothing is run`,
    input: object({ sql: sql("One statement, without EXPLAIN before it", limits), parameters }, ["parameters"]),
    output: object({ plan: string("The plan, a step in each line") }),
    annotations: annotations.reads,
    async run(statement, ctx) {
      const plan = await database.explain(toStatement(statement), toBounds(limits, limits.maxRows), ctx.signal);
      return textResult(plan, { plan });
    },
  };
}

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

/** What a user can be expected to read before saying yes. */
const maxShown = 8_000;

/** Asks the user before a statement changes something; where the client cannot ask, it is refused. */
export async function mayRun(ctx: Context, asks: boolean, about: string, statement: Statement): Promise<boolean> {
  if (!asks) return true;
  if (!ctx.mayAsk("elicitation.form")) {
    throw new ToolError(
      "This client cannot ask the user, and nothing is changed without a yes; ask the user to run the statement, or to start the server with --yes",
    );
  }
  const { sql, parameters } = statement;
  const values = parameters === undefined ? "" : `\n\nwith the values ${JSON.stringify(parameters)}`;
  const shown = visible(`${sql.trim()}${values}`);
  if (shown.length > maxShown) {
    throw new ToolError(
      `The statement is too long for the user to read before saying yes; split it into parts of less than ${maxShown} characters`,
    );
  }
  return ctx.confirm("run", `Run this statement on ${about}?\n\n${shown}`);
}

/** Characters that hide or reorder what stands beside them are written out. */
function visible(text: string): string {
  return text.replace(/[^\P{C}\n\t]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

const value: JsonSchema = { type: ["string", "number", "boolean", "null"] };

/** The values of a statement. */
export const parameters: JsonSchema = {
  anyOf: [
    { type: "array", items: value, maxItems: 1_000 },
    { type: "object", additionalProperties: value, maxProperties: 1_000 },
  ],
  description: "Values for the places of the statement: a list by position, or an object by name",
};

/** A statement. */
export function sql(description: string, { maxSqlLength }: DatabaseLimits): JsonSchema {
  return string(description, { minLength: 1, maxLength: maxSqlLength });
}

/** How many rows are wanted. */
export function limit({ maxRows }: DatabaseLimits): JsonSchema {
  return count(`How many rows at most; ${Math.min(usualRows, maxRows)} unless given`, { minimum: 1, maximum: maxRows });
}

/** The rows of a result unless said otherwise. */
export const usualRows = 100;

/** What all results with rows have. */
export const rows: { readonly [name: string]: JsonSchema } = {
  columns: array(
    object({ name: string("Its name"), type: string("Its type; empty for an expression without one") }),
    "The columns",
  ),
  rows: array(
    { type: "array" },
    "The rows, with a value for each column. Large integers, decimals, dates and JSON are exact texts; bytes are { bytes, base64 }, or { bytes } where they are many",
  ),
  isCut: boolean("There were more rows than are shown"),
  note: string("What was left out, and how to see it"),
};

/** The arguments that are a statement. */
export interface StatementArguments {
  readonly sql: string;
  readonly parameters?: Statement["parameters"];
}

export function toStatement({ sql, parameters }: StatementArguments): Statement {
  return { sql, ...(parameters !== undefined && { parameters }) };
}

/** The bounds of a result with at most so many rows. */
export function toBounds({ maxBytes, maxValueLength, maxBlobBytes }: DatabaseLimits, maxRows: number): Bounds {
  return { maxRows, maxBytes, maxValueLength, maxBlobBytes };
}
