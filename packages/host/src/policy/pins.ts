import type { Tool } from "portolan";
import { PortolanError } from "portolan";
import type { KeyValue } from "portolan/storage";
import { canonicalJson, sha256 } from "portolan/storage";
import { display, displayValue } from "../display/escape.ts";
import {
  maxDiffChanges,
  maxDiffDepth,
  maxPinnedDefinitionChars,
  maxPinnedServerChars,
  maxPinnedTools,
  maxPinWrites,
} from "../limits.ts";

/** Whose definitions are pinned: the same name reached in another way is another server. */
export interface PinnedServer {
  readonly server: string;
  readonly serverDigest: string;
}

/** A definition that is not the one the user has seen. */
export interface ChangedDefinition {
  readonly kind: "tool" | "instructions";
  /** The tool's name; `instructions` for the text about the whole server. */
  readonly name: string;
  /** To be accepted by: exactly what is shown here. */
  readonly digest: string;
  /** What was pinned; undefined where it was too large to keep, or where there was no place for another pin. */
  readonly before: unknown;
  readonly after: unknown;
  readonly diff: readonly DefinitionChange[];
}

/** How a server's definitions stand to what was pinned. */
export interface PinReport {
  /** Nothing was known of this server before. */
  readonly isFirst: boolean;
  /** As pinned. */
  readonly known: readonly string[];
  /** Seen for the first time, and pinned. */
  readonly fresh: readonly string[];
  /** Not as pinned, and not to be used before they are accepted. */
  readonly changed: readonly ChangedDefinition[];
  /** Pinned, and not offered any more; the pins stay. */
  readonly gone: readonly string[];
  /** The digests of what is known or fresh, by the tool's name: what grants are bound to. */
  readonly digests: ReadonlyMap<string, string>;
}

/** The definitions of servers as their user has first seen or later accepted them. */
export interface Pins {
  /** Pins what is new and reports what has changed; writes at most once. */
  check(server: PinnedServer, tools: readonly Tool[], instructions?: string): Promise<PinReport>;
  /** Takes a changed definition as the pinned one, if it is still the one with this digest. */
  accept(server: PinnedServer, change: Pick<ChangedDefinition, "kind" | "name" | "digest">): Promise<boolean>;
  /** Forgets a server, so that its next listing is the first. */
  forget(server: PinnedServer): Promise<void>;
}

/** The bounds of pins. */
export interface PinsOptions {
  /** Tools of one server that are pinned, those that are gone included; what comes later counts as changed. 10,000 unless given. */
  readonly maxTools?: number;
  /** A definition longer than this is pinned by its digest alone; 65,536 characters unless given. */
  readonly maxKeptChars?: number;
}

/** Pins over a storage: one row for each server. */
export function createPins(kv: KeyValue, options: PinsOptions = {}): Pins {
  return new StoredPins(kv, options.maxTools ?? maxPinnedTools, options.maxKeptChars ?? maxPinnedDefinitionChars);
}

class StoredPins implements Pins {
  readonly #kv: KeyValue;
  readonly #maxTools: number;
  readonly #maxKeptChars: number;

  constructor(kv: KeyValue, maxTools: number, maxKeptChars: number) {
    this.#kv = kv;
    this.#maxTools = maxTools;
    this.#maxKeptChars = maxKeptChars;
  }

  async check(server: PinnedServer, tools: readonly Tool[], instructions?: string): Promise<PinReport> {
    return this.#update(server, async (row) => {
      const report = new PinComparison(row, this.#maxTools, this.#maxKeptChars);
      // None at the first sight is pinned as none; none later takes nothing away from what the user has seen.
      const text = instructions ?? (row === undefined ? "" : undefined);
      if (text !== undefined) await report.addInstructions(text);
      for (const tool of tools) await report.addTool(tool.name, canonicalDefinition(tool));
      return report.finish(tools);
    });
  }

  async accept(server: PinnedServer, change: Pick<ChangedDefinition, "kind" | "name" | "digest">): Promise<boolean> {
    return this.#update(server, async (row) => {
      const pinned = change.kind === "instructions" ? row?.instructions : row?.tools.get(change.name);
      if (!row || pinned?.pending?.digest !== change.digest) return { result: false };
      const accepted: Pinned = { ...pinned.pending };
      if (change.kind === "instructions") return { result: true, row: { ...row, instructions: accepted } };
      return { result: true, row: { ...row, tools: new Map(row.tools).set(change.name, accepted) } };
    });
  }

  async forget(server: PinnedServer): Promise<void> {
    await this.#kv.delete(keyOf(server));
  }

  /** Reads the row, lets it be changed, and writes it unless another process was faster: then all over again. */
  async #update<T>(server: PinnedServer, change: (row: PinRow | undefined) => Promise<PinUpdate<T>>): Promise<T> {
    const key = keyOf(server);
    for (let attempt = 0; attempt < maxPinWrites; attempt++) {
      const text = await this.#kv.get(key);
      const { result, row } = await change(parseRow(text));
      if (row === undefined) return result;
      if (await this.#kv.set(key, writeRow(row, maxPinnedServerChars), { expect: text ?? null })) return result;
    }
    throw new PortolanError(
      "store-failed",
      `Pins of ${server.server}: others wrote them ${maxPinWrites} times meanwhile`,
    );
  }
}

interface PinUpdate<T> {
  readonly result: T;
  /** Absent when nothing is to be written. */
  readonly row?: PinRow;
}

function keyOf({ server, serverDigest }: PinnedServer): string {
  return `host/pins/${serverDigest}/${server}`;
}

/** One listing, compared with the row of its server. */
class PinComparison {
  readonly #row: PinRow | undefined;
  readonly #maxTools: number;
  readonly #maxKeptChars: number;
  readonly #tools: Map<string, Pinned>;
  #instructions: Pinned | undefined;
  #isDirty = false;
  readonly #known: string[] = [];
  readonly #fresh: string[] = [];
  readonly #changed: ChangedDefinition[] = [];
  readonly #digests = new Map<string, string>();
  readonly #quarantined = new Set<string>();

  constructor(row: PinRow | undefined, maxTools: number, maxKeptChars: number) {
    this.#row = row;
    this.#maxTools = maxTools;
    this.#maxKeptChars = maxKeptChars;
    this.#tools = new Map(row?.tools);
    this.#instructions = row?.instructions;
  }

  async addTool(name: string, text: string): Promise<void> {
    const pinned = this.#tools.get(name);
    if (pinned === undefined && this.#tools.size >= this.#maxTools) {
      this.#quarantine("tool", name, await sha256(text), undefined, text);
      return;
    }
    const updated = await this.#compare("tool", name, pinned, text);
    if (updated !== pinned) this.#tools.set(name, updated);
    if (pinned === undefined) this.#fresh.push(name);
    else if (updated.pending === undefined) this.#known.push(name);
  }

  async addInstructions(text: string): Promise<void> {
    const pinned = this.#instructions;
    this.#instructions = await this.#compare("instructions", "instructions", pinned, canonicalJson(text));
  }

  finish(tools: readonly Tool[]): PinUpdate<PinReport> {
    const offered = new Set(tools.map(({ name }) => name));
    // A name that comes twice with two meanings is not known, whichever comes first.
    const isFree = (name: string) => !this.#quarantined.has(name);
    for (const name of this.#quarantined) this.#digests.delete(name);
    const result: PinReport = {
      isFirst: this.#row === undefined,
      known: this.#known.filter(isFree),
      fresh: this.#fresh.filter(isFree),
      changed: this.#changed,
      gone: [...this.#tools.keys()].filter((name) => !offered.has(name)),
      digests: this.#digests,
    };
    if (!this.#isDirty) return { result };
    const instructions = this.#instructions;
    return { result, row: { tools: this.#tools, ...(instructions === undefined ? {} : { instructions }) } };
  }

  /** The pin after this was seen; the very same one when nothing is to be written. */
  async #compare(
    kind: "tool" | "instructions",
    name: string,
    pinned: Pinned | undefined,
    text: string,
  ): Promise<Pinned> {
    const isSame = pinned !== undefined && (pinned.text === undefined ? undefined : pinned.text === text);
    // Hashing is for what has changed or is too large to compare: a listing that is as before costs no more than reading it.
    const digest = isSame === true ? pinned?.digest : await sha256(text);
    if (pinned === undefined || digest === pinned.digest) {
      if (kind === "tool" && digest !== undefined) this.#digests.set(name, digest);
      if (pinned && pinned.pending === undefined) return pinned;
      this.#isDirty = true;
      return pinned ? withoutPending(pinned) : this.#keep(digest ?? "", text);
    }
    this.#quarantine(kind, name, digest ?? "", pinned.text, text);
    if (pinned.pending?.digest === digest) return pinned;
    this.#isDirty = true;
    return { ...pinned, pending: this.#keep(digest ?? "", text) };
  }

  #quarantine(
    kind: "tool" | "instructions",
    name: string,
    digest: string,
    kept: string | undefined,
    text: string,
  ): void {
    const before: unknown = kept === undefined ? undefined : JSON.parse(kept);
    const after: unknown = JSON.parse(text);
    if (kind === "tool") this.#quarantined.add(name);
    this.#changed.push({ kind, name, digest, before, after, diff: diffDefinitions(before, after) });
  }

  #keep(digest: string, text: string): StoredDefinition {
    return text.length > this.#maxKeptChars ? { digest } : { digest, text };
  }
}

function withoutPending({ digest, text }: Pinned): Pinned {
  return text === undefined ? { digest } : { digest, text };
}

/** A definition that was seen: its digest and, unless it was too large, its canonical text. */
export interface StoredDefinition {
  readonly digest: string;
  readonly text?: string;
}

/** The definition that counts, and another that waits to be accepted. */
export interface Pinned extends StoredDefinition {
  readonly pending?: StoredDefinition;
}

/** What is kept of one server. */
export interface PinRow {
  readonly tools: ReadonlyMap<string, Pinned>;
  readonly instructions?: Pinned;
}

/** A row as text; once the definitions are longer than `maxChars` together, the rest is kept by digests alone. */
export function writeRow(row: PinRow, maxChars: number): string {
  let left = maxChars;
  const shorten = ({ digest, text }: StoredDefinition): StoredDefinition => {
    left -= text?.length ?? 0;
    return text === undefined || left < 0 ? { digest } : { digest, text };
  };
  const write = (pinned: Pinned): Pinned => {
    const { pending } = pinned;
    return pending === undefined ? shorten(pinned) : { ...shorten(pinned), pending: shorten(pending) };
  };
  const { instructions } = row;
  return JSON.stringify({
    // Pairs and no object: a tool may be called __proto__.
    tools: [...row.tools].map(([name, pinned]) => [name, write(pinned)]),
    ...(instructions === undefined ? {} : { instructions: write(instructions) }),
  });
}

/** The row of a text; nothing where there is none. What cannot be read is an error: to forget pins is to lose them. */
export function parseRow(text: string | undefined): PinRow | undefined {
  if (text === undefined) return undefined;
  try {
    const { tools, instructions } = JSON.parse(text) as { tools: [string, Pinned][]; instructions?: Pinned };
    return { tools: new Map(tools), ...(instructions === undefined ? {} : { instructions }) };
  } catch (cause) {
    throw new PortolanError("store-failed", "Pins: expected a row of our own, got something else", { cause });
  }
}

/**
 * What a tool's definition means, as text that is the same for equal definitions. Icons and `_meta` are left out:
 * neither reaches the model nor the consent, and servers change them at every listing (signed addresses, hints for
 * caches), which would bury the changes that matter.
 */
export function canonicalDefinition(tool: Tool): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return canonicalJson({ name, title, description, inputSchema, outputSchema, annotations });
}

/** What grants and pins of a tool are bound to. */
export function definitionDigest(tool: Tool): Promise<string> {
  return sha256(canonicalDefinition(tool));
}

/** One difference between two definitions; a side that has nothing there lacks its member. */
export interface DefinitionChange {
  /** Such as `inputSchema.properties.path.description`; empty for the whole. */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** What is different, the deepest place that tells it; beyond 1,000 places or 64 levels, the value that holds them. */
export function diffDefinitions(before: unknown, after: unknown): DefinitionChange[] {
  const changes: DefinitionChange[] = [];
  compare(before, after, "", 0, changes);
  return changes;
}

function compare(before: unknown, after: unknown, path: string, depth: number, changes: DefinitionChange[]): void {
  if (before === after) return;
  const canGoOn = depth < maxDiffDepth && changes.length < maxDiffChanges;
  if (canGoOn && isObject(before) && isObject(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(member(before, name), member(after, name), path === "" ? name : `${path}.${name}`, depth + 1, changes);
    }
    return;
  }
  if (isObject(before) && isObject(after) && canonicalJson(before) === canonicalJson(after)) return;
  changes.push({
    path,
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
  });
}

/** Changes as text for a person: each place, what stood there and what stands there now, escaped and whole. */
export function renderChanges(changes: readonly DefinitionChange[]): string {
  return changes
    .map((change) => [
      display(change.path || "all of it"),
      ...side("-", change, "before"),
      ...side("+", change, "after"),
    ])
    .map((lines) => lines.join("\n"))
    .join("\n");
}

function side(sign: string, change: DefinitionChange, name: "before" | "after"): string[] {
  if (!Object.hasOwn(change, name)) return [];
  const value = change[name];
  const text = typeof value === "string" ? display(value, { lines: "keep" }) : displayValue(value);
  return text.split("\n").map((line) => `${sign} ${line}`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function member(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? value[name as keyof typeof value] : undefined;
}
