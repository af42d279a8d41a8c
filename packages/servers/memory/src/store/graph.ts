/** A remembered entity with its observations. */
export interface Entity {
  readonly name: string;
  readonly entityType: string;
  /** In the order of creation. */
  readonly observations: ReadonlySet<string>;
}

/** A typed relation between two entities. */
export interface Relation {
  readonly from: string;
  readonly to: string;
  readonly relationType: string;
}

/** One idempotent change of a namespace. */
export type Operation =
  | { readonly do: "entity"; readonly name: string; readonly type: string }
  | { readonly do: "rename"; readonly name: string; readonly to: string }
  | { readonly do: "forget"; readonly name: string }
  | { readonly do: "observe" | "unobserve"; readonly name: string; readonly texts: readonly string[] }
  | { readonly do: "relate" | "unrelate"; readonly relation: Relation };

/** The entities and relations of one namespace. */
export class Graph {
  readonly #entities = new Map<string, Entity & { readonly observations: Set<string> }>();
  readonly #relations = new Map<string, Relation>();
  /** The keys of the relations that touch an entity. */
  readonly #touching = new Map<string, Set<string>>();
  #sorted: readonly string[] | undefined;

  get entities(): ReadonlyMap<string, Entity> {
    return this.#entities;
  }

  get relations(): ReadonlyMap<string, Relation> {
    return this.#relations;
  }

  get isEmpty(): boolean {
    return this.#entities.size === 0 && this.#relations.size === 0;
  }

  /** All names, sorted; a new name does not change the order of the others. */
  get names(): readonly string[] {
    this.#sorted ??= [...this.#entities.keys()].sort();
    return this.#sorted;
  }

  has(relation: Relation): boolean {
    return this.#relations.has(keyOf(relation));
  }

  relationsOf(name: string): Relation[] {
    return [...(this.#touching.get(name) ?? [])].flatMap((key) => this.#relations.get(key) ?? []);
  }

  /** Applies a change; returns the names of the changed entities. */
  apply(operation: Operation): string[] {
    switch (operation.do) {
      case "entity":
        return this.#put(operation.name, operation.type);
      case "rename":
        return this.#rename(operation.name, operation.to);
      case "forget":
        return this.#forget(operation.name);
      case "observe":
      case "unobserve":
        return this.#observe(operation.name, operation.texts, operation.do === "observe" ? "add" : "delete");
      case "relate":
        return this.#relate(operation.relation);
      case "unrelate":
        return this.#unrelate(operation.relation);
    }
  }

  #put(name: string, entityType: string): string[] {
    const known = this.#entities.get(name);
    if (!known) this.#sorted = undefined;
    this.#entities.set(name, { name, entityType, observations: known?.observations ?? new Set() });
    return [name];
  }

  #observe(name: string, texts: readonly string[], how: "add" | "delete"): string[] {
    const entity = this.#entities.get(name);
    if (!entity) return [];
    for (const text of texts) entity.observations[how](text);
    // A new object invalidates the search cache, which is keyed by entity.
    this.#entities.set(name, { ...entity });
    return [name];
  }

  #rename(name: string, to: string): string[] {
    const entity = this.#entities.get(name);
    if (!entity || this.#entities.has(to)) return [];
    this.#sorted = undefined;
    this.#entities.delete(name);
    this.#entities.set(to, { ...entity, name: to });
    const changed = [name, to];
    for (const relation of this.relationsOf(name)) {
      const { from, to: target, relationType } = relation;
      const swap = (end: string) => (end === name ? to : end);
      changed.push(...this.#unrelate(relation));
      changed.push(...this.#relate({ from: swap(from), to: swap(target), relationType }));
    }
    return changed;
  }

  #forget(name: string): string[] {
    const changed = this.relationsOf(name).flatMap((relation) => this.#unrelate(relation));
    if (this.#entities.delete(name)) this.#sorted = undefined;
    return [name, ...changed];
  }

  #relate(relation: Relation): string[] {
    const key = keyOf(relation);
    this.#relations.set(key, relation);
    for (const end of [relation.from, relation.to]) {
      const touching = this.#touching.get(end) ?? new Set();
      this.#touching.set(end, touching.add(key));
    }
    return [relation.from, relation.to];
  }

  #unrelate(relation: Relation): string[] {
    const key = keyOf(relation);
    this.#relations.delete(key);
    for (const end of [relation.from, relation.to]) {
      const touching = this.#touching.get(end);
      touching?.delete(key);
      if (touching?.size === 0) this.#touching.delete(end);
    }
    return [relation.from, relation.to];
  }
}

/** Returns the changes that rebuild this graph, in small groups to keep the lines of a file short. */
export function* operationsOf(graph: Graph): Generator<Operation[]> {
  for (const { name, entityType, observations } of graph.entities.values()) {
    yield [{ do: "entity", name, type: entityType }];
    for (const texts of chunks(observations, 100)) yield [{ do: "observe", name, texts }];
  }
  for (const relations of chunks(graph.relations.values(), 100)) {
    yield relations.map((relation) => ({ do: "relate", relation }));
  }
}

function* chunks<T>(values: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = [];
  for (const value of values) {
    chunk.push(value);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

/** A key as JSON, because names may contain any separator. */
function keyOf({ from, to, relationType }: Relation): string {
  return JSON.stringify([from, relationType, to]);
}
