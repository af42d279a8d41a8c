import { redact } from "portolan-host";

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

const mask = "***";
const secretName = /token|secret|passw|passphrase|pwd|credential|key|auth(?!ors?\b)|bearer|cookie/i;

/** True for the name of a variable, header or flag whose value is a secret. */
export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** Formats a command for a shell, with `***` instead of its secrets: people share what a terminal shows. */
export function quoteCommand(words: readonly string[]): string {
  return maskSecrets(words).map(quote).join(" ");
}

/** Replaces secrets in the words of a command: values of flags and variables with the name of a secret, and known forms. */
export function maskSecrets(words: readonly string[]): string[] {
  return words.map((word, at) => {
    const before = words[at - 1] ?? "";
    if (/^--?[\w.-]+$/.test(before) && secretName.test(before) && !word.startsWith("-")) return mask;
    const [, name = ""] = /^([\w.-]+\s*[=:]\s*)\S/.exec(word) ?? [];
    if (secretName.test(name)) return `${name}${mask}`;
    return (redact(word) as string).replaceAll("[redacted]", mask);
  });
}
