import { type Server, ToolError } from "portolan/server";
import { annotations, count, object, string } from "portolan-server-kit";
import type { Entity, Graph, Relation } from "../store/graph.ts";
import { exportLines } from "../store/interchange.ts";
import { search } from "./search.ts";
import { damageOut, entitiesOut, moreRelationsOut, relationsOut, type ToolParts } from "./tool-parts.ts";

/** Observations of one entity in a list. */
const briefObservations = 50;

interface In {
  readonly namespace?: string;
}

interface ShownEntity {
  readonly name: string;
  readonly entityType: string;
  readonly observations: readonly string[];
  readonly moreObservations?: number;
}

/** Adds the tools that read. */
export function addReadTools(server: Server, parts: ToolParts): Server {
  const { limits, schemas, store } = parts;
  const { namespace, name, listOf } = schemas;
  const limit = {
    ...count(`Maximum number of entities. At most ${limits.maxPage}`),
    minimum: 1,
    maximum: limits.maxPage,
  };
  const page = { entities: entitiesOut, relations: relationsOut, moreRelations: moreRelationsOut, damaged: damageOut };
  const graphOf = ({ namespace: wanted = parts.namespace }: In) => store.read(wanted);
  return server
    .tool("read_graph", {
      title: "Read the memory",
      description: "Returns all entities with their relations, in pages sorted by name",
      input: object(
        { after: { ...name, description: "Continue after this name: `next` of the previous page" }, limit, namespace },
        ["after", "limit", "namespace"],
      ),
      output: object(
        {
          ...page,
          total: count("Total number of entities"),
          next: string("Pass it as `after` to get the next page; absent on the last page"),
        },
        ["next", "moreRelations", "damaged"],
      ),
      annotations: annotations.reads,
      run({ after, limit: most = limits.maxPage, ...args }: In & { after?: string; limit?: number }) {
        const graph = graphOf(args);
        const from = after === undefined ? 0 : firstAfter(graph.names, after);
        const wanted = graph.names.slice(from, from + most).flatMap((one) => graph.entities.get(one) ?? []);
        const { entities, ...related } = show(graph, wanted, limits.maxResultLength);
        const isMore = from + entities.length < graph.names.length;
        const next = isMore ? entities.at(-1)?.name : undefined;
        const total = graph.names.length;
        const more = isMore ? `; more: call again with after ${JSON.stringify(next)}` : "";
        const says = `${entities.length} of ${total} entities${more}\n${write(entities, related)}`;
        return parts.answer({ entities, ...related, total, ...(next !== undefined && { next }) }, says);
      },
    })
    .tool("search_nodes", {
      title: "Search the memory",
      description: "Finds entities by words or prefixes of words in names, types and observations; best match first",
      input: object(
        {
          query: string("Words to find; entities with all of them come first", {
            minLength: 1,
            maxLength: 1_000,
          }),
          entityType: string("Only entities of this type", { minLength: 1, maxLength: limits.maxNameLength }),
          from: count("Number of matches to skip: `next` of the previous page"),
          limit: { ...limit, description: "Maximum number. Default: 20" },
          namespace,
        },
        ["entityType", "from", "limit", "namespace"],
      ),
      output: object(
        {
          ...page,
          total: count("Number of matches"),
          next: count("Pass it as `from` to get the next page; absent on the last page"),
        },
        ["next", "moreRelations", "damaged"],
      ),
      annotations: annotations.reads,
      run(args: In & { query: string; entityType?: string; from?: number; limit?: number }) {
        const { query, entityType, from = 0, limit: most = Math.min(20, limits.maxPage) } = args;
        const graph = graphOf(args);
        const hits = search(graph, query, entityType);
        const wanted = hits.slice(from, from + most).map(({ entity }) => entity);
        const { entities, ...related } = show(graph, wanted, limits.maxResultLength);
        const next = from + entities.length < hits.length && entities.length > 0 ? from + entities.length : undefined;
        const says = `${hits.length} entities match\n${write(entities, related)}`;
        return parts.answer({ entities, ...related, total: hits.length, ...(next !== undefined && { next }) }, says);
      },
    })
    .tool("open_nodes", {
      title: "Open entities",
      description: "Returns entities by name, with all observations and relations",
      input: object(
        {
          names: listOf(name, "Their names"),
          observationsFrom: count("Number of observations to skip per entity, if an earlier result left some out"),
          namespace,
        },
        ["observationsFrom", "namespace"],
      ),
      output: object(
        { ...page, missing: { type: "array", items: { type: "string" }, description: "Names without an entity" } },
        ["moreRelations", "damaged"],
      ),
      annotations: annotations.reads,
      run({ names, observationsFrom = 0, ...args }: In & { names: string[]; observationsFrom?: number }) {
        const graph = graphOf(args);
        const wanted = [...new Set(names)];
        const found = wanted.flatMap((one) => graph.entities.get(one) ?? []);
        const missing = wanted.filter((one) => !graph.entities.has(one));
        const full = { from: observationsFrom, most: limits.maxItems };
        const { entities, ...related } = show(graph, found, limits.maxResultLength, full);
        if (entities.length < found.length) {
          throw new ToolError(`Too large for one result; open at most ${entities.length} of these at once`);
        }
        const also = missing.length === 0 ? "" : `Not found: ${missing.join(", ")}\n`;
        return parts.answer({ entities, ...related, missing }, also + write(entities, related));
      },
    })
    .tool("export_graph", {
      title: "Export",
      description: "Returns a namespace as JSON Lines, in the format of the official memory server, in pages",
      input: object({ from: count("Number of lines to skip: `next` of the previous page"), namespace }, [
        "from",
        "namespace",
      ]),
      output: object(
        {
          lines: string("JSON Lines"),
          total: count("Total number of lines"),
          next: count("Pass it as `from` to get the next page; absent on the last page"),
          damaged: damageOut,
        },
        ["next", "damaged"],
      ),
      annotations: annotations.reads,
      run({ from = 0, ...args }: In & { from?: number }) {
        const graph = graphOf(args);
        const total = graph.entities.size + graph.relations.size;
        const { lines, end } = cut(exportLines(graph), from, limits.maxResultLength);
        return parts.answer({ lines, total, ...(end < total && { next: end }) }, lines);
      },
    })
    .tool("describe_memory", {
      title: "Describe the memory",
      description: "Returns the namespaces with their size, and the state of the file",
      input: object({}),
      output: object(
        {
          namespaces: {
            type: "array",
            description: "Namespaces that are not empty",
            items: object({
              name: string("Its name"),
              entities: count("Number of entities"),
              relations: count("Number of relations"),
            }),
          },
          bytes: count("The size of the file"),
          damage: {
            type: "array",
            description: "Damaged places of the file",
            items: object({
              line: count("Line number"),
              byte: count("Offset of the line"),
              why: string("Kind of damage"),
            }),
          },
          damaged: damageOut,
        },
        ["damaged"],
      ),
      annotations: annotations.reads,
      run() {
        const namespaces = [...store.namespaces()].map(([one, graph]) => {
          return { name: one, entities: graph.entities.size, relations: graph.relations.size };
        });
        const { bytes, damage } = store.state();
        const rows = namespaces.map(
          ({ name: one, entities, relations }) => `${one}: ${entities} entities, ${relations} relations`,
        );
        const result = { namespaces: namespaces.slice(0, limits.maxItems), bytes, damage: damage.slice(0, 100) };
        return parts.answer(result, rows.join("\n") || "The memory is empty");
      },
    });
}

/** Relations in a result. */
interface ShownRelations {
  readonly relations: readonly Relation[];
  readonly moreRelations?: number;
}

/** Returns as many entities as fit into a result, with their relations. */
function show(
  graph: Graph,
  wanted: readonly Entity[],
  maxLength: number,
  part = { from: 0, most: briefObservations },
): ShownRelations & { readonly entities: readonly ShownEntity[] } {
  const entities: ShownEntity[] = [];
  const relations = new Set<Relation>();
  let length = 0;
  let more = 0;
  for (const entity of wanted) {
    const shown = showOne(entity, part, maxLength);
    length += JSON.stringify(shown).length;
    if (length > maxLength && entities.length > 0) break;
    entities.push(shown);
    for (const relation of graph.relationsOf(entity.name)) {
      if (relations.has(relation)) continue;
      length += JSON.stringify(relation).length;
      if (length > maxLength) more += 1;
      else relations.add(relation);
    }
  }
  return { entities, relations: [...relations], ...(more > 0 && { moreRelations: more }) };
}

function showOne(entity: Entity, { from, most }: { from: number; most: number }, maxLength: number): ShownEntity {
  const { name, entityType } = entity;
  const observations: string[] = [];
  let length = 0;
  let index = 0;
  for (const text of entity.observations) {
    index += 1;
    if (index <= from) continue;
    length += text.length;
    if (observations.length === most || (length > maxLength && observations.length > 0)) break;
    observations.push(text);
  }
  const more = entity.observations.size - from - observations.length;
  return { name, entityType, observations, ...(more > 0 && { moreObservations: more }) };
}

function write(entities: readonly ShownEntity[], { relations, moreRelations = 0 }: ShownRelations): string {
  const rows = entities.flatMap(({ name, entityType, observations, moreObservations = 0 }) => [
    `${name} (${entityType})`,
    ...observations.map((observation) => `- ${observation}`),
    ...(moreObservations > 0 ? [`- and ${moreObservations} more`] : []),
  ]);
  const lines = relations.map(({ from, to, relationType }) => `${from} ${relationType} ${to}`);
  return [...rows, ...lines, ...(moreRelations > 0 ? [`and ${moreRelations} more relations`] : [])].join("\n");
}

/** Returns the lines from an index that fit into a result, at least one. */
function cut(all: Iterable<string>, from: number, maxLength: number): { lines: string; end: number } {
  const lines: string[] = [];
  let length = 0;
  let index = 0;
  for (const line of all) {
    index += 1;
    if (index <= from) continue;
    length += line.length + 1;
    if (length > maxLength && lines.length > 0) break;
    lines.push(line);
  }
  return { lines: lines.join("\n"), end: from + lines.length };
}

/** Returns the index of the first name after another, which may have been deleted. */
function firstAfter(names: readonly string[], name: string): number {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((names[middle] ?? "") <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}
