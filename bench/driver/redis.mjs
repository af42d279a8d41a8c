import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { findProgram } from "../../scripts/programs.mjs";
import { bounded } from "./bounded.mjs";

/** The path of redis-server; undefined if it is not installed. */
export const redisServer = findProgram("redis-server");

/** A Redis of the bench alone, on a free port and without persistence. */
export class Redis {
  #child;
  #folder;
  #client;
  url;

  static async start() {
    const redis = new Redis();
    await redis.#start();
    return redis;
  }

  async #start() {
    const port = await freePort();
    this.url = `redis://127.0.0.1:${port}`;
    this.#folder = mkdtempSync(join(tmpdir(), "portolan-bench-redis-"));
    const own = ["--port", String(port), "--bind", "127.0.0.1", "--dir", this.#folder];
    this.#child = spawn(redisServer, [...own, "--save", "", "--appendonly", "no"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    // A workload that fails must not leave it behind.
    process.once("exit", () => this.#child.kill("SIGKILL"));
    const ready = new Promise((resolve, reject) => {
      let said = "";
      this.#child.stdout.on("data", (chunk) => {
        said = (said + chunk).slice(-4000);
        if (said.includes("Ready to accept connections")) resolve();
      });
      this.#child.once("exit", () => reject(new Error(`redis-server ended: ${said}`)));
    });
    await bounded(ready, 10_000, "redis-server");
    this.#client = await createClient({ url: this.url }).connect();
  }

  /** The number of commands that programs have sent so far. */
  async commands() {
    const text = await this.#client.sendCommand(["INFO", "commandstats"]);
    const counted = [...text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)];
    // The command that asks does not count.
    return counted.reduce((sum, [, name, calls]) => (name === "info" ? sum : sum + Number(calls)), 0);
  }

  /** The bytes of all keys with their values. */
  async bytes() {
    let sum = 0;
    for await (const keys of this.#client.scanIterator({ COUNT: 1_000 })) {
      for (const key of keys) {
        sum += Number((await this.#client.sendCommand(["MEMORY", "USAGE", key, "SAMPLES", "0"])) ?? 0);
      }
    }
    return sum;
  }

  async close() {
    this.#client?.destroy();
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exited = once(this.#child, "exit");
      this.#child.kill("SIGKILL");
      await exited;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  await once(probe.close(), "close");
  return port;
}
