// Lines and tabs stay: they part what is written, and are never raw in a string of JSON.
const hidden = /(?![\n\t])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Cn}\p{Zl}\p{Zp}\p{DI}\u2800]/gu;

/** The text of JSON with everything escaped that a terminal would act upon or nobody would see; it means the same. */
export function toVisibleJson(text: string): string {
  return text.replace(hidden, (sign) =>
    Array.from({ length: sign.length }, (_, at) => `\\u${sign.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** A word as a shell takes it: a file may have called its server anything, `; rm -rf ~` included. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
