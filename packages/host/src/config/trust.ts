import { canonicalJson, sha256 } from "portolan/storage";
import { isSecretVariable, replaceSecrets } from "../activity/redact.ts";
import type { ServerEntry } from "../options.ts";
import { type ConfiguredServer, isConfigured, type RawEntry } from "./configured.ts";
import { conventionOf } from "./conventions.ts";
import { variablesOf } from "./inputs.ts";
import type { Syntax } from "./placeholders.ts";

const noFile: Partial<ConfiguredServer> = {};

/**
 * One line of a trust question. The value comes from the file, unescaped: escape it before you show it. Everything but
 * long values of variables is complete.
 */
export interface TrustLine {
  readonly label: string;
  readonly value: string;
}

/** A line that differs from the one that the user trusted. Escape both values before you show them. */
export interface TrustChange {
  readonly label: string;
  /** Undefined for a new line. Values that look secret are redacted. */
  readonly before?: string;
  /** Undefined for a line that is gone. */
  readonly after?: string;
}

/** An earlier decision to trust a server of the same name in the same place. */
export interface PreviousTrust {
  /** Milliseconds since 1970. */
  readonly trustedAt: number;
  /** Empty if the same configuration was trusted, and the decision has expired or was revoked. */
  readonly changes: readonly TrustChange[];
}

/** The facts that a user must see before a new or changed server from a file is started. */
export interface TrustSubject {
  readonly name: string;
  readonly source: ServerEntry["source"];
  readonly lines: readonly TrustLine[];
  /** Undefined for a server that the user has never trusted. */
  readonly previous?: PreviousTrust;
}

/** A line with the value behind it, which is not shown. */
export interface TrustFact extends TrustLine {
  readonly hidden?: string;
}

/** Returns the SHA-256 of the configuration of a server and its place. Any change needs a new trust decision. */
export async function trustDigest(entry: ServerEntry): Promise<string> {
  const { configured, source } = entry;
  const target =
    "command" in configured
      ? { command: configured.command, args: configured.args, cwd: configured.cwd, env: configured.env }
      : "url" in configured
        ? { url: configured.url, headers: configured.headers, legacySse: configured.legacySse }
        : {};
  const { envFile, raw } = isConfigured(entry) ? entry : noFile;
  // Inputs are included, because a default becomes part of the command without a change of the entry.
  return await sha256(
    canonicalJson({ target, source, envFile: envFile ?? raw?.envFile, inputs: raw?.inputs, oauth: raw?.oauth }),
  );
}

/**
 * Returns the SHA-256 of the place of a server: its name, its file and its path there, which stay the same when its
 * configuration changes. Undefined for a server that is defined in code.
 */
export async function trustPlace({ name, source }: ServerEntry): Promise<string | undefined> {
  return source.kind === "file" ? await sha256(canonicalJson([name, source.file, source.path])) : undefined;
}

/** Returns the lines of a trust question. Show them with the display functions of the host. */
export function describeForTrust(entry: ServerEntry, previous?: PreviousTrust): TrustSubject {
  const { name, source } = entry;
  const lines = factsOf(entry).map(({ label, value }) => ({ label, value }));
  return { name, source, lines, ...(previous && { previous }) };
}

/** Returns the facts of a trust decision. */
export function factsOf(entry: ServerEntry): TrustFact[] {
  const { configured, source } = entry;
  const facts: TrustFact[] = [];
  const add = (label: string, value: string | undefined, hidden?: string) =>
    value !== undefined && facts.push({ label, value, ...(hidden !== undefined && { hidden }) });
  if ("command" in configured) {
    add("Command", configured.command);
    for (const [index, arg] of (configured.args ?? []).entries()) add(`Argument ${index + 1}`, arg);
    add("Folder", configured.cwd ?? ("command" in entry.target ? entry.target.cwd : undefined));
    for (const [name, value] of Object.entries(configured.env ?? {}))
      add("Variable", describeVariable(name, value), value);
  } else if ("url" in configured) {
    add("Address", configured.url);
    for (const [header, value] of Object.entries(configured.headers ?? {})) add("Header", header, value);
  }
  const { envFile, raw } = isConfigured(entry) ? entry : noFile;
  add("Variables from", envFile?.path ?? raw?.envFile);
  const env = "command" in entry.target ? (entry.target.env ?? {}) : {};
  const own = "command" in configured ? (configured.env ?? {}) : {};
  for (const name of envFile?.names ?? []) {
    // The entry's own value takes precedence, and its expansion may hold a secret of the user.
    if (Object.hasOwn(own, name)) continue;
    const value = env[name];
    add("Variable", value === undefined ? name : describeVariable(name, value), value);
  }
  // A header or URL can send any of the user's secrets to the server.
  for (const variable of raw ? variablesOf(raw, syntaxOf(raw)) : []) add("Takes your variable", variable);
  for (const input of raw?.inputs ?? []) add("Asks for", input.id);
  if (source.kind === "file") {
    add("File", source.file);
    add("Place", source.path);
    add("Written for", source.product);
  }
  // A user can confuse the two names in rules and questions.
  add("Looks like", isConfigured(entry) ? entry.resembles : undefined);
  for (const other of isConfigured(entry) ? (entry.hides ?? []) : []) {
    if (other.kind === "file") add("In place of", `${other.path} in ${other.file}`);
  }
  return facts;
}

/** The text of a longer value is cut in the middle. */
const maxValueChars = 1_000;

/**
 * Shows a variable with its value. Any variable may decide what runs: `PATH`, `NODE_OPTIONS`, and also `HOME`, below which
 * many programs look for code to load. Only secrets are hidden, and the line says so.
 */
function describeVariable(name: string, value: string): string {
  if (isSecretVariable(name)) return `${name} (hidden: it has the name of a secret)`;
  const shown = replaceSecrets(value, "[redacted]");
  return `${name}=${cut(shown)}${shown === value ? "" : " (hidden in part: it looks like a secret)"}`;
}

/** Keeps the beginning and the end of a long text, and says how long it is. */
function cut(text: string): string {
  if (text.length <= maxValueChars) return text;
  const head = text.slice(0, maxValueChars / 2).replace(/[\uD800-\uDBFF]$/, "");
  const tail = text.slice(-maxValueChars / 2).replace(/^[\uDC00-\uDFFF]/, "");
  return `${head} (… ${text.length} characters in all …) ${tail}`;
}

function syntaxOf({ source }: RawEntry): Syntax {
  return conventionOf(source.product)?.syntax ?? [];
}
