import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServeHttpOptions } from "portolan/server/http";
import { type RedisServer, startRedis } from "../../storage/redis-server.ts";
import { ScaleNode } from "../nodes.ts";
import { RedisAddress, RoundRobin } from "./proxies.ts";
import { pause, type Random } from "./random.ts";

/** The kinds of faults, each with how often it is chosen. */
export const faultWeights = {
  kill: 3,
  terminate: 3,
  freeze: 2,
  "redis pause": 2,
  "redis restart": 1,
  "redis flush": 1,
  "redis fail-over": 1,
  "redis cut": 2,
  cut: 3,
  delay: 2,
};
/** A stall is a fault of the machine: a process got no time, although nobody stopped it. */
export type FaultKind = keyof typeof faultWeights | "stall";

/** A process that does not answer for this long has stalled: less than half of the deadline of a command. */
const stallMs = 400;

/** A fault, from its beginning until everything is up again. */
export interface Fault {
  readonly kind: FaultKind;
  readonly what: string;
  readonly from: number;
  until: number;
}

export interface JournalEntry {
  readonly at: number;
  readonly node: string;
  readonly call: string;
  readonly what: string;
}

/** Three serving processes behind a round robin, with a Redis that has a replica. */
export class World {
  readonly proxy: RoundRobin;
  readonly nodes: readonly ScaleNode[];
  readonly faults: Fault[] = [];
  readonly problems: string[] = [];
  readonly address: RedisAddress;
  #master: RedisServer;
  #replica: RedisServer;
  #watch: ReturnType<typeof setInterval> | undefined;
  #maxFaultMs = 0;
  readonly #folder: string;
  readonly #journal: string;
  /** The nodes that are down, or about to be. */
  readonly #away = new Set<ScaleNode>();
  /** The processes that were killed, by the time of their end. */
  readonly killed: { readonly node: string; readonly at: number }[] = [];

  private constructor(
    redis: readonly [RedisServer, RedisServer],
    address: RedisAddress,
    folder: string,
    nodes: readonly ScaleNode[],
    proxy: RoundRobin,
    ready: Set<ScaleNode>,
  ) {
    [this.#master, this.#replica] = redis;
    this.address = address;
    this.#folder = folder;
    this.#journal = join(folder, "journal.jsonl");
    this.nodes = nodes;
    this.proxy = proxy;
    this.#away = ready;
  }

  /**
   * @param graceMs time that running calls have after SIGTERM
   * @param maxFaultMs the longest pause and absence
   */
  static async start(serve: ServeHttpOptions, graceMs: number, maxFaultMs = 1_000): Promise<World> {
    const [master, replica] = await Promise.all([0, 1].map(() => startRedis("--repl-diskless-sync-delay", "0")));
    if (!master || !replica) throw new Error("no Redis");
    await replica.command(`REPLICAOF 127.0.0.1 ${master.port}`);
    const address = await RedisAddress.start(master.port);
    const folder = await mkdtemp(join(tmpdir(), "portolan-history-"));
    const journal = join(folder, "journal.jsonl");
    const nodes = [0, 1, 2].map(
      (at) => new ScaleNode({ name: `node ${at}`, redisPort: address.port, journal, serve, graceMs }),
    );
    await Promise.all(nodes.map((node) => node.start()));
    const away = new Set<ScaleNode>();
    const ports = () => nodes.flatMap((node) => (away.has(node) || node.port === undefined ? [] : [node.port]));
    const proxy = await RoundRobin.start(ports);
    const world = new World([master, replica], address, folder, nodes, proxy, away);
    world.#maxFaultMs = maxFaultMs;
    await world.#untilReplicated();
    world.#watchMachine();
    return world;
  }

  /** Notes when a process gets no time: on a machine that is too busy, deadlines pass without a fault of ours. */
  #watchMachine(): void {
    const look = async (node: ScaleNode) => {
      const from = Date.now();
      await node.ping();
      const until = Date.now();
      if (until - from < stallMs) return;
      this.faults.push({ kind: "stall", what: `${node.name} did not answer for ${until - from} ms`, from, until });
    };
    let last = Date.now();
    this.#watch = setInterval(() => {
      const now = Date.now();
      if (now - last > stallMs)
        this.faults.push({ kind: "stall", what: "the test got no time", from: last, until: now });
      last = now;
      for (const node of this.nodes) if (!this.#away.has(node)) void look(node);
    }, 100);
  }

  get url(): string {
    return this.proxy.url;
  }

  journal(): JournalEntry[] {
    const lines = readFileSync(this.#journal, "utf8").split("\n");
    return lines.filter(Boolean).map((line) => JSON.parse(line) as JournalEntry);
  }

  /** Runs a command at the present master. */
  redis(line: string): Promise<string> {
    return this.#master.command(line);
  }

  /** Makes one fault, and resolves when everything is up again. */
  async fault(kind: keyof typeof faultWeights, random: Random): Promise<void> {
    const node = random.pick(this.nodes);
    const ms = random.whole(200, this.#maxFaultMs);
    const share = 0.2 + random.next() * 0.6;
    if ((kind === "kill" || kind === "terminate" || kind === "freeze") && this.#away.has(node)) return;
    const what = {
      kill: `${node.name} is killed for ${ms} ms`,
      terminate: `${node.name} gets SIGTERM`,
      freeze: `${node.name} is stopped for ${ms} ms`,
      "redis pause": `Redis is stopped for ${ms} ms`,
      "redis restart": "Redis is killed and restarted with nothing, or with what it had when it was a replica",
      "redis flush": "Redis is flushed",
      "redis fail-over": "the replica of Redis becomes the master",
      "redis cut": `${Math.round(share * 100)}% of the connections to Redis are cut`,
      cut: `${Math.round(share * 100)}% of the connections are cut`,
      delay: `${Math.round(share * 100)}% of the connections are held for ${ms} ms`,
    }[kind];
    const fault: Fault = { kind, what, from: Date.now(), until: Number.POSITIVE_INFINITY };
    this.faults.push(fault);
    await this.#make(kind, node, ms, share, random);
    fault.until = Date.now();
  }

  async #make(
    kind: keyof typeof faultWeights,
    node: ScaleNode,
    ms: number,
    share: number,
    random: Random,
  ): Promise<void> {
    switch (kind) {
      case "kill":
        this.#away.add(node);
        this.killed.push({ node: node.name, at: Date.now() });
        await node.kill();
        await pause(ms);
        await node.start();
        this.#away.delete(node);
        break;
      case "terminate": {
        this.#away.add(node);
        await this.#terminate(node);
        this.killed.push({ node: node.name, at: Date.now() });
        await node.start();
        this.#away.delete(node);
        break;
      }
      case "freeze":
        node.signal("SIGSTOP");
        await pause(ms);
        node.signal("SIGCONT");
        break;
      case "redis pause":
        this.#master.pause();
        await pause(ms);
        this.#master.resume();
        break;
      case "redis restart":
        await this.#master.restart();
        break;
      case "redis flush":
        await this.#master.command("FLUSHALL");
        break;
      case "redis fail-over":
        await this.#failOver();
        break;
      case "redis cut":
        this.address.cut(random, share);
        break;
      case "cut":
        this.proxy.cut(random, share);
        break;
      case "delay":
        this.proxy.delay(random, share, ms);
        await pause(ms);
        break;
    }
  }

  async #failOver(): Promise<void> {
    await this.#untilReplicated();
    await this.#replica.command("REPLICAOF NO ONE");
    [this.#master, this.#replica] = [this.#replica, this.#master];
    this.address.target = this.#master.port;
    this.address.cut();
    await this.#replica.command(`REPLICAOF 127.0.0.1 ${this.#master.port}`);
  }

  async #untilReplicated(): Promise<void> {
    for (let tries = 0; tries < 500; tries += 1) {
      if ((await this.#replica.command("INFO replication")).includes("master_link_status:up")) return;
      await pause(10);
    }
    this.problems.push("the replica of Redis does not follow its master");
  }

  async stop(): Promise<string[]> {
    clearInterval(this.#watch);
    await Promise.all(this.nodes.map((node) => this.#terminate(node)));
    await this.proxy.stop();
    this.address.stop();
    await Promise.all([this.#master.stop(), this.#replica.stop()]);
    await rm(this.#folder, { recursive: true, force: true });
    return this.problems;
  }

  async #terminate(node: ScaleNode): Promise<void> {
    const problem = await node.terminate(30_000);
    if (problem === undefined) return;
    const why = this.journal().filter((entry) => entry.node === node.name && entry.what.startsWith("does not end"));
    this.problems.push([problem, ...why.slice(-1).map(({ what }) => what)].join(": "));
  }
}
