import { checkOptions, type OptionNames } from "portolan/internal";
import { sha256 } from "portolan/storage";
import { isKey, isSecretVariable } from "../activity/redact.ts";
import type {
  ConfigInput,
  ConfiguredCommand,
  ConfiguredHttp,
  ConfiguredOAuth,
  ConfiguredServer,
  ConfiguredTarget,
  LoadedEnvFile,
  MissingValue,
  RawEntry,
} from "./configured.ts";
import { conventionOf } from "./conventions.ts";
import { maxEntryChars, maxEnvFileChars, maxItems, maxProblems, maxStringChars } from "./limits.ts";
import { type KnownPlace, type Placeholder, readParts, type Syntax } from "./placeholders.ts";
import { shapes } from "./shapes.ts";
import { type Path, printPath } from "./value.ts";

/** Where the values of placeholders come from. */
export interface ExpandOptions {
  /** The environment variables that placeholders name. */
  readonly env: { readonly [name: string]: string | undefined };
  /** Known values of inputs by id. */
  readonly inputs?: { readonly [id: string]: string };
  /** Asks the user for a value. Return undefined if there is none. */
  readonly input?: (request: ConfigInput, entry: RawEntry) => Promise<string | undefined>;
  /** The home folder of the user, for `${userHome}`. */
  readonly userHome?: string;
  /** The folder of the project. Default working directory of servers from a project's file. */
  readonly workspaceFolder?: string;
  /** Reads an environment file. Return undefined if it does not exist. */
  readonly readFile?: (path: string) => Promise<string | undefined>;
}

const expandOptionNames: OptionNames<ExpandOptions> = {
  env: 1,
  inputs: 1,
  input: 1,
  userHome: 1,
  workspaceFolder: 1,
  readFile: 1,
};

/** Replaces the placeholders of an entry. Missing values become its `problem`, which never contains values. */
export async function expandEntry(raw: RawEntry, options: ExpandOptions): Promise<ConfiguredServer> {
  checkOptions(options, expandOptionNames, "expandEntry");
  const expansion = new Expansion(raw, options);
  const envFile = await readEnvFile(raw, expansion, options);
  const target =
    "command" in raw.configured
      ? await expandCommand(raw, raw.configured, expansion, envFile?.variables, options)
      : await expandHttp(raw, raw.configured, expansion);
  const oauth = raw.oauth && (await expandOAuth(raw.oauth, expansion));
  const problem = raw.problem ?? expansion.problem ?? checkTarget(target, raw);
  return {
    name: raw.name,
    // A caller that ignores the problem must not start a half-expanded command.
    target: problem === undefined ? target : "command" in target ? { command: "" } : { url: "" },
    settings: raw.settings,
    source: raw.source,
    configured: raw.configured,
    raw,
    ...(envFile ? { envFile: envFile.read } : {}),
    ...(oauth && problem === undefined ? { oauth } : {}),
    ...(expansion.secrets.size > 0 ? { secrets: [...expansion.secrets] } : {}),
    ...(expansion.missing.size > 0 ? { missing: [...expansion.missing.values()] } : {}),
    ...(problem === undefined ? {} : { problem }),
  };
}

async function expandCommand(
  { source }: RawEntry,
  configured: ConfiguredCommand,
  expansion: Expansion,
  fromFile: ReadonlyMap<string, string> | undefined,
  { workspaceFolder }: ExpandOptions,
): Promise<ConfiguredCommand> {
  const shape = conventionOf(source.product)?.shape ?? shapes.portable;
  const argsAt = shape.args[0];
  const env = new Map(fromFile);
  const command = await expansion.expand(configured.command, [shape.command[0] ?? ""]);
  const args: string[] = [];
  for (const [index, arg] of (configured.args ?? []).entries()) {
    const at = argsAt === undefined ? [shape.command[0] ?? "", index + 1] : [argsAt, index];
    args.push(await expansion.expand(arg, at));
  }
  for (const [name, value] of Object.entries(configured.env ?? {})) {
    env.set(name, await expansion.expand(value, [shape.env[0] ?? "", name]));
  }
  const folder = source.scope === "project" ? workspaceFolder : undefined;
  const cwd = configured.cwd === undefined ? folder : inFolder(await expansion.expand(configured.cwd, ["cwd"]), folder);
  return {
    command,
    ...(configured.args ? { args } : {}),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env.size > 0 ? { env: Object.fromEntries(env) } : {}),
  };
}

async function expandHttp(
  { source }: RawEntry,
  configured: ConfiguredHttp,
  expansion: Expansion,
): Promise<ConfiguredHttp> {
  const shape = conventionOf(source.product)?.shape ?? shapes.portable;
  const url = await expansion.expand(configured.url, [shape.url[0] ?? ""]);
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(configured.headers ?? {})) {
    headers.set(name, await expansion.expand(value, [shape.headers[0] ?? "", name]));
  }
  return { ...configured, url, ...(headers.size > 0 ? { headers: Object.fromEntries(headers) } : {}) };
}

async function expandOAuth(oauth: ConfiguredOAuth, expansion: Expansion): Promise<ConfiguredOAuth> {
  const { clientId, clientSecret } = oauth;
  return {
    ...oauth,
    ...(clientId === undefined ? {} : { clientId: await expansion.expand(clientId, ["oauth", "clientId"]) }),
    ...(clientSecret === undefined
      ? {}
      : { clientSecret: await expansion.expand(clientSecret, ["oauth", "clientSecret"]) }),
  };
}

interface EnvFile {
  readonly read: LoadedEnvFile;
  readonly variables: ReadonlyMap<string, string>;
}

async function readEnvFile(
  raw: RawEntry,
  expansion: Expansion,
  { readFile }: ExpandOptions,
): Promise<EnvFile | undefined> {
  if (raw.envFile === undefined) return undefined;
  const path = await expansion.expand(raw.envFile, ["envFile"]);
  if (expansion.problem !== undefined) return undefined;
  const text = await readFile?.(inFolder(path, expansion.configFolder));
  const variables = text === undefined ? undefined : parseEnvFile(text);
  if (text === undefined || !variables) {
    const reason = readFile ? (text === undefined ? "does not exist" : "is too large") : "cannot be read here";
    expansion.fail(["envFile"], `the environment file ${reason}`);
    return undefined;
  }
  return { read: { path: raw.envFile, names: [...variables.keys()], digest: await sha256(text) }, variables };
}

/** Resolves a relative path against a folder. */
function inFolder(path: string, folder: string | undefined): string {
  const isAbsolute = /^(?:[/\\]|[A-Za-z]:[/\\])/.test(path);
  return isAbsolute || folder === undefined ? path : `${folder}${separatorOf(folder)}${path}`;
}

function separatorOf(folder: string): string {
  return /^(?:[A-Za-z]:)?\\|^[A-Za-z]:\//.test(folder) ? "\\" : "/";
}

/** Replaces the placeholders of one entry and collects its problems. */
class Expansion {
  readonly #raw: RawEntry;
  readonly #options: ExpandOptions;
  readonly #syntax: Syntax;
  readonly #problems = new Set<string>();
  readonly #answers = new Map<string, string | undefined>();
  /** Values of placeholders that must not appear in messages. */
  readonly secrets = new Set<string>();
  /** Values that are not known, by kind and name. */
  readonly missing = new Map<string, MissingValue>();
  #chars = 0;

  constructor(raw: RawEntry, options: ExpandOptions) {
    this.#raw = raw;
    this.#options = options;
    this.#syntax = conventionOf(raw.source.product)?.syntax ?? [];
  }

  get problem(): string | undefined {
    return this.#problems.size === 0 ? undefined : [...this.#problems].join("; ");
  }

  /** The folder of the configuration file. */
  get configFolder(): string {
    return this.#raw.source.file.replace(/[/\\]?[^/\\]*$/, "") || ".";
  }

  fail(path: Path, reason: string): void {
    if (this.#problems.size < maxProblems) this.#problems.add(`${reason} (${this.#at(path)})`);
  }

  /** Replaces the placeholders of a string. Placeholders inside a value stay as they are. */
  async expand(template: string, path: Path): Promise<string> {
    let text = "";
    for (const part of readParts(template, this.#syntax)) {
      const value = "text" in part ? part.text : await this.#valueOf(part.placeholder, part.shown, path);
      text += value ?? "";
      if (value && !("text" in part) && this.#isSecret(part.placeholder, value)) this.secrets.add(value);
      this.#chars += value?.length ?? 0;
      if (text.length > maxStringChars || this.#chars > maxEntryChars) {
        this.fail(path, `expected at most ${maxStringChars} characters after placeholders are replaced, got more`);
        return "";
      }
    }
    return text;
  }

  /** True for variables with the name or form of a secret, and for answers that are hidden while they are typed. */
  #isSecret(placeholder: Placeholder | undefined, value: string): boolean {
    if (placeholder?.kind === "env") return isSecretVariable(placeholder.name) || isKey(value);
    if (placeholder?.kind !== "input") return false;
    const { id } = placeholder;
    return isSecretVariable(id) || this.#raw.inputs.some((input) => input.id === id && input.password === true);
  }

  async #valueOf(placeholder: Placeholder | undefined, shown: string, path: Path): Promise<string | undefined> {
    switch (placeholder?.kind) {
      case undefined:
        return this.#problem(path, `unknown ${shown}`, this.#supported());
      case "refused":
        return this.#problem(path, `cannot replace ${shown}`, placeholder.reason);
      case "env": {
        const value = Object.hasOwn(this.#options.env, placeholder.name)
          ? this.#options.env[placeholder.name]
          : undefined;
        // As in a shell, `:-` also replaces an empty value.
        if (placeholder.fallback !== undefined) return value || placeholder.fallback;
        if (value !== undefined) return value;
        this.#miss({ kind: "variable", name: placeholder.name, isSecret: isSecretVariable(placeholder.name) });
        return this.#problem(
          path,
          `missing ${shown}`,
          `set the environment variable ${placeholder.name}, or write the value into the file`,
        );
      }
      case "place":
        return (
          this.#place(placeholder.place) ??
          this.#problem(path, `missing ${shown}`, "it is not known here; write the path into the file")
        );
      case "input":
        return await this.#answer(placeholder.id, shown, path);
    }
  }

  async #answer(id: string, shown: string, path: Path): Promise<string | undefined> {
    const { inputs = {}, input } = this.#options;
    if (Object.hasOwn(inputs, id)) return inputs[id];
    const request = this.#raw.inputs.find((one) => one.id === id);
    // The user is not asked for a server that cannot be started.
    const mayAsk = request && input && this.#raw.problem === undefined && !this.#raw.settings.disabled;
    if (mayAsk && !this.#answers.has(id)) this.#answers.set(id, await input(request, this.#raw));
    const answer = this.#answers.get(id);
    if (answer === undefined) {
      this.#miss({ kind: "input", name: id, isSecret: request?.password === true || isSecretVariable(id) });
      return this.#problem(path, `missing ${shown}`, "the user must enter it");
    }
    if (request?.options && !request.options.includes(answer)) {
      return this.#problem(path, `wrong ${shown}`, "the answer is not one of the options");
    }
    return answer;
  }

  #miss(value: MissingValue): void {
    if (this.missing.size < maxProblems) this.missing.set(`${value.kind} ${value.name}`, value);
  }

  #place(place: KnownPlace): string | undefined {
    const { userHome, workspaceFolder } = this.#options;
    const slash = this.#separator();
    const atHome = (name: string) => (userHome === undefined ? undefined : `${userHome}${slash}${name}`);
    switch (place) {
      case "userHome":
        return userHome;
      case "workspaceFolder":
        return workspaceFolder;
      case "workspaceFolderBasename":
        return workspaceFolder?.split(/[/\\]/).findLast((name) => name !== "");
      case "pathSeparator":
        return slash;
      case "configFolder":
        return this.configFolder;
      case "desktop":
        return atHome("Desktop");
      case "documents":
        return atHome("Documents");
      case "downloads":
        return atHome("Downloads");
    }
  }

  #separator(): string {
    const { userHome, workspaceFolder } = this.#options;
    return [userHome, workspaceFolder, this.#raw.source.file].some((path) => path?.includes("\\")) ? "\\" : "/";
  }

  #problem(path: Path, what: string, advice: string): undefined {
    if (this.#problems.size < maxProblems) this.#problems.add(`${what} (${this.#at(path)}): ${advice}`);
    return undefined;
  }

  #at(path: Path): string {
    const { source } = this.#raw;
    return `${source.path}${printPath(["_", ...path]).slice(1)} in ${source.file}`;
  }

  #supported(): string {
    const examples = this.#syntax.map((form) => form.example).filter((example) => example !== "");
    const { product } = this.#raw.source;
    if (examples.length === 0) return `${product} supports no placeholders; write the value instead`;
    return `files of ${product} support ${examples.join(", ")}`;
  }
}

/** Parses an environment file with lines of `NAME=value`. Values are not expanded or run. */
function parseEnvFile(text: string): ReadonlyMap<string, string> | undefined {
  const variables = new Map<string, string>();
  if (text.length > maxEnvFileChars) return undefined;
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=(.*)$/.exec(line);
    if (match) variables.set(match[1] ?? "", readValue((match[2] ?? "").trim()));
    if (variables.size > maxItems) return undefined;
  }
  return variables;
}

const escapes: { readonly [pair: string]: string } = {
  "\\n": "\n",
  "\\r": "\r",
  "\\t": "\t",
  '\\"': '"',
  "\\\\": "\\",
};

function readValue(text: string): string {
  const single = /^'([^']*)'/.exec(text);
  if (single) return single[1] ?? "";
  const double = /^"((?:[^"\\]|\\.)*)"/.exec(text);
  if (double) return (double[1] ?? "").replace(/\\[nrt"\\]/g, (pair) => escapes[pair] ?? pair);
  const comment = /(?:^|\s)#/.exec(text);
  return (comment ? text.slice(0, comment.index) : text).trimEnd();
}

/**
 * Returns the reason why no system accepts a target, before it is started. It never contains values, which can be
 * secret.
 */
function checkTarget(target: ConfiguredTarget, { source }: RawEntry): string | undefined {
  const reason =
    "command" in target ? checkCommand(target) : (checkAddress(target.url) ?? checkHeaders(target.headers ?? {}));
  return reason === undefined ? undefined : `${source.path} in ${source.file}: ${reason}`;
}

function checkCommand({
  command,
  args = [],
  cwd = "",
  env = {},
}: Extract<ConfiguredTarget, { command: string }>): string | undefined {
  if (command.trim() === "") return "expected a command, got an empty string";
  if ([command, cwd, ...args, ...Object.values(env)].some((text) => text.includes("\0"))) {
    return "expected strings without NUL characters";
  }
  const invalid = Object.keys(env).find((name) => !/^[^=\0]+$/.test(name));
  return invalid === undefined ? undefined : "expected names of environment variables without =";
}

function checkAddress(url: string): string | undefined {
  if (!URL.canParse(url)) return "expected a complete URL such as https://example.com/mcp";
  const { protocol } = new URL(url);
  const isWeb = protocol === "https:" || protocol === "http:";
  return isWeb ? undefined : `expected a URL with http or https, got ${JSON.stringify(protocol)}`;
}

function checkHeaders(headers: { readonly [name: string]: string }): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) return `expected a valid header name, got ${JSON.stringify(name)}`;
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      return `expected the header ${name} without line breaks, control characters and characters above U+00FF`;
    }
  }
  return undefined;
}
