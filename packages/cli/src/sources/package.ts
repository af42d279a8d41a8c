import { checkWebAddress, type FetchPolicy } from "portolan/net";
import { type ConfigInput, type ConfiguredTarget, parseConfig, type RawEntry, type ServerTarget } from "portolan-host";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { isTable, type Table } from "./fetch.ts";
import { checkText, finish, hideReferences, type Input, type Values, valuesOf, variableFor } from "./inputs.ts";

/** The entry of a server in the form of a registry: its packages and remotes. A card has remotes alone. */
export interface DescribedServer {
  /** The name of the entry that is made. */
  readonly name: string;
  /** One package or remote. */
  readonly item: Table;
  readonly kind: "packages" | "remotes";
}

interface PackageRule {
  /** The names that the program which runs the package takes from its registry, and not from a path or another address. */
  readonly identifier: RegExp;
  /** The registry that the program uses. */
  readonly registries: readonly string[];
}

/** The kinds of packages that a program can run from their registry alone. */
const packageRules: { readonly [registryType: string]: PackageRule } = {
  npm: { identifier: /^(@[a-z\d~-][\w.~-]*\/)?[a-z\d~-][\w.~-]*$/i, registries: ["https://registry.npmjs.org"] },
  pypi: { identifier: /^[a-z\d]([\w.-]*[a-z\d])?$/i, registries: ["https://pypi.org"] },
  nuget: {
    identifier: /^[a-z\d][\w.-]*$/i,
    registries: ["https://api.nuget.org", "https://api.nuget.org/v3/index.json"],
  },
  oci: { identifier: /^[a-z\d][\w.-]*(:\d+)?(\/[\w.-]+)*(:[\w.-]+)?(@sha256:[a-f\d]{64})?$/i, registries: [] },
};

/** Returns why a package cannot be added; undefined if it can. Bundles have checks of their own. */
export function packageProblem(item: Table): string | undefined {
  const type = String(item["registryType"]);
  const { identifier, version, registryBaseUrl: base, fileSha256, transport } = item;
  const rule = Object.hasOwn(packageRules, type) ? packageRules[type] : undefined;
  if (!rule) return `no program here runs packages of the kind ${JSON.stringify(type)}`;
  if (typeof identifier !== "string" || identifier.startsWith("-") || !rule.identifier.test(identifier)) {
    return `${JSON.stringify(identifier)} is not the name of a package of ${type}`;
  }
  if (version !== undefined && (typeof version !== "string" || !/^(?!latest$)[\w][\w.+!-]*$/.test(version))) {
    return `${identifier} has no exact version`;
  }
  if (type !== "oci" && version === undefined) return `${identifier} has no version`;
  if (typeof base === "string" && !isAsked(base, identifier, rule)) {
    return `${identifier} is in another registry, ${base}, which the program that runs it does not ask`;
  }
  // It must match before the package runs, and only the program that downloads it could compare it.
  if (fileSha256 !== undefined)
    return `${identifier} has a digest that only a download of its file can be compared with`;
  const isStdio = !isTable(transport) || transport["type"] === "stdio";
  return isStdio ? undefined : `${identifier} serves HTTP, so it has to be started by hand`;
}

/** Returns whether the program asks this registry. The name of an image begins with its registry, unless it is Docker's. */
function isAsked(base: string, identifier: string, { registries }: PackageRule): boolean {
  const address = base.replace(/\/+$/, "");
  const host = address.replace(/^https:\/\//, "");
  return registries.includes(address) || identifier.startsWith(`${host}/`);
}

/** The lists of a package or remote whose items may need a value. */
const inputLists = ["runtimeArguments", "packageArguments", "environmentVariables", "headers"] as const;

/** A target with the values in it, and what the person should know of it. */
export interface FilledTarget {
  readonly target: ServerTarget;
  readonly warnings: readonly string[];
}

/** Makes the target of a package or a remote: asks for its values, and keeps its secrets as references. */
export async function toTarget(
  context: CommandContext,
  { name, item, kind }: DescribedServer,
  given: ReadonlyMap<string, readonly string[]>,
  policy: FetchPolicy,
): Promise<FilledTarget> {
  const { env } = context.system;
  const leftOut: string[] = [];
  const prepared: { [member: string]: unknown } = { ...item };
  const lists = new Set<string>();
  for (const list of inputLists) {
    const items = item[list];
    if (!Array.isArray(items)) continue;
    prepared[list] = items.flatMap((value, at) => {
      if (!isTable(value) || typeof value["value"] === "string") return [value];
      const id = idOf(value, at);
      if (value["isRepeated"] === true) lists.add(id);
      const isWanted = given.has(id) || (list === "environmentVariables" && env[id] !== undefined);
      if (value["isRequired"] === true || isWanted) {
        return [{ ...value, isRequired: true }];
      }
      // Without a value the variable would be missing, and the server would not start.
      if (value["isSecret"] === true) {
        leftOut.push(list === "environmentVariables" ? `--env ${id}` : `--set '${id}=\${NAME}'`);
        return [];
      }
      return [value];
    });
  }
  const file = "server.json";
  const text = JSON.stringify({ name, [kind]: [prepared] });
  checkText(text.replaceAll("\\u0000", "\0"), "the server");
  const { servers } = await parseConfig(text, { file, product: "registry" });
  const [entry] = servers as readonly [RawEntry];
  if (entry.problem !== undefined) throw new Failure("usage", `${name} cannot be added: ${entry.problem}`);
  const { configured, inputs } = entry;
  const values = await valuesOf(
    context,
    name,
    inputs.map((input) => toInput(input, { server: name, configured, isList: lists.has(input.id) })),
    given,
  );
  const target = fill(configured, hideReferences(values));
  if ("url" in target) checkRemote(target.url, policy);
  const warnings = leftOut.map((flag) => `an optional secret is left out; to pass it, add ${flag}`);
  return { target, warnings };
}

/** Returns the name by which an input is given: as the reader of the host names it. */
function idOf(item: Table, at: number): string {
  const { name, valueHint } = item;
  if (typeof name === "string") return name.replace(/^-+/, "");
  return typeof valueHint === "string" ? valueHint : `argument${at}`;
}

interface InputPlace {
  readonly server: string;
  readonly configured: ConfiguredTarget;
  readonly isList: boolean;
}

function toInput(input: ConfigInput, { server, configured, isList }: InputPlace): Input {
  const { id, description, options, password: isSecret = false, default: proposed } = input;
  const isVariable = "env" in configured && configured.env?.[id] === placeholderOf(id) && /^\w+$/.test(id);
  return {
    ...{ id, description, isSecret, options, isList, isRequired: true },
    variable: isVariable ? id : variableFor(server, id),
    // A default that is a reference would be replaced by a variable of the shell.
    ...(proposed !== undefined && !proposed.includes("${") && { default: [proposed] }),
  };
}

const placeholderOf = (id: string) => `\${input:${id}}`;
const placeholders = /\$\{input:([^{}]{1,256})\}/g;

function fill(configured: ConfiguredTarget, values: Values): ServerTarget {
  const one = (text: string, where: string) =>
    finish(
      text.replace(placeholders, (_, id: string) => values.get(id)?.[0] ?? ""),
      where,
    );
  const pairs = (given: { readonly [name: string]: string } | undefined, what: string) =>
    Object.fromEntries(
      Object.entries(given ?? {}).map(([name, value]) => [
        finish(name, `the name of a ${what}`),
        one(value, `the ${what} ${name}`),
      ]),
    );
  if ("url" in configured) {
    const { headers, url, ...rest } = configured;
    return { ...rest, url: one(url, "the address"), ...(headers && { headers: pairs(headers, "header") }) };
  }
  const { env, ...rest } = configured;
  const args: string[] = [];
  for (const [at, arg] of (configured.args ?? []).entries()) {
    const where = `argument ${at + 1}`;
    const [, id] = /^\$\{input:([^{}]{1,256})\}$/.exec(arg) ?? [];
    const several = id === undefined ? undefined : values.get(id);
    if (!several) {
      args.push(one(arg, where));
      continue;
    }
    // A flag that may be repeated stands before each of its values.
    const flag = args.at(-1)?.replace(/^-+/, "") === id ? args.slice(-1) : [];
    for (const [index, value] of several.entries()) args.push(...(index > 0 ? flag : []), finish(value, where));
  }
  return { ...rest, args, ...(env && { env: pairs(env, "variable") }) };
}

/** Fails if the address of a stranger leads to this machine or a private network, unless the person typed its host. */
function checkRemote(url: string, policy: FetchPolicy): void {
  checkWebAddress(url.replace(/\$\{\w+\}/g, "x"), policy);
}
