import type { ToolDefinition } from "portolan/server";
import { annotations, array, boolean, callerOf, count, object, string, textResult } from "portolan-server-kit";
import { needTable, type Table } from "../catalog.ts";
import type { ServerDependencies } from "../server.ts";
import { showTable } from "../show.ts";

const defaultTables = 100;
const name = string("Name to use in statements; with the schema if it is needed");
const kind = string("table, view, materialized view, …");
const rows = count("Estimated number of rows, if the database has an estimate");
const comment = string("Its comment in the database");

interface Listed {
  name: string;
  kind: string;
  rows?: number;
  comment?: string;
}

/** The tool `tables`: lists tables and views. */
export function tablesTool({
  database,
  limits,
}: ServerDependencies): ToolDefinition<
  { search?: string; from?: number; limit?: number },
  { tables: Listed[]; next?: number },
  undefined
> {
  return {
    title: "Tables",
    description: `Lists the tables and views of ${database.about}`,
    input: object(
      {
        search: string("Only tables whose name contains this", { minLength: 1, maxLength: 200 }),
        from: count("How many to skip: `next` of the previous page", { maximum: 1_000_000 }),
        limit: count(`Maximum number. Default: ${Math.min(defaultTables, limits.maxTables)}`, {
          ...{ minimum: 1, maximum: limits.maxTables },
        }),
      },
      ["search", "from", "limit"],
    ),
    output: object(
      {
        tables: array(object({ name, kind, rows, comment }, ["rows", "comment"]), "The tables"),
        next: count("Pass it as `from` to get the next page; absent on the last page"),
      },
      ["next"],
    ),
    annotations: annotations.reads,
    async run({ search, from = 0, limit = Math.min(defaultTables, limits.maxTables) }, ctx) {
      const filter = { ...(search !== undefined && { search }), from, limit: limit + 1, details: false };
      const found = await database.tables(filter, ctx.signal, callerOf(ctx));
      const tables = found.slice(0, limit).map(toListed);
      const next = found.length > limit ? from + limit : undefined;
      const lines = tables.map(
        (table) => `${table.name} (${table.kind})${table.comment === undefined ? "" : `: ${table.comment}`}`,
      );
      const more = next === undefined ? [] : [`There are more; call again with from ${next}`];
      const said = [...lines, ...more].join("\n") || "No tables";
      return textResult(said, { tables, ...(next !== undefined && { next }) });
    },
  };
}

function toListed({ name: called, kind: is, rows: about, comment: says }: Table): Listed {
  return {
    ...{ name: called, kind: is },
    ...(about !== undefined && { rows: about }),
    ...(says !== undefined && { comment: says }),
  };
}

/** The tool `describe`: describes one table. */
export function describeTool({ database }: ServerDependencies): ToolDefinition<{ table: string }, Table, undefined> {
  const names = (description: string) => array({ type: "string" }, description);
  return {
    title: "Describe a table",
    description: "Shows the columns, keys and indexes of a table or view",
    input: object({ table: string("Table name, as returned by the tool tables", { minLength: 1, maxLength: 300 }) }),
    output: object(
      {
        ...{ name, kind, rows, comment },
        columns: array(
          object(
            {
              name: string("Its name"),
              type: string("Its type"),
              nullable: boolean("True if it can be NULL"),
              default: string("Default, as an SQL expression"),
              generated: boolean("True if the database computes it"),
              values: names("Allowed values of an enumeration"),
              comment: string("Its comment in the database"),
            },
            ["default", "generated", "values", "comment"],
          ),
          "The columns, in order",
        ),
        primaryKey: names("The columns of the primary key"),
        foreignKeys: array(
          object({
            columns: names("Columns of this table"),
            table: string("The table they refer to"),
            references: names("Columns of that table; empty means its primary key"),
          }),
          "The foreign keys",
        ),
        indexes: array(
          object({
            name: string("Its name"),
            unique: boolean("True if values must be unique"),
            columns: names("Columns or expressions"),
          }),
          "The indexes",
        ),
        checks: names("Check constraints"),
        definition: string("The CREATE statement, or the query of a view"),
      },
      ["rows", "comment", "definition"],
    ),
    annotations: annotations.reads,
    async run({ table: wanted }, ctx) {
      const table = await needTable((filter) => database.tables(filter, ctx.signal, callerOf(ctx)), wanted);
      const definition = table.kind.includes("view") && table.definition !== undefined ? `\n${table.definition}` : "";
      return textResult(`${showTable(table)}${definition}`, table);
    },
  };
}
