import { PortolanError } from "../../errors.ts";
import { defaultLimit } from "../limits.ts";
import type { KeyListOptions, KeyValue, KeyValueEntry, SetOptions } from "../storage.ts";
import type { Commands } from "./commands.ts";
import { indexGraceMs, maxTtlMs, sweptEntries, valuesPerRead, writesPerSweep } from "./limits.ts";
import { compareAndSet, sampleIndex, settleIndex, touchIndex, whichExist } from "./scripts.ts";
import { compareCodePoints, decodeText, encodeText } from "./text.ts";

/**
 * Values under keys of their own, and one sorted set with the names of all, for `list`. In a cluster the two are on
 * different nodes, so that no command can write both: the name is written first. A name without a value is left out of
 * lists, and is removed later.
 */
export class RedisKeyValue implements KeyValue {
  readonly #commands: Commands;
  readonly #prefix: string;
  /** The names, and those of them whose value was found missing, with the time. Both are in one slot. */
  readonly #index: string;
  readonly #gone: string;
  readonly #report: (error: unknown) => void;
  #writes = 0;
  #isSweeping = false;

  constructor(commands: Commands, prefix: string, report: (error: unknown) => void) {
    this.#commands = commands;
    this.#prefix = `${prefix}:kv:`;
    this.#index = `${prefix}:{index}`;
    this.#gone = `${prefix}:{index}:gone`;
    this.#report = report;
  }

  async get(key: string): Promise<string | undefined> {
    const place = this.#placeOf(encodeText(key));
    return toValue(await this.#commands.run({ operation: "kv.get", key: place, args: ["GET", place], writes: false }));
  }

  async set(key: string, value: string, { ttlMs, expect }: SetOptions = {}): Promise<boolean> {
    const ttl = ttlMs === undefined ? "" : toTtl(ttlMs);
    const name = encodeText(key);
    const listed = this.#onIndex("kv.set", touchIndex, [name]);
    // One server keeps the order of commands. Of two, the second must not be asked before the first has answered.
    if (this.#commands.isCluster) await listed;
    const [, reply] = await Promise.all([listed, this.#write(this.#placeOf(name), encodeText(value), ttl, expect)]);
    this.#sweepNow();
    return reply === 1 || reply === "OK";
  }

  async delete(key: string): Promise<void> {
    const name = encodeText(key);
    const place = this.#placeOf(name);
    const deleted = this.#commands.run({ operation: "kv.delete", key: place, args: ["DEL", place], writes: true });
    if (this.#commands.isCluster) await deleted;
    const [value, mark] = await Promise.allSettled([deleted, this.#settle("kv.delete", [name], [])]);
    if (value.status === "rejected") throw value.reason;
    // The value is gone. A name without a mark is left out of lists too, and a sweep finds it.
    if (mark.status === "rejected") this.#report(mark.reason);
    this.#sweepNow();
  }

  async list(prefix: string, { after, limit = defaultLimit }: KeyListOptions = {}): Promise<KeyValueEntry[]> {
    const start = encodeText(prefix);
    const last = after === undefined ? undefined : encodeText(after);
    const found: KeyValueEntry[] = [];
    const missing: string[] = [];
    let from = start === "" ? "-" : `[${start}`;
    if (last !== undefined && compareCodePoints(last, start) >= 0) from = `(${last}`;
    for (let isOver = false; !isOver && found.length < limit; ) {
      const count = Math.min(limit - found.length, valuesPerRead);
      const page = await this.#names(from, count);
      const names = page.filter((name) => name.startsWith(start));
      isOver = names.length < count;
      from = `(${names.at(-1)}`;
      const values = await this.#values(names);
      for (const [at, name] of names.entries()) {
        const value = values[at];
        if (value === undefined) missing.push(name);
        else found.push({ key: decodeText(name), value });
      }
    }
    if (missing.length > 0) await this.#settle("kv.list", missing, []).catch(this.#report);
    return found;
  }

  #placeOf(name: string): string {
    return this.#prefix + name;
  }

  #write(place: string, value: string, ttl: string, expect: string | null | undefined): Promise<unknown> {
    const write = (...args: string[]) => this.#commands.run({ operation: "kv.set", key: place, args, writes: true });
    if (typeof expect === "string") return write("EVAL", compareAndSet, "1", place, encodeText(expect), value, ttl);
    return write("SET", place, value, ...(ttl === "" ? [] : ["PX", ttl]), ...(expect === null ? ["NX"] : []));
  }

  #onIndex(operation: string, script: string, args: readonly string[]): Promise<unknown> {
    const words = ["EVAL", script, "2", this.#index, this.#gone, ...args];
    const leavesReserve = operation === sweep;
    return this.#commands.run({ operation, key: this.#index, args: words, writes: true, leavesReserve });
  }

  async #names(from: string, count: number): Promise<string[]> {
    const args = ["ZRANGEBYLEX", this.#index, from, "+", "LIMIT", "0", String(count)];
    return toTexts(await this.#commands.run({ operation: "kv.list", key: this.#index, args, writes: false }));
  }

  async #values(names: readonly string[]): Promise<(string | undefined)[]> {
    const places = names.map((name) => this.#placeOf(name));
    const read = (key: string, ...args: string[]) =>
      this.#commands.run({ operation: "kv.list", key, args, writes: false });
    const [first] = places;
    if (first === undefined) return [];
    const replies = this.#commands.isCluster
      ? await Promise.all(places.map((place) => read(place, "GET", place)))
      : ((await read(first, "MGET", ...places)) as unknown[]);
    return replies.map(toValue);
  }

  async #settle(operation: string, missing: readonly string[], present: readonly string[]): Promise<void> {
    const grace = String(indexGraceMs);
    await this.#onIndex(operation, settleIndex, [grace, String(missing.length), ...missing, ...present]);
  }

  /** With some writes, looks at names that are due and at a few others, so that names without a value do not pile up. */
  #sweepNow(): void {
    this.#writes += 1;
    if (this.#writes % writesPerSweep !== 0 || this.#isSweeping) return;
    this.#isSweeping = true;
    const over = () => {
      this.#isSweeping = false;
    };
    this.#sweep().catch(this.#report).then(over, over);
  }

  async #sweep(): Promise<void> {
    const sample = [String(indexGraceMs), String(Math.random()), String(sweptEntries)];
    const names = [...new Set(toTexts(await this.#onIndex(sweep, sampleIndex, sample)))];
    const found = await this.#exist(names);
    const missing = names.filter((_, at) => !found[at]);
    // All that are listed and exist need no mark. Most have none.
    const present = names.filter((_, at) => found[at]);
    if (missing.length > 0) await this.#settle(sweep, missing, present);
  }

  async #exist(names: readonly string[]): Promise<boolean[]> {
    const places = names.map((name) => this.#placeOf(name));
    const ask = (key: string, ...args: string[]) =>
      this.#commands.run({ operation: sweep, key, args, writes: false, leavesReserve: true });
    const [first] = places;
    if (first === undefined) return [];
    const replies = this.#commands.isCluster
      ? await Promise.all(places.map((place) => ask(place, "EXISTS", place)))
      : ((await ask(first, "EVAL", whichExist, String(places.length), ...places)) as unknown[]);
    return replies.map((reply) => reply === 1);
  }
}

/** The name of a sweep in messages. */
const sweep = "kv.sweep";

/** Returns a time to live as Redis takes it: whole milliseconds. */
export function toTtl(ttlMs: number): string {
  if (Number.isFinite(ttlMs) && ttlMs > 0) return String(Math.ceil(Math.min(ttlMs, maxTtlMs)));
  throw new PortolanError("invalid-argument", `ttlMs: expected a number of milliseconds above 0, got ${ttlMs}`);
}

function toValue(reply: unknown): string | undefined {
  return typeof reply === "string" ? decodeText(reply) : undefined;
}

function toTexts(reply: unknown): string[] {
  return Array.isArray(reply) ? reply.filter((text) => typeof text === "string") : [];
}
