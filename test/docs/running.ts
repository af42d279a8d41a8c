import { type ChildProcess, spawn } from "node:child_process";
import { expect, onTestFinished } from "vitest";
import { root } from "../cli/kit.ts";
import { startRedis } from "../storage/redis-server.ts";

/** A program that runs beside the test, and what it has written. */
export class Running {
  readonly child: ChildProcess;
  output = "";

  /** The program is the first of a process group, which ends with the test. */
  constructor(program: string, args: readonly string[], env: { readonly [name: string]: string }, cwd: string = root) {
    this.child = spawn(program, args, { cwd, env: { ...process.env, ...env }, detached: true });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    }
    onTestFinished(() => this.#killGroup());
  }

  #killGroup(): void {
    try {
      process.kill(-(this.child.pid ?? 0), "SIGKILL");
    } catch {
      // All of its processes have ended.
    }
  }

  /** Resolves to the processes that serve, when there are as many. */
  async serving(count: number): Promise<number[]> {
    const pids = () => [...this.output.matchAll(/^Serving .* \(process (\d+)\)$/gm)].map(([, pid]) => Number(pid));
    await expect.poll(pids, { timeout: 30_000 }).toHaveLength(count);
    return pids();
  }
}

/** Starts a Redis that ends with the test, and returns its address. */
export async function startStorage(): Promise<string> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  return `redis://127.0.0.1:${redis.port}`;
}
