import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";

const isWindows = process.platform === "win32";
const pollMs = 10;

/** The groups that must not outlive this process. */
const living = new Set<ProcessGroup>();

function killLiving(): void {
  for (const group of living) group.kill();
}

/** A child that leads a process group of its own, and whatever it started there. */
export class ProcessGroup {
  readonly #pid: number;
  readonly #child: ChildProcess;
  readonly #exited: Promise<void>;

  constructor(child: ChildProcess, pid: number) {
    this.#child = child;
    this.#pid = pid;
    this.#exited = new Promise((resolve) => child.once("exit", () => resolve()));
    if (living.size === 0) process.on("exit", killLiving);
    living.add(this);
  }

  /**
   * Waits for the child to leave by itself, then asks the whole group to, then makes it; each step takes at most
   * `graceMs`. False when even that did not end the child.
   */
  async end(graceMs: number): Promise<boolean> {
    await within(graceMs, this.#exited);
    if (!isWindows && this.#isAlive()) {
      this.#signal("SIGTERM");
      await this.#dies(graceMs);
    }
    if (this.#isAlive()) {
      if (isWindows) await endTree(this.#pid);
      else this.#signal("SIGKILL");
    }
    const isGone = await within(graceMs, this.#exited);
    // From here on the id may belong to somebody else: it is not signalled again.
    living.delete(this);
    if (living.size === 0) process.off("exit", killLiving);
    this.#child.unref();
    return isGone;
  }

  /** Kills all of it before this process is gone, so without waiting. */
  kill(): void {
    if (!isWindows) this.#signal("SIGKILL");
    else if (this.#isAlive()) spawnSync(...endTreeCommand(this.#pid));
  }

  /** Without a child there is no telling on Windows who belongs to it. */
  #isAlive(): boolean {
    return isWindows ? this.#child.exitCode === null && this.#child.signalCode === null : this.#signal(0);
  }

  /** False when nobody is left to hear the signal. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.#pid, signal);
    } catch {
      return false;
    }
  }

  /** Grandchildren do not tell when they are gone, so they have to be asked. */
  #dies(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = performance.now() + graceMs;
      const timer = setInterval(() => {
        if (this.#isAlive() && performance.now() < deadline) return;
        clearInterval(timer);
        resolve();
      }, pollMs);
    });
  }
}

function within(ms: number, event: Promise<void>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms, false);
    event.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

function endTree(pid: number): Promise<void> {
  return new Promise((resolve) => {
    const killer = spawn(...endTreeCommand(pid));
    killer.once("error", () => resolve());
    killer.once("exit", () => resolve());
  });
}

function endTreeCommand(pid: number): [string, string[], { stdio: "ignore"; windowsHide: true }] {
  const program = join(process.env["SystemRoot"] ?? "C:\\Windows", "System32", "taskkill.exe");
  return [program, ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true }];
}
