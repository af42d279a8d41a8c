import { sha256 } from "portolan/storage";
import type {
  ConfigInput,
  ConfiguredCommand,
  ConfiguredHttp,
  ConfiguredOAuth,
  ConfiguredServer,
  ConfiguredTarget,
  RawEntry,
  ReadEnvFile,
} from "./configured.ts";
import { conventionOf } from "./conventions.ts";
import { limits } from "./limits.ts";
import { type KnownPlace, type Placeholder, readParts, type Syntax } from "./placeholders.ts";
import { shapes } from "./shapes.ts";
import { type Path, printPath } from "./value.ts";

/** What is put in for placeholders. */
export interface ExpandOptions {
  readonly env: { readonly [name: string]: string | undefined };
  /** Answers that are known already, by id. */
  readonly inputs?: { readonly [id: string]: string };
  /** Asks the user for a value; undefined when there is none. */
  readonly input?: (request: ConfigInput, entry: RawEntry) => Promise<string | undefined>;
  readonly userHome?: string;
  /** The folder of the project; servers of a project's file run in it unless they say where. */
  readonly workspaceFolder?: string;
  /** Reads an environment file; undefined where there is none. */
  readonly readFile?: (path: string) => Promise<string | undefined>;
}

/** The entry with its variables put in, or with the problem that names what is missing and where; values are never named. */
export async function expandEntry(raw: RawEntry, options: ExpandOptions): Promise<ConfiguredServer> {
  const expansion = new Expansion(raw, options);
  const envFile = await readEnvFile(raw, expansion, options);
  const way =
    "command" in raw.configured
      ? await expandCommand(raw, raw.configured, expansion, envFile?.variables, options)
      : await expandHttp(raw, raw.configured, expansion);
  const oauth = raw.oauth && (await expandOAuth(raw.oauth, expansion));
  const problem = raw.problem ?? expansion.problem ?? checkWay(way, raw);
  return {
    name: raw.name,
    // Whoever starts it in spite of its problem starts nothing.
    target: problem === undefined ? way : "command" in way ? { command: "" } : { url: "" },
    settings: raw.settings,
    source: raw.source,
    configured: raw.configured,
    raw,
    ...(envFile ? { envFile: envFile.read } : {}),
    ...(oauth && problem === undefined ? { oauth } : {}),
    ...(problem === undefined ? {} : { problem }),
  };
}

async function expandCommand(
  { source }: RawEntry,
  written: ConfiguredCommand,
  expansion: Expansion,
  more: ReadonlyMap<string, string> | undefined,
  { workspaceFolder }: ExpandOptions,
): Promise<ConfiguredCommand> {
  const shape = conventionOf(source.product)?.shape ?? shapes.portable;
  const argsAt = shape.args[0];
  const env = new Map(more);
  const command = await expansion.expand(written.command, [shape.command[0] ?? ""]);
  const args: string[] = [];
  for (const [index, arg] of (written.args ?? []).entries()) {
    const at = argsAt === undefined ? [shape.command[0] ?? "", index + 1] : [argsAt, index];
    args.push(await expansion.expand(arg, at));
  }
  for (const [name, value] of Object.entries(written.env ?? {})) {
    env.set(name, await expansion.expand(value, [shape.env[0] ?? "", name]));
  }
  const folder = source.scope === "project" ? workspaceFolder : undefined;
  const cwd = written.cwd === undefined ? folder : inFolder(await expansion.expand(written.cwd, ["cwd"]), folder);
  return {
    command,
    ...(written.args ? { args } : {}),
    ...(cwd === undefined ? {} : { cwd }),
    ...(env.size > 0 ? { env: Object.fromEntries(env) } : {}),
  };
}

async function expandHttp(
  { source }: RawEntry,
  written: ConfiguredHttp,
  expansion: Expansion,
): Promise<ConfiguredHttp> {
  const shape = conventionOf(source.product)?.shape ?? shapes.portable;
  const url = await expansion.expand(written.url, [shape.url[0] ?? ""]);
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(written.headers ?? {})) {
    headers.set(name, await expansion.expand(value, [shape.headers[0] ?? "", name]));
  }
  return { ...written, url, ...(headers.size > 0 ? { headers: Object.fromEntries(headers) } : {}) };
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
  readonly read: ReadEnvFile;
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
    const reason = readFile ? (text === undefined ? "is not there" : "is too large") : "cannot be read here";
    expansion.fail(["envFile"], `the environment file ${reason}`);
    return undefined;
  }
  return { read: { path: raw.envFile, names: [...variables.keys()], digest: await sha256(text) }, variables };
}

/** A path from a folder, unless it begins at a root of its own. */
function inFolder(path: string, folder: string | undefined): string {
  const isWhole = /^(?:[/\\]|[A-Za-z]:[/\\])/.test(path);
  return isWhole || folder === undefined ? path : `${folder}${separatorOf(folder)}${path}`;
}

function separatorOf(folder: string): string {
  return /^(?:[A-Za-z]:)?\\|^[A-Za-z]:\//.test(folder) ? "\\" : "/";
}

const maxProblems = 10;

/** Puts in the variables of one entry, and keeps what was wrong on the way. */
export class Expansion {
  readonly #raw: RawEntry;
  readonly #options: ExpandOptions;
  readonly #syntax: Syntax;
  readonly #problems = new Set<string>();
  readonly #answers = new Map<string, string | undefined>();
  #chars = 0;

  constructor(raw: RawEntry, options: ExpandOptions) {
    this.#raw = raw;
    this.#options = options;
    this.#syntax = conventionOf(raw.source.product)?.syntax ?? [];
  }

  get problem(): string | undefined {
    return this.#problems.size === 0 ? undefined : [...this.#problems].join("; ");
  }

  /** The folder of the file that the entry stands in. */
  get configFolder(): string {
    return this.#raw.source.file.replace(/[/\\]?[^/\\]*$/, "") || ".";
  }

  fail(path: Path, reason: string): void {
    if (this.#problems.size < maxProblems) this.#problems.add(`${reason} (${this.#at(path)})`);
  }

  /** A written string with its values; each is put in as it is, and never read for more placeholders. */
  async expand(written: string, path: Path): Promise<string> {
    let text = "";
    for (const part of readParts(written, this.#syntax)) {
      const value = "text" in part ? part.text : await this.#valueOf(part.placeholder, part.shown, path);
      text += value ?? "";
      this.#chars += value?.length ?? 0;
      if (text.length > limits.stringChars || this.#chars > limits.entryChars) {
        this.fail(path, `expected at most ${limits.stringChars} characters with variables put in, got more`);
        return "";
      }
    }
    return text;
  }

  async #valueOf(placeholder: Placeholder | undefined, shown: string, path: Path): Promise<string | undefined> {
    switch (placeholder?.kind) {
      case undefined:
        return this.#problem(path, `unknown ${shown}`, this.#known());
      case "refused":
        return this.#problem(path, `cannot put in ${shown}`, placeholder.reason);
      case "env": {
        const value = Object.hasOwn(this.#options.env, placeholder.name)
          ? this.#options.env[placeholder.name]
          : undefined;
        // As in a shell, where `:-` stands for what is empty too.
        if (placeholder.fallback !== undefined) return value || placeholder.fallback;
        return value ?? this.#problem(path, `missing ${shown}`, `set ${placeholder.name} or write its value there`);
      }
      case "place":
        return this.#place(placeholder.place) ?? this.#problem(path, `missing ${shown}`, "there is none here");
      case "input":
        return await this.#answer(placeholder.id, shown, path);
    }
  }

  async #answer(id: string, shown: string, path: Path): Promise<string | undefined> {
    const { inputs = {}, input } = this.#options;
    if (Object.hasOwn(inputs, id)) return inputs[id];
    const request = this.#raw.inputs.find((one) => one.id === id);
    // What cannot be started asks nobody.
    const mayAsk = request && input && this.#raw.problem === undefined && !this.#raw.settings.disabled;
    if (mayAsk && !this.#answers.has(id)) this.#answers.set(id, await input(request, this.#raw));
    const answer = this.#answers.get(id);
    if (answer === undefined) return this.#problem(path, `missing ${shown}`, "the user has to be asked for it");
    if (request?.options && !request.options.includes(answer)) {
      return this.#problem(path, `wrong ${shown}`, "the answer is none of the options");
    }
    return answer;
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

  #known(): string {
    const examples = this.#syntax.map((form) => form.example).filter((example) => example !== "");
    const { product } = this.#raw.source;
    if (examples.length === 0) return `${product} puts in no variables, so write the value itself`;
    return `a file of ${product} may have ${examples.join(", ")}`;
  }
}

const maxChars = 1024 * 1024;

/** The variables of an environment file, `NAME=value` on each line; nothing in a value is put in or run. */
export function parseEnvFile(text: string): ReadonlyMap<string, string> | undefined {
  const variables = new Map<string, string>();
  if (text.length > maxChars) return undefined;
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    const match = /^\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=(.*)$/.exec(line);
    if (match) variables.set(match[1] ?? "", readValue((match[2] ?? "").trim()));
    if (variables.size > limits.items) return undefined;
  }
  return variables;
}

const escapes: { readonly [written: string]: string } = {
  "\\n": "\n",
  "\\r": "\r",
  "\\t": "\t",
  '\\"': '"',
  "\\\\": "\\",
};

function readValue(written: string): string {
  const single = /^'([^']*)'/.exec(written);
  if (single) return single[1] ?? "";
  const double = /^"((?:[^"\\]|\\.)*)"/.exec(written);
  if (double) return (double[1] ?? "").replace(/\\[nrt"\\]/g, (pair) => escapes[pair] ?? pair);
  const comment = /(?:^|\s)#/.exec(written);
  return (comment ? written.slice(0, comment.index) : written).trimEnd();
}

/** What no system would take, seen before anything is started; without the values, which may be secrets. */
export function checkWay(way: ConfiguredTarget, { source }: RawEntry): string | undefined {
  const reason = "command" in way ? checkCommand(way) : (checkAddress(way.url) ?? checkHeaders(way.headers ?? {}));
  return reason === undefined ? undefined : `${source.path} in ${source.file}: ${reason}`;
}

function checkCommand({
  command,
  args = [],
  cwd = "",
  env = {},
}: Extract<ConfiguredTarget, { command: string }>): string | undefined {
  if (command.trim() === "") return "expected a command, got an empty one";
  if ([command, cwd, ...args, ...Object.values(env)].some((text) => text.includes("\0"))) {
    return "expected texts without the character 0";
  }
  const odd = Object.keys(env).find((name) => !/^[^=\0]+$/.test(name));
  return odd === undefined ? undefined : "expected names of variables without = in env";
}

function checkAddress(url: string): string | undefined {
  if (!URL.canParse(url)) return "expected a whole address such as https://example.com/mcp";
  const { protocol } = new URL(url);
  const isWeb = protocol === "https:" || protocol === "http:";
  return isWeb ? undefined : `expected an address of http or https, got one of ${JSON.stringify(protocol)}`;
}

function checkHeaders(headers: { readonly [name: string]: string }): string | undefined {
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) return `expected the name of a header, got ${JSON.stringify(name)}`;
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      return `expected a value for the header ${name} without line ends, control characters and characters above U+00FF`;
    }
  }
  return undefined;
}
