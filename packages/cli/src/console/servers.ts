import { extname } from "node:path";
import type { ServerChange, TypedServer } from "portolan-console";
import type { EditableServer, FoundServer } from "portolan-console/api";
import type { ConfiguredServer, Host, ServerEntry } from "portolan-host";
import { writeServer } from "portolan-host/node";
import { splitWords } from "../arguments/split-words.ts";
import { secretTextsOf } from "../ask/typed-secrets.ts";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { findTarget, inputPrefix, readConfiguration, toEntry, userFile } from "../servers/find-server.ts";
import { savedTarget } from "../servers/saved-target.ts";
import { applyTargetFlags } from "../servers/target-flags.ts";
import { quote, quoteCommand } from "../terminal/escape.ts";

type Variables = { readonly [name: string]: string };

/** The servers of a console, and those that it could have. */
export class ConsoleServers {
  readonly #context: CommandContext;
  readonly #host: () => Host | undefined;
  /** The entries of the host's servers, also of those that it has no longer. */
  readonly #entries = new Map<string, ServerEntry>();
  /** Variables that the person has set, by server. */
  readonly #variables = new Map<string, Variables>();
  /** The files of servers that the person has changed here, which differ from them. Undefined for a typed server. */
  readonly #edited = new Map<string, string | undefined>();

  constructor(context: CommandContext, entries: readonly ServerEntry[], host: () => Host | undefined) {
    this.#context = context;
    this.#host = host;
    for (const entry of entries) this.#entries.set(entry.name, entry);
  }

  /** Returns the entry of a server of the host. */
  get(host: Host, name: string): ServerEntry {
    const entry = this.#entries.get(name);
    if (entry && isHosted(host, name)) return entry;
    throw new Failure("usage", isHosted(host, name) ? `${name} is made by the console itself` : `no server ${name}`);
  }

  /** Returns the words by which a saved call names a server. One that the host does not have keeps its name. */
  savedTarget(host: Host, name: string): string {
    const entry = isHosted(host, name) ? this.#entries.get(name) : undefined;
    return entry ? savedTarget(entry, this.#context) : name;
  }

  /** Lists the servers in the configuration files of all products. */
  async find(): Promise<{ readonly servers: readonly FoundServer[]; readonly problems: readonly string[] }> {
    const { entries, shadowed, errors, notes } = await readConfiguration(this.#context);
    const all = [...entries, ...shadowed.map((pair) => pair.shadowed)].filter(isFromFile);
    const servers = all.map((entry): FoundServer => {
      const { name, source, problem } = entry;
      const host = this.#host();
      const known = !host || isHosted(host, name) ? this.#entries.get(name) : undefined;
      return {
        name,
        product: source.product,
        file: source.file,
        target: describeTarget(entry),
        isKnown: known !== undefined && isFromFile(known) && known.source.file === source.file,
        ...(problem !== undefined && { problem }),
      };
    });
    return this.#context.secrets.hideIn({ servers, problems: [...errors.map(({ message }) => message), ...notes] });
  }

  /** Adds a server from the file of a product. It waits for trust, as any server from a file. */
  async adopt(host: Host, name: string, file: string): Promise<void> {
    const { entries, shadowed } = await readConfiguration(this.#context);
    const all = [...entries, ...shadowed.map((pair) => pair.shadowed)].filter(isFromFile);
    const found = all.find((entry) => entry.name === name && entry.source.file === file);
    if (!found) throw new Failure("usage", `${file} has no server ${JSON.stringify(name)}`);
    await this.#add(host, found);
  }

  /** Adds a server that the person has typed. */
  async add(host: Host, typed: TypedServer): Promise<void> {
    const entry = await this.#toEntry(typed);
    this.#context.secrets.add(secretTextsOf(entry));
    if (typed.keep !== true) {
      await this.#add(host, entry);
      return;
    }
    const { name } = entry;
    const before = await readConfiguration(this.#context);
    const known = before.entries.find((it) => it.name === name);
    if (known || isHosted(host, name)) {
      throw new Failure("usage", `a server ${JSON.stringify(name)} exists already`, { next: "choose another name" });
    }
    const file = userFile(this.#context.system);
    await writeServer(file, name, entry, { lock: { onWait: this.#context.state.onWait } });
    const { entries } = await readConfiguration(this.#context);
    const written = entries.find((it) => it.name === name && it.source.file === file);
    if (!written) throw new Failure("failed", `${name} was written to ${file}, but cannot be read from there`);
    await this.#add(host, written);
    // The person typed it, and agrees to it by that.
    if (written.problem === undefined) await host.trust(name, { allow: true, for: "always" });
  }

  /** Returns what a person can change of a server, without secrets. */
  entry(host: Host, name: string): EditableServer {
    const { target, ...entry } = this.get(host, name);
    if ("open" in target) throw new Failure("usage", `${name} is made by the console itself`);
    const words = wordsOf(target, this.#context.system.self);
    const typed = words.map(quote).join(" ");
    const isSecret = quoteCommand(words) !== typed || this.#context.secrets.hide(typed) !== typed;
    const file = userFile(this.#context.system);
    const origin = this.#originOf(entry);
    const canKeep = origin === undefined || origin === file;
    return {
      target: isSecret ? "" : typed,
      isAddress: "url" in target,
      names: Object.keys(pairsOf(target)),
      ...(canKeep && { file }),
    };
  }

  /** Changes a server as the person has typed it, and starts it again. */
  async replace(host: Host, name: string, change: ServerChange): Promise<void> {
    const before = this.get(host, name);
    const { target, file } = this.entry(host, name);
    const isSame = change.target === undefined || change.target.trim() === target;
    const entry = isSame ? this.#withPairs(before, change) : await this.#retyped(before, change);
    this.#context.secrets.add(secretTextsOf(entry));
    const wasTrusted = host.isTrusted(name);
    const next = change.keep ? await this.#write(before, entry, file) : entry;
    await host.replace(name, next);
    this.#entries.set(name, next);
    if (change.keep) this.#edited.delete(name);
    else this.#edited.set(name, this.#originOf(before));
    // A variable that the person has removed must not come back with the next repair.
    const isLeft = ([key]: readonly [string, string]) => key.startsWith(inputPrefix) || key in pairsOf(next.target);
    this.#variables.set(name, Object.fromEntries(Object.entries(this.#variables.get(name) ?? {}).filter(isLeft)));
    // The person who typed the change agrees to it, not to what was there and was never trusted.
    const isAgreed = wasTrusted || !isSame;
    if (change.keep && isAgreed && next.problem === undefined) await host.trust(name, { allow: true, for: "always" });
    if (host.isTrusted(name)) host.start(name).catch(() => {});
  }

  /** Returns the file that a server came from. */
  #originOf({ name, source }: Pick<ServerEntry, "name" | "source">): string | undefined {
    return source.kind === "file" ? source.file : this.#edited.get(name);
  }

  /** Returns the entry with other variables or headers. It stays the server that was trusted, with its grants. */
  #withPairs(entry: ServerEntry, { env, headers }: ServerChange): ServerEntry {
    const { target } = entry;
    const given = "url" in target ? headers : env;
    if (("url" in target ? env : headers) !== undefined) throw wrongPairs("url" in target);
    if (given === undefined) return entry;
    const pairs = this.#mergePairs(pairsOf(target), given, "url" in target);
    const changed = "url" in target ? { ...target, headers: pairs } : { ...target, env: pairs };
    const { problem, ...rest } = { ...entry, target: changed as ServerEntry["target"] };
    const isOpen = (one: object) => JSON.stringify(one).includes("${");
    const isSolved = problem === undefined || (isOpen(target) && !isOpen(changed));
    return isSolved ? rest : { ...rest, problem };
  }

  /** Returns the entry with another command or address. The person has typed it, so it is none of the file any more. */
  async #retyped(entry: ServerEntry, { target = "", env, headers, keep }: ServerChange): Promise<ServerEntry> {
    const { name, settings, source } = entry;
    const typed = await this.#toEntry({ name, target });
    const isAddress = "url" in typed.target;
    if ((isAddress ? env : headers) !== undefined) throw wrongPairs(isAddress);
    // A header is for one origin: its value must not go to another one unseen.
    const old = originOf(typed.target) === originOf(entry.target) ? entry.target : undefined;
    const given = isAddress ? headers : env;
    const pairs = given ? this.#mergePairs(pairsOf(old), given, isAddress) : pairsOf(old);
    const cwd = old && "command" in old && old.cwd !== undefined ? { cwd: old.cwd } : {};
    const changed = { ...typed.target, ...(isAddress ? { headers: pairs } : { ...cwd, env: pairs }) };
    const { oauth } = entry as Partial<ConfiguredServer>;
    return {
      ...typed,
      ...{ target: changed as ServerEntry["target"], configured: changed as ServerEntry["target"] },
      // The labels of a server from a file were believed for its old command only.
      settings: { ...settings, ...(source.kind === "file" && !keep && { trustHints: settings.trustHints ?? false }) },
      ...(isAddress && old && oauth && { oauth }),
    };
  }

  /** Returns all pairs with their values; `null` takes the value that the server has. */
  #mergePairs(known: Variables, given: NonNullable<ServerChange["env"]>, isAddress: boolean): Variables {
    return Object.fromEntries(
      Object.entries(given).map(([key, value]) => {
        if (value !== null) return [key, isAddress ? value : this.#valueOf(key, value)];
        const kept = known[key];
        if (kept === undefined) throw new Failure("usage", `${key} has no value that could be kept; type one`);
        return [key, kept];
      }),
    );
  }

  /** Writes a changed server to the file of the user, and reads it from there. */
  async #write(before: ServerEntry, entry: ServerEntry, file: string | undefined): Promise<ServerEntry> {
    const { name } = entry;
    const origin = this.#originOf(before);
    if (file === undefined) {
      throw new Failure("usage", `${name} is configured in ${origin}, which the console does not change`, {
        next: "change it there, or do not keep the change",
      });
    }
    const inFile = (entries: readonly ConfiguredServer[]) => entries.find((it) => it.name === name);
    const known = inFile((await readConfiguration(this.#context)).entries);
    if (known && known.source.file !== origin) {
      throw new Failure("usage", `a server ${JSON.stringify(name)} exists already in ${known.source.file}`);
    }
    // Values that were kept stay the placeholders that they are in the file.
    const typed = this.#variables.get(name) ?? {};
    const configured = withPlaceholders(before, entry, typed);
    await writeServer(file, name, { ...entry, configured }, { lock: { onWait: this.#context.state.onWait } });
    const written = inFile((await readConfiguration(this.#context, undefined, typed)).entries);
    if (written?.source.file !== file) {
      throw new Failure("failed", `${name} was written to ${file}, but cannot be read from there`);
    }
    if (!("command" in written.target)) return written;
    // What was typed for this run of the console alone stays in it, and out of the file.
    const now = pairsOf(entry.target);
    const ofRun = Object.entries(typed).filter(([key, value]) => now[key] === value);
    return { ...written, target: { ...written.target, env: { ...written.target.env, ...Object.fromEntries(ofRun) } } };
  }

  /**
   * Sets variables of a server for this host, and starts it again: for the placeholders of its entry, and in its environment. A value such as
   * `${env:NAME}` is the variable of the shell.
   */
  async setVariables(host: Host, name: string, given: Variables): Promise<void> {
    const entry = this.get(host, name);
    const values = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, this.#valueOf(key, value)]));
    const variables = { ...this.#variables.get(name), ...values };
    const isAsInFile = isFromFile(entry) && !this.#edited.has(name);
    const read = isAsInFile ? await this.#readAgain(entry, variables) : entry;
    const own = Object.entries(variables).filter(([key]) => !key.startsWith(inputPrefix));
    // An address has no environment: the variables take the place of placeholders.
    const isCommand = read.problem === undefined && "command" in read.target;
    const env = own.map(([key, value]) => `${key}=${value}`);
    const changed = isCommand ? await applyTargetFlags(this.#context, read, { env }) : read;
    if (!isCommand && !isFromFile(entry)) throw new Failure("usage", `${name} has an address, and no environment`);
    await host.replace(name, changed);
    this.#entries.set(name, changed);
    this.#variables.set(name, variables);
    // A start that fails is shown as the state of the server.
    if (host.isTrusted(name)) host.start(name).catch(() => {});
  }

  #valueOf(name: string, value: string): string {
    if (!/^[A-Za-z_]\w*$/.test(name)) throw new Failure("usage", `${JSON.stringify(name)} is no name of a variable`);
    const [, variable] = /^\$\{env:(\w+)\}$/.exec(value) ?? [];
    if (variable === undefined) return value;
    const found = this.#context.system.env[variable];
    if (found === undefined) throw new Failure("usage", `your shell has no variable ${variable}`);
    return found;
  }

  /** Reads an entry again, with more variables for its placeholders. */
  async #readAgain(entry: ConfiguredServer, variables: Variables): Promise<ServerEntry> {
    const { entries, shadowed } = await readConfiguration(this.#context, undefined, variables);
    const all = [...entries, ...shadowed.map((pair) => pair.shadowed)].filter(isFromFile);
    const found = all.find((it) => it.name === entry.name && it.source.file === entry.source.file);
    if (!found) throw new Failure("usage", `${entry.source.file} has no server ${JSON.stringify(entry.name)} any more`);
    // The flags of the command line still hold.
    return { ...found, settings: { ...found.settings, ...entry.settings } };
  }

  async #toEntry({ name, target, env = {}, headers = {} }: TypedServer): Promise<ServerEntry> {
    if (name.trim() === "" || /\p{Cc}/u.test(name)) throw new Failure("usage", "expected a name for the server");
    const isAddress = /^https?:\/\//i.test(target.trim());
    if (isAddress && Object.keys(env).length > 0) {
      throw new Failure("usage", "an address has no variables; give it headers");
    }
    if (isAddress) {
      const url = target.trim();
      if (!URL.canParse(url)) throw new Failure("usage", `expected an address, got ${JSON.stringify(url)}`);
      return toEntry(name, { url, ...(Object.keys(headers).length > 0 && { headers }) });
    }
    if (Object.keys(headers).length > 0) throw new Failure("usage", "a command has no headers; give it variables");
    const { system } = this.#context;
    const [command = "", ...args] = splitWords(target, system.platform);
    if (command === "") throw new Failure("usage", "expected a command or an address");
    const pairs = Object.entries(env).map(([key, value]) => `${key}=${this.#valueOf(key, value)}`);
    if (args.length === 0 && fileNames.has(extname(command))) {
      const { entry } = await findTarget({ ...this.#context, command: [] }, command, { env: pairs });
      return { ...entry, name };
    }
    return applyTargetFlags(this.#context, toEntry(name, { command, args, cwd: system.cwd }), { env: pairs });
  }

  async #add(host: Host, entry: ServerEntry): Promise<void> {
    await host.add(entry.name, entry);
    this.#entries.set(entry.name, entry);
    this.#edited.delete(entry.name);
  }
}

/** Returns the variables or headers of a target. */
function pairsOf(target: ServerEntry["target"] | undefined): Variables {
  if (target === undefined || "open" in target) return {};
  const { env = {}, headers = {} } = target as { readonly env?: Variables; readonly headers?: Variables };
  return "url" in target ? headers : env;
}

/** Returns the origin of an address. Commands have none. */
function originOf(target: ServerEntry["target"]): string | undefined {
  return "url" in target && URL.canParse(target.url) ? new URL(target.url).origin : undefined;
}

function wrongPairs(isAddress: boolean): Failure {
  return new Failure(
    "usage",
    isAddress ? "an address has no variables; give it headers" : "a command has no headers; give it variables",
  );
}

/** Returns the words by which a person types a target. */
function wordsOf(target: ServerEntry["target"], self: string): readonly string[] {
  if ("url" in target) return [target.url];
  if (!("command" in target)) return [];
  const { command, args = [] } = target;
  const [program, , file = ""] = args;
  return program === self ? [file] : [command, ...args];
}

/** Returns the target to write: a value that is the same as before is written as it was. `ofRun` is left out. */
function withPlaceholders(before: ServerEntry, { target }: ServerEntry, ofRun: Variables): ServerEntry["target"] {
  if ("open" in target) return target;
  const [old, written] = [pairsOf(before.target), pairsOf(before.configured)];
  const pairs = Object.fromEntries(
    Object.entries(pairsOf(target)).flatMap(([key, value]) => {
      const isKept = old[key] === value;
      if (isKept && written[key] === undefined && ofRun[key] === value) return [];
      return [[key, isKept ? (written[key] ?? value) : value]];
    }),
  );
  const isSame = JSON.stringify(wordsOf(before.target, "")) === JSON.stringify(wordsOf(target, ""));
  const base = isSame ? before.configured : target;
  return ("url" in target ? { ...base, headers: pairs } : { ...base, env: pairs }) as ServerEntry["target"];
}

/** Files that this command serves itself. */
const fileNames = new Set([".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsonl", ".ndjson"]);

function isHosted(host: Host, name: string): boolean {
  return host.servers.some((server) => server.name === name);
}

function isFromFile(entry: ServerEntry): entry is ConfiguredServer {
  return entry.source.kind === "file" && "raw" in entry;
}

/** Returns the command line or the address as it is configured, without secrets. */
function describeTarget({ configured }: ServerEntry): string {
  if ("command" in configured) return quoteCommand([configured.command, ...(configured.args ?? [])]);
  return "url" in configured ? quoteCommand([configured.url]) : "";
}
