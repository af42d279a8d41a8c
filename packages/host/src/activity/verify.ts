import { maxLogLineBytes, maxVerifiedBlockChars } from "../limits.ts";
import type { ActivityDamage, ActivityVerdict } from "./log.ts";
import { type ActivityHead, type ActivityReading, emptyHead, isSealOf, parseSeal, type Seal } from "./sinks.ts";

/** Reads a whole log and checks that it is unchanged, byte for byte. */
export async function verifyActivity(
  reading: ActivityReading,
  isLinear: boolean,
  contains?: string,
): Promise<ActivityVerdict> {
  const verifier = new Verifier(isLinear, reading, contains);
  for await (const { part, text } of reading.texts) {
    const damage = await verifier.take(part, text);
    if (damage) return damage;
  }
  return verifier.finish();
}

class Verifier {
  readonly #isLinear: boolean;
  readonly #storedHead: ActivityReading["head"];
  readonly #contains: string | undefined;
  #last: ActivityHead;
  /** All seals so far, for chains that may fork. */
  readonly #seen = new Map<string, ActivityHead>([["", emptyHead]]);
  #entries = 0;
  #blocks = 0;
  #hasStoredHead: boolean;
  #hasExpected: boolean;
  #part = "";
  #line = 0;
  /** The lines since the last seal. */
  #body = "";
  #bodyLines = 0;
  #rest = "";

  constructor(
    isLinear: boolean,
    { head: storedHead, base = emptyHead }: ActivityReading,
    contains: string | undefined,
  ) {
    this.#isLinear = isLinear;
    this.#last = base;
    this.#storedHead = storedHead;
    this.#contains = contains;
    this.#hasStoredHead = typeof storedHead !== "object" || storedHead.block === 0;
    this.#hasExpected = contains === undefined || contains === "" || contains === base.seal;
  }

  async take(part: string, text: string): Promise<ActivityVerdict | undefined> {
    if (part !== this.#part) {
      if (this.#body !== "" || this.#rest !== "") return this.#damaged("a block continues in another file");
      this.#part = part;
      this.#line = 0;
    }
    const lines = `${this.#rest}${text}`.split("\n");
    this.#rest = lines.pop() ?? "";
    if (this.#rest.length > maxLogLineBytes) return this.#damaged("a line is longer than any entry");
    for (const line of lines) {
      this.#line += 1;
      const seal = parseSeal(line);
      if (seal === undefined) {
        this.#body += `${line}\n`;
        this.#bodyLines += 1;
        if (this.#body.length > maxVerifiedBlockChars) return this.#damaged("a block is longer than any sealed one");
        continue;
      }
      const reason = await this.#close(line, seal);
      if (reason !== undefined) return this.#damaged(reason);
    }
    return undefined;
  }

  finish(): ActivityVerdict {
    if (this.#body !== "" || this.#rest !== "") {
      return this.#damaged("the last block has no seal: its writer was stopped while writing", true);
    }
    const storedHead = this.#storedHead;
    if (storedHead === "unreadable") return this.#damaged("the head cannot be read");
    // A writer may have been killed between its first block and the head.
    if (storedHead === "missing" && this.#blocks > 1) return this.#damaged("the head is missing");
    if (!this.#hasStoredHead) return this.#damaged("the log is shorter than its head says, or belongs to another one");
    if (typeof storedHead === "object" && this.#last.block > storedHead.block + 1) {
      return this.#damaged("the head is older than the log");
    }
    if (!this.#hasExpected) return this.#damaged("the log does not contain the expected head");
    return { ok: true, entries: this.#entries, blocks: this.#blocks, head: this.#last.seal };
  }

  /** Checks one block. Returns the reason if it is damaged. */
  async #close(line: string, seal: Seal): Promise<string | undefined> {
    const before = this.#isLinear ? this.#last : this.#seen.get(seal.previous);
    if (before === undefined || before.seal !== seal.previous) return "the block does not follow the previous one";
    if (seal.block !== before.block + 1 || seal.seq !== before.seq + seal.entries || seal.entries !== this.#bodyLines) {
      return "entries were added or removed";
    }
    if (!(await isSealOf(line, seal, this.#body))) return "the block was changed after it was sealed";
    if (!this.#isLinear && this.#seen.has(seal.seal)) return "the block occurs twice";
    this.#body = "";
    this.#bodyLines = 0;
    this.#blocks += 1;
    this.#entries += seal.entries;
    this.#last = { seal: seal.seal, block: seal.block, seq: seal.seq };
    if (!this.#isLinear) this.#seen.set(seal.seal, this.#last);
    const storedHead = this.#storedHead;
    if (typeof storedHead === "object" && storedHead.seal === seal.seal) {
      this.#hasStoredHead = storedHead.block === seal.block && storedHead.seq === seal.seq;
    }
    this.#hasExpected ||= this.#contains === seal.seal;
    return undefined;
  }

  #damaged(reason: string, isTorn = false): ActivityVerdict {
    const at: ActivityDamage = { part: this.#part, line: Math.max(1, this.#line) };
    return { ok: false, at, reason, isTorn };
  }
}
