import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram } from "../../scripts/programs.mjs";
import { freePort } from "../kit/free-port.ts";

/** A Redis server of a test. */
export interface RedisServer {
  readonly port: number;
  /** Runs a command of one line, and returns the reply as Redis wrote it. */
  command(line: string): Promise<string>;
  /** Stops the process as if it hung, and lets it go on. */
  pause(): void;
  resume(): void;
  /** Kills the process. */
  kill(): Promise<void>;
  /** Kills it and starts it again on the same port. Its data is gone, but for the copy that it got when it became a replica. */
  restart(): Promise<void>;
  /** Kills it and removes its folder. */
  stop(): Promise<void>;
}

/** Starts a server on a port of its own, without persistence. */
export async function startRedis(...settings: string[]): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "portolan-redis-"));
  const port = await freeClusterPort();
  const args = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no"];
  let child = await start([...args, ...settings]);
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  };
  return {
    port,
    command: (line) => command(port, line),
    pause: () => void child.kill("SIGSTOP"),
    resume: () => void child.kill("SIGCONT"),
    kill,
    async restart() {
      await kill();
      child = await start([...args, ...settings]);
    },
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The nodes of a cluster talk to each other on the port plus 10,000. */
async function freeClusterPort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (port <= 55_535) return port;
  }
}

async function start(args: readonly string[]): Promise<ChildProcess> {
  const program = findProgram("redis-server") ?? "";
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-100_000);
      if (/Ready to accept connections|Running mode=sentinel|Sentinel ID is/.test(said)) resolve();
    });
    child.once("exit", () => reject(new Error(said)));
  });
  return child;
}

/** Sends one line to a server and returns its first reply. */
async function command(port: number, line: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  try {
    socket.setEncoding("utf8");
    socket.write(`${line}\r\n`);
    let reply = "";
    for await (const chunk of socket as AsyncIterable<string>) {
      reply += chunk;
      if (isWhole(reply)) return reply;
    }
    return reply;
  } finally {
    socket.destroy();
  }
}

/** Returns whether a reply has arrived as a whole. Arrays are of interest only as far as they came. */
function isWhole(reply: string): boolean {
  const bulk = /^\$(\d+)\r\n/.exec(reply);
  if (!bulk) return reply.endsWith("\r\n");
  return Buffer.byteLength(reply) >= bulk[0].length + Number(bulk[1]) + 2;
}

/** Waits until a condition holds. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  const endsAt = Date.now() + 30_000;
  while (!(await holds())) {
    if (Date.now() > endsAt) throw new Error("The Redis servers did not find each other");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Starts three masters without replicas, each with a third of the slots. */
export async function startCluster(): Promise<readonly RedisServer[]> {
  const settings = [
    "--cluster-enabled",
    "yes",
    "--cluster-config-file",
    "nodes.conf",
    "--cluster-node-timeout",
    "2000",
  ];
  const nodes = await Promise.all([0, 1, 2].map(() => startRedis(...settings)));
  const slots = 16_384;
  for (const [at, node] of nodes.entries()) {
    const [first, last] = [Math.floor((slots * at) / 3), Math.floor((slots * (at + 1)) / 3) - 1];
    await node.command(`CLUSTER ADDSLOTSRANGE ${first} ${last}`);
    await node.command(`CLUSTER SET-CONFIG-EPOCH ${at + 1}`);
    await nodes[0]?.command(`CLUSTER MEET 127.0.0.1 ${node.port}`);
  }
  const facts = ["cluster_state:ok", "cluster_known_nodes:3", `cluster_slots_ok:${slots}`];
  await until(async () => {
    const infos = await Promise.all(nodes.map((node) => node.command("CLUSTER INFO")));
    return infos.every((info) => facts.every((fact) => info.includes(fact)));
  });
  return nodes;
}

/** A master, a replica and a Sentinel that watches them under the name `m`. */
export interface Sentinel {
  readonly port: number;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  stop(): Promise<void>;
}

/** Starts a Sentinel that replaces a master that is away for half a second. */
export async function startSentinel(): Promise<Sentinel> {
  const master = await startRedis("--repl-diskless-sync-delay", "0");
  const replica = await startRedis("--replicaof", "127.0.0.1", String(master.port));
  await until(async () => (await replica.command("INFO replication")).includes("master_link_status:up"));
  const folder = mkdtempSync(join(tmpdir(), "portolan-sentinel-"));
  const port = await freePort();
  const file = join(folder, "sentinel.conf");
  const lines = [`port ${port}`, "bind 127.0.0.1", `dir ${folder}`, `sentinel monitor m 127.0.0.1 ${master.port} 1`];
  // A Sentinel looks once a second whether the replica has become the master: a timeout near that ends in neither of them.
  const times = ["sentinel down-after-milliseconds m 500", "sentinel failover-timeout m 10000"];
  writeFileSync(file, [...lines, ...times, ""].join("\n"));
  const child = await start([file, "--sentinel"]);
  await until(async () => (await command(port, "SENTINEL REPLICAS m")).includes(String(replica.port)));
  return {
    port,
    master,
    replica,
    async stop() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
      await Promise.all([master.stop(), replica.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a server that speaks as Redis 5 does. It stands for one that cannot be installed any more. */
export async function startOldRedis(): Promise<{ readonly port: number; stop(): void }> {
  const sockets = new Set<Socket>();
  const info = "redis_version:5.0.14\r\nredis_mode:standalone\r\nloading:0\r\nrole:master\r\n";
  const bulk = `$${info.length}\r\n${info}\r\n`;
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.setEncoding("utf8").on("data", (text: string) => {
      // Each command is an array, and its name is the first word.
      for (const [, word = ""] of text.matchAll(/\*\d+\r\n\$\d+\r\n(\w+)\r\n/g)) {
        const command = word.toUpperCase();
        if (command === "HELLO") socket.write("-ERR unknown command `HELLO`, with args beginning with: \r\n");
        else if (command === "INFO") socket.write(bulk);
        else if (command === "EVAL") socket.write(`*1\r\n${bulk}`);
        else socket.write(command === "CLIENT" ? "-ERR Unknown subcommand\r\n" : "+OK\r\n");
      }
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as { port: number }).port,
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
