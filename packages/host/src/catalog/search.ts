import { maxSearchTextChars, maxSearchWords } from "../limits.ts";
/** One search result. */
export interface Match<T> {
  readonly item: T;
  readonly score: number;
}

/** The searchable text of an item. Words of the name weigh more. */
export interface SearchText {
  readonly name: string;
  readonly text: string;
}

// The usual parameters of BM25 ranking.
const saturation = 1.2;
const lengthShare = 0.75;
const nameWeight = 4;

interface Document<T> {
  readonly item: T;
  readonly length: number;
}

/** The search index of one server, so that a change rebuilds only this part. */
export class Index<T> {
  readonly documents: Document<T>[] = [];
  /** Weight of each word in each document. */
  readonly occurrences: Map<string, Map<number, number>> = new Map();
  words = 0;

  add(item: T, { name, text }: SearchText): void {
    const wordWeights = new Map<string, number>();
    for (const word of wordsOf(name)) wordWeights.set(word, (wordWeights.get(word) ?? 0) + nameWeight);
    for (const word of wordsOf(text)) wordWeights.set(word, (wordWeights.get(word) ?? 0) + 1);
    const number = this.documents.length;
    let length = 0;
    for (const [word, weight] of wordWeights) {
      length += weight;
      const weights = this.occurrences.get(word);
      if (weights) weights.set(number, weight);
      else this.occurrences.set(word, new Map([[number, weight]]));
    }
    this.documents.push({ item, length });
    this.words += length;
  }
}

/** Returns the items that match a query best, the best first. */
export function search<T>(indexes: readonly Index<T>[], query: string, limit: number): Match<T>[] {
  const total = indexes.reduce((sum, { documents }) => sum + documents.length, 0);
  const meanLength = indexes.reduce((sum, { words }) => sum + words, 0) / Math.max(1, total);
  const scores = new Map<Document<T>, number>();
  for (const word of new Set(wordsOf(query))) {
    const matches = indexes.flatMap((index) => {
      const weights = index.occurrences.get(word);
      return weights ? [{ index, weights }] : [];
    });
    const count = matches.reduce((sum, { weights }) => sum + weights.size, 0);
    if (count === 0) continue;
    const rarity = Math.log(1 + (total - count + 0.5) / (count + 0.5));
    for (const { index, weights } of matches) {
      for (const [number, weight] of weights) {
        const document = index.documents[number] as Document<T>;
        const damping = saturation * (1 - lengthShare + (lengthShare * document.length) / meanLength);
        const gain = (rarity * (weight * (saturation + 1))) / (weight + damping);
        scores.set(document, (scores.get(document) ?? 0) + gain);
      }
    }
  }
  return [...scores]
    .map(([{ item }, score]) => ({ item, score }))
    .sort((a, b) => b.score - a.score)
    .slice(0, limit);
}

/**
 * Returns the words of a text in lower case and without endings: `listOpenIssues` and `list_open_issue` give the same
 * words.
 */
export function wordsOf(text: string): string[] {
  const apart = text.slice(0, maxSearchTextChars).replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2");
  const words = apart.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.slice(0, maxSearchWords).map(stem);
}

function stem(word: string): string {
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:ch|sh|ss|x)es$/.test(word)) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1);
  return word;
}
