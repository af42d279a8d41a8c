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
import { checkOptions } from "../../options.ts";
import {
  defaultHeartbeatMs,
  defaultPatienceMs,
  defaultStaleMs,
  maxLockClaims,
  maxLockPauseMs,
  minLockPauseMs,
} from "../limits.ts";

/** The times of a file lock. */
export interface LockLimits {
  /** The holder touches the file this often. Default: 5 s. */
  readonly heartbeatMs: number;
  /** A holder without a heartbeat for this long counts as dead. Default: 30 s. */
  readonly staleMs: number;
  /** A process waits for the lock at most this long. Default: 60 s. */
  readonly patienceMs: number;
}

/** Waits until it holds the lock file. Returns the function that releases it, whose second call does nothing. */
export async function holdFileLock(path: string, given?: Partial<LockLimits>): Promise<() => void> {
  if (given) checkOptions(given, { heartbeatMs: 1, staleMs: 1, patienceMs: 1 }, "holdFileLock");
  const limits = {
    heartbeatMs: defaultHeartbeatMs,
    staleMs: defaultStaleMs,
    patienceMs: defaultPatienceMs,
    ...given,
  };
  const contender = new Contender(path, limits.staleMs);
  const endsAt = performance.now() + limits.patienceMs;
  for (let pauseMs = minLockPauseMs; !contender.tryTake(); pauseMs = Math.min(pauseMs * 1.5, maxLockPauseMs)) {
    if (performance.now() >= endsAt) throw lockTimeout(path, limits.patienceMs);
    // Random, so that processes do not collide again and again.
    await pause(pauseMs * (0.5 + Math.random()));
  }
  const beating = setInterval(() => contender.beat(), limits.heartbeatMs).unref();
  return () => {
    clearInterval(beating);
    contender.release();
  };
}

function lockTimeout(path: string, patienceMs: number): PortolanError {
  const text = `The lock file ${path} was not free within ${patienceMs} ms: another process holds it`;
  return new PortolanError("timeout", `${text}; if no such process runs, delete the file`);
}

/** The state of a lock file or a claim. */
interface Found {
  readonly text: string;
  readonly beatAt: number;
}

/**
 * A process that wants a lock, then holds it. The lock is a file with a text that is unique to its holder. A hard link
 * creates it: with the whole text or not at all, and only if there is none. To remove it, a process first creates a
 * claim on exactly that text, both to release and to take over. So two processes that see the same dead lock cannot
 * remove the lock of a third. All calls are synchronous: nothing may happen between reading and removing.
 */
class Contender {
  readonly #path: string;
  readonly #staleMs: number;
  readonly #text: string;
  /** The last change of each file by the clock of this process: clocks of others may be wrong. */
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

  /** Touches the file by its descriptor: the file of that name may belong to another process by now. */
  beat(): void {
    const now = new Date();
    try {
      if (this.#file !== undefined) futimesSync(this.#file, now, now);
    } catch {
      // The next heartbeat may succeed; several must fail before another process takes over.
    }
  }

  release(): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = undefined;
    try {
      this.#withOwnFile((own) => this.#remove(this.#text, own));
    } catch {
      // The work is done. Another process takes over the lock when it is stale.
    }
  }

  /** Creates a file with the own text to link from. It stays open if it became the lock. */
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

  /** Removes the lock if it has this text. Returns false if another process is doing so. */
  #remove(text: string, own: string): boolean {
    const claims: string[] = [];
    const id = createHash("sha256").update(text).digest("hex").slice(0, 32);
    while (claims.length < maxLockClaims) {
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

  /** Returns true if the process that wrote the file has ended, or sent no heartbeat for too long. */
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

/** Returns true if the process has ended. False if it runs on another machine, because that cannot be checked. */
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

/** Returns a name for the scope of process ids: containers can share a host name and have ids of their own. */
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
