import type { ModelTool } from "../model.ts";

/** Words that say nothing about what is wanted. */
const stopWords = new Set(
  "a an and any are as at be by can could do does for from give go have i in into is it its let like make me my of on one or our out please should show so some tell that the their them there these they this to up us use using want was we what when where which who will with would you your".split(
    " ",
  ),
);
/** The usual constants of BM25: how fast repetition stops to count, and how much length does. */
const saturation = 1.2;
const lengthWeight = 0.75;
/** A word of the name counts like so many of the description. */
const nameWeight = 3;

/** The tools that share words with a prompt, the best first, by BM25 over names and descriptions. */
export function rankTools(prompt: string, tools: readonly ModelTool[]): ModelTool[] {
  const wanted = new Set(wordsOf(prompt));
  const documents = tools.map(countWords);
  const average = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(documents.length, 1);
  const inDocuments = (word: string) => documents.filter(({ counts }) => counts.has(word)).length;
  const weights = new Map([...wanted].map((word) => [word, inverseFrequency(inDocuments(word), documents.length)]));
  const scored = tools.map((tool, index) => {
    const { counts, length } = documents[index] ?? { counts: new Map<string, number>(), length: 0 };
    let score = 0;
    for (const [word, weight] of weights) {
      const count = counts.get(word) ?? 0;
      const norm = saturation * (1 - lengthWeight + lengthWeight * (length / (average || 1)));
      score += (weight * count * (saturation + 1)) / (count + norm || 1);
    }
    return { tool, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .map(({ tool }) => tool);
}

function inverseFrequency(documents: number, all: number): number {
  return Math.log(1 + (all - documents + 0.5) / (documents + 0.5));
}

interface Document {
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

function countWords({ name, description = "" }: ModelTool): Document {
  const counts = new Map<string, number>();
  let length = 0;
  const add = (word: string, weight: number) => {
    counts.set(word, (counts.get(word) ?? 0) + weight);
    length += weight;
  };
  for (const word of wordsOf(name)) add(word, nameWeight);
  for (const word of wordsOf(description)) add(word, 1);
  return { counts, length };
}

/** Words in small letters, without their endings: `listFiles` has `list` and `file`. */
export function wordsOf(text: string): string[] {
  const parted = text.replace(/(\p{Ll}|\p{N})(?=\p{Lu})/gu, "$1 ").toLowerCase();
  return (parted.match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !stopWords.has(word)).map(stem);
}

function stem(word: string): string {
  if (word.length > 5 && word.endsWith("ing")) return word.slice(0, -3);
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (word.length > 4 && word.endsWith("ed")) return word.slice(0, -2);
  if (word.length > 3 && word.endsWith("s") && !word.endsWith("ss")) return word.slice(0, -1);
  return word;
}
