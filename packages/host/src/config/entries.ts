import type { ServerSettings } from "../options.ts";
import type { ConfigLevel, ConfiguredOAuth, ConfiguredTarget, RawEntry } from "./configured.ts";
import type { Convention } from "./conventions.ts";
import { collectInputs, type FileInputs } from "./inputs.ts";
import { maxItems, maxNameChars } from "./limits.ts";
import { Members } from "./members.ts";
import type { Names, Shape, TypeNames } from "./shapes.ts";
import { isTable, kindOf, type Path, printPath } from "./value.ts";

/** The place of an entry and the conventions that apply to it. */
export interface EntryOrigin {
  readonly name: string;
  readonly path: Path;
  readonly file: string;
  readonly scope: "project" | "user";
  readonly level: ConfigLevel;
  readonly convention: Convention;
  readonly inputs: FileInputs;
  /** The path of a duplicate member, of the entry itself or in it. */
  readonly duplicates?: Path;
}

/** Reads one entry. An error becomes its `problem` and does not affect other entries. */
export function readEntry(value: unknown, origin: EntryOrigin): RawEntry {
  const { file, path, convention, duplicates } = origin;
  const shape: Shape = convention.shape;
  const members = new Members(isTable(value) ? value : {}, path, file, shape.nestedIn);
  if (!isTable(value)) members.fail(path, `expected an object, got ${kindOf(value)}`);
  if (duplicates)
    members.fail(
      duplicates,
      "expected once, got it again; remove one of them, because products differ in which one counts",
    );
  checkName(origin.name, path, members);
  const configured = readTarget(members, shape, path);
  for (const [member, reason] of Object.entries(shape.refused ?? {})) {
    const found = members.find([member]);
    if (found) members.fail(found.path, reason);
  }
  for (const [member, reason] of Object.entries(shape.ignored ?? {})) {
    const found = members.find([member]);
    const isEmpty = found?.value === false || (Array.isArray(found?.value) && found.value.length === 0);
    if (found && !isEmpty) members.note(found.path, `ignored: ${reason}`);
  }
  const settings = readSettings(members, shape);
  const extras = readExtras(members, shape);
  const inputs = collectInputs({ configured, ...extras }, origin, members, shape);
  return toRaw(origin, { configured, settings, ...extras, inputs }, members);
}

/** Builds the entry with the problem and notes that its members have collected. */
export function toRaw(
  { name, file, path, scope, level, convention }: EntryOrigin,
  read: Pick<RawEntry, "configured" | "settings" | "inputs" | "envFile" | "oauth" | "roots">,
  members: Members,
): RawEntry {
  const source = { kind: "file", file, path: printPath(path), product: convention.product, scope } as const;
  const { problem, notes } = members;
  return { name, ...read, source, level, notes, ...(problem === undefined ? {} : { problem }) };
}

export function checkName(name: string, path: Path, members: Members): void {
  if (name === "") members.fail(path, "expected a name for the server, got an empty string");
  if (name.length > maxNameChars)
    members.fail(path, `expected a name of at most ${maxNameChars} characters, got ${name.length}`);
}

function readTarget(members: Members, shape: Shape, path: Path): ConfiguredTarget {
  const command = readCommand(members, shape);
  const url = members.text(shape.url);
  const kind = kindOfTarget(members, shape, path, command !== undefined, url !== undefined);
  if (kind === "command" || (kind === undefined && url === undefined)) {
    const cwd = members.text(shape.cwd);
    const env = new Map(members.pairs(shape.env));
    for (const name of forwardedEnv(members, shape)) if (!env.has(name)) env.set(name, `\${env:${name}}`);
    return {
      command: command?.[0] ?? "",
      ...(command && command.length > 1 ? { args: command.slice(1) } : {}),
      ...(cwd === undefined ? {} : { cwd }),
      ...(env.size > 0 ? { env: toRecord(env) } : {}),
    };
  }
  const headers = readHeaders(members, shape);
  return {
    url: url ?? "",
    ...(headers.size > 0 ? { headers: toRecord(headers) } : {}),
    ...(kind === "sse" ? { legacySse: true } : {}),
  };
}

/** Reads the command and its arguments; undefined if there is no command. */
function readCommand(members: Members, shape: Shape): readonly string[] | undefined {
  const args = members.texts(shape.args) ?? [];
  const isList = shape.commandIsList && Array.isArray(members.find(shape.command)?.value);
  if (isList) return [...(members.texts(shape.command) ?? []), ...args];
  const command = members.text(shape.command);
  return command === undefined ? undefined : [command, ...args];
}

function kindOfTarget(
  members: Members,
  shape: Shape,
  path: Path,
  hasCommand: boolean,
  hasUrl: boolean,
): "command" | "http" | "sse" | undefined {
  const { type } = shape;
  const given = members.find(type.member);
  const kinds = given ? kindsOf(given.value, type) : (["command", "http"] as const);
  if (given && kinds.length === 0) {
    const unsupported = typeof given.value === "string" ? type.unsupported?.[given.value] : undefined;
    const known = [...type.command, ...type.http, ...type.sse].join(", ");
    members.fail(given.path, unsupported ? `cannot be started here: ${unsupported}` : `expected one of ${known}`);
    return undefined;
  }
  const fitting = kinds.filter((kind) => (kind === "command" ? hasCommand : hasUrl));
  if (fitting.length === 1) return fitting[0];
  const command = quoteFirst(shape.command);
  const url = quoteFirst(shape.url);
  if (fitting.length > 1) members.fail(path, `expected ${command} or ${url}, got both`);
  else if (!given) members.fail(path, `expected ${command} or ${url}, got neither`);
  else members.fail(path, `expected ${kinds[0] === "command" ? command : url} because of its type, got none`);
  return undefined;
}

function kindsOf(given: unknown, type: TypeNames): readonly ("command" | "http" | "sse")[] {
  if (typeof given !== "string") return [];
  return (["command", "http", "sse"] as const).filter((kind) => type[kind].includes(given));
}

function quoteFirst(names: Names): string {
  return `"${names[0]}"`;
}

function forwardedEnv(members: Members, shape: Shape): readonly string[] {
  const names = members.texts(shape.forwardedEnv) ?? [];
  const invalid = names.find((name) => !/^\w+$/.test(name));
  const at = members.find(shape.forwardedEnv);
  if (invalid !== undefined && at) members.fail(at.path, "expected names of environment variables");
  return names.filter((name) => name !== invalid);
}

function readSettings(members: Members, shape: Shape): ServerSettings {
  const isOff = members.flag(shape.disabled) === true || members.flag(shape.enabled) === false;
  const only = members.texts(shape.only);
  const except = members.texts(shape.except);
  const connectMs = members.duration(shape.connectMs?.names, shape.connectMs?.unitMs ?? 1);
  const idleMs = members.duration(shape.idleMs?.names, shape.idleMs?.unitMs ?? 1);
  const era = readEra(members, shape);
  const keepAlive = members.flag(shape.keepAlive);
  return {
    ...(isOff ? { disabled: true } : {}),
    ...(only && !only.includes("*") ? { only } : {}),
    ...(except ? { except } : {}),
    ...(connectMs === undefined ? {} : { connectMs }),
    ...(idleMs === undefined ? {} : { idleMs }),
    ...(era === undefined ? {} : { era }),
    ...(keepAlive === undefined ? {} : { keepAlive }),
  };
}

const eras: { readonly [configured: string]: string } = {
  auto: "auto",
  modern: "stateless",
  legacy: "stateful",
  stateless: "stateless",
  stateful: "stateful",
};

function readEra(members: Members, shape: Shape): string | undefined {
  const given = members.text(shape.era);
  const at = members.find(shape.era);
  if (given === undefined || !at) return undefined;
  if (Object.hasOwn(eras, given)) return eras[given];
  if (/^\d{4}-\d\d-\d\d$/.test(given)) return given;
  members.fail(at.path, `expected a revision or one of ${Object.keys(eras).join(", ")}`);
  return undefined;
}

function readExtras(members: Members, shape: Shape): Pick<RawEntry, "envFile" | "oauth" | "roots"> {
  const envFile = members.text(shape.envFile);
  const oauth = readOAuth(members, shape);
  const roots = readRoots(members, shape);
  return { ...(envFile === undefined ? {} : { envFile }), ...(oauth ? { oauth } : {}), ...(roots ? { roots } : {}) };
}

/** Returns an object of the pairs. `Object.fromEntries` also accepts the name `__proto__`. */
function toRecord(pairs: Iterable<readonly [string, string]>): { readonly [name: string]: string } {
  return Object.fromEntries(pairs);
}

/** Reads the headers of an entry, including those whose values are environment variables. */
function readHeaders(members: Members, shape: Shape): Map<string, string> {
  const headers = new Map(shape.headersAreLines ? headerLines(members, shape) : members.pairs(shape.headers));
  for (const [name, variable] of members.pairs(shape.headerVariables)) headers.set(name, `\${env:${variable}}`);
  const bearer = members.text(shape.bearerVariable);
  if (bearer !== undefined) headers.set("Authorization", `Bearer \${env:${bearer}}`);
  return headers;
}

function headerLines(members: Members, shape: Shape): readonly (readonly [string, string])[] {
  const found = members.find(shape.headers);
  if (!found || isTable(found.value)) return members.pairs(shape.headers);
  return (members.texts(shape.headers) ?? []).map((line) => {
    const colon = line.indexOf(":");
    if (colon < 1) members.fail(found.path, "expected lines like Name: value");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
}

const oauthNames = {
  clientId: ["clientId", "client_id", "CLIENT_ID"],
  clientSecret: ["clientSecret", "client_secret", "CLIENT_SECRET"],
  callbackPort: ["callbackPort", "callback_port"],
  redirectUri: ["redirectUri", "redirect_uri"],
  scopes: ["scopes", "scope"],
} as const;

/** Reads the OAuth client that the user has registered. */
function readOAuth(members: Members, shape: Shape): ConfiguredOAuth | undefined {
  const found = members.find(shape.oauth);
  if (!found || typeof found.value === "boolean") return undefined;
  const inner = members.nested(found);
  if (!inner) return undefined;
  const clientId = inner.text(oauthNames.clientId);
  const clientSecret = inner.text(oauthNames.clientSecret);
  const redirectUri = inner.text(oauthNames.redirectUri);
  const scopes = inner.find(oauthNames.scopes);
  const port = inner.find(oauthNames.callbackPort);
  const isPort = Number.isInteger(port?.value) && Number(port?.value) > 0 && Number(port?.value) < 65_536;
  if (port && !isPort) inner.fail(port.path, "expected a port number from 1 to 65535");
  const list = typeof scopes?.value === "string" ? scopes.value.split(/\s+/) : inner.texts(oauthNames.scopes);
  members.takeProblem(inner);
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(isPort ? { callbackPort: Number(port?.value) } : {}),
    ...(redirectUri === undefined ? {} : { redirectUri }),
    ...(list ? { scopes: list } : {}),
  };
}

/** Reads the roots of a server, as URIs or paths. */
function readRoots(members: Members, shape: Shape): readonly string[] | undefined {
  const found = members.find(shape.roots);
  if (!found) return undefined;
  const items = Array.isArray(found.value) ? found.value.slice(0, maxItems) : [undefined];
  const roots = items.map((item) => (isTable(item) ? item["uri"] : item));
  if (roots.every((root) => typeof root === "string")) return roots;
  members.fail(found.path, "expected a list of URIs or paths");
  return undefined;
}
