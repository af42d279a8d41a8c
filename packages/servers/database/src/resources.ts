import type { Server } from "portolan/server";
import { callerOf, toolErrorsAsInvalidParams } from "portolan-server-kit";
import { completeTable } from "./completion.ts";
import type { ServerDependencies } from "./server.ts";
import { showTable } from "./show.ts";

/** URI of the whole schema. */
export const schemaUri = "db://schema";

/** Adds the schema and each table as resources. */
export function addResources<T>(server: Server<undefined, T>, dependencies: ServerDependencies): Server<undefined, T> {
  const { database, limits } = dependencies;
  return server
    .resource(schemaUri, {
      name: "schema",
      title: "Schema",
      description: `All tables of ${database.about}, with columns, keys and indexes`,
      mimeType: "text/plain",
      subscribe: true,
      async read(ctx) {
        const tables = await toolErrorsAsInvalidParams(
          database.tables({ limit: limits.maxTables + 1, details: true }, ctx.signal, callerOf(ctx)),
        );
        const shown = tables.slice(0, limits.maxTables).map(showTable);
        const more =
          tables.length > limits.maxTables ? ["There are more tables; the tool tables lists all of them"] : [];
        return [...shown, ...more].join("\n\n") || "No tables";
      },
    })
    .template("db://table/{name}", {
      name: "table",
      title: "Table",
      description: "A table or view: columns, keys, indexes, definition",
      mimeType: "text/plain",
      async list(ctx) {
        const tables = await toolErrorsAsInvalidParams(
          database.tables({ limit: limits.maxTables, details: false }, ctx.signal, callerOf(ctx)),
        );
        return tables.map(({ name, kind, comment }) => ({
          ...{
            uri: `db://table/${encodeURIComponent(name)}`,
            name,
            title: `${name} (${kind})`,
            mimeType: "text/plain",
          },
          ...(comment !== undefined && { description: comment }),
        }));
      },
      complete: { name: completeTable(dependencies) },
      async read({ name }, ctx) {
        const [table] = await toolErrorsAsInvalidParams(
          database.tables({ name: String(name), limit: 1, details: true }, ctx.signal, callerOf(ctx)),
        );
        if (!table) return undefined;
        return table.definition === undefined ? showTable(table) : `${showTable(table)}\n\n${table.definition}`;
      },
    });
}
