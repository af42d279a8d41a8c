import type { JsonObject } from "portolan";
import type { Host } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { findTarget } from "./find-server.ts";
import { withHost } from "./host.ts";

/** Tab must answer within this time. */
const timeoutMs = 5_000;

/** A command line as far as it was typed, without its flags. */
export interface TypedLine {
  /** The command. */
  readonly name: string;
  /** The complete words after the command. */
  readonly given: readonly string[];
  readonly current: string;
}

/** A completion to be found. */
interface CompletionRequest {
  readonly host: Host;
  readonly server: string;
  /** The complete words after the server. */
  readonly given: readonly string[];
  readonly current: string;
  readonly signal: AbortSignal;
}

/**
 * Returns words of a server for a command line: its tools, resources and prompts, their arguments, and the values that
 * it proposes. Starts only a server that is configured and trusted: pressing Tab is not consent.
 */
export async function serverCandidates(
  context: CommandContext,
  { name, given, current }: TypedLine,
): Promise<readonly string[]> {
  const find = candidates[name];
  const [target, ...rest] = given;
  if (!find || target === undefined) return [];
  const { entry, member } = await findTarget(context, target);
  if (entry.source.kind === "code") return [];
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)]);
  const work = async (host: Host) => {
    const { tools, resources, templates, prompts } = host.catalog;
    // The catalog is cached from the last connection, so that most completions start no server.
    const isKnown = [tools, resources, templates, prompts].some((offered) => offered.length > 0);
    if (!isKnown) await host.ready({ withinMs: timeoutMs, signal });
    return find({ host, server: entry.name, given: member === undefined ? rest : [member, ...rest], current, signal });
  };
  return withHost(context, [entry], work, { isQuiet: true });
}

type Find = (request: CompletionRequest) => readonly string[] | Promise<readonly string[]>;

/** The candidates after the server, by command. */
const candidates: { readonly [command: string]: Find } = {
  ls({ host, given }) {
    const { tools, prompts } = host.catalog;
    return given.length > 0 ? [] : [...tools, ...prompts].map(({ name }) => name);
  },
  call({ host, given: [name, ...given], current }) {
    const { tools } = host.catalog;
    if (name === undefined) return tools.map((tool) => tool.name);
    const schema = tools.find((tool) => tool.name === name)?.definition.inputSchema;
    return pairs(Object.keys(propertiesOf(schema)), given, current, (key) => valuesIn(propertiesOf(schema)[key]));
  },
  prompt(request) {
    const [name, ...given] = request.given;
    const { prompts } = request.host.catalog;
    if (name === undefined) return prompts.map((prompt) => prompt.name);
    const declared = prompts.find((prompt) => prompt.name === name)?.arguments ?? [];
    const keys = declared.map((argument) => argument.name);
    return pairs(keys, given, request.current, (key, value) =>
      propose(request, { type: "ref/prompt", name }, key, value, knownIn(given)),
    );
  },
  read: ({ given, ...request }) => (given.length === 0 ? addresses({ given, ...request }) : []),
  watch: addresses,
  complete(request) {
    const [name, argument, ...more] = request.given;
    const { prompts } = request.host.catalog;
    if (name === undefined) return prompts.map((prompt) => prompt.name);
    if (argument !== undefined) {
      return more.length > 0 ? [] : propose(request, { type: "ref/prompt", name }, argument, request.current);
    }
    return (prompts.find((prompt) => prompt.name === name)?.arguments ?? []).map((each) => each.name);
  },
};

/** Returns `key=` for arguments that are still missing, or values for the one being typed. */
async function pairs(
  keys: readonly string[],
  given: readonly string[],
  current: string,
  valuesOf: (key: string, value: string) => readonly string[] | Promise<readonly string[]>,
): Promise<readonly string[]> {
  const at = current.indexOf("=");
  if (at < 0) return keys.filter((key) => !given.some((word) => word.startsWith(`${key}=`))).map((key) => `${key}=`);
  const key = current.slice(0, at);
  if (!keys.includes(key)) return [];
  return (await valuesOf(key, current.slice(at + 1))).map((value) => `${key}=${value}`);
}

function knownIn(given: readonly string[]): { [name: string]: string } {
  const pairs = given.filter((word) => word.includes("="));
  return Object.fromEntries(pairs.map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]));
}

/** Returns the addresses of resources, also of templates with one variable at the end. */
async function addresses(request: CompletionRequest): Promise<readonly string[]> {
  const { resources, templates } = request.host.catalog;
  const made = templates.map(async ({ uriTemplate }) => {
    const [, before = "", name] = /^([^{}]+)\{[+/]?(\w+)\}$/.exec(uriTemplate) ?? [];
    if (name === undefined) return [];
    if (!request.current.startsWith(before)) return [before];
    const typed = request.current.slice(before.length);
    const ref = { type: "ref/resource", uri: uriTemplate } as const;
    // A template whose completion fails must not hide the other addresses.
    const values = await propose(request, ref, name, typed).catch(() => []);
    return values.map((value) => `${before}${value}`);
  });
  return [...resources.map(({ uri }) => uri), ...(await Promise.all(made)).flat()];
}

/** Asks the server for values. Empty if it does not support completion. */
async function propose(
  { host, server, signal }: CompletionRequest,
  ref: Parameters<Host["complete"]>[1],
  name: string,
  value: string,
  known: { [name: string]: string } = {},
): Promise<readonly string[]> {
  const [status] = await host.ready({ withinMs: timeoutMs, signal });
  if (!status?.profile?.capabilities.completions) return [];
  return (await host.complete(server, ref, { name, value }, { signal, known })).values;
}

function propertiesOf(schema: JsonObject | undefined): { readonly [name: string]: JsonObject } {
  return (schema?.["properties"] ?? {}) as { readonly [name: string]: JsonObject };
}

/** Returns the values that a schema lists: an enumeration, true and false, or either as list items. */
function valuesIn(schema: unknown): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { type, enum: values, items, const: only } = schema as { [member: string]: unknown };
  if (Array.isArray(values)) return values.map(String);
  if (only !== undefined) return [String(only)];
  if (type === "boolean") return ["true", "false"];
  return valuesIn(items);
}
