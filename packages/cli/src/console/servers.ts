import { extname } from "node:path";
import type { TypedServer } from "portolan-console";
import type { FoundServer } from "portolan-console/api";
import type { ConfiguredServer, Host, ServerEntry } from "portolan-host";
import { writeServer } from "portolan-host/node";
import { splitWords } from "../arguments/split-words.ts";
import { secretTextsOf } from "../ask/typed-secrets.ts";
import type { CommandContext } from "../command.ts";
import { Failure } from "../failure.ts";
import { findTarget, inputPrefix, readConfiguration, toEntry, userFile } from "../servers/find-server.ts";
import { savedTarget } from "../servers/saved-target.ts";
import { applyTargetFlags } from "../servers/target-flags.ts";
import { quoteCommand } from "../terminal/escape.ts";

type Variables = { readonly [name: string]: string };

/** The servers of a console, and those that it could have. */
export class ConsoleServers {
  readonly #context: CommandContext;
  readonly #host: () => Host | undefined;
  /** The entries of the host's servers, also of those that it has no longer. */
  readonly #entries = new Map<string, ServerEntry>();
  /** Variables that the person has set, by server. */
  readonly #variables = new Map<string, Variables>();

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

  /**
   * Sets variables of a server for this host, and starts it again: for the placeholders of its entry, and in its environment. A value such as
   * `${env:NAME}` is the variable of the shell.
   */
  async setVariables(host: Host, name: string, given: Variables): Promise<void> {
    const entry = this.get(host, name);
    const values = Object.fromEntries(Object.entries(given).map(([key, value]) => [key, this.#valueOf(key, value)]));
    const variables = { ...this.#variables.get(name), ...values };
    const read = isFromFile(entry) ? await this.#readAgain(entry, variables) : entry;
    const own = Object.entries(variables).filter(([key]) => !key.startsWith(inputPrefix));
    // An address has no environment: the variables take the place of placeholders.
    const isCommand = read.problem === undefined && "command" in read.target;
    const env = own.map(([key, value]) => `${key}=${value}`);
    const changed = isCommand ? await applyTargetFlags(this.#context, read, { env }) : read;
    if (!isCommand && !isFromFile(entry)) throw new Failure("usage", `${name} has an address, and no environment`);
    await host.remove(name);
    await this.#add(host, changed).catch(async (reason: unknown) => {
      await host.add(name, entry);
      throw reason;
    });
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
  }
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
