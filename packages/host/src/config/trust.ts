import { canonicalJson, sha256 } from "portolan/storage";
import { hasSecretName, replaceSecrets } from "../activity/redact.ts";
import type { ServerEntry } from "../options.ts";
import { type ConfiguredServer, isConfigured, type RawEntry } from "./configured.ts";
import { conventionOf } from "./conventions.ts";
import { variablesOf } from "./inputs.ts";
import type { Syntax } from "./placeholders.ts";

const noFile: Partial<ConfiguredServer> = {};

/** One line of a question whether to trust a server; the value is as somebody else wrote it, whole and unescaped. */
export interface TrustLine {
  readonly label: string;
  readonly value: string;
}

/** What a user has to see before a server from a file is started for the first time, or after it was changed. */
export interface TrustSubject {
  readonly name: string;
  readonly source: ServerEntry["source"];
  readonly lines: readonly TrustLine[];
}

/** A SHA-256 over exactly what is written and where: whatever of it changes, the server has to be trusted anew. */
export async function trustDigest(entry: ServerEntry): Promise<string> {
  const { configured: written, source } = entry;
  const way =
    "command" in written
      ? { command: written.command, args: written.args, cwd: written.cwd, env: written.env }
      : "url" in written
        ? { url: written.url, headers: written.headers, legacySse: written.legacySse }
        : {};
  const { envFile, raw } = isConfigured(entry) ? entry : noFile;
  // A default or an option of a question becomes part of the command without another word in the entry.
  return await sha256(
    canonicalJson({ way, source, envFile: envFile ?? raw?.envFile, inputs: raw?.inputs, oauth: raw?.oauth }),
  );
}

/** What the decision is about, line by line; to be shown through the host's display function. */
export function describeForTrust(entry: ServerEntry): TrustSubject {
  const { name, configured: written, source } = entry;
  const lines: TrustLine[] = [];
  const add = (label: string, value: string | undefined) => value !== undefined && lines.push({ label, value });
  if ("command" in written) {
    add("Command", written.command);
    for (const [index, arg] of (written.args ?? []).entries()) add(`Argument ${index + 1}`, arg);
    add("Folder", written.cwd ?? ("command" in entry.target ? entry.target.cwd : undefined));
    for (const [name, value] of Object.entries(written.env ?? {})) add("Variable", describeVariable(name, value));
  } else if ("url" in written) {
    add("Address", written.url);
    for (const header of Object.keys(written.headers ?? {})) add("Header", header);
  }
  const { envFile, raw } = isConfigured(entry) ? entry : noFile;
  add("Variables from", envFile?.path ?? raw?.envFile);
  const env = "command" in entry.target ? (entry.target.env ?? {}) : {};
  for (const name of envFile?.names ?? []) add("Variable", describeVariable(name, env[name] ?? ""));
  // A header or an address can carry any of the user's secrets away.
  for (const variable of raw ? variablesOf(raw, syntaxOf(raw)) : []) add("Takes your variable", variable);
  for (const input of raw?.inputs ?? []) add("Asks for", input.id);
  if (source.kind === "file") {
    add("File", source.file);
    add("Place", source.path);
    add("Written for", source.product);
  }
  // Rules and habits that were made for the other one hold for this one by its name.
  add("Looks like", isConfigured(entry) ? entry.resembles : undefined);
  for (const other of isConfigured(entry) ? (entry.hides ?? []) : []) {
    if (other.kind === "file") add("In place of", `${other.path} in ${other.file}`);
  }
  return { name, source, lines };
}

/** Which program is found, and what it loads before anything else: their values are as much the command as its words. */
const decisive =
  /^(?:path|pathext|comspec|env|bash_env|classpath|(?:node|ld|dyld|npm_config|pip|uv|bun|deno|git)_\w+|python\w*|perl\w*|ruby(?:opt|lib)|_?java_\w*options|jdk_java_options|dotnet_startup_hooks)$/i;

function describeVariable(name: string, value: string): string {
  return decisive.test(name) && !hasSecretName(name) ? `${name}=${replaceSecrets(value, "[redacted]")}` : name;
}

function syntaxOf({ source }: RawEntry): Syntax {
  return conventionOf(source.product)?.syntax ?? [];
}
