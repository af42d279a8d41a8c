import type { ToolDefinition } from "portolan/server";
import { annotations, array, boolean, count, object, string, textResult } from "portolan-server-kit";
import { needTable, type Table } from "../catalog.ts";
import type { Kit } from "../server.ts";
import { showTable } from "../show.ts";

const usualTables = 100;
const name = string("As statements call it; with its schema where that is needed");
const kind = string("table, view and so on");
const rows = count("About how many rows, where the database knows");
const comment = string("What the database says of it");

interface Listed {
  name: string;
  kind: string;
  rows?: number;
  comment?: string;
}

/** Lists tables. */
export function tablesTool({
  database,
  limits,
}: Kit): ToolDefinition<
  { search?: string; from?: number; limit?: number },
  { tables: Listed[]; next?: number },
  undefined
> {
  return {
    title: "Tables",
    description: `The tables and views of ${database.about}`,
    input: object(
      {
        search: string("Only those whose name has this in it", { minLength: 1, maxLength: 200 }),
        from: count("How many to skip: `next` of the page before", { maximum: 1_000_000 }),
        limit: count(`How many; ${Math.min(usualTables, limits.maxTables)} unless given`, {
          ...{ minimum: 1, maximum: limits.maxTables },
        }),
      },
      ["search", "from", "limit"],
    ),
    output: object(
      {
        tables: array(object({ name, kind, rows, comment }, ["rows", "comment"]), "The tables"),
        next: count("Give it as `from` to go on; absent at the end"),
      },
      ["next"],
    ),
    annotations: annotations.reads,
    async run({ search, from = 0, limit = Math.min(usualTables, limits.maxTables) }, ctx) {
      const filter = { ...(search !== undefined && { search }), from, limit: limit + 1, details: false };
      const found = await database.tables(filter, ctx.signal);
      const tables = found.slice(0, limit).map(toListed);
      const next = found.length > limit ? from + limit : undefined;
      const lines = tables.map(
        (table) => `${table.name} (${table.kind})${table.comment === undefined ? "" : `: ${table.comment}`}`,
      );
      const more = next === undefined ? [] : [`There are more: call again with from ${next}`];
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

/** Describes a table. */
export function describeTool({ database }: Kit): ToolDefinition<{ table: string }, Table, undefined> {
  const names = (description: string) => array({ type: "string" }, description);
  return {
    title: "Describe a table",
    description: "The columns, keys and indexes of a table or view",
    input: object({ table: string("Its name, as the tool tables gives it", { minLength: 1, maxLength: 300 }) }),
    output: object(
      {
        ...{ name, kind, rows, comment },
        columns: array(
          object(
            {
              name: string("Its name"),
              type: string("Its type"),
              nullable: boolean("Whether it may be NULL"),
              default: string("The expression of its default"),
              generated: boolean("Whether the database computes it"),
              values: names("What it may be"),
              comment: string("What the database says of it"),
            },
            ["default", "generated", "values", "comment"],
          ),
          "The columns in their order",
        ),
        primaryKey: names("The columns of the primary key"),
        foreignKeys: array(
          object({
            columns: names("Columns of this table"),
            table: string("The table they refer to"),
            references: names("Its columns; empty for its primary key"),
          }),
          "What refers to other tables",
        ),
        indexes: array(
          object({
            name: string("Its name"),
            unique: boolean("Whether values differ"),
            columns: names("Columns or expressions"),
          }),
          "The indexes",
        ),
        checks: names("Conditions that rows fulfil"),
        definition: string("The statement it was made with, or the query of a view"),
      },
      ["rows", "comment", "definition"],
    ),
    annotations: annotations.reads,
    async run({ table: wanted }, ctx) {
      const table = await needTable((filter) => database.tables(filter, ctx.signal), wanted);
      const definition = table.kind.includes("view") && table.definition !== undefined ? `\n${table.definition}` : "";
      return textResult(`${showTable(table)}${definition}`, table);
    },
  };
}
