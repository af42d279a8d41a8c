import { ToolError } from "portolan/server";
import type { Entity, Graph, Operation, Relation } from "./graph.ts";

/** An entity in JSON form. */
export interface PlainEntity {
  readonly name: string;
  readonly entityType: string;
  readonly observations: readonly string[];
}

/** A line of an export, in the format of the official memory server. */
type Exported = ({ readonly type: "entity" } & PlainEntity) | ({ readonly type: "relation" } & Relation);

/** Returns the lines of an export: entities by name, then relations. */
export function* exportLines(graph: Graph): Generator<string> {
  for (const name of graph.names) {
    const entity = graph.entities.get(name);
    if (entity) yield JSON.stringify({ type: "entity", ...toPlain(entity) });
  }
  for (const { from, to, relationType } of graph.relations.values()) {
    yield JSON.stringify({ type: "relation", from, to, relationType });
  }
}

export function toPlain({ name, entityType, observations }: Entity): PlainEntity {
  return { name, entityType, observations: [...observations] };
}

/** Parses an export; throws at the first invalid line, so that nothing is skipped silently. */
export function readExport(text: string): { entities: PlainEntity[]; relations: Relation[] } {
  const entities: PlainEntity[] = [];
  const relations: Relation[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .entries()) {
    if (line.trim() === "") continue;
    const found = readExported(line);
    if (!found) throw new ToolError(`Line ${index + 1}: ${expected}, got ${JSON.stringify(line.slice(0, 80))}`);
    if (found.type === "entity") entities.push(found);
    else relations.push(found);
  }
  return { entities, relations };
}

const expected =
  'expected {"type":"entity","name","entityType","observations"} or {"type":"relation","from","to","relationType"}';

function readExported(line: string): Exported | undefined {
  let value: Partial<Exported> | null;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const isText = (one: unknown) => typeof one === "string" && one !== "";
  if (value?.type === "entity") {
    const { name, entityType, observations } = value;
    const isFine = isText(name) && typeof entityType === "string" && Array.isArray(observations);
    return isFine && observations?.every((one) => typeof one === "string") ? (value as Exported) : undefined;
  }
  if (value?.type !== "relation") return undefined;
  return isText(value.from) && isText(value.to) && typeof value.relationType === "string"
    ? (value as Exported)
    : undefined;
}

/** Returns the operations that add entities and relations to a graph; existing content is kept. */
export function merge(
  graph: Graph,
  entities: readonly PlainEntity[],
  relations: readonly Relation[],
): { ops: Operation[]; created: string[]; observed: number; related: Relation[] } {
  const ops: Operation[] = [];
  const created = new Set<string>();
  const related = new Map<string, Relation>();
  let observed = 0;
  for (const { name, entityType, observations } of entities) {
    const known = graph.entities.get(name);
    if (!known && !created.has(name)) {
      created.add(name);
      ops.push({ do: "entity", name, type: entityType });
    }
    const texts = [...new Set(observations)].filter((text) => !known?.observations.has(text));
    observed += texts.length;
    if (texts.length > 0) ops.push({ do: "observe", name, texts });
  }
  for (const { from, to, relationType } of relations) {
    const relation = { from, to, relationType };
    const key = JSON.stringify(relation);
    if (graph.has(relation) || related.has(key)) continue;
    related.set(key, relation);
    ops.push({ do: "relate", relation });
  }
  return { ops, created: [...created], observed, related: [...related.values()] };
}
