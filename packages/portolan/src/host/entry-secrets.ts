import { hasSecretName } from "./activity/secrets.ts";
import type { ServerEntry } from "./entry.ts";

/** What an entry says that must not be written down anywhere else: what is called a secret, or looks like a key. */
export function secretsOf({ way, written }: ServerEntry): string[] {
  const said = [way, written].flatMap((it) => {
    if ("command" in it) return Object.entries(it.env ?? {});
    return "url" in it ? Object.entries(it.headers ?? {}) : [];
  });
  return said
    .filter(([name, value]) => hasSecretName(name) || /^[\w+/=.-]{20,}$/.test(value))
    .map(([, value]) => value);
}
