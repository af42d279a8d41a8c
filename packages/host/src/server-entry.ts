import { PortolanError } from "portolan";
import { checkOptions, nameOf, type OptionNames } from "portolan/internal";
import { hasSecretName, isSecretFlag } from "./activity/redact.ts";
import type { ServerDefinition } from "./api.ts";
import { isConfigured } from "./config/configured.ts";
import type { CommandTarget, HttpTarget, ServerEntry, ServerSettings, ServerTarget } from "./options.ts";

/** Converts a definition of an application to an entry. */
export function toEntry(name: string, definition: ServerDefinition | ServerEntry): ServerEntry {
  if (typeof definition !== "object" || definition === null) throw unusable(name, nameOf(definition));
  if ("target" in definition) return definition.name === name ? definition : { ...definition, name };
  const target = toTarget(name, definition);
  checkDefinition(name, target, definition);
  const { disabled, trustHints, trustContent, only, except, era, connectMs, idleMs, eager, keepAlive } = definition;
  const settings = { disabled, trustHints, trustContent, only, except, era, connectMs, idleMs, eager, keepAlive };
  return {
    name,
    target,
    configured: target,
    source: { kind: "code" },
    settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)),
  };
}

function toTarget(name: string, definition: Partial<ServerDefinition>): ServerTarget {
  if ("open" in definition && typeof definition.open === "function") return { open: definition.open };
  if ("command" in definition && typeof definition.command === "string") {
    const { command, args, cwd, env, graceMs } = definition;
    const more = Object.entries({ args, cwd, env, graceMs }).filter(([, value]) => value !== undefined);
    return { command, ...Object.fromEntries(more) };
  }
  if ("url" in definition && typeof definition.url === "string") {
    if (!URL.canParse(definition.url)) throw unusable(name, `the url ${nameOf(definition.url)}`);
    const { url, headers, auth, legacySse } = definition;
    return { url, ...(headers && { headers }), ...(auth && { auth }), ...(legacySse !== undefined && { legacySse }) };
  }
  throw unusable(name, `an object with ${Object.keys(definition).join(", ") || "nothing"}`);
}

const commandNames = { command: 1, args: 1, cwd: 1, env: 1, graceMs: 1 } satisfies OptionNames<CommandTarget>;
const httpNames = { url: 1, headers: 1, auth: 1, legacySse: 1 } satisfies OptionNames<HttpTarget>;
const settingNames = {
  ...{
    disabled: 1,
    trustHints: 1,
    trustContent: 1,
    only: 1,
    except: 1,
    era: 1,
    connectMs: 1,
    idleMs: 1,
    eager: 1,
    keepAlive: 1,
  },
} satisfies OptionNames<ServerSettings>;

/** Throws if a definition has an unknown member. An object with `open` is the application's own and may have others. */
function checkDefinition(name: string, target: ServerTarget, definition: ServerDefinition): void {
  if ("open" in target) return;
  const own: { readonly [name: string]: 1 } = "command" in target ? commandNames : httpNames;
  checkOptions<{ readonly [name: string]: unknown }>({ ...definition }, { ...own, ...settingNames }, `servers.${name}`);
}

function unusable(name: string, got: string): PortolanError {
  return new PortolanError(
    "invalid-argument",
    `servers.${name}: expected { command, args }, { url } or { open }, got ${got}`,
  );
}

type Named = readonly [name: string, value: string];

/**
 * Returns the values of an entry that must not appear in a log: those with secret names, and those that look like keys.
 */
export function secretsOf(entry: ServerEntry): string[] {
  const { target, configured } = entry;
  const settings = [target, configured].flatMap(settingsOf);
  const keys = settings.filter(([name, value]) => hasSecretName(name) || /^[\w+/=.-]{20,}$/.test(value));
  const more = [
    ...argumentsOf(target),
    ...argumentsOf(configured),
    ...variablesOf(target, configured),
    ...parametersOf(target),
  ];
  const { clientSecret } = (isConfigured(entry) && entry.oauth) || {};
  const { secrets = [] } = isConfigured(entry) ? entry : {};
  const found = [...keys, ...more.filter(([name]) => hasSecretName(name)), ["secret", clientSecret ?? ""] as const];
  return [...found.map(([, value]) => value), ...secrets].filter((value) => value !== "");
}

function settingsOf(target: ServerTarget): Named[] {
  if ("command" in target) return Object.entries(target.env ?? {});
  return "url" in target ? Object.entries(target.headers ?? {}) : [];
}

/** Arguments with the names of their flags: `--token x`, `--token=x`, `TOKEN=x`. */
function argumentsOf(target: ServerTarget): Named[] {
  const args = "command" in target ? (target.args ?? []) : [];
  return args.map((word, at) => {
    const [, name = "", value] = /^-{0,2}([\w.-]+)=([\s\S]*)$/.exec(word) ?? [];
    if (value !== undefined) return [name, value];
    return [isSecretFlag(args[at - 1]) ? "secret" : "", word];
  });
}

/** Arguments that consist of one variable, with the variable's name. */
function variablesOf(target: ServerTarget, configured: ServerTarget): Named[] {
  if (!("command" in target && "command" in configured)) return [];
  return (configured.args ?? []).map((word, at) => {
    const [, name = ""] = /^\$\{?(?:env:)?(\w+)(?::-[^}]*)?\}?$/.exec(word) ?? [];
    return [name, target.args?.[at] ?? ""];
  });
}

function parametersOf(target: ServerTarget): Named[] {
  if (!("url" in target) || !URL.canParse(target.url)) return [];
  const { searchParams, password } = new URL(target.url);
  return [...searchParams, ["password", password]];
}
