import { type Context, type FullResult, type JsonSchema, type ToolDefinition, ToolError } from "portolan/server";
import { annotations, array, boolean, callerOf, count, object, string, textResult } from "portolan-server-kit";
import { ConsentedEffects, maxShownLength, visible } from "portolan-server-kit/consent";
import type { Bounds, Cell, Column, Statement } from "../database.ts";
import type { DatabaseLimits } from "../options.ts";
import type { ServerDependencies } from "../server.ts";
import { noteOn, showRows } from "../show.ts";

interface QueryResult {
  columns: readonly Column[];
  rows: readonly (readonly Cell[])[];
  isCut: boolean;
  note?: string;
}

/** The tool `query`: runs a statement that reads. */
export function queryTool({
  database,
  limits,
}: ServerDependencies): ToolDefinition<StatementArguments & { limit?: number }, QueryResult, undefined> {
  const placeholders = database.dialect === "sqlite" ? "?, ?1 or :name" : "$1 or :name";
  return {
    title: "Query",
    description: `Runs one query on ${database.about}. A query cannot change anything. Write ${placeholders} instead of values and pass the values as parameters`,
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
    async run({ limit: wanted = Math.min(defaultRows, limits.maxRows), ...statement }, ctx) {
      const result = await database.read(toStatement(statement), toBounds(limits, wanted), ctx.signal, callerOf(ctx));
      const note = noteOn(result, wanted, limits.maxRows);
      const said = [`${result.rows.length} rows`, showRows(result), ...(note === undefined ? [] : [note])];
      return textResult(said.filter((line) => line !== "").join("\n"), {
        ...{ columns: result.columns, rows: result.rows, isCut: result.cutBy !== undefined },
        ...(note !== undefined && { note }),
      });
    },
  };
}

/** The tool `explain`: shows the plan of a statement. */
export function explainTool({
  database,
  limits,
}: ServerDependencies): ToolDefinition<StatementArguments, { plan: string }, undefined> {
  return {
    title: "Explain",
    description: `Shows how ${database.about} would run a statement: scans, indexes, order. The statement is not run`,
    input: object({ sql: sql("One statement, without EXPLAIN before it", limits), parameters }, ["parameters"]),
    output: object({ plan: string("The plan, one step per line") }),
    annotations: annotations.reads,
    async run(statement, ctx) {
      const plan = await database.explain(
        toStatement(statement),
        toBounds(limits, limits.maxRows),
        ctx.signal,
        callerOf(ctx),
      );
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

/** The tool `execute`: runs a statement that changes something, after the user agrees; each yes runs it once. */
export function executeTool({
  database,
  limits,
  ask,
  schemaChanged,
}: ServerDependencies): ToolDefinition<StatementArguments, ExecuteResult, undefined> {
  const consents = new ConsentedEffects<FullResult<ExecuteResult>>();
  return {
    title: "Change the database",
    description: `Runs one statement that changes ${database.about}, in its own transaction${ask ? ", after the user agrees" : ""}`,
    input: object({ sql: sql("One statement such as INSERT, UPDATE, DELETE or CREATE TABLE", limits), parameters }, [
      "parameters",
    ]),
    output: object({ changes: count("How many rows were changed, added or removed"), ...rows }, ["note"]),
    annotations: annotations.destroys,
    async run(args, ctx) {
      const statement = toStatement(args);
      const change = async () => {
        const wanted = Math.min(defaultRows, limits.maxRows);
        const result = await database.write(statement, toBounds(limits, wanted), ctx.signal, callerOf(ctx));
        if (result.isSchemaChanged) schemaChanged();
        const note = noteOn(result, wanted, wanted);
        const said = [`Done; ${result.changes} rows changed`, showRows(result), ...(note === undefined ? [] : [note])];
        return textResult(said.filter((line) => line !== "").join("\n"), {
          ...{ changes: result.changes, columns: result.columns, rows: result.rows, isCut: result.cutBy !== undefined },
          ...(note !== undefined && { note }),
        });
      };
      if (!ask) return change();
      const consented = await consents.run(ctx, questionOn(ctx, database.about, statement), change);
      return consented?.result ?? ctx.cancelled("The user declined; nothing was changed.");
    },
  };
}

/** Returns the question before a statement changes something; throws a ToolError if the user cannot be asked. */
function questionOn(ctx: Context, about: string, { sql, parameters }: Statement): string {
  if (!ctx.mayAsk("elicitation.form")) {
    throw new ToolError(
      "This client cannot ask the user, and changes need the user's consent; ask the user to run the statement, or to start the server with --yes",
    );
  }
  const values = parameters === undefined ? "" : `\n\nwith the values ${JSON.stringify(parameters)}`;
  const shown = visible(`${sql.trim()}${values}`);
  if (shown.length > maxShownLength) {
    throw new ToolError(
      `The statement is too long for the user to review; split it into parts of less than ${maxShownLength} characters`,
    );
  }
  return `Run this statement on ${about}?\n\n${shown}`;
}

const value: JsonSchema = { type: ["string", "number", "boolean", "null"] };

/** Schema of the values for a statement. */
const parameters: JsonSchema = {
  anyOf: [
    { type: "array", items: value, maxItems: 1_000 },
    { type: "object", additionalProperties: value, maxProperties: 1_000 },
  ],
  description: "Values for the placeholders of the statement: an array by position, or an object by name",
};

/** Schema of a statement. */
function sql(description: string, { maxSqlLength }: DatabaseLimits): JsonSchema {
  return string(description, { minLength: 1, maxLength: maxSqlLength });
}

/** Schema of the row limit. */
function limit({ maxRows }: DatabaseLimits): JsonSchema {
  return count(`Maximum number of rows. Default: ${Math.min(defaultRows, maxRows)}`, { minimum: 1, maximum: maxRows });
}

/** Row limit of a result. */
const defaultRows = 100;

/** Properties of every result with rows. */
const rows: { readonly [name: string]: JsonSchema } = {
  columns: array(
    object({ name: string("Column name"), type: string("Column type; empty for an expression without one") }),
    "The columns",
  ),
  rows: array(
    { type: "array" },
    "The rows, with one value per column. Large integers, decimals, dates and JSON are exact strings; blobs are { bytes, base64 }, large ones { bytes }",
  ),
  isCut: boolean("True if there were more rows"),
  note: string("What is missing, and how to see it"),
};

/** Tool arguments that form a statement. */
interface StatementArguments {
  readonly sql: string;
  readonly parameters?: Statement["parameters"];
}

function toStatement({ sql, parameters }: StatementArguments): Statement {
  return { sql, ...(parameters !== undefined && { parameters }) };
}

/** Returns the bounds of a result with at most `maxRows` rows. */
function toBounds({ maxBytes, maxValueLength, maxBlobBytes }: DatabaseLimits, maxRows: number): Bounds {
  return { maxRows, maxBytes, maxValueLength, maxBlobBytes };
}
