// Newlines and tabs stay: they separate values, and a JSON string never contains them raw.
const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{DI}\u2800]/gu;

/** Escapes control and invisible characters in JSON text. The JSON keeps its meaning. */
export function toVisibleJson(text: string): string {
  return text.replace(hidden, (sign) =>
    Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** Quotes a word for a shell. A file may give its server any name, even `; rm -rf ~`. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
