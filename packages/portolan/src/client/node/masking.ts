import type { CommandTarget } from "../command.ts";

const secretName = /token|secret|passw|passphrase|credential|key|auth(?!ors?\b)|bearer/i;
const secretFlag = /^--?[\w.-]+$/;
const secretSetting = new RegExp(
  `(?:${secretName.source})[\\w.-]*\\s*[=:]\\s*(?:bearer\\s+|basic\\s+)?(\\S[^]*)$`,
  "i",
);
const urlPassword = /:\/\/[^\s/:@]*:([^\s/]+)@/;
const mask = "***";
const maxWords = 5;
const maxWordLength = 80;

/** The command and its first arguments, as an error message may show them. */
export function nameCommand({ command, args = [] }: CommandTarget): string {
  const masked = args.map((argument, index) => hide(argument, secretsIn(argument, args[index - 1])));
  const shown = [command, ...masked].slice(0, maxWords).map((word) => cut(toVisible(word), maxWordLength));
  return (masked.length < maxWords ? shown : [...shown, "…"]).join(" ");
}

/** Takes out of a text what the child was given in confidence. */
export function createMasker({ args = [], env = {} }: CommandTarget): (text: string) => string {
  // Short values that are no secrets, such as "1" or "debug", would take half of the text with them.
  const values = Object.entries(env).filter(([name, value]) => value.length >= (secretName.test(name) ? 3 : 8));
  const secrets = [
    ...values.map(([, value]) => value),
    ...args.flatMap((argument, index) => secretsIn(argument, args[index - 1])).filter((secret) => secret.length >= 3),
  ];
  // The longest first: one secret may be the start of another.
  secrets.sort((a, b) => b.length - a.length);
  return (text) => hide(text, secrets);
}

/** Shows what would move the cursor, hide text or turn it round; colours are left out. */
export function toVisible(text: string): string {
  return text
    .replace(/\p{Cc}\[[\d;]*m/gu, "")
    .replaceAll("\t", " ")
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

function secretsIn(argument: string, previous = ""): string[] {
  if (secretFlag.test(previous) && secretName.test(previous)) return [argument];
  return [secretSetting, urlPassword].flatMap((pattern) => pattern.exec(argument)?.[1] ?? []);
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => (secret === "" ? rest : rest.replaceAll(secret, mask)), text);
}
