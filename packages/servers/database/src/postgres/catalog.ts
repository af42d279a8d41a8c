import type { TableFilter } from "../catalog.ts";
import type { Raw } from "../collector.ts";
import type { Statement } from "../database.ts";

const nameOf = (table: string, schema: string) =>
  `CASE WHEN pg_table_is_visible(${table}.oid) THEN '' ELSE ${schema}.nspname || '.' END || ${table}.relname`;

const details = `
  (SELECT json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
      'nullable', NOT a.attnotnull, 'default', pg_get_expr(d.adbin, d.adrelid),
      'generated', CASE WHEN a.attgenerated <> '' OR a.attidentity = 'a' THEN true END,
      'values', (SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = a.atttypid),
      'comment', col_description(c.oid, a.attnum)) ORDER BY a.attnum)
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
  (SELECT json_agg(a.attname ORDER BY k.place)
    FROM pg_constraint p CROSS JOIN unnest(p.conkey) WITH ORDINALITY k(number, place)
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
    WHERE p.conrelid = c.oid AND p.contype = 'p'),
  (SELECT json_agg(json_build_object('table', ${nameOf("t", "tn")},
      'columns', (SELECT json_agg(a.attname ORDER BY k.place) FROM unnest(f.conkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.number),
      'references', (SELECT json_agg(a.attname ORDER BY k.place) FROM unnest(f.confkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.number)) ORDER BY f.conname)
    FROM pg_constraint f JOIN pg_class t ON t.oid = f.confrelid JOIN pg_namespace tn ON tn.oid = t.relnamespace
    WHERE f.conrelid = c.oid AND f.contype = 'f'),
  (SELECT json_agg(json_build_object('name', i.relname, 'unique', x.indisunique, 'columns',
      (SELECT json_agg(pg_get_indexdef(x.indexrelid, n, true) ORDER BY n) FROM generate_series(1, x.indnkeyatts) n))
      ORDER BY i.relname)
    FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid WHERE x.indrelid = c.oid),
  (SELECT json_agg(pg_get_constraintdef(k.oid) ORDER BY k.conname)
    FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c'),
  CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid, true) END`;

/** Returns the statement that lists the tables that the role may read in these schemas. */
export function catalogOf(filter: TableFilter, schemas: readonly string[] | undefined): Statement {
  const { name = null, search = null, from = 0, limit } = filter;
  const sql = `
    SELECT ${nameOf("c", "n")},
      CASE c.relkind WHEN 'r' THEN 'table' WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view'
        WHEN 'm' THEN 'materialized view' ELSE 'foreign table' END,
      CASE WHEN c.relkind IN ('r', 'p', 'm') AND c.reltuples >= 0 THEN c.reltuples::float8 END,
      obj_description(c.oid, 'pg_class')${filter.details ? `, ${details}` : ""}
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
      AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
      AND ($1::json IS NULL OR n.nspname IN (SELECT json_array_elements_text($1::json)))
      AND ($2::text IS NULL OR n.nspname || '.' || c.relname = $2 OR (c.relname = $2 AND pg_table_is_visible(c.oid)))
      AND ($3::text IS NULL OR strpos(lower(n.nspname || '.' || c.relname), lower($3)) > 0)
    ORDER BY NOT pg_table_is_visible(c.oid), n.nspname, c.relname LIMIT $4::int OFFSET $5::int`;
  return { sql, parameters: [schemas === undefined ? null : JSON.stringify(schemas), name, search, limit, from] };
}

/** Names of common types by OID; others are looked up in the database. */
export const knownTypes: { readonly [oid: number]: string } = {
  16: "boolean",
  17: "bytea",
  18: '"char"',
  19: "name",
  20: "bigint",
  21: "smallint",
  23: "integer",
  25: "text",
  26: "oid",
  114: "json",
  700: "real",
  701: "double precision",
  1042: "character",
  1043: "character varying",
  1082: "date",
  1083: "time without time zone",
  1114: "timestamp without time zone",
  1184: "timestamp with time zone",
  1186: "interval",
  1700: "numeric",
  2950: "uuid",
  3802: "jsonb",
};

/** Converts the text that the server sends; values that JSON cannot represent exactly stay strings. */
export function toRaw(text: string | null, oid: number): Raw {
  if (text === null) return null;
  switch (oid) {
    case 16:
      return text === "t";
    case 17:
      return Buffer.from(text.slice(2), "hex");
    case 20:
      return BigInt(text);
    case 21:
    case 23:
    case 26:
    case 700:
    case 701:
      return Number(text);
    default:
      return text;
  }
}
