import type { ElicitFormParams } from "../../protocol/types/index.ts";

/** Words that ask for what no form may ask for. */
const secret =
  /pass(?:word|phrase|code|wd)|passwort|contraseña|\bpwd\b|secret(?!ar)|credential|\bpin\b|\botp\b|one.?time.?(?:code|password)|\b2fa\b|mfa.?code|api.?key|access.?key|private.?key|seed.?phrase|mnemonic|\btoken\b|bearer|card.?number|\bcvv\b|\bcvc\b|\biban\b|security.?(?:code|answer|question)|social.?security|\bssn\b/i;

/** The fields of a form that look as if they asked for something secret. */
export function secretFieldsOf({ requestedSchema }: ElicitFormParams): string[] {
  return Object.entries(requestedSchema.properties ?? {})
    .filter(([name, { title = "", description = "" }]) =>
      // Apart where the spelling puts them together: `apiKey`, `user_password`.
      [name.replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2").replaceAll("_", " "), title, description].some((text) =>
        secret.test(String(text).normalize("NFKC").slice(0, 2_000)),
      ),
    )
    .map(([name]) => name);
}
