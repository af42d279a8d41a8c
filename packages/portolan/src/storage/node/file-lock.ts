import { createHash, randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { PortolanError } from "../../errors.ts";
import { checkOptions, type OptionNames } from "../../options.ts";
import {
  defaultHeartbeatMs,
  defaultPatienceMs,
  defaultStaleMs,
  lockNoticeMs,
  maxLockClaims,
  maxLockFileBytes,
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

/** Options of `holdFileLock`. */
export interface LockOptions extends Partial<LockLimits> {
  /** Called once if another process keeps the lock for 2 s, with a sentence that names the file and its holder. */
  readonly onWait?: (notice: string) => void;
}

const lockOptionNames = { heartbeatMs: 1, staleMs: 1, patienceMs: 1, onWait: 1 } satisfies OptionNames<LockOptions>;

/**
 * Waits until it holds the lock file. Returns the function that releases it, whose second call does nothing. A lock whose
 * process has ended, or that was left by an earlier boot of this machine, is taken over at once.
 */
export async function holdFileLock(path: string, given?: LockOptions): Promise<() => void> {
  if (given) checkOptions(given, lockOptionNames, "holdFileLock");
  const { onWait, ...limits } = {
    heartbeatMs: defaultHeartbeatMs,
    staleMs: defaultStaleMs,
    patienceMs: defaultPatienceMs,
    ...given,
  };
  const contender = new Contender(path, limits.staleMs);
  const begunAt = performance.now();
  let isNoticed = onWait === undefined;
  for (let pauseMs = minLockPauseMs; !contender.tryTake(); pauseMs = Math.min(pauseMs * 1.5, maxLockPauseMs)) {
    const waitedMs = performance.now() - begunAt;
    if (waitedMs >= limits.patienceMs) throw lockTimeout(path, contender.holder, limits.patienceMs);
    if (!isNoticed && contender.holderMs >= lockNoticeMs) {
      isNoticed = true;
      onWait?.(`Waiting for the lock file ${path}, which ${contender.holder} holds`);
    }
    // Random, so that processes do not collide again and again.
    await pause(pauseMs * (0.5 + Math.random()));
  }
  const beating = setInterval(() => contender.beat(), limits.heartbeatMs).unref();
  return () => {
    clearInterval(beating);
    contender.release();
  };
}

function lockTimeout(path: string, holder: string, patienceMs: number): PortolanError {
  const text = `The lock file ${path} was not free within ${patienceMs} ms: ${holder} holds it`;
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
  readonly #scope: Scope = scopeOf();
  readonly #text: string;
  /** The last change of each file by the clock of this process: clocks of others may be wrong. */
  readonly #watched = new Map<string, Found & { readonly since: number }>();
  /** The clock of the file system minus the one of this process; undefined until it is needed. */
  #clockOffset: number | undefined;
  #file: number | undefined;
  #holder: string | undefined;
  #holderSince = 0;

  constructor(path: string, staleMs: number) {
    this.#path = path;
    this.#staleMs = staleMs;
    const token = randomBytes(16).toString("hex");
    const { started } = statusOf(process.pid);
    this.#text = JSON.stringify({ pid: process.pid, started, ...this.#scope, token });
  }

  /** The last known holder, in words. */
  get holder(): string {
    const { pid, host } = parseHolder(this.#holder ?? "");
    if (pid === undefined) return "another process";
    // Anyone who can write to the folder can write this text, and it may be printed on a terminal.
    return `process ${pid} of host ${String(host)
      .slice(0, 100)
      .replaceAll(/[^ -~]/g, "?")}`;
  }

  /** How long this process has waited for the same holder. */
  get holderMs(): number {
    return this.#holder === undefined ? 0 : performance.now() - this.#holderSince;
  }

  tryTake(): boolean {
    const found = look(this.#path);
    if (found && !this.#isDead(this.#path, found)) {
      if (found.text !== this.#holder) this.#holderSince = performance.now();
      this.#holder = found.text;
      return false;
    }
    const isTaken = this.#withOwnFile((own, file) => {
      if (found && !this.#remove(found.text, own)) return false;
      if (!tryLink(own, this.#path)) return false;
      this.#file = file;
      return true;
    });
    // A process that died with the lock, or whose lock was waited for, may have left other files.
    if (isTaken && (found || this.#holder !== undefined)) this.#removeLeftovers();
    return isTaken;
  }

  /** Removes files of processes that were killed while they took or released the lock. */
  #removeLeftovers(): void {
    const folder = dirname(this.#path);
    const prefix = `${basename(this.#path)}.`;
    try {
      for (const name of readdirSync(folder)) {
        if (!name.startsWith(prefix) || !leftoverPattern.test(name.slice(prefix.length))) continue;
        const path = join(folder, name);
        const found = look(path);
        if (found && this.#hasEnded(found)) rmSync(path, { force: true });
      }
    } catch {
      // The lock is taken. The next process that takes over removes them.
    }
  }

  /**
   * Writes the same text again by the descriptor: the file of that name may belong to another process by now. The time of
   * the change comes from the clock of the file system, which all processes share.
   */
  beat(): void {
    try {
      if (this.#file !== undefined) writeSync(this.#file, this.#text, 0);
    } catch {
      // The next heartbeat may succeed; several must fail before another process takes over.
    }
  }

  /** Removes the lock. If the disk has no room even for a link, tries again until the lock is stale. */
  release(): void {
    if (this.#file === undefined) return;
    // The claim is a link to the lock, so that it counts as new.
    this.beat();
    closeSync(this.#file);
    this.#file = undefined;
    const begunAt = performance.now();
    const attempt = (): void => {
      try {
        // A link to the lock itself: a full disk has no room for another file.
        this.#remove(this.#text, this.#path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
        // The work is done. Another process takes over the lock when it is stale.
        if (performance.now() - begunAt < this.#staleMs) setTimeout(attempt, maxLockPauseMs).unref();
      }
    };
    attempt();
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
      // The own claim is left from an attempt that failed.
      if (!found || (found.text !== this.#text && !this.#isDead(claim, found))) return false;
    }
    return false;
  }

  /** Returns true if the process that wrote the file has ended, or sent no heartbeat for too long. */
  #isDead(path: string, found: Found): boolean {
    if (this.#hasEnded(found)) return true;
    const watched = this.#watched.get(path);
    const isSame = watched?.text === found.text && watched.beatAt === found.beatAt;
    if (isSame) return performance.now() - watched.since >= this.#staleMs;
    this.#watched.set(path, { ...found, since: performance.now() });
    return false;
  }

  /** Returns true if the writer of a file has certainly ended, or cannot be checked and has sent no heartbeat for long. */
  #hasEnded({ text, beatAt }: Found): boolean {
    const state = stateOf(parseHolder(text), this.#scope);
    if (state !== "unknown") return state === "ended";
    return this.#fileSystemNow() - beatAt >= this.#staleMs;
  }

  #fileSystemNow(): number {
    if (this.#clockOffset === undefined) {
      this.#withOwnFile((_, file) => {
        this.#clockOffset = fstatSync(file).mtimeMs - performance.now();
        return false;
      });
    }
    return performance.now() + (this.#clockOffset ?? 0);
  }
}

/** The ends of the names of files beside a lock: the own file of a process, or its claim. */
const leftoverPattern = /^([0-9a-f]{16}|[0-9a-f]{32}\.\d{1,3})$/;

/** A stranger can have put anything at the path of a lock in a shared folder: a link to a device, a pipe, a long file. */
const lookFlags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

function look(path: string): Found | undefined {
  try {
    const file = openSync(path, lookFlags);
    try {
      const found = fstatSync(file);
      if (!found.isFile()) throw notALock(path, "a folder, pipe or device");
      const bytes = Buffer.alloc(maxLockFileBytes + 1);
      const length = readSync(file, bytes, 0, bytes.length, 0);
      if (length > maxLockFileBytes) throw notALock(path, `more than ${maxLockFileBytes} bytes`);
      return { text: bytes.toString("utf8", 0, length), beatAt: found.mtimeMs };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    // FreeBSD says EMLINK.
    if (code === "ELOOP" || code === "EMLINK") throw notALock(path, "a link");
    throw error;
  }
}

function notALock(path: string, got: string): PortolanError {
  return new PortolanError("invalid-argument", `${path}: expected a lock file, got ${got}; delete it`);
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

/** The writer of a lock file, as far as the file tells. */
interface Holder extends Partial<Scope> {
  readonly pid?: number;
  /** When the process started, in clock ticks after the boot: its id may be used again by another. */
  readonly started?: string;
}

/** The scope of process ids. Containers can share a host name and a boot, and have ids of their own. */
interface Scope {
  readonly host: string;
  readonly boot: string;
  readonly space: string;
}

function parseHolder(text: string): Holder {
  try {
    const holder: Holder | null = JSON.parse(text);
    return typeof holder?.pid === "number" ? holder : {};
  } catch {
    return {};
  }
}

/** Tells if a process has ended; unknown if it may run on another machine or in another container. */
function stateOf({ pid, started, host, boot, space }: Holder, here: Scope): "ended" | "running" | "unknown" {
  if (pid === undefined || host !== here.host) return "unknown";
  if (boot !== here.boot) return boot === "" || here.boot === "" ? "unknown" : "ended";
  if (space !== here.space) return "unknown";
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return "ended";
  }
  const status = statusOf(pid);
  const isOther = started !== undefined && status.started !== undefined && started !== status.started;
  return isOther || status.isZombie ? "ended" : "running";
}

/** Returns the scope of this process. Machines may share a host name, but not the id of their system. */
function scopeOf(): Scope {
  const machine = readOr("", () => readFileSync("/etc/machine-id", "utf8").trim());
  return {
    host: machine === "" ? hostname() : `${hostname()} (${machine})`,
    boot: readOr("", () => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    space: readOr("", () => readlinkSync("/proc/self/ns/pid")),
  };
}

/** Returns the start of a process, and true if it has ended and its parent has not asked for its exit code yet. */
function statusOf(pid: number): { readonly started: string | undefined; readonly isZombie: boolean } {
  const stat = readOr("", () => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name of the program, in parentheses, may contain spaces.
  const [state = "", ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { started: fields[18], isZombie: state === "Z" };
}

function readOr(otherwise: string, read: () => string): string {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
