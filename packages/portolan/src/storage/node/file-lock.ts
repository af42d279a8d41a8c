import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  fstatSync,
  futimesSync,
  linkSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { PortolanError } from "../../errors.ts";

/** How often a holder shows that it lives, when it counts as dead, and how long others wait for it. */
export interface LockLimits {
  readonly heartbeatMs: number;
  readonly staleMs: number;
  readonly patienceMs: number;
}

const defaultLimits: LockLimits = { heartbeatMs: 5_000, staleMs: 30_000, patienceMs: 60_000 };
const shortestPauseMs = 5;
const longestPauseMs = 250;
/** Whoever takes over a lock may die too, and so may the next; nobody needs to count further. */
const maxClaims = 8;

/** Waits for the lock file and holds it; the function that comes back removes it, at once and at most one time. */
export async function holdFileLock(path: string, given: Partial<LockLimits> = {}): Promise<() => void> {
  const limits = { ...defaultLimits, ...given };
  const contender = new Contender(path, limits.staleMs);
  const endsAt = performance.now() + limits.patienceMs;
  for (let pauseMs = shortestPauseMs; !contender.tryTake(); pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    if (performance.now() >= endsAt) throw outOfPatience(path, limits.patienceMs);
    // Not all at the same times, or the same one comes too late again and again.
    await pause(pauseMs * (0.5 + Math.random()));
  }
  const beating = setInterval(() => contender.beat(), limits.heartbeatMs).unref();
  return () => {
    clearInterval(beating);
    contender.release();
  };
}

function outOfPatience(path: string, patienceMs: number): PortolanError {
  const text = `The lock file ${path} was not free within ${patienceMs} ms: another process still works under it`;
  return new PortolanError("timeout", `${text}; if there is none, delete the file`);
}

/** A lock or a claim as it was found. */
interface Found {
  readonly text: string;
  readonly beatAt: number;
}

/**
 * One that wants a lock, then holds it. A lock is a file with the text of its holder; it comes into being by a hard
 * link, with all its text or not at all, and only if there is none. It is removed by whoever has the claim on just
 * that text, the holder like one that takes over: so two who see the same dead lock never remove the lock of a third.
 * All of it is done without waiting, for nothing may come between looking and removing.
 */
class Contender {
  readonly #path: string;
  readonly #staleMs: number;
  readonly #text: string;
  /** Since when the holder of a file has not moved, as seen from here: clocks of others may be wrong. */
  readonly #watched = new Map<string, Found & { readonly since: number }>();
  #file: number | undefined;

  constructor(path: string, staleMs: number) {
    this.#path = path;
    this.#staleMs = staleMs;
    this.#text = JSON.stringify({ pid: process.pid, machine: nameMachine(), token: randomBytes(16).toString("hex") });
  }

  tryTake(): boolean {
    const found = look(this.#path);
    if (found && !this.#isDead(this.#path, found)) return false;
    return this.#withOwnFile((own, file) => {
      if (found && !this.#remove(found.text, own)) return false;
      if (!tryLink(own, this.#path)) return false;
      this.#file = file;
      return true;
    });
  }

  /** By its number, since the file of that name may be another's by now. */
  beat(): void {
    const now = new Date();
    try {
      if (this.#file !== undefined) futimesSync(this.#file, now, now);
    } catch {
      // The next one may succeed; there are several before anybody takes over.
    }
  }

  release(): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = undefined;
    try {
      this.#withOwnFile((own) => this.#remove(this.#text, own));
    } catch {
      // What was done under the lock is done; a lock that does not move any more is taken over.
    }
  }

  /** A file with the own text, for as long as it takes to link it; it stays open if it became the lock. */
  #withOwnFile(use: (own: string, file: number) => boolean): boolean {
    const own = `${this.#path}.${randomBytes(8).toString("hex")}`;
    const file = openSync(own, "wx", 0o600);
    try {
      writeSync(file, this.#text);
      return use(own, file);
    } finally {
      if (this.#file !== file) closeSync(file);
      rmSync(own, { force: true });
    }
  }

  /** Removes the lock if it has this text; false when another is about to. */
  #remove(text: string, own: string): boolean {
    const claims: string[] = [];
    const id = createHash("sha256").update(text).digest("hex").slice(0, 32);
    while (claims.length < maxClaims) {
      const claim = `${this.#path}.${id}.${claims.length}`;
      claims.push(claim);
      if (tryLink(own, claim)) {
        if (look(this.#path)?.text === text) rmSync(this.#path, { force: true });
        for (const made of claims) rmSync(made, { force: true });
        return true;
      }
      const found = look(claim);
      if (!found || !this.#isDead(claim, found)) return false;
    }
    return false;
  }

  /** Whether the process that wrote this has ended, or has not moved for so long that it must have. */
  #isDead(path: string, found: Found): boolean {
    if (hasEnded(found.text)) return true;
    const watched = this.#watched.get(path);
    const isSame = watched?.text === found.text && watched.beatAt === found.beatAt;
    if (isSame) return performance.now() - watched.since >= this.#staleMs;
    this.#watched.set(path, { ...found, since: performance.now() });
    return false;
  }
}

function look(path: string): Found | undefined {
  try {
    const file = openSync(path, "r");
    try {
      return { text: readFileSync(file, "utf8"), beatAt: fstatSync(file).mtimeMs };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Of a process on another machine nobody here can tell. */
function hasEnded(text: string): boolean {
  let holder: { readonly pid?: unknown; readonly machine?: unknown };
  try {
    holder = JSON.parse(text);
  } catch {
    return false;
  }
  if (typeof holder?.pid !== "number" || holder.machine !== nameMachine()) return false;
  try {
    process.kill(holder.pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** The same for all processes that see each other's ids: containers may share a host name and have ids of their own. */
function nameMachine(): string {
  const read = (readOne: () => string) => {
    try {
      return readOne().trim();
    } catch {
      return "";
    }
  };
  const boot = read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8"));
  return [hostname(), boot, read(() => readlinkSync("/proc/self/ns/pid"))].join(" ");
}
