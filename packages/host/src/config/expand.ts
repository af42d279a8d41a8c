import { sha256 } from "portolan/storage";
import { checkWay } from "./check-way.ts";
import type {
  ConfigInput,
  ConfiguredCommand,
  ConfiguredHttp,
  ConfiguredOAuth,
  ConfiguredServer,
  RawEntry,
  ReadEnvFile,
} from "./configured.ts";
import { conventionOf } from "./conventions.ts";
import { parseEnvFile } from "./env-file.ts";
import { Expansion } from "./expansion.ts";
import { shapes } from "./shapes.ts";

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
