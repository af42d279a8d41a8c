import type { Prompt, PromptArgument } from "portolan";
import type { CatalogView, Host, ServerFeature } from "portolan-host";
import { nearest } from "../arguments/nearest.ts";
import { Failure } from "../failure.ts";
import { grantName } from "../output/grants.ts";

/** A parsed line: a command of the chat, a prompt of a server, a search for a resource, or text for the model. */
export type ParsedLine =
  | { readonly kind: "command"; readonly name: string; readonly rest: string }
  | { readonly kind: "prompt"; readonly prompt: ServerFeature<Prompt>; readonly args: { [name: string]: string } }
  | { readonly kind: "pick"; readonly query: string }
  | { readonly kind: "words"; readonly text: string; readonly attach: readonly AttachedResource[] };

/** A resource that the person attaches to the next message. */
export interface AttachedResource {
  readonly server: string;
  readonly uri: string;
}

/** The commands of the chat. They win over prompts of the same name. */
export const chatCommands: { readonly [name: string]: string } = {
  tools: "list the tools; /tools words searches them, /tools <name> shows one whole",
  servers: "list the servers and their states",
  prompts: "list the prompts; run one with /name argument=value",
  result: "show the whole result of the last tool call",
  log: "show the latest activity; /log words searches it, /log <number> shows one whole",
  grants: "list what you allowed and denied; /grants revoke <id or name> undoes one",
  model: "show the models; /model <name> changes to another",
  undo: "remove your last message and its answer from the conversation",
  clear: "begin a new conversation",
  help: "show this help",
  quit: "leave (or press Ctrl-D)",
};

/** Parses a line. Fails if it names no known command or prompt. */
export function parseLine(line: string, catalog: CatalogView): ParsedLine {
  const text = line.trim();
  if (/^@[^\s:]*$/.test(text)) return { kind: "pick", query: text.slice(1) };
  const [, name, rest = ""] = /^\/(\S+)\s*([\s\S]*)$/.exec(text) ?? [];
  if (name === undefined) return withAttachments(text, catalog);
  if (name === "exit") return { kind: "command", name: "quit", rest };
  if (Object.hasOwn(chatCommands, name)) return { kind: "command", name, rest };
  const prompt = findPrompt(name, catalog);
  if (prompt) return { kind: "prompt", prompt, args: parsePromptArguments(rest, prompt) };
  const [near] = nearest(name, [...Object.keys(chatCommands), ...catalog.prompts.map((it) => it.name)]);
  const hint = near === undefined ? "" : `; did you mean /${near}?`;
  throw new Failure("usage", `unknown command /${name}${hint}`, { next: "/help" });
}

/** Finds a prompt by its name, or as `server.name` if several servers have it. */
export function findPrompt(name: string, { prompts }: CatalogView): ServerFeature<Prompt> | undefined {
  // The full name comes first: a server may give its prompt the full name of another.
  const whole = prompts.find((it) => wholeName(it) === name);
  if (whole) return whole;
  const [prompt, ...others] = prompts.filter((it) => it.name === name);
  if (prompt === undefined || others.length === 0) return prompt;
  const known = [prompt, ...others].map((it) => `/${wholeName(it)}`).join(", ");
  throw new Failure("usage", `several servers have /${name}: ${known}`, { next: `/${wholeName(prompt)}` });
}

function wholeName({ server, name }: ServerFeature<Prompt>): string {
  return `${server}.${name}`;
}

function withAttachments(text: string, { resources, templates }: CatalogView): ParsedLine {
  const servers = new Set([...resources, ...templates].map(({ server }) => server));
  const attach: AttachedResource[] = [];
  const rest = text.replace(/(?<=^|\s)@([^\s:]+):(\S+)/g, (whole, server: string, uri: string) => {
    if (!servers.has(server)) return whole;
    attach.push({ server, uri });
    return uri;
  });
  return { kind: "words", text: rest, attach };
}

/**
 * Parses `name=value`, with quotes around spaces. Words before the first name are the value of the only required
 * argument, or of the only argument.
 */
function parsePromptArguments(rest: string, { arguments: declared = [] }: Prompt): { [name: string]: string } {
  const words = rest.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];
  const required = declared.filter((it) => it.required);
  const only = declared.length === 1 ? declared[0] : required.length === 1 ? required[0] : undefined;
  if (only && declared.length === 1 && words.length > 0 && !rest.startsWith(`${only.name}=`)) {
    return { [only.name]: rest };
  }
  const firstName = words.findIndex((word) => word.includes("="));
  const bare = only ? words.slice(0, firstName === -1 ? words.length : firstName) : [];
  const value = bare.join(" ").replaceAll('"', "");
  return Object.fromEntries([
    ...(only && value !== "" ? [[only.name, value] as const] : []),
    ...words.slice(bare.length).map((word) => {
      const [, name, value = ""] = /^([^=]+)=([\s\S]*)$/.exec(word) ?? [];
      if (name !== undefined && declared.some((it) => it.name === name)) return [name, value.replaceAll('"', "")];
      throw unknownArgument(name, word, declared);
    }),
  ]);
}

/** Says which arguments the prompt has, instead of a word that is none of them. */
function unknownArgument(name: string | undefined, word: string, declared: readonly PromptArgument[]): Failure {
  const what = name === undefined ? `expected name=value, got ${JSON.stringify(word)}` : `unknown argument ${name}`;
  const known = declared.map((it) => (it.required ? `${it.name} (required)` : it.name)).join(", ");
  return new Failure("usage", `${what}; the prompt has ${known === "" ? "no arguments" : known}`, { next: "/prompts" });
}

/** Returns the last word of a line, with the spaces between quotes. */
function lastWordOf(line: string): string {
  let start = 0;
  let isQuoted = false;
  for (const { 0: sign, index } of line.matchAll(/[\s"]/g)) {
    if (sign === '"') isQuoted = !isQuoted;
    else if (!isQuoted) start = index + 1;
  }
  return line.slice(start);
}

/** Completes a line: commands and prompts, arguments with values from the server, resources. */
export async function completeLine(
  line: string,
  host: Host,
  signal: AbortSignal,
  models: readonly string[] = [],
): Promise<readonly [readonly string[], string]> {
  const { catalog } = host;
  const part = lastWordOf(line);
  if (part.startsWith("@")) {
    const all = catalog.resources.map(({ server, uri }) => `@${server}:${uri}`);
    const near = all.filter((it) => it.startsWith(part));
    return [near.length > 0 ? near : all.filter((it) => it.includes(part.slice(1))), part];
  }
  if (!line.startsWith("/")) return [[], line];
  const [, name = "", space] = /^\/(\S*)(\s)?/.exec(line) ?? [];
  if (space === undefined) {
    const isShared = ({ name: own }: ServerFeature<Prompt>) =>
      catalog.prompts.filter((it) => it.name === own).length > 1;
    const prompts = catalog.prompts.map((it) => (isShared(it) ? wholeName(it) : it.name));
    const names = [...Object.keys(chatCommands), ...prompts];
    return [names.filter((it) => it.startsWith(name)).map((it) => `/${it} `), line];
  }
  if (name === "model" || name === "grants") {
    const ofGrants = () => ["revoke ", ...host.grants.list().map((grant) => `revoke ${grantName(grant)}`)];
    const words = name === "model" ? models : ofGrants();
    const typed = line.slice(name.length + 2).trimStart();
    return [words.filter((it) => it.startsWith(typed)), typed];
  }
  const prompt = findPrompt(name, catalog);
  const { arguments: declared = [], server = "" } = prompt ?? {};
  const [, argument, value = ""] = /^([^=]+)="?([^"]*)"?$/.exec(part) ?? [];
  if (!prompt || argument === undefined) {
    return [declared.map((it) => `${it.name}=`).filter((it) => it.startsWith(part)), part];
  }
  const ref = { type: "ref/prompt", name: prompt.name } as const;
  const { values } = await host.complete(server, ref, { name: argument, value }, { signal });
  return [values.map((it) => (/\s/.test(it) ? `${argument}="${it}"` : `${argument}=${it}`)), part];
}
