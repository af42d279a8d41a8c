import { hasSecretName, isSecretFlag } from "./activity/secrets.ts";
import { isConfigured } from "./config/written.ts";
import type { ServerEntry, Way } from "./entry.ts";

type Named = readonly [name: string, value: string];

/** What an entry says that must not be written down anywhere else: what is called a secret, or looks like a key. */
export function secretsOf(entry: ServerEntry): string[] {
  const { way, written } = entry;
  const said = [way, written].flatMap(settingsOf);
  const keys = said.filter(([name, value]) => hasSecretName(name) || /^[\w+/=.-]{20,}$/.test(value));
  const more = [...wordsOf(way), ...wordsOf(written), ...putIn(way, written), ...parametersOf(way)];
  const { clientSecret } = (isConfigured(entry) && entry.oauth) || {};
  return [...keys, ...more.filter(([name]) => hasSecretName(name)), ["secret", clientSecret ?? ""] as const]
    .map(([, value]) => value)
    .filter((value) => value !== "");
}

function settingsOf(way: Way): Named[] {
  if ("command" in way) return Object.entries(way.env ?? {});
  return "url" in way ? Object.entries(way.headers ?? {}) : [];
}

/** Arguments behind the flags, or in the settings, that name them. */
function wordsOf(way: Way): Named[] {
  const args = "command" in way ? (way.args ?? []) : [];
  return args.map((word, at) => {
    const [, name = "", value] = /^-{0,2}([\w.-]+)=([\s\S]*)$/.exec(word) ?? [];
    if (value !== undefined) return [name, value];
    return [isSecretFlag(args[at - 1]) ? "secret" : "", word];
  });
}

/** Arguments that are nothing but a variable of the user. */
function putIn(way: Way, written: Way): Named[] {
  if (!("command" in way && "command" in written)) return [];
  return (written.args ?? []).map((word, at) => {
    const [, name = ""] = /^\$\{?(?:env:)?(\w+)(?::-[^}]*)?\}?$/.exec(word) ?? [];
    return [name, way.args?.[at] ?? ""];
  });
}

function parametersOf(way: Way): Named[] {
  if (!("url" in way) || !URL.canParse(way.url)) return [];
  const { searchParams, password } = new URL(way.url);
  return [...searchParams, ["password", password]];
}
