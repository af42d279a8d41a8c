/** Everything that a terminal may act upon, or that hides or reorders text; tabs and newlines stay. */
const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]/gu;

/** Escapes control and invisible characters, so that text of others can be written to a terminal. */
export function escapeHidden(text: string): string {
  return text.replace(hidden, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
