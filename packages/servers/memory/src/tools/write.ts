import { type Server, ToolError } from "portolan/server";
import { annotations, count, object, string } from "portolan-server-kit";
import type { Entity, Graph, Operation, Relation } from "../store/graph.ts";
import { merge, type PlainEntity, readExport, toPlain } from "../store/interchange.ts";
import { entitiesOut, type Kit, relationsOut, texts } from "./tool-parts.ts";

interface In {
  readonly namespace?: string;
}

/** Adds the tools that change the memory; each call is done as a whole or not at all. */
export function addWriteTools(server: Server, kit: Kit): Server {
  const { schemas, limits } = kit;
  const { namespace, name, entity, relation, listOf } = schemas;
  return server
    .tool("create_entities", {
      title: "Remember entities",
      description:
        "Creates entities with their observations. Where one of that name exists, its type stays and new observations are added to it",
      input: object({ entities: listOf(entity, "The entities"), namespace }, ["namespace"]),
      output: object({ entities: entitiesOut, existing: texts("The names of those that were there already") }),
      annotations: annotations.sets,
      run: (
        { entities, ...args }: In & { entities: (Omit<PlainEntity, "observations"> & Partial<PlainEntity>)[] },
        ctx,
      ) =>
        kit.change(args, ctx, (graph) => {
          const given = entities.map((one) => ({ observations: [], ...one }));
          for (const { name: one } of given) checkName(one);
          const { ops, created } = merge(graph, given, []);
          const isNew = new Set(created);
          const existing = [...new Set(given.map(({ name: one }) => one))].filter((one) => !isNew.has(one));
          const result = { entities: given.filter((one) => isNew.has(one.name)), existing };
          const also = existing.length === 0 ? "" : `; ${existing.length} existed and got what is new`;
          return { ops, result, says: `${created.length} entities created${also}` };
        }),
    })
    .tool("update_entities", {
      title: "Rename or retype entities",
      description: "Gives entities another name, with their relations, or another type",
      input: object(
        {
          entities: listOf(
            object(
              {
                name,
                newName: { ...name, description: "The new name; it must be free" },
                entityType: string("The new type", { minLength: 1, maxLength: limits.maxNameLength }),
              },
              ["newName", "entityType"],
            ),
            "What is to be changed",
          ),
          namespace,
        },
        ["namespace"],
      ),
      output: object({ entities: entitiesOut }),
      annotations: annotations.overwrites,
      run: ({ entities, ...args }: In & { entities: { name: string; newName?: string; entityType?: string }[] }, ctx) =>
        kit.change(args, ctx, (graph) => {
          const updated = entities.map((one) => update(graph, one));
          const names = updated.map(({ result }) => result.name);
          if (new Set(names).size < names.length) throw new ToolError("Two of these entities would have one name");
          const ops = updated.flatMap((one) => one.ops);
          const result = { entities: updated.map((one) => one.result) };
          return { ops, result, says: `${updated.length} entities updated` };
        }),
    })
    .tool("create_relations", {
      title: "Relate entities",
      description: "Creates relations between entities that exist; what is there already stays as it is",
      input: object({ relations: listOf(relation, "The relations"), namespace }, ["namespace"]),
      output: object({ relations: relationsOut, existing: count("How many were there already") }),
      annotations: annotations.sets,
      run: ({ relations, ...args }: In & { relations: Relation[] }, ctx) =>
        kit.change(args, ctx, (graph) => {
          for (const { from, to } of relations) for (const end of [from, to]) need(graph, end);
          const { ops, related } = merge(graph, [], relations);
          const existing = relations.length - related.length;
          return { ops, result: { relations: related, existing }, says: `${related.length} relations created` };
        }),
    })
    .tool("add_observations", {
      title: "Remember observations",
      description: "Adds observations to entities that exist; what is known already is not repeated",
      input: object(
        {
          observations: listOf(object({ entityName: name, contents: schemas.observations }), "By entity"),
          namespace,
        },
        ["namespace"],
      ),
      output: object({ results: listOut("addedObservations", "What was new") }),
      annotations: annotations.sets,
      run: ({ observations, ...args }: In & { observations: { entityName: string; contents: string[] }[] }, ctx) =>
        kit.change(args, ctx, (graph) => {
          const results = observations.map(({ entityName, contents }) => {
            const known = need(graph, entityName).observations;
            return { entityName, addedObservations: [...new Set(contents)].filter((one) => !known.has(one)) };
          });
          const ops = results.flatMap(({ entityName, addedObservations }): Operation[] =>
            addedObservations.length === 0 ? [] : [{ do: "observe", name: entityName, texts: addedObservations }],
          );
          const count = results.reduce((sum, { addedObservations }) => sum + addedObservations.length, 0);
          return { ops, result: { results }, says: `${count} observations added` };
        }),
    })
    .tool("delete_entities", {
      title: "Forget entities",
      description: "Forgets entities, with their observations and relations",
      input: object({ entityNames: listOf(name, "Their names"), namespace }, ["namespace"]),
      output: object({ deleted: texts("Those that were forgotten"), missing: texts("Those that were not there") }),
      annotations: annotations.overwrites,
      run: ({ entityNames, ...args }: In & { entityNames: string[] }, ctx) =>
        kit.change(args, ctx, (graph) => {
          const names = [...new Set(entityNames)];
          const deleted = names.filter((one) => graph.entities.has(one));
          const missing = names.filter((one) => !graph.entities.has(one));
          const ops = deleted.map((one): Operation => ({ do: "forget", name: one }));
          const also = missing.length === 0 ? "" : `; ${missing.length} were not there`;
          return { ops, result: { deleted, missing }, says: `${deleted.length} entities forgotten${also}` };
        }),
    })
    .tool("delete_observations", {
      title: "Forget observations",
      description: "Forgets single observations of entities; give them word by word",
      input: object(
        { deletions: listOf(object({ entityName: name, observations: schemas.observations }), "By entity"), namespace },
        ["namespace"],
      ),
      output: object({ results: listOut("deletedObservations", "What was forgotten") }),
      annotations: annotations.overwrites,
      run: ({ deletions, ...args }: In & { deletions: { entityName: string; observations: string[] }[] }, ctx) =>
        kit.change(args, ctx, (graph) => {
          const results = deletions.map(({ entityName, observations }) => {
            const known = graph.entities.get(entityName)?.observations;
            return { entityName, deletedObservations: [...new Set(observations)].filter((one) => known?.has(one)) };
          });
          const ops = results.flatMap(({ entityName, deletedObservations }): Operation[] =>
            deletedObservations.length === 0 ? [] : [{ do: "unobserve", name: entityName, texts: deletedObservations }],
          );
          const count = results.reduce((sum, { deletedObservations }) => sum + deletedObservations.length, 0);
          return { ops, result: { results }, says: `${count} observations forgotten` };
        }),
    })
    .tool("delete_relations", {
      title: "Forget relations",
      description: "Forgets relations; the entities stay",
      input: object({ relations: listOf(relation, "The relations"), namespace }, ["namespace"]),
      output: object({ deleted: relationsOut }),
      annotations: annotations.overwrites,
      run: ({ relations, ...args }: In & { relations: Relation[] }, ctx) =>
        kit.change(args, ctx, (graph) => {
          const deleted = relations.filter((one) => graph.has(one));
          const ops = deleted.map((one): Operation => ({ do: "unrelate", relation: one }));
          return { ops, result: { deleted }, says: `${deleted.length} relations forgotten` };
        }),
    })
    .tool("import_graph", {
      title: "Import",
      description:
        "Adds what export_graph has written, or the lines of the official memory server's file: JSON Lines, given as text. What is there stays",
      input: object({ lines: string("JSON Lines", { maxLength: limits.maxImportLength }), namespace }, ["namespace"]),
      output: object({
        entities: count("How many entities are new"),
        observations: count("How many observations are new"),
        relations: count("How many relations are new"),
      }),
      annotations: annotations.sets,
      run: ({ lines, ...args }: In & { lines: string }, ctx) => {
        const { entities, relations } = readExport(lines);
        return kit.change(args, ctx, (graph) => {
          const { ops, created, observed, related } = merge(graph, entities, relations);
          const result = { entities: created.length, observations: observed, relations: related.length };
          const says = `Imported ${created.length} entities, ${observed} observations, ${related.length} relations`;
          return { ops, result, says };
        });
      },
    });
}

function listOut(member: string, description: string) {
  const items = object({ entityName: string("The entity"), [member]: texts(description) });
  return { type: "array", items, description: "By entity, in the order asked for" };
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
    if (graph.entities.has(newName)) throw new ToolError(`There is a ${JSON.stringify(newName)} already; name another`);
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

/** A name becomes part of an address. */
function checkName(name: string): void {
  if (name.trim() !== "" && !/[\p{Cc}\p{Cs}]/u.test(name)) return;
  throw new ToolError(`name: expected a text without control characters, got ${JSON.stringify(name)}`);
}
