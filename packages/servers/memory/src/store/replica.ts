import { Graph, operationsOf } from "./graph.ts";
import { type Entry, isHeader, type Line, readLine, writeLine } from "./line.ts";

/** A damaged place in a file. */
export interface Damage {
  /** Line number, from 1. */
  readonly line: number;
  readonly byte: number;
  readonly why: string;
}

/** Changed entities by namespace; `isListChanged` if some were added or removed. */
export interface Changes {
  readonly entities: ReadonlyMap<string, ReadonlySet<string>>;
  readonly isListChanged: boolean;
}

/** The text of a compacted file, and the place at its end. */
export interface CompactedFile {
  readonly text: string;
  readonly lines: number;
  readonly last: number;
  readonly generation: string;
  readonly base: number;
}

/** The content of a file, as far as it was read. */
export class Replica {
  readonly graphs: Map<string, Graph>;
  readonly damage: Damage[] = [];
  /** Bytes read so far: whole lines only. */
  size = 0;
  lines = 0;
  /** Number of the last line. */
  last = -1;
  generation = "";
  base = 0;
  /** The last bytes read, to recognize them later. */
  mark: Buffer = Buffer.alloc(0);
  /** Unreadable lines since the last valid one. */
  #unreadable = 0;

  constructor(graphs: Map<string, Graph> = new Map()) {
    this.graphs = graphs;
  }

  graph(namespace: string): Graph {
    return this.graphs.get(namespace) ?? new Graph();
  }

  /** Reads the complete lines of the following bytes; an incomplete last line is left for later. */
  read(bytes: Buffer, changed?: Map<string, Set<string>>): void {
    let at = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, at)) {
      const line = readLine(bytes.toString("utf8", at, end));
      this.lines += 1;
      if (line) this.#take(line, changed);
      else {
        this.#unreadable += 1;
        this.#addDamage("its checksum does not match, or a newer version wrote it");
      }
      this.size += end + 1 - at;
      at = end + 1;
    }
    if (at > 0) this.#remember(bytes.subarray(0, at));
  }

  /** Counts lines that this process has written and applied. */
  pass(bytes: Buffer, lines: number): void {
    this.size += bytes.length;
    this.lines += lines;
    this.last += lines;
    this.#remember(bytes);
  }

  /** Returns the replica of a file that was just written with the content of this one: it need not be read again. */
  inFile({ lines, last, generation, base }: CompactedFile, bytes: Buffer): Replica {
    const replica = new Replica(this.graphs);
    Object.assign(replica, { size: bytes.length, lines, last, generation, base });
    replica.#remember(bytes);
    return replica;
  }

  /** Applies the changes of one line. */
  apply({ in: namespace, ops }: Entry, changed?: Map<string, Set<string>>): void {
    const graph = this.graph(namespace);
    this.graphs.set(namespace, graph);
    const names = changed?.get(namespace) ?? new Set();
    for (const operation of ops) for (const name of graph.apply(operation)) names.add(name);
    changed?.set(namespace, names);
    if (graph.isEmpty) this.graphs.delete(namespace);
  }

  #remember(bytes: Buffer): void {
    this.mark = Buffer.from(bytes.subarray(Math.max(0, bytes.length - 64)));
  }

  #take({ number, value }: Line, changed: Map<string, Set<string>> | undefined): void {
    // A repeated number is harmless; a missing number is a lost line.
    const missing = number - this.last - 1 - this.#unreadable;
    if (this.last >= 0 && missing > 0) this.#addDamage(`${missing} lines before it are missing`);
    this.#unreadable = 0;
    this.last = Math.max(this.last, number);
    if (!isHeader(value)) this.apply(value, changed);
    else if (this.lines === 1) {
      this.generation = value.generation;
      this.base = value.base;
    }
  }

  #addDamage(why: string): void {
    this.damage.push({ line: this.lines, byte: this.size, why });
  }
}

/** Returns a compacted file with the same content. */
export function rewrite(replica: Replica, generation: string): CompactedFile {
  const first = replica.last + 1;
  const lines: string[] = [];
  for (const [namespace, graph] of replica.graphs) {
    for (const ops of operationsOf(graph)) lines.push(writeLine(first + 1 + lines.length, { in: namespace, ops }));
  }
  const content = lines.join("");
  const header = { format: "portolan-memory", version: 1, generation, base: Buffer.byteLength(content) } as const;
  const text = writeLine(first, header) + content;
  return { text, lines: lines.length + 1, last: first + lines.length, generation, base: header.base };
}

/** Returns the entities that differ between two replicas. */
export function compare(before: Replica, after: Replica): Map<string, Set<string>> {
  const changed = new Map<string, Set<string>>();
  for (const namespace of new Set([...before.graphs.keys(), ...after.graphs.keys()])) {
    const [old, now] = [before.graph(namespace), after.graph(namespace)];
    const names = new Set([...old.entities.keys(), ...now.entities.keys()]);
    const differing = [...names].filter((name) => fingerprint(old, name) !== fingerprint(now, name));
    if (differing.length > 0) changed.set(namespace, new Set(differing));
  }
  return changed;
}

function fingerprint(graph: Graph, name: string): string {
  const { entityType, observations = [] } = graph.entities.get(name) ?? {};
  const relations = graph.relationsOf(name).map((relation) => JSON.stringify(relation));
  return JSON.stringify([entityType, [...observations], relations.sort()]);
}
