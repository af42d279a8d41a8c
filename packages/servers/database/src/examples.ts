import type { Table } from "./catalog.ts";
import type { Dialect } from "./database.ts";
import { quoteName, quotePart } from "./show.ts";

/** A question and the call that answers it. */
export interface Example {
  readonly question: string;
  readonly sql: string;
  readonly parameters?: readonly string[];
}

/** Examples that fit the real tables: the first one is of most interest. */
export function examplesFor(tables: readonly Table[], dialect: Dialect, column?: string): Example[] {
  const [table] = tables;
  if (!table) return [];
  const name = quoteName(table.name, dialect);
  const columnOf = (wanted: (type: string, called: string) => boolean) =>
    table.columns.find(({ name: called, type }) => wanted(type.toLowerCase(), called.toLowerCase()))?.name;
  const grouped = column ?? columnOf((type, called) => /char|text|enum|bool/.test(type) && !/id$/.test(called));
  const dated = columnOf((type, called) => /date|time/.test(type) || /_at$|date/.test(called));
  const place = dialect === "sqlite" ? "?" : "$1";
  const found: (Example | undefined)[] = [
    { question: `How many ${table.name} are there?`, sql: `SELECT count(*) FROM ${name}` },
    grouped === undefined ? undefined : groupExample(table.name, name, grouped, dialect),
    grouped === undefined
      ? undefined
      : {
          question: `Which ${table.name} have the ${grouped} Example?`,
          sql: `SELECT * FROM ${name} WHERE ${quotePart(grouped)} = ${place} LIMIT 20`,
          parameters: ["Example"],
        },
    dated === undefined
      ? undefined
      : {
          question: `What are the newest ${table.name}?`,
          sql: `SELECT * FROM ${name} ORDER BY ${quotePart(dated)} DESC LIMIT 10`,
        },
    joinExample(tables, dialect),
  ];
  return found.filter((example) => example !== undefined);
}

function groupExample(called: string, name: string, grouped: string, dialect: Dialect): Example {
  const by = quotePart(grouped);
  const as = dialect === "sqlite" ? "n" : "count";
  return {
    question: `How many ${called} are there by ${grouped}?`,
    sql: `SELECT ${by}, count(*) AS ${as} FROM ${name} GROUP BY ${by} ORDER BY ${as} DESC LIMIT 20`,
  };
}

/** A join along the first key that leads from one table to another one of these. */
function joinExample(tables: readonly Table[], dialect: Dialect): Example | undefined {
  for (const table of tables) {
    for (const key of table.foreignKeys) {
      const other = tables.find(({ name }) => name === key.table);
      const [column] = key.columns;
      const target = key.references[0] ?? other?.primaryKey[0];
      if (!other || other === table || key.columns.length !== 1 || column === undefined || target === undefined)
        continue;
      const [many, one] = [quoteName(table.name, dialect), quoteName(other.name, dialect)];
      const on = `m.${quotePart(column)} = o.${quotePart(target)}`;
      const by = `o.${quotePart(target)}`;
      return {
        question: `How many ${table.name} belong to each of the ${other.name}?`,
        sql: `SELECT ${by}, count(*) AS n FROM ${many} m JOIN ${one} o ON ${on} GROUP BY ${by} ORDER BY n DESC LIMIT 20`,
      };
    }
  }
  return undefined;
}
