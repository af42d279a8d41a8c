import { type Server, ToolError } from "portolan/server";
import { annotations, count, object, string } from "portolan-server-kit";
import type { Entity, Graph, Operation, Relation } from "../store/graph.ts";
import { merge, type PlainEntity, readExport, toPlain } from "../store/interchange.ts";
import { entitiesOut, relationsOut, type ToolParts, texts } from "./tool-parts.ts";

interface In {
  readonly namespace?: string;
}

/** Adds the tools that change the memory; each call is applied completely or not at all. */
export function addWriteTools(server: Server, parts: ToolParts): Server {
  const { schemas, limits } = parts;
  const { namespace, name, entity, relation, listOf } = schemas;
  return server
    .tool("create_entities", {
      title: "Create entities",
      description:
        "Creates entities with their observations. An existing entity keeps its type and gets the new observations",
      input: object({ entities: listOf(entity, "The entities"), namespace }, ["namespace"]),
      output: object({ entities: entitiesOut, existing: texts("Names of entities that already existed") }),
      annotations: annotations.sets,
      run: (
        { entities, ...args }: In & { entities: (Omit<PlainEntity, "observations"> & Partial<PlainEntity>)[] },
        ctx,
      ) => {
        const given = entities.map((one) => ({ observations: [], ...one }));
        parts.checkItems(ctx, countOf(given));
        return parts.change(args, ctx, (graph) => {
          for (const { name: one } of given) checkName(one);
          const { ops, created } = merge(graph, given, []);
          const isNew = new Set(created);
          const existing = [...new Set(given.map(({ name: one }) => one))].filter((one) => !isNew.has(one));
          const result = { entities: given.filter((one) => isNew.has(one.name)), existing };
          const also = existing.length === 0 ? "" : `; ${existing.length} already existed and got the new observations`;
          return { ops, result, says: `${created.length} entities created${also}` };
        });
      },
    })
    .tool("update_entities", {
      title: "Rename or retype entities",
      description: "Changes the name of entities, also in their relations, or their type",
      input: object(
        {
          entities: listOf(
            object(
              {
                name,
                newName: { ...name, description: "The new name; it must not exist yet" },
                entityType: string("The new type", { minLength: 1, maxLength: limits.maxNameLength }),
              },
              ["newName", "entityType"],
            ),
            "The changes",
          ),
          namespace,
        },
        ["namespace"],
      ),
      output: object({ entities: entitiesOut }),
      annotations: annotations.overwrites,
      run: ({ entities, ...args }: In & { entities: { name: string; newName?: string; entityType?: string }[] }, ctx) =>
        parts.change(args, ctx, (graph) => {
          const updated = entities.map((one) => update(graph, one));
          const names = updated.map(({ result }) => result.name);
          if (new Set(names).size < names.length) throw new ToolError("Two of these entities would have the same name");
          const ops = updated.flatMap((one) => one.ops);
          const result = { entities: updated.map((one) => one.result) };
          return { ops, result, says: `${updated.length} entities updated` };
        }),
    })
    .tool("create_relations", {
      title: "Create relations",
      description: "Creates relations between existing entities; existing relations do not change",
      input: object({ relations: listOf(relation, "The relations"), namespace }, ["namespace"]),
      output: object({ relations: relationsOut, existing: count("Number of relations that already existed") }),
      annotations: annotations.sets,
      run: ({ relations, ...args }: In & { relations: Relation[] }, ctx) =>
        parts.change(args, ctx, (graph) => {
          for (const { from, to } of relations) for (const end of [from, to]) need(graph, end);
          const { ops, related } = merge(graph, [], relations);
          const existing = relations.length - related.length;
          return { ops, result: { relations: related, existing }, says: `${related.length} relations created` };
        }),
    })
    .tool("add_observations", {
      title: "Add observations",
      description: "Adds observations to existing entities; known observations are not repeated",
      input: object(
        {
          observations: listOf(object({ entityName: name, contents: schemas.observations }), "By entity"),
          namespace,
        },
        ["namespace"],
      ),
      output: object({ results: listOut("addedObservations", "The new observations") }),
      annotations: annotations.sets,
      run: ({ observations, ...args }: In & { observations: { entityName: string; contents: string[] }[] }, ctx) => {
        parts.checkItems(ctx, countOf(observations.map(({ contents }) => ({ observations: contents }))));
        return parts.change(args, ctx, (graph) => {
          const results = observations.map(({ entityName, contents }) => {
            const known = need(graph, entityName).observations;
            return { entityName, addedObservations: [...new Set(contents)].filter((one) => !known.has(one)) };
          });
          const ops = results.flatMap(({ entityName, addedObservations }): Operation[] =>
            addedObservations.length === 0 ? [] : [{ do: "observe", name: entityName, texts: addedObservations }],
          );
          const count = results.reduce((sum, { addedObservations }) => sum + addedObservations.length, 0);
          return { ops, result: { results }, says: `${count} observations added` };
        });
      },
    })
    .tool("delete_entities", {
      title: "Delete entities",
      description: "Deletes entities with their observations and relations",
      input: object({ entityNames: listOf(name, "Their names"), namespace }, ["namespace"]),
      output: object({ deleted: texts("Deleted entities"), missing: texts("Names without an entity") }),
      annotations: annotations.overwrites,
      run: ({ entityNames, ...args }: In & { entityNames: string[] }, ctx) =>
        parts.change(args, ctx, (graph) => {
          const names = [...new Set(entityNames)];
          const deleted = names.filter((one) => graph.entities.has(one));
          const missing = names.filter((one) => !graph.entities.has(one));
          const ops = deleted.map((one): Operation => ({ do: "forget", name: one }));
          const also = missing.length === 0 ? "" : `; ${missing.length} did not exist`;
          return { ops, result: { deleted, missing }, says: `${deleted.length} entities deleted${also}` };
        }),
    })
    .tool("delete_observations", {
      title: "Delete observations",
      description: "Deletes single observations of entities; pass their exact text",
      input: object(
        { deletions: listOf(object({ entityName: name, observations: schemas.observations }), "By entity"), namespace },
        ["namespace"],
      ),
      output: object({ results: listOut("deletedObservations", "The deleted observations") }),
      annotations: annotations.overwrites,
      run: ({ deletions, ...args }: In & { deletions: { entityName: string; observations: string[] }[] }, ctx) => {
        parts.checkItems(ctx, countOf(deletions));
        return parts.change(args, ctx, (graph) => {
          const results = deletions.map(({ entityName, observations }) => {
            const known = graph.entities.get(entityName)?.observations;
            return { entityName, deletedObservations: [...new Set(observations)].filter((one) => known?.has(one)) };
          });
          const ops = results.flatMap(({ entityName, deletedObservations }): Operation[] =>
            deletedObservations.length === 0 ? [] : [{ do: "unobserve", name: entityName, texts: deletedObservations }],
          );
          const count = results.reduce((sum, { deletedObservations }) => sum + deletedObservations.length, 0);
          return { ops, result: { results }, says: `${count} observations deleted` };
        });
      },
    })
    .tool("delete_relations", {
      title: "Delete relations",
      description: "Deletes relations; the entities are kept",
      input: object({ relations: listOf(relation, "The relations"), namespace }, ["namespace"]),
      output: object({ deleted: relationsOut }),
      annotations: annotations.overwrites,
      run: ({ relations, ...args }: In & { relations: Relation[] }, ctx) =>
        parts.change(args, ctx, (graph) => {
          const deleted = relations.filter((one) => graph.has(one));
          const ops = deleted.map((one): Operation => ({ do: "unrelate", relation: one }));
          return { ops, result: { deleted }, says: `${deleted.length} relations deleted` };
        }),
    })
    .tool("import_graph", {
      title: "Import",
      description:
        "Imports JSON Lines from export_graph or from the official memory server, passed as text. Existing content is kept",
      input: object({ lines: string("JSON Lines", { maxLength: limits.maxImportLength }), namespace }, ["namespace"]),
      output: object({
        entities: count("Number of new entities"),
        observations: count("Number of new observations"),
        relations: count("Number of new relations"),
      }),
      annotations: annotations.sets,
      run: ({ lines, ...args }: In & { lines: string }, ctx) => {
        parts.checkImport(ctx, lines.length);
        const { entities, relations } = readExport(lines);
        parts.checkItems(ctx, countOf(entities) + relations.length);
        return parts.change(args, ctx, (graph) => {
          const { ops, created, observed, related } = merge(graph, entities, relations);
          const result = { entities: created.length, observations: observed, relations: related.length };
          const says = `Imported ${created.length} entities, ${observed} observations, ${related.length} relations`;
          return { ops, result, says };
        });
      },
    });
}

/** Returns the number of entities and of all their observations. */
function countOf(entities: readonly { readonly observations: readonly string[] }[]): number {
  return entities.reduce((sum, { observations }) => sum + 1 + observations.length, 0);
}

function listOut(member: string, description: string) {
  const items = object({ entityName: string("The entity"), [member]: texts(description) });
  return { type: "array", items, description: "By entity, in the given order" };
}

function update(
  graph: Graph,
  { name, newName = name, entityType }: { name: string; newName?: string; entityType?: string },
) {
  const entity = need(graph, name);
  const ops: Operation[] = [];
  if (entityType !== undefined) ops.push({ do: "entity", name, type: entityType });
  if (newName !== name) {
    checkName(newName);
    if (graph.entities.has(newName))
      throw new ToolError(`${JSON.stringify(newName)} already exists; choose another name`);
    ops.push({ do: "rename", name, to: newName });
  }
  return { ops, result: { ...toPlain(entity), name: newName, entityType: entityType ?? entity.entityType } };
}

function need(graph: Graph, name: string): Entity {
  const entity = graph.entities.get(name);
  if (entity) return entity;
  const hint = "create_entities creates it, search_nodes finds others; nothing was changed";
  throw new ToolError(`No entity named ${JSON.stringify(name)}; ${hint}`);
}

/** Throws for names that cannot be part of a URI. */
function checkName(name: string): void {
  if (name.trim() !== "" && !/[\p{Cc}\p{Cs}]/u.test(name)) return;
  throw new ToolError(`name: expected a text without control characters, got ${JSON.stringify(name)}`);
}
