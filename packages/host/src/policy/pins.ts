import type { Tool } from "portolan";
import { PortolanError } from "portolan";
import { checkOptions } from "portolan/internal";
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

/** The server of the pins. The same name with another configuration is another server. */
export interface PinnedServer {
  readonly server: string;
  readonly serverDigest: string;
}

/** A definition that differs from the one the user has seen. */
export interface ChangedDefinition {
  /** What has changed. */
  readonly kind: "tool" | "instructions";
  /** Name of the tool; `instructions` for the server's instructions. */
  readonly name: string;
  /** Digest of the new definition, needed to accept it. */
  readonly digest: string;
  /** The pinned definition; undefined if it was too large to store, or if there was no place for another pin. */
  readonly before: unknown;
  /** The new definition. */
  readonly after: unknown;
  /** The differences, one for each member. */
  readonly diff: readonly DefinitionChange[];
  /** When the pinned definition was first seen or accepted, in milliseconds since 1970; undefined for an old pin. */
  readonly acceptedAt?: number;
}

/** Result of comparing a server's definitions with its pins. */
export interface PinReport {
  /** True if the server had no pins before. */
  readonly isFirst: boolean;
  /** Unchanged tools. */
  readonly known: readonly string[];
  /** New tools, pinned now. */
  readonly fresh: readonly string[];
  /** Changed definitions, blocked until they are accepted. */
  readonly changed: readonly ChangedDefinition[];
  /** Pinned tools that are no longer listed. Their pins stay. */
  readonly gone: readonly string[];
  /** Digests of the known and fresh tools by name; grants are bound to them. */
  readonly digests: ReadonlyMap<string, string>;
}

/** The definitions of servers as the user first saw or later accepted them. */
export interface Pins {
  /** Pins new definitions and reports changed ones. Writes at most once. */
  check(server: PinnedServer, tools: readonly Tool[], instructions?: string): Promise<PinReport>;
  /** Pins a changed definition if its digest is still this one. */
  accept(server: PinnedServer, change: Pick<ChangedDefinition, "kind" | "name" | "digest">): Promise<boolean>;
  /** Deletes the pins of a server, so that its next listing counts as the first. */
  forget(server: PinnedServer): Promise<void>;
}

/** Options of `createPins`. */
export interface PinsOptions {
  /** Pinned tools of one server, removed ones included; further ones count as changed. Default: 10,000. */
  readonly maxTools?: number;
  /** A longer definition is pinned by its digest alone. Default: 65,536 characters. */
  readonly maxKeptChars?: number;
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number;
}

/** Opens the pins of a storage: one row for each server. */
export function createPins(kv: KeyValue, options: PinsOptions = {}): Pins {
  checkOptions(options, { maxTools: 1, maxKeptChars: 1, now: 1 }, "createPins");
  const { maxTools = maxPinnedTools, maxKeptChars = maxPinnedDefinitionChars, now = Date.now } = options;
  return new StoredPins(kv, { maxTools, maxKeptChars, now });
}

class StoredPins implements Pins {
  readonly #kv: KeyValue;
  readonly #options: Required<PinsOptions>;

  constructor(kv: KeyValue, options: Required<PinsOptions>) {
    this.#kv = kv;
    this.#options = options;
  }

  async check(server: PinnedServer, tools: readonly Tool[], instructions?: string): Promise<PinReport> {
    return this.#update(server, async (row) => {
      const report = new PinComparison(row, this.#options);
      // Without instructions at first sight, "none" is pinned. Later, missing instructions change nothing.
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
      const accepted: Pinned = { ...pinned.pending, acceptedAt: this.#options.now() };
      if (change.kind === "instructions") return { result: true, row: { ...row, instructions: accepted } };
      return { result: true, row: { ...row, tools: new Map(row.tools).set(change.name, accepted) } };
    });
  }

  async forget(server: PinnedServer): Promise<void> {
    await this.#kv.delete(keyOf(server));
  }

  /** Reads the row, changes it and writes it. Starts again if another process wrote first. */
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
      `The pins of ${server.server} could not be written: other processes changed them ${maxPinWrites} times meanwhile`,
    );
  }
}

interface PinUpdate<T> {
  readonly result: T;
  /** Absent if there is nothing to write. */
  readonly row?: PinRow;
}

function keyOf({ server, serverDigest }: PinnedServer): string {
  return `host/pins/${serverDigest}/${server}`;
}

/** Compares one listing with the row of its server. */
class PinComparison {
  readonly #row: PinRow | undefined;
  readonly #options: Required<PinsOptions>;
  readonly #tools: Map<string, Pinned>;
  #instructions: Pinned | undefined;
  #isDirty = false;
  readonly #known: string[] = [];
  readonly #fresh: string[] = [];
  readonly #changed: ChangedDefinition[] = [];
  readonly #digests = new Map<string, string>();
  readonly #quarantined = new Set<string>();

  constructor(row: PinRow | undefined, options: Required<PinsOptions>) {
    this.#row = row;
    this.#options = options;
    this.#tools = new Map(row?.tools);
    this.#instructions = row?.instructions;
  }

  async addTool(name: string, text: string): Promise<void> {
    const pinned = this.#tools.get(name);
    if (pinned === undefined && this.#tools.size >= this.#options.maxTools) {
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
    // A name that is listed twice with different definitions is not known.
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

  /** Returns the pin after this definition was seen; the same object if there is nothing to write. */
  async #compare(
    kind: "tool" | "instructions",
    name: string,
    pinned: Pinned | undefined,
    text: string,
  ): Promise<Pinned> {
    const isSame = pinned !== undefined && (pinned.text === undefined ? undefined : pinned.text === text);
    // Only changed or very large definitions are hashed: an unchanged listing costs no more than reading it.
    const digest = isSame === true ? pinned?.digest : await sha256(text);
    if (pinned === undefined || digest === pinned.digest) {
      if (kind === "tool" && digest !== undefined) this.#digests.set(name, digest);
      if (pinned && pinned.pending === undefined) return pinned;
      this.#isDirty = true;
      if (pinned) return withoutPending(pinned);
      return { ...this.#keep(digest ?? "", text), acceptedAt: this.#options.now() };
    }
    this.#quarantine(kind, name, digest ?? "", pinned, text);
    if (pinned.pending?.digest === digest) return pinned;
    this.#isDirty = true;
    return { ...pinned, pending: this.#keep(digest ?? "", text) };
  }

  #quarantine(
    kind: "tool" | "instructions",
    name: string,
    digest: string,
    pinned: Pinned | undefined,
    text: string,
  ): void {
    const { text: kept, acceptedAt } = pinned ?? {};
    const before: unknown = kept === undefined ? undefined : JSON.parse(kept);
    const after: unknown = JSON.parse(text);
    if (kind === "tool") this.#quarantined.add(name);
    const diff = diffDefinitions(before, after);
    this.#changed.push({ kind, name, digest, before, after, diff, ...(acceptedAt !== undefined && { acceptedAt }) });
  }

  #keep(digest: string, text: string): StoredDefinition {
    return text.length > this.#options.maxKeptChars ? { digest } : { digest, text };
  }
}

function withoutPending({ pending: _, ...pinned }: Pinned): Pinned {
  return pinned;
}

/** A pinned definition: its digest and, unless it is too large, its canonical text. */
export interface StoredDefinition {
  readonly digest: string;
  readonly text?: string;
}

/** The accepted definition, and a new one that waits for acceptance. */
export interface Pinned extends StoredDefinition {
  readonly pending?: StoredDefinition;
  /** Milliseconds since 1970. */
  readonly acceptedAt?: number;
}

/** All pins of one server. */
export interface PinRow {
  readonly tools: ReadonlyMap<string, Pinned>;
  readonly instructions?: Pinned;
}

/** Serializes a row. Once its definitions are longer than `maxChars` together, the rest is stored by digests alone. */
export function writeRow(row: PinRow, maxChars: number): string {
  let left = maxChars;
  const shorten = ({ digest, text }: StoredDefinition): StoredDefinition => {
    left -= text?.length ?? 0;
    return text === undefined || left < 0 ? { digest } : { digest, text };
  };
  const write = (pinned: Pinned): Pinned => {
    const { pending, acceptedAt } = pinned;
    return {
      ...shorten(pinned),
      ...(pending !== undefined && { pending: shorten(pending) }),
      ...(acceptedAt !== undefined && { acceptedAt }),
    };
  };
  const { instructions } = row;
  return JSON.stringify({
    // Pairs instead of an object, because a tool may be called __proto__.
    tools: [...row.tools].map(([name, pinned]) => [name, write(pinned)]),
    ...(instructions === undefined ? {} : { instructions: write(instructions) }),
  });
}

/** Parses a row; undefined if there is none. Throws if it is damaged, because ignoring it would lose the pins. */
export function parseRow(text: string | undefined): PinRow | undefined {
  if (text === undefined) return undefined;
  try {
    const { tools, instructions } = JSON.parse(text) as { tools: [string, Pinned][]; instructions?: Pinned };
    return { tools: new Map(tools), ...(instructions === undefined ? {} : { instructions }) };
  } catch (cause) {
    throw new PortolanError("store-failed", "The stored pins cannot be read: their format is unknown", { cause });
  }
}

/**
 * Returns a tool's definition as text that is equal for equal definitions. Icons and `_meta` are left out: they reach
 * neither the model nor the user, and servers change them with every listing (signed addresses, cache hints), which
 * would hide the changes that matter.
 */
export function canonicalDefinition(tool: Tool): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return canonicalJson({ name, title, description, inputSchema, outputSchema, annotations });
}

/** Returns the digest that grants and pins of a tool are bound to. */
export function definitionDigest(tool: Tool): Promise<string> {
  return sha256(canonicalDefinition(tool));
}

/** One difference between two definitions. A side without a value lacks its member. */
export interface DefinitionChange {
  /** Such as `inputSchema.properties.path.description`; empty for the whole definition. */
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Returns the deepest places that differ. Beyond 1,000 places or 64 levels, the value that contains them. */
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

/** Formats changes for a person: each place with its old and new value, escaped and complete. */
export function renderChanges(changes: readonly DefinitionChange[]): string {
  return changes
    .map((change) => [
      display(change.path || "whole definition"),
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
