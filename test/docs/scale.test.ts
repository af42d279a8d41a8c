import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "portolan/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { findProgram } from "../../scripts/programs.mjs";
import { environment, makeHome, root } from "../cli/kit.ts";
import { begin, StatelessPeer } from "../http/peer.ts";
import { freePort } from "../kit/free-port.ts";
import { fencesOf } from "./markdown.ts";
import { Running, startStorage } from "./running.ts";

const commands = fencesOf(readFileSync(join(root, "docs/scale.md"), "utf8"))
  .filter(({ runBy }) => runBy === "test/docs/scale.test.ts")
  .map(({ content }) => content);
/** Each request is a connection of its own, which goes to the next process. */
const alone = { headers: { connection: "close" } };

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

test("the commands of docs/scale.md start two processes, which serve in turn", async () => {
  const [start = "", call = ""] = commands;
  const home = makeHome();
  const [port, redisPort] = [await freePort(), await freePort()];
  // A daemon leaves its process group.
  const asIs = start.replaceAll("6379", String(redisPort)).replace("/tmp/redis-deploy.pid", join(home, "redis.pid"));
  expect(asIs).toContain(`--port ${redisPort} `);
  onTestFinished(() => void process.kill(Number(readFileSync(join(home, "redis.pid"), "utf8")), "SIGKILL"));
  const env = { PORT: String(port), REDIS_URL: `redis://127.0.0.1:${redisPort}` };
  const started = new Running("sh", ["-c", asIs], env);
  const pids = await started.serving(2);

  const outputs: string[] = [];
  for (const line of call.replaceAll("3000", String(port)).split("\n")) {
    const child = spawn("sh", ["-c", line], { cwd: root, env: environment(home) });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    expect(await once(child, "close"), line).toEqual([0, null]);
    outputs.push(output);
  }
  const served = outputs.slice(0, 2).map((output) => Number(/:(\d+)"/.exec(output)?.[1]));
  expect(new Set(served)).toEqual(new Set(pids));
  expect(JSON.parse(outputs[2] ?? "").isPassed).toBe(true);
}, 120_000);

describe("workers.mjs", () => {
  const script = join(root, "examples/deploy/workers.mjs");

  test("a session goes on when a process is killed, another takes its place, and all stop together", async () => {
    const port = await freePort();
    const env = { PORT: String(port), REDIS_URL: await startStorage(), WORKERS: "2" };
    const workers = new Running(process.execPath, [script], env);
    const pids = await workers.serving(2);
    const peer = await begin(`http://127.0.0.1:${port}/mcp`, "2025-11-25", alone);
    const where = async () => Number((await peer.textOf("where")).split(":").at(-1));
    const seen = new Set<number>();
    for (let call = 0; call < 8; call += 1) seen.add(await where());
    expect(seen).toEqual(new Set(pids));

    const [killed = 0] = pids;
    process.kill(killed, "SIGKILL");
    await expect.poll(() => workers.output).toContain(`Process ${killed} ended with SIGKILL`);
    expect(await where()).toBe(pids[1]);
    const [, , added = 0] = await workers.serving(3);
    const later = new Set<number>();
    for (let call = 0; call < 8; call += 1) later.add(await where());
    expect(later).toEqual(new Set([pids[1], added]));

    const exited = once(workers.child, "exit");
    workers.child.kill("SIGTERM");
    expect(await exited).toEqual([0, null]);
    expect([...pids, added].filter(isRunning)).toEqual([]);
  });
});

test("a process that gets SIGUSR2 writes its oldest calls, with their tools and callers", async () => {
  const port = await freePort();
  const token = "a-token-of-forty-characters-for-the-test";
  const env = { PORT: String(port), REDIS_URL: await startStorage(), PORTOLAN_TOKEN: token };
  const server = new Running(process.execPath, [join(root, "examples/deploy/server.mjs")], env);
  const [pid = 0] = await server.serving(1);
  const options = { headers: { authorization: `Bearer ${token}` }, capabilities: { elicitation: {} } };
  const peer = await begin(`http://127.0.0.1:${port}/mcp`, "2025-11-25", options);
  const asking = await peer.call("greet", {});
  await asking.message();
  process.kill(pid, "SIGUSR2");
  await expect.poll(() => server.output).toMatch(/"calls":\[\{[^\]]*"name":"greet"[^\]]*"caller":"principal /);
  asking.drop();
});

describe("nginx.conf", () => {
  test("a client behind a round robin gets progress at once, and its answers reach the handler that asked", async () => {
    const url = await startStorage();
    const home = makeHome();
    const token = "a-token-of-forty-characters-for-the-test";
    const ports = [await freePort(), await freePort()];
    const front = await freePort();
    const env = { REDIS_URL: url, PORTOLAN_TOKEN: token, PROXIES: "1", ALLOWED_HOSTS: `127.0.0.1:${front}` };
    const nodes = ports.map(
      (port) =>
        new Running(process.execPath, [join(root, "examples/deploy/server.mjs")], { ...env, PORT: String(port) }),
    );
    const pids = (await Promise.all(nodes.map((node) => node.serving(1)))).flat();
    const conf = readFileSync(join(root, "examples/deploy/nginx.conf"), "utf8")
      .replace("server server:3000;", ports.map((port) => `server 127.0.0.1:${port};`).join(" "))
      .replace("listen 8080;", `listen 127.0.0.1:${front};`);
    expect(conf).toContain(`server 127.0.0.1:${ports[1]};`);
    writeFileSync(join(home, "nginx.conf"), conf);
    const settings = `daemon off; pid ${join(home, "nginx.pid")};`;
    const program = findProgram("nginx") ?? "";
    const nginx = new Running(program, ["-e", "stderr", "-c", join(home, "nginx.conf"), "-g", settings], {});
    const mcp = `http://127.0.0.1:${front}/mcp`;
    const headers = { authorization: `Bearer ${token}` };
    const isUp = () =>
      fetch(`http://127.0.0.1:${front}/ready`).then(
        ({ status }) => status,
        () => nginx.output,
      );
    await expect.poll(isUp, { timeout: 10_000 }).toBe(200);

    const stateless = new StatelessPeer(mcp, { headers });
    const seen = new Set<string>();
    for (let call = 0; call < 4; call += 1) seen.add((await stateless.textOf("where")).split(":").at(-1) ?? "");
    expect(seen).toEqual(new Set(pids.map(String)));

    for (const era of ["stateful", "stateless"]) {
      const client = await connect(mcp, {
        era,
        auth: { authorize: async () => headers },
        answers: { elicit: () => ({ action: "accept", content: { name: "Ada" } }) },
      });
      onTestFinished(() => client.close());
      for (let call = 0; call < 4; call += 1) {
        expect((await client.callTool("greet")).content).toEqual([{ type: "text", text: "Hello, Ada" }]);
      }
    }
    const refused = await new StatelessPeer(mcp).request("tools/list");
    expect(refused.status).toBe(401);
  }, 60_000);
});
