import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { ServeHttpOptions } from "portolan/server/http";

/** Settings of one node. */
export interface NodeSettings {
  readonly name: string;
  readonly redisPort: number;
  /** The file to which the handlers of all nodes write what they do. */
  readonly journal: string;
  readonly serve: ServeHttpOptions;
  /** Time that running calls have after SIGTERM. Default: 10 s. */
  readonly graceMs?: number;
}

/** A publication of a node. */
export interface NodePublication {
  readonly at: number;
  /** True if Redis has passed it on. */
  readonly isPassedOn: boolean;
}

/** Memory and descriptors of a node, after its garbage was collected. */
export interface Measured {
  readonly heapUsed: number;
  readonly rss: number;
  readonly descriptors: number;
}

/** A serving process that can be killed, closed and started again. */
export class ScaleNode {
  readonly name: string;
  readonly #settings: NodeSettings;
  #child: ChildProcess | undefined;
  /** The questions to the process that it has not answered. */
  readonly #answers = new Map<number, (answer: unknown) => void>();
  #asked = 0;
  #port = 0;
  #isUp = false;

  constructor(settings: NodeSettings) {
    this.name = settings.name;
    this.#settings = settings;
  }

  /** The port while the node serves; undefined while it is down. */
  get port(): number | undefined {
    return this.#isUp ? this.#port : undefined;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<void> {
    const child = fork(join(import.meta.dirname, "node.mjs"), {
      execArgv: ["--expose-gc"],
      env: { ...process.env, SCALE_NODE: JSON.stringify(this.#settings) },
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.#child = child;
    const died = once(child, "exit").then(([code, signal]) => {
      this.#isUp = false;
      for (const id of this.#answers.keys()) this.#answered({ id });
      return Promise.reject(new Error(`${this.name} ended: ${code ?? signal}`));
    });
    died.catch(() => {});
    const [{ port }] = (await Promise.race([once(child, "message"), died])) as [{ port: number }];
    child.on("message", (answer: { id: number }) => this.#answered(answer));
    this.#port = port;
    this.#isUp = true;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#isUp = false;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  }

  /** Closes the node as an operator does. Resolves to the reason if the process does not end by itself. */
  close(graceMs: number, patienceMs: number): Promise<string | undefined> {
    return this.#end(graceMs + patienceMs, (child) => child.send({ close: graceMs }));
  }

  /** Sends SIGTERM. Resolves to the reason if the process does not end by itself within this time. */
  terminate(patienceMs: number): Promise<string | undefined> {
    return this.#end(patienceMs, (child) => child.kill("SIGTERM"));
  }

  /** Stops the process as if it hung, and lets it go on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }

  async #end(patienceMs: number, tell: (child: ChildProcess) => void): Promise<string | undefined> {
    const child = this.#child;
    this.#isUp = false;
    if (!child || child.exitCode !== null || child.signalCode !== null) return undefined;
    const exited = once(child, "exit");
    tell(child);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), patienceMs);
    });
    const ended = (await Promise.race([exited, late])) as [number | null, string | null] | undefined;
    clearTimeout(timer);
    if (ended?.[0] === 0) return undefined;
    child.kill("SIGKILL");
    await exited;
    return ended ? `${this.name} ended with ${ended[0] ?? ended[1]}` : `${this.name} does not end after it was closed`;
  }

  /** Publishes a change. Resolves when Redis has passed it on, or has failed to; to undefined if the node is down. */
  publish(uri: string): Promise<NodePublication | undefined> {
    return this.#ask({ publish: uri });
  }

  /** Resolves when the process has answered, or has ended. */
  async ping(): Promise<void> {
    await this.#ask({ ping: true });
  }

  measure(): Promise<Measured | undefined> {
    return this.#ask({ measure: true });
  }

  async #ask<T>(message: object): Promise<T | undefined> {
    const child = this.#child;
    if (!child?.connected || !this.#isUp) return undefined;
    this.#asked += 1;
    const id = this.#asked;
    return new Promise<unknown>((resolve) => {
      this.#answers.set(id, resolve);
      child.send({ id, ...message }, (error) => error && this.#answered({ id }));
    }) as Promise<T | undefined>;
  }

  #answered({ id, ...answer }: { id: number }): void {
    this.#answers.get(id)?.(Object.keys(answer).length > 0 ? answer : undefined);
    this.#answers.delete(id);
  }
}
