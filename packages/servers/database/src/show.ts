import type { Table } from "./catalog.ts";
import type { Cell, Dialect, Rows } from "./database.ts";

/** Formats rows as a Markdown table. */
export function showRows({ columns, rows }: Rows): string {
  if (columns.length === 0) return "";
  const lines = [
    columns.map(({ name }) => toCell(name)),
    columns.map(() => "---"),
    ...rows.map((row) => row.map(showCell)),
  ];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function showCell(cell: Cell): string {
  if (cell === null) return "NULL";
  if (typeof cell !== "object") return toCell(String(cell));
  return cell.base64 === undefined ? `(${cell.bytes} bytes)` : `base64 ${cell.base64}`;
}

function toCell(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
}

/** Explains what a result leaves out; undefined if nothing. */
export function noteOn({ rows, cutBy, shortened }: Rows, limit: number, maxRows: number): string | undefined {
  const notes: string[] = [];
  if (cutBy === "rows") {
    const raise = limit < maxRows ? `, or raise limit to at most ${maxRows}` : "";
    notes.push(
      `Only the first ${rows.length} rows are shown: narrow with WHERE, aggregate, or page with LIMIT and OFFSET${raise}`,
    );
  }
  if (cutBy === "bytes") {
    notes.push(
      rows.length === 0
        ? "The first row alone is too large to show: select fewer columns or parts of values"
        : `Only the first ${rows.length} rows are shown, because of their size: select fewer columns, or narrow with WHERE`,
    );
  }
  if (shortened > 0) notes.push(`${shortened} long values were shortened: select parts of them with substr`);
  return notes.length === 0 ? undefined : notes.join(". ");
}

/** Formats the lines of a query plan. */
export function showPlan(lines: readonly string[], isCut: boolean): string {
  return [...lines, ...(isCut ? ["… the rest is too long to show"] : [])].join("\n");
}

/** Formats a table for models: one line per column. */
export function showTable({
  name,
  kind,
  rows,
  comment,
  columns,
  primaryKey,
  foreignKeys,
  indexes,
  checks,
}: Table): string {
  const about = rows === undefined ? kind : `${kind}, about ${rows} rows`;
  const single = primaryKey.length === 1 ? primaryKey[0] : undefined;
  const keyOf = new Map(
    foreignKeys.flatMap((key) => (key.columns.length === 1 ? [[key.columns[0], key] as const] : [])),
  );
  return [
    `${name} (${about})${comment === undefined ? "" : `: ${oneLine(comment)}`}`,
    ...columns.map((column) => {
      const key = keyOf.get(column.name);
      const facts = [
        column.type,
        ...(column.name === single ? ["primary key"] : column.nullable ? [] : ["not null"]),
        ...(column.generated
          ? ["generated"]
          : column.default === undefined
            ? []
            : [`default ${oneLine(column.default)}`]),
        ...(key === undefined ? [] : [`references ${target(key.table, key.references)}`]),
        ...(column.values === undefined
          ? []
          : [`one of ${column.values.map((value) => `'${oneLine(value)}'`).join(", ")}`]),
      ].filter((fact) => fact !== "");
      return `  ${column.name} ${facts.join(" ")}${column.comment === undefined ? "" : ` -- ${oneLine(column.comment)}`}`;
    }),
    ...(primaryKey.length > 1 ? [`  primary key (${primaryKey.join(", ")})`] : []),
    ...foreignKeys
      .filter((key) => key.columns.length > 1)
      .map((key) => `  foreign key (${key.columns.join(", ")}) references ${target(key.table, key.references)}`),
    ...indexes.map(
      (index) => `  ${index.unique ? "unique index" : "index"} ${index.name} (${index.columns.join(", ")})`,
    ),
    ...checks.map((check) => `  ${oneLine(check)}`),
  ].join("\n");
}

function target(table: string, columns: readonly string[]): string {
  return columns.length === 0 ? table : `${table} (${columns.join(", ")})`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").slice(0, 500);
}

/** Quotes a table name for a statement if needed; the schema is quoted separately. */
export function quoteName(name: string, dialect: Dialect): string {
  const parts = dialect === "postgresql" ? name.split(/\.(.*)/s, 2) : [name];
  return parts.map(quotePart).join(".");
}

/** Quotes one identifier, such as a column, if needed. */
export function quotePart(name: string): string {
  return isPlain(name) ? name : `"${name.replaceAll('"', '""')}"`;
}

/** Common reserved words, which need quotes as identifiers. */
const reserved = new Set(
  "all and any as asc both by case cast check collate column constraint create cross default delete desc distinct do else end except false fetch for foreign from full grant group having in index inner insert intersect into is join left like limit natural not null offset on only or order outer primary references returning right select set some symmetric table then to transaction true union unique update user using values when where window with".split(
    " ",
  ),
);

function isPlain(name: string): boolean {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name);
}
