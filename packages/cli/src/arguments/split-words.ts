import { Failure } from "../failure.ts";

/**
 * Splits a command line into words as a shell does: single and double quotes, and a backslash before a character. Nothing
 * is expanded. On Windows a backslash is part of a path, not an escape.
 */
export function splitWords(text: string, platform: NodeJS.Platform): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quotedBy: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    const next = text.charAt(at + 1);
    const isEscape =
      character === "\\" &&
      platform !== "win32" &&
      (quotedBy === undefined || (quotedBy === '"' && /["\\$`]/.test(next))) &&
      next !== "";
    if (isEscape) {
      word = (word ?? "") + next;
      at += 1;
    } else if (character === quotedBy) quotedBy = undefined;
    else if (quotedBy === undefined && (character === '"' || character === "'")) {
      quotedBy = character;
      word ??= "";
    } else if (quotedBy === undefined && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? "") + character;
  }
  if (quotedBy !== undefined) throw new Failure("usage", `the command has no closing ${quotedBy}`);
  return word === undefined ? words : [...words, word];
}
