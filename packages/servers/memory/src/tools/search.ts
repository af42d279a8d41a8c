import type { Entity, Graph } from "../store/graph.ts";

/** The normalized words of an entity, each after a space. */
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
const unspacedScripts = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const searchables = new WeakMap<Entity, Searchable>();

/** Returns the matching entities, best first: all words before some, names before observations. */
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

/** Rates a word in a text: as a whole word, as a prefix, or anywhere in scripts without spaces. */
function rate(text: string, word: string, asWord: number, asPrefix: number): number {
  if (!text.includes(unspacedScripts.test(word) ? word : ` ${word}`)) return 0;
  return text.includes(` ${word} `) ? asWord : asPrefix;
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

/** Splits a text into words without case and accents; underscores and hyphens separate words, too. */
function wordsOf(text: string): string[] {
  const bare = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return bare.match(/[\p{L}\p{N}]+/gu) ?? [];
}
