import { nameOf, PortolanError } from "../errors.ts";
import type { ServerDefinition } from "./api.ts";
import type { ServerEntry, Way } from "./entry.ts";

/** A server that an application names itself, as a host knows it. */
export function toEntry(name: string, definition: ServerDefinition | ServerEntry): ServerEntry {
  if (typeof definition !== "object" || definition === null) throw unusable(name, nameOf(definition));
  if ("way" in definition) return definition.name === name ? definition : { ...definition, name };
  const way = wayOf(name, definition);
  const { disabled, trustHints, trustContent, only, except, era, connectMs, idleMs, eager } = definition;
  const settings = { disabled, trustHints, trustContent, only, except, era, connectMs, idleMs, eager };
  return {
    name,
    way,
    written: way,
    source: { kind: "code" },
    settings: Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined)),
  };
}

function wayOf(name: string, definition: Partial<ServerDefinition>): Way {
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

function unusable(name: string, got: string): PortolanError {
  return new PortolanError(
    "invalid-argument",
    `servers.${name}: expected { command, args }, { url } or { open }, got ${got}`,
  );
}
