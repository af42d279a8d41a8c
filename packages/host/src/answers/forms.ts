import type { ElicitFormParams, PrimitiveSchema, Root } from "portolan";
import type { Clock } from "portolan/client";
import { toLatin } from "../display/suspicious.ts";
import { maxFormTextChars, maxQuestionsPerMinute, minuteMs } from "../limits.ts";
import { checkBounds } from "../options.ts";

/** Returns the fields of a form that seem to ask for secrets. */
export function secretFieldsOf({ message, requestedSchema }: ElicitFormParams): string[] {
  const fields = Object.entries(requestedSchema.properties ?? {});
  const named = fields.filter(([name, field]) => isSecretField(name, field));
  if (named.length > 0) return named.map(([name]) => name);
  if (!mentions(message, requestForSecret)) return [];
  return fields.filter(([, field]) => isFreeText(field)).map(([name]) => name);
}

function isSecretField(name: string, field: PrimitiveSchema): boolean {
  const { title = "", description = "", format }: { title?: string; description?: string; format?: unknown } = field;
  if (format === "password") return true;
  // Separates words that are written together: `apiKey`, `user_password`.
  const apart = name.replace(/([\p{Ll}\d])(\p{Lu})/gu, "$1 $2").replaceAll("_", " ");
  return [apart, title, description].some((text) => mentions(text, secret));
}

function isFreeText({ type, ...field }: PrimitiveSchema): boolean {
  return type === "string" && !("enum" in field) && !("oneOf" in field);
}

const digitsAsLetters: { readonly [sign: string]: string } = { 0: "o", 1: "i", 3: "e", 5: "s", "@": "a", $: "s" };

/** English words for secrets that forms must not ask for. */
const words =
  "pass(?:word|phrase|code|key|wd)|\\bpwd\\b|secret(?!ar)|credential|\\bpin\\b|\\botp\\b|one.?time.?(?:code|password)|\\b2fa\\b|mfa.?code|(?:verification|recovery|backup|login|auth\\w*).?code|api.?key|access.?key|private.?key|(?:seed|recovery).?phrase|mnemonic|\\btoken\\b|bearer|card.?number|\\bcvv\\b|\\bcvc\\b|\\biban\\b|security.?(?:code|answer|question)|social.?security|\\bssn\\b";

/** Words for a password in other languages, in the letters that `toLatin` returns. */
const foreignWords =
  "passwort|kennwort|geheimzahl|mot de passe|code secret|contrasen|(?<!palabra )\\bclave\\b|\\bsenha\\b|palavra.?passe|wachtwoord|losenord|adgangskode|passord|salasana|\\bhas[lł]o\\b|\\bheslo\\b|jelszo|\\bparola\\b|\\bsifre|mat khau|kata sandi";

/** Words for a password in other scripts. */
const otherScripts =
  /парол|κωδικ|συνθηματικ|كلمة (?:ال)?(?:مرور|سر)|סיסמ|पासवर्ड|密[码碼]|口令|パスワード|暗証番号|비밀번호|암호|รหัสผ่าน/i;

const secret = new RegExp(`${words}|${foreignWords}`, "i");

/** In a sentence such a word counts only after a verb that asks for it. */
const requestForSecret = new RegExp(
  `\\b(?:enter|type|provide|give|paste|supply|confirm|tell|need|send|your|input)\\b[^\\n]{0,60}?(?:${words})|${foreignWords}`,
  "i",
);

/** True if a text matches as it is written, with look-alike letters, letter by letter, or with digits for letters. */
function mentions(given: unknown, pattern: RegExp): boolean {
  const text = String(given).slice(0, maxFormTextChars).normalize("NFKC");
  if (pattern.test(text) || otherScripts.test(text)) return true;
  const latin = toLatin(text);
  const joined = latin.replace(/(?<=\b\w)[\s._*-]{1,3}(?=\w\b)/g, "");
  const spelled = latin.replace(/[0135@$]/g, (sign) => digitsAsLetters[sign] ?? sign);
  return [latin, joined, spelled].some((reading) => pattern.test(reading));
}

/** Limits the requests of one server per minute. */
export class QuestionRate {
  readonly perMinute: number;
  readonly #clock: Clock;
  #since = Number.NEGATIVE_INFINITY;
  #count = 0;

  constructor(perMinute: number, clock: Clock) {
    this.perMinute = perMinute;
    this.#clock = clock;
  }

  /** Counts a request. The first one beyond the limit is reported separately, because it is logged. */
  take(): "allowed" | "first-refused" | "refused" {
    const now = this.#clock.now();
    if (now - this.#since >= minuteMs) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count <= this.perMinute) return "allowed";
    return this.#count === this.perMinute + 1 ? "first-refused" : "refused";
  }
}

/** Returns a function that gives each server its own rate. */
export function createRates(
  perMinute: number | undefined = maxQuestionsPerMinute,
  clock: Clock,
): (server: string) => QuestionRate {
  checkBounds("", { questionsPerMinute: perMinute });
  const rates = new Map<string, QuestionRate>();
  return (server) => {
    const rate = rates.get(server) ?? new QuestionRate(Math.floor(perMinute), clock);
    rates.set(server, rate);
    return rate;
  };
}

/** A directory that servers may work in. */
export interface RootDefinition {
  /** An address that begins with `file://`. */
  readonly uri: string;
  /** A name for people. */
  readonly name?: string;
  /** Servers that may see it without a question. For others the user is asked. */
  readonly for?: readonly string[];
}

/** Returns the roots that a server may see at once, and those that need the user's consent. */
export function sortRoots(roots: readonly RootDefinition[], server: string): { given: Root[]; needConsent: Root[] } {
  const given: Root[] = [];
  const needConsent: Root[] = [];
  for (const { uri, name, for: servers = [] } of roots) {
    (servers.includes(server) ? given : needConsent).push(name === undefined ? { uri } : { uri, name });
  }
  return { given, needConsent };
}
