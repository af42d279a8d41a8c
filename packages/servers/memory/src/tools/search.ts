import type { Entity, Graph } from "../store/graph.ts";

/** The words of an entity, ready to be searched: each begins after a space. */
interface Searchable {
  readonly name: string;
  readonly type: string;
  readonly rest: string;
}

export interface Hit {
  readonly entity: Entity;
  readonly score: number;
}

const maxWords = 16;
const unparted = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const searchables = new WeakMap<Entity, Searchable>();

/** The entities that fit a query, the best first: all its words before some of them, names before observations. */
export function search(graph: Graph, query: string, entityType?: string): Hit[] {
  const words = [...new Set(wordsOf(query))].slice(0, maxWords);
  const whole = wordsOf(query).join(" ");
  const hits: Hit[] = [];
  for (const entity of graph.entities.values()) {
    if (entityType !== undefined && entity.entityType !== entityType) continue;
    const score = words.length === 0 ? 1 : scoreOf(toSearchable(entity), words, whole);
    if (score > 0) hits.push({ entity, score });
  }
  return hits.sort((a, b) => b.score - a.score || (a.entity.name < b.entity.name ? -1 : 1));
}

function scoreOf({ name, type, rest }: Searchable, words: readonly string[], whole: string): number {
  let score = 0;
  let found = 0;
  for (const word of words) {
    const best = Math.max(rate(name, word, 10, 6), rate(type, word, 4, 2), rate(rest, word, 3, 1));
    if (best > 0) found += 1;
    score += best;
  }
  if (name === ` ${whole} `) score += 50;
  return score + (found === words.length ? 1_000 : 0);
}

/** What a word counts in a text: as itself, or as the beginning of another; where no spaces part words, anywhere. */
function rate(text: string, word: string, asItself: number, asBeginning: number): number {
  if (!text.includes(unparted.test(word) ? word : ` ${word}`)) return 0;
  return text.includes(` ${word} `) ? asItself : asBeginning;
}

function toSearchable(entity: Entity): Searchable {
  let found = searchables.get(entity);
  if (!found) {
    const text = (...parts: string[]) => ` ${wordsOf(parts.join(" ")).join(" ")} `;
    found = { name: text(entity.name), type: text(entity.entityType), rest: text(...entity.observations) };
    searchables.set(entity, found);
  }
  return found;
}

/** Words without case and accents; an underscore or a hyphen parts them too. */
function wordsOf(text: string): string[] {
  const bare = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return bare.match(/[\p{L}\p{N}]+/gu) ?? [];
}
