import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  type ConfiguredServer,
  describeForTrust,
  editConfig,
  type ServerEntry,
  type ServerTarget,
} from "portolan-host";
import { configProducts, findConfigs, productFile, readConfigs, writeServer } from "portolan-host/node";
import { againWith, listFlag, pairsFlag, textFlag } from "../arguments/flags.ts";
import { trustDetails } from "../ask/consent.ts";
import { replaceSecrets, secretTextsOf } from "../ask/typed-secrets.ts";
import type { CommandContext, CommandResult, Flags } from "../command.ts";
import { Failure } from "../failure.ts";
import { maxConfigurationBytes, readRegularFile } from "../regular-file.ts";
import { findByName, isOwnFile, readConfiguration, userFile } from "../servers/find-server.ts";
import { withHost } from "../servers/host.ts";
import { type Pairs, toNotationOf } from "../servers/notation.ts";
import { findSource } from "../sources/find-source.ts";
import type { Origin } from "../sources/found.ts";
import { checkForOthers } from "../sources/inputs.ts";
import type { System } from "../system.ts";
import { quote } from "../terminal/escape.ts";
import type { Screen } from "../terminal/screen.ts";
import { wrap } from "../terminal/wrap.ts";

/**
 * Adds a server to the file of the project, of the user, or of another product. Instead of a name, it takes the address of
 * a server with a card, the name of a server in a registry, or a bundle. With the name of a configured server and `--env`
 * or `--header` alone, it sets these in the file of that server.
 */
export async function run(context: CommandContext, args: readonly string[], flags: Flags): Promise<CommandResult> {
  const { screen } = context;
  const [typed = "", url] = args;
  const from = textFlag(flags, "from");
  const isAlone = url === undefined && context.command.length === 0;
  const found = await findSource(context, typed, isAlone && from === undefined, flags);
  const name = found?.name ?? typed;
  if (name.trim() === "" || /\p{Cc}/u.test(name)) throw new Failure("usage", "expected a name for the server");
  const isNameAlone = isAlone && !found;
  const changed = isNameAlone ? await entryToChange(context, name, flags) : undefined;
  const to = changed ? changed.product : productOf(textFlag(flags, "to"));
  const file = changed ? changed.entry.source.file : await fileToWrite(context, to, flags["user"] === true);
  const isCopy = changed === undefined && !found && (from !== undefined || (to !== undefined && isNameAlone));
  if (found && to !== undefined) checkForOthers(found.target);
  const { entry: given, warnings: problems } = changed
    ? await withPairs(context, changed.entry, flags)
    : found
      ? await copyOf(context, toEntry(name, found.target, flags), file, flags)
      : isCopy
        ? await copyOf(context, await entryToCopy(context, name, from), file, flags)
        : await replaceSecrets(context, file, entryFromCommandLine(context, name, url, flags));
  const warnings = [...(found?.warnings ?? []), ...problems];
  if (!changed && flags["force"] !== true) await requireNewName(context, name, file, isCopy || to !== undefined);
  const before = readRegularFile(file, maxConfigurationBytes) ?? Buffer.alloc(0);
  // Other programs own their files, and some rewrite them: the state before must be there to compare and to restore.
  const backup = to === undefined || before.length === 0 ? undefined : await backUp(file, before);
  const all = await allEntries(context);
  const replaced = all.find((entry) => entry.name === name && fileOf(entry) === file);
  for (const entry of [given, ...all]) context.secrets.add(secretTextsOf(entry));
  await found?.unpack?.();
  await writeServer(file, name, given, {
    ...(to !== undefined && { product: to }),
    lock: { onWait: context.state.onWait },
  }).catch(async (reason: unknown) => {
    if (backup !== undefined) await rm(backup);
    throw reason;
  });
  const isNew = before.toString("utf8").trim() === "";
  const diff = to === undefined ? [] : await changedLines(context, { file, product: to }, { replaced, given, isNew });
  const { entry, isUsed, usedFile } = await findWritten(context, name, file);
  // A typed command needs no trust; an entry from another file, a card, a registry or a bundle is of someone else.
  const isTyped = !isCopy && !found;
  const isTrusted = (changed?.isTrusted ?? isTyped) && isUsed && entry.problem === undefined;
  if (isTrusted) {
    await withHost(context, [entry], (host) => host.trust(name, { allow: true, for: "always" }));
  }
  const next = nextStep({ name, isTrusted, isUsed, hasProblem: entry.problem !== undefined });
  return {
    value: {
      ...{ name, file, written: withoutValues(entry.configured), isTrusted, isUsed },
      ...(found && { from: found.from }),
      ...(backup !== undefined && { backup }),
      ...(diff.length > 0 && { diff }),
      ...(warnings.length > 0 && { warnings }),
      ...(entry.problem !== undefined && { problem: entry.problem }),
      next,
    },
    text() {
      const warn = (text: string) =>
        wrap(`${screen.mark("warn")} ${screen.safe(text)}`, screen.columns - 2).join("\n  ");
      const lines = [
        `${screen.style("green", screen.mark("ok"))} ${screen.safe(name)} ${screen.style("dim", `${changed ? "changed in" : "added to"} ${screen.safe(file)}`)}`,
        ...(found ? [`  ${screen.style("dim", screen.safe(originText(found.from)))}`] : []),
        to === undefined ? trustDetails(describeForTrust(entry), screen) : showChanges(diff, screen),
      ];
      if (backup !== undefined) lines.push(`  ${screen.style("dim", `the file before: ${screen.safe(backup)}`)}`);
      for (const text of warnings) lines.push(warn(text));
      if (entry.problem !== undefined) lines.push(warn(entry.problem));
      if (!isUsed && to === undefined)
        lines.push(warn(`This entry is not used: ${usedFile} has ${name} too, and comes first`));
      return [...lines, `  ${screen.mark("next")} ${screen.step(next)}`].join("\n");
    },
  };
}

function originText({ kind, name, version, place }: Origin): string {
  const words = { card: "server card", registry: "registry", bundle: "bundle" };
  return `${words[kind]}: ${name}${version === undefined ? "" : ` ${version}`} (${place})`;
}

interface Written {
  readonly name: string;
  readonly isTrusted: boolean;
  readonly isUsed: boolean;
  readonly hasProblem: boolean;
}

function nextStep({ name, isTrusted, isUsed, hasProblem }: Written): string {
  // The command uses another entry of this name.
  if (!isUsed) return "portolan servers";
  if (isTrusted) return `portolan ls ${quote(name)}`;
  return hasProblem ? `portolan doctor ${quote(name)}` : `portolan trust ${quote(name)}`;
}

/** Shorter names of products, as people say them. */
const aliases: { readonly [name: string]: string } = {
  claude: "claude-desktop",
  "vs-code": "vscode",
  code: "vscode",
};

/** Returns the product that `--to` names. */
function productOf(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  const product = aliases[given.toLowerCase()] ?? given.toLowerCase();
  if (configProducts.includes(product)) return product;
  throw new Failure(
    "usage",
    `--to: no product is named ${JSON.stringify(given)}; known: ${configProducts.join(", ")}`,
    {
      next: "portolan add --help",
    },
  );
}

/** Returns the entry on the command line: an address, or a command after `--`. */
function entryFromCommandLine(
  { command, system }: CommandContext,
  name: string,
  url: string | undefined,
  flags: Flags,
): ServerEntry {
  const env = envOf(system, flags);
  const headers = pairsFlag(flags, "header");
  const hasCommand = command.length > 0;
  if (hasCommand === (url !== undefined)) {
    throw new Failure("usage", "expected an address, or a command after --");
  }
  const odd = hasCommand ? headers : env;
  if (Object.keys(odd).length > 0) {
    throw new Failure(
      "usage",
      hasCommand ? "--header is for an address; use --env" : "--env is for a command; use --header",
    );
  }
  if (url !== undefined) {
    if (!/^(https?:\/\/|\$\{)/i.test(url)) {
      throw new Failure("usage", `expected an http or https address, got ${JSON.stringify(url)}`);
    }
    return toEntry(name, { url, ...(Object.keys(headers).length > 0 && { headers }) }, flags);
  }
  const [program = "", ...args] = command;
  return toEntry(name, { command: program, args, ...(Object.keys(env).length > 0 && { env }) }, flags);
}

/** Returns the variables of `--env`. The name of a variable of the shell alone becomes a reference to it. */
function envOf({ env }: System, flags: Flags): { readonly [name: string]: string } {
  // A word in capital letters is a name, also of a variable that will be set later. Another one may be a secret.
  const isName = (word: string) =>
    env[word] !== undefined || (/^[A-Z_][A-Z\d_]*$/.test(word) && (word.includes("_") || word.length <= maxNameChars));
  const pairs = listFlag(flags, "env").map((given) => (isName(given) ? `${given}=\${${given}}` : given));
  if (pairs.some((pair) => !/^[^=]+=/.test(pair))) {
    throw new Failure(
      "usage",
      "--env: expected NAME=VALUE, or the NAME of a variable in capital letters or one that is set in your shell; got neither",
    );
  }
  return pairsFlag({ env: pairs }, "env");
}

/** A longer word without `_` may be a key, such as those of a cloud. */
const maxNameChars = 12;

interface ChangedEntry {
  readonly entry: ConfiguredServer;
  /** True if the person had agreed to the entry as it was before the change. */
  readonly isTrusted: boolean;
  /** The product that owns the file. Undefined for files of this command. */
  readonly product: string | undefined;
}

/** Returns the configured server whose variables or headers the flags set; undefined if the flags mean something else. */
async function entryToChange(context: CommandContext, name: string, flags: Flags): Promise<ChangedEntry | undefined> {
  const hasPairs = flags["env"] !== undefined || flags["header"] !== undefined;
  const others = ["from", "to", "user"].filter((flag) => flags[flag] !== undefined);
  if (!hasPairs || others.length > 0) return undefined;
  const { entries } = await readConfiguration(context);
  const entry = entries.find((it) => it.name === name);
  if (!entry) return undefined;
  const { file, product } = entry.source;
  const isOurs = isOwnFile(entry.source);
  if (!isOurs && flags["force"] !== true) {
    throw new Failure("denied", `${name} is in ${file}, which belongs to ${product}`, {
      next: againWith(context.system, "--force"),
    });
  }
  const isTrusted = await withHost(context, [entry], async (host) => host.isTrusted(name), { isQuiet: true });
  return { entry, isTrusted, product: isOurs ? undefined : product };
}

/** Adds the variables or headers of the flags to an entry. */
async function withPairs(context: CommandContext, entry: ConfiguredServer, flags: Flags) {
  const { name, configured, source } = entry;
  const isCommand = "command" in configured;
  const typed = entryFromCommandLine(
    { ...context, command: isCommand ? [configured.command] : [] },
    name,
    "url" in configured ? configured.url : undefined,
    flags,
  );
  const { entry: replaced, warnings } = await replaceSecrets(context, source.file, typed);
  const pairs = replaced.configured as Pairs;
  const { env, headers } = isOwnFile(source) ? pairs : await toNotationOf(source, pairs);
  const before = configured as Pairs;
  const target = {
    ...configured,
    ...(env && { env: { ...before.env, ...env } }),
    ...(headers && { headers: { ...before.headers, ...headers } }),
  };
  return { entry: { ...entry, configured: target } as ConfiguredServer, warnings };
}

/**
 * Adds the variables or headers of the flags to an entry from another file, and offers references for its secrets: that
 * file may be private, and the one to write part of a project.
 */
async function copyOf(context: CommandContext, found: ServerEntry, file: string, flags: Flags) {
  const { name, configured } = found;
  const { env = {}, headers = {} } = entryFromCommandLine(
    { ...context, command: "command" in configured ? [configured.command] : [] },
    name,
    "url" in configured ? configured.url : undefined,
    flags,
  ).configured as { env?: object; headers?: object };
  const own = configured as { env?: object; headers?: object };
  const target = {
    ...configured,
    ...(Object.keys(env).length > 0 && { env: { ...own.env, ...env } }),
    ...(Object.keys(headers).length > 0 && { headers: { ...own.headers, ...headers } }),
  } as ServerTarget;
  const again = againWith(context.system, "--force");
  const { entry, warnings } = await replaceSecrets(context, file, { ...found, configured: target }, (secret, all) => {
    const flagsOf = all.map(({ flag, pair }) => `${flag} '${pair}'`).join(" ");
    return `the value of ${secret} is copied to ${file} in clear; to keep it out: ${again} ${flagsOf}`;
  });
  if (JSON.stringify(entry.configured) === JSON.stringify(configured)) return { entry: found, warnings };
  // The references are written as in `.mcp.json`, unless the entry has others.
  const { source } = toEntry(name, target, { to: "" });
  return { entry: JSON.stringify(configured).includes("${") ? entry : { ...entry, source }, warnings };
}

/** Returns an entry. For another product its variables count as written for `.mcp.json`, so that they are translated. */
function toEntry(name: string, target: ServerTarget, flags: Flags): ServerEntry {
  const portable = { kind: "file", file: "", path: "", product: "claude-code", scope: "user" } as const;
  const source = flags["to"] === undefined ? ({ kind: "code" } as const) : portable;
  return { name, target, configured: target, settings: {}, source };
}

/** Returns the entry to copy: from a product or a file, otherwise the one that is configured under this name. */
async function entryToCopy(context: CommandContext, name: string, from: string | undefined): Promise<ServerEntry> {
  if (context.command.length > 0) throw new Failure("usage", "expected --from or a command after --, got both");
  if (from === undefined) return findByName(context, name);
  const { home, platform, env, cwd } = context.system;
  const product = aliases[from.toLowerCase()] ?? from.toLowerCase();
  const files = configProducts.includes(product)
    ? await findConfigs({ home, platform, env, cwd, products: [product] })
    : resolve(cwd, from);
  if (typeof files === "string" && !existsSync(files)) {
    throw new Failure(
      "usage",
      `--from: no product and no file is named ${JSON.stringify(from)}; products: ${configProducts.join(", ")}`,
    );
  }
  if (typeof files === "object" && files.length === 0)
    throw new Failure("usage", `${product} has no file for this folder or this user`, { next: "portolan servers" });
  const { entries, errors } = await readConfigs(files, { home, platform, env });
  const found = entries.find((entry) => entry.name === name);
  if (found) return found;
  for (const error of errors) throw error;
  const known = entries.map((entry) => entry.name).join(", ") || "none";
  throw new Failure("usage", `${from} has no server ${JSON.stringify(name)}; it has ${known}`);
}

/** Returns the file to write: of another product, the nearest `.mcp.json` of the project, or the user's own file. */
async function fileToWrite({ system }: CommandContext, to: string | undefined, isUser: boolean): Promise<string> {
  const { home, platform, env, cwd } = system;
  const machine = { home, platform, env, cwd };
  if (to !== undefined) {
    const [first, second] = isUser ? (["user"] as const) : (["project", "user"] as const);
    const file = (await productFile(to, first, machine)) ?? (second && (await productFile(to, second, machine)));
    if (file !== undefined) return file;
    throw new Failure("usage", `${to} reads no file of the user, only of a project; omit --user`);
  }
  if (isUser) return userFile(system);
  return (await productFile("claude-code", "project", machine)) ?? join(cwd, ".mcp.json");
}

/** Fails if the name is in use: in the file to write, or anywhere for a new server. */
async function requireNewName(context: CommandContext, name: string, file: string, isElsewhereFine: boolean) {
  const all = (await allEntries(context)).filter((entry) => entry.name === name);
  const known = all.find((entry) => fileOf(entry) === file) ?? (isElsewhereFine ? undefined : all[0]);
  if (!known) return;
  const message = `${fileOf(known)} already has a server ${JSON.stringify(name)}; --force replaces it`;
  throw new Failure("usage", message, { next: againWith(context.system, "--force") });
}

/** Returns the entries of all files. */
async function allEntries(context: CommandContext): Promise<readonly ServerEntry[]> {
  const { entries, shadowed } = await readConfiguration(context);
  return [...entries, ...shadowed.map((pair) => pair.shadowed)];
}

function fileOf({ source }: ServerEntry): string | undefined {
  return source.kind === "file" ? source.file : undefined;
}

/** Writes the bytes of a file beside it under the first free name. Only its owner can read the copy. */
async function backUp(file: string, bytes: Uint8Array): Promise<string> {
  for (let number = 1; ; number += 1) {
    const backup = number === 1 ? `${file}.bak` : `${file}.bak-${number}`;
    try {
      await writeFile(backup, bytes, { flag: "wx", mode: 0o600 });
      return backup;
    } catch (reason) {
      if ((reason as NodeJS.ErrnoException).code !== "EEXIST") throw reason;
    }
  }
}

interface Change {
  readonly replaced: ServerEntry | undefined;
  readonly given: ServerEntry;
  /** The file did not exist, or was empty. */
  readonly isNew: boolean;
}

/**
 * Returns the changed lines of an entry with `- ` or `+ ` before them, and without secrets. The other servers of the file
 * are left out, because their lines may hold anything: another entry stands for them.
 */
async function changedLines(
  { secrets }: CommandContext,
  options: { readonly file: string; readonly product: string },
  { replaced, given, isNew }: Change,
): Promise<string[]> {
  const linesOf = (text: string) => (text === "" ? [] : text.trimEnd().split("\n"));
  const write = (text: string, entry: ServerEntry) => editConfig(text, options, entry.name, entry);
  const other = toEntry(`${given.name}-`, { command: "x" }, { to: "" });
  const whole = async (entry: ServerEntry) => {
    const alone = await write("", entry);
    return isNew ? alone : write(alone, other);
  };
  // An entry that cannot be written again has no lines to compare.
  const before = replaced ? await whole(replaced).catch(() => "") : isNew ? "" : await write("", other);
  const old = linesOf(before);
  const now = linesOf(await whole(given));
  const start = countEqual(old.length, now.length, (at) => old[at] === now[at]);
  const end = countEqual(old.length - start, now.length - start, (at) => old.at(-1 - at) === now.at(-1 - at));
  const show = (lines: readonly string[], mark: string) =>
    linesOf(secrets.hide(lines.join("\n"))).map((line) => `${mark} ${line}`);
  const added = show(now.slice(start, now.length - end), "+");
  // The comma after a new entry belongs to the one that stands for the others.
  if (!replaced && !isNew) added.push(...added.splice(-1).map((line) => line.replace(/,$/, "")));
  return [...show(old.slice(start, old.length - end), "-"), ...added];
}

/** Counts the positions from 0 at which two lists are equal, up to the first difference. */
function countEqual(left: number, right: number, isEqual: (at: number) => boolean): number {
  const most = Math.min(left, right);
  let count = 0;
  while (count < most && isEqual(count)) count += 1;
  return count;
}

function showChanges(changes: readonly string[], screen: Screen): string {
  return changes
    .flatMap((line) => {
      const [first = "", ...rest] = wrap(screen.safe(line.trimEnd()), screen.columns - 4);
      return [first, ...rest.map((part) => `  ${part}`)].map((part) =>
        screen.style(line.startsWith("-") ? "red" : "green", `  ${part}`),
      );
    })
    .join("\n");
}

/** Reads the written entry back. */
async function findWritten(context: CommandContext, name: string, file: string) {
  const { entries, shadowed } = await readConfiguration(context);
  const isIt = (entry: ServerEntry) =>
    entry.name === name && entry.source.kind === "file" && entry.source.file === file;
  const used = entries.find(isIt);
  const hidden = used ? undefined : shadowed.find((pair) => isIt(pair.shadowed));
  const entry = used ?? hidden?.shadowed;
  if (!entry)
    throw new Failure("failed", `${JSON.stringify(name)} was written to ${file}, but cannot be read from there`, {
      next: "portolan doctor",
    });
  return { entry, isUsed: used !== undefined, usedFile: fileOf(hidden?.used ?? entry) ?? "another file" };
}

/** Returns what was written, without values that may be secrets. */
function withoutValues(written: ServerTarget): object {
  if ("command" in written) {
    const { command, args = [], cwd, env = {} } = written;
    return { command, args, ...(cwd !== undefined && { cwd }), env: Object.keys(env) };
  }
  return "url" in written ? { url: written.url, headers: Object.keys(written.headers ?? {}) } : {};
}
