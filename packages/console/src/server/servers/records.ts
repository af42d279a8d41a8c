import { createHash } from "node:crypto";
import type { LogLevel, Tool } from "portolan";
import type { CatalogTool, Host, HostEvent, ServerStatus } from "portolan-host";
import { appUriOf } from "portolan-host/apps";
import { estimateTokens } from "portolan-host/models";
import type { CatalogRecord, ServerRecord, ToolRow } from "../../api.ts";
import { type ConsoleBase, createSlices } from "../base.ts";
import { toPageText } from "../failure.ts";
import { sliceMs } from "../limits.ts";

/** The name by which a server says that it serves skills. */
const skillsExtension = "io.modelcontextprotocol/skills";

interface ServerFacts {
  state: string;
  since: number;
  logLevel: LogLevel;
  /** Counts the changes of its lists. */
  version: number;
  /** The lists when they were counted last. */
  lists: readonly unknown[];
  /** Tokens of its visible tools; measured again after a change. */
  toolTokens: number;
}

/** The servers of the host as records. */
export class ServerRecords {
  readonly #base: ConsoleBase;
  readonly #facts = new Map<string, ServerFacts>();

  constructor(base: ConsoleBase) {
    this.#base = base;
    for (const { name } of base.host.servers) this.#factsOf(name);
  }

  get all(): readonly ServerRecord[] {
    const { host } = this.#base;
    const features = countFeatures(host);
    return host.servers.map((status) => this.#record(status, features.get(status.name)));
  }

  hear(event: HostEvent): void {
    if (event.kind === "server") {
      if (event.status.state === "closed") this.#forget(event.server);
      else this.show(event.server);
    }
    if (event.kind === "catalog" || event.kind === "definition") this.toolsChanged(event.server);
    if (event.kind === "lost") for (const { name } of this.#base.host.servers) this.show(name);
  }

  /** Publishes one record. */
  show(name: string): void {
    const status = this.#base.host.servers.find((one) => one.name === name);
    if (!status) {
      this.#forget(name);
      return;
    }
    this.#base.publish({ kind: "server", server: this.#record(status, countFeatures(this.#base.host).get(name)) });
  }

  /** Something of the lists of a server changed. */
  toolsChanged(name: string): void {
    this.#factsOf(name).lists = [];
    this.show(name);
  }

  setLogLevel(name: string, level: LogLevel): void {
    this.#factsOf(name).logLevel = level;
    this.show(name);
  }

  async catalog(name: string): Promise<CatalogRecord> {
    const { host } = this.#base;
    const pause = createSlices(sliceMs);
    const tools: ToolRow[] = [];
    for (const tool of host.catalog.tools) {
      if (tool.server !== name) continue;
      tools.push(toRow(tool));
      await pause();
    }
    const instructions = host.catalog.instructions(name);
    return {
      server: name,
      digest: this.#digestOf(name),
      ...(instructions !== undefined && { instructions }),
      tools,
      prompts: ownOf(host.catalog.prompts, name),
      resources: ownOf(host.catalog.resources, name),
      templates: ownOf(host.catalog.templates, name),
      changed: host.changedDefinitions().flatMap(({ server, ...change }) => (server === name ? [change] : [])),
    };
  }

  #forget(name: string): void {
    if (this.#facts.delete(name)) this.#base.publish({ kind: "server-gone", name });
  }

  #factsOf(name: string): ServerFacts {
    const known = this.#facts.get(name);
    if (known) return known;
    const facts = { state: "", since: Date.now(), logLevel: "info" as const, version: 0, lists: [], toolTokens: 0 };
    this.#facts.set(name, facts);
    return facts;
  }

  #digestOf(name: string): string {
    return `${this.#base.boot}.${this.#factsOf(name).version}`;
  }

  /** Measures the tools of a server in slices, and publishes the result if it has changed. */
  #measure(name: string): void {
    const { version } = this.#factsOf(name);
    const measured = this.#measured(name);
    void measured.then((tokens) => {
      const facts = this.#factsOf(name);
      if (facts.version !== version || facts.toolTokens === tokens) return;
      facts.toolTokens = tokens;
      this.show(name);
    }, this.#base.onError);
  }

  async #measured(name: string): Promise<number> {
    const pause = createSlices(sliceMs);
    let tokens = 0;
    for (const tool of this.#base.host.catalog.tools) {
      if (tool.server === name && tool.isVisible) tokens += tokensOf(tool);
      await pause();
    }
    return tokens;
  }

  #record(status: ServerStatus, { first, ...counts }: CountedFeatures = noFeatures): ServerRecord {
    const { host } = this.#base;
    const { name, state, reason, profile, source, pid, startMs, restarts, retryInMs, listProblems = [] } = status;
    const facts = this.#factsOf(name);
    if (facts.state !== state) {
      facts.state = state;
      facts.since = Date.now();
    }
    // The catalog makes new objects whenever it has read the tools of a server again.
    const lists = [first, ...Object.values(counts)];
    if (lists.length !== facts.lists.length || lists.some((value, index) => value !== facts.lists[index])) {
      facts.lists = lists;
      facts.version += 1;
      this.#measure(name);
    }
    const { info } = profile ?? {};
    return {
      name,
      state,
      ...targetOf(host, name),
      from: source.kind === "file" ? source.file : "this console",
      since: facts.since,
      restarts,
      counts,
      catalog: this.#digestOf(name),
      toolTokens: facts.toolTokens,
      changed: host.changedDefinitions().filter((change) => change.server === name).length,
      hasSkills: profile?.capabilities.extensions?.[skillsExtension] !== undefined,
      listProblems: listProblems.map(({ message }) => toPageText(message)),
      cutLists: listProblems.filter(({ kind }) => kind === "truncated").map(({ list }) => list),
      isTrusted: isTrusted(host, name),
      logLevel: facts.logLevel,
      ...(reason !== undefined && { reason: toPageText(reason) }),
      ...(info?.title !== undefined && { title: info.title }),
      ...(info?.version !== undefined && { version: info.version }),
      ...(info?.icons && { icons: info.icons }),
      ...(profile && { revision: profile.version }),
      ...(pid !== undefined && { pid }),
      ...(startMs !== undefined && { startMs }),
      ...(retryInMs !== undefined && { retryInMs }),
    };
  }
}

/** Returns the digest of the facts of a trust decision. */
export function digestOf(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64url");
}

interface CountedFeatures {
  /** The first tool. */
  first: unknown;
  tools: number;
  resources: number;
  templates: number;
  prompts: number;
}

const noFeatures: CountedFeatures = { first: undefined, tools: 0, resources: 0, templates: 0, prompts: 0 };

function countFeatures({ catalog }: Host): Map<string, CountedFeatures> {
  const counts = new Map<string, CountedFeatures>();
  for (const list of ["tools", "resources", "templates", "prompts"] as const) {
    for (const feature of catalog[list]) {
      const own = counts.get(feature.server) ?? { ...noFeatures, first: list === "tools" ? feature : undefined };
      counts.set(feature.server, own);
      own[list] += 1;
    }
  }
  return counts;
}

function ownOf<T extends { readonly server: string }>(all: readonly T[], name: string): Omit<T, "server">[] {
  return all.flatMap(({ server, ...own }) => (server === name ? [own] : []));
}

/** Tokens by tool; a changed tool is another object. */
const measuredTools = new WeakMap<CatalogTool, number>();

/** Returns the estimated tokens of a tool as a model gets it. */
export function tokensOf(tool: CatalogTool): number {
  const known = measuredTools.get(tool);
  if (known !== undefined) return known;
  const { description, inputSchema } = tool.definition;
  const tokens = estimateTokens({
    name: tool.modelName,
    inputSchema,
    ...(description !== undefined && { description }),
  });
  measuredTools.set(tool, tokens);
  return tokens;
}

const rowDescriptionChars = 200;

function toRow(tool: CatalogTool): ToolRow {
  const { name, definition, digest, isVisible, isQuarantined } = tool;
  const { description, annotations = {} } = definition;
  const title = definition.title ?? annotations.title;
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description: description.slice(0, rowDescriptionChars) }),
    ...hintsFor(definition),
    isVisible,
    isQuarantined,
    hasApp: appUriOf(definition) !== undefined,
    tokens: tokensOf(tool),
    digest,
  };
}

/** A tool that changes something may destroy it, unless its server says otherwise. */
function hintsFor({ annotations = {} }: Tool): Pick<ToolRow, "isReadOnly" | "isDestructive" | "isUnmarked"> {
  const { readOnlyHint, destructiveHint } = annotations;
  const isReadOnly = readOnlyHint === true;
  const isUnmarked = readOnlyHint === undefined && destructiveHint === undefined;
  return { isReadOnly, isDestructive: !isReadOnly && !isUnmarked && destructiveHint !== false, isUnmarked };
}

/** Returns the command line or the address of a server as a trust question shows it: without secrets. */
function targetOf(host: Host, name: string): Pick<ServerRecord, "target" | "transport"> {
  const { lines } = host.trustSubject(name);
  const valuesOf = (start: string) => lines.filter(({ label }) => label.startsWith(start)).map(({ value }) => value);
  const [address] = valuesOf("Address");
  if (address !== undefined) return { target: withoutCredentials(address), transport: "http" };
  const [command] = valuesOf("Command");
  if (command === undefined) return { target: "", transport: "other" };
  const words = [command, ...valuesOf("Argument ")];
  return { target: words.map(quoted).join(" "), transport: "stdio" };
}

function quoted(word: string): string {
  return /^[\w@%+=:,./~-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

function withoutCredentials(address: string): string {
  try {
    const url = new URL(address);
    url.username = "";
    url.password = "";
    return url.href;
  } catch {
    return address;
  }
}

function isTrusted(host: Host, name: string): boolean {
  try {
    return host.isTrusted(name);
  } catch {
    // The server was removed meanwhile.
    return false;
  }
}
