import type { TableFilter } from "../catalog.ts";
import type { Statement } from "../database.ts";

const details = `
  (SELECT json_group_array(json_object('name', x.name, 'type', lower(x.type),
      'nullable', json(iif(x."notnull" OR (x.pk > 0 AND l.wr), 'false', 'true')), 'default', x.dflt_value,
      'generated', iif(x.hidden > 1, json('true'), NULL)))
    FROM pragma_table_xinfo(l.name) x WHERE x.hidden <> 1),
  (SELECT json_group_array(k.name) FROM (SELECT name FROM pragma_table_xinfo(l.name) WHERE pk > 0 ORDER BY pk) k),
  (SELECT json_group_array(json_object('columns', json(f.columns), 'table', f."table", 'references', json(f.targets)))
    FROM (SELECT id, "table", json_group_array("from") AS columns,
        iif(count("to") = 0, '[]', json_group_array("to")) AS targets
      FROM (SELECT * FROM pragma_foreign_key_list(l.name) ORDER BY id, seq) GROUP BY id) f),
  (SELECT json_group_array(json_object('name', i.name, 'unique', json(iif(i."unique", 'true', 'false')), 'columns',
      json((SELECT json_group_array(coalesce(c.name, '(expression)')) FROM pragma_index_info(i.name) c))))
    FROM pragma_index_list(l.name) i),
  '[]',
  (SELECT s.sql FROM sqlite_schema s WHERE s.name = l.name AND s.type IN ('table', 'view'))`;

/** The statement that reads the tables of a file. */
export function catalogOf(filter: TableFilter): Statement {
  const { name = null, search = null, from = 0, limit } = filter;
  const sql = `
    SELECT l.name, iif(l.type = 'virtual', 'virtual table', l.type), NULL, NULL${filter.details ? `, ${details}` : ""}
    FROM pragma_table_list l
    WHERE l.schema = 'main' AND l.type <> 'shadow' AND l.name NOT LIKE 'sqlite~_%' ESCAPE '~'
      AND (?1 IS NULL OR l.name = ?1 COLLATE NOCASE)
      AND (?2 IS NULL OR instr(lower(l.name), lower(?2)) > 0)
    ORDER BY l.name LIMIT ?3 OFFSET ?4`;
  return { sql, parameters: [name, search, limit, from] };
}
