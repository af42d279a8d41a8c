import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { root } from "../cli/kit.ts";
import { freePort } from "../kit/free-port.ts";
import { startCluster, startOldRedis, startRedis } from "../storage/redis-server.ts";
import { Running, startStorage } from "./running.ts";

type Settings = { readonly [name: string]: string };

/** Starts examples/deploy/server.mjs on a free port. */
const startServer = (env: Settings) =>
  new Running(process.execPath, [join(root, "examples/deploy/server.mjs")], { PORT: "0", ...env });

/** Runs the server until it fails, and returns the only line that it writes. */
async function failureOf(env: Settings): Promise<string> {
  const server = startServer(env);
  expect(await once(server.child, "close"), server.output).toEqual([1, null]);
  const lines = server.output.trimEnd().split("\n");
  expect(lines).toHaveLength(1);
  return lines[0] ?? "";
}

describe("a server with a wrong setting says in one line what is wrong and what to do", () => {
  test("nothing listens at the address of Redis", async () => {
    const line = await failureOf({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` });
    expect(line).toMatch(/^Redis cannot be used: nothing listens at this address \(.*ECONNREFUSED/);
  });

  test("the address of Redis has no scheme", async () => {
    expect(await failureOf({ REDIS_URL: "127.0.0.1" })).toMatch(/^REDIS_URL: expected an address such as redis:/);
  });

  test("the password is wrong or missing", async () => {
    const redis = await startRedis("--requirepass", "right");
    onTestFinished(() => redis.stop());
    const at = (credentials: string) => ({ REDIS_URL: `redis://${credentials}127.0.0.1:${redis.port}` });
    expect(await failureOf(at(":wrong@"))).toMatch(/^Redis cannot be used: wrong user name or password; correct those/);
    expect(await failureOf(at(""))).toMatch(/^Redis cannot be used: it needs a password; give the client one/);
  });

  test("Redis is too old", async () => {
    const redis = await startOldRedis();
    onTestFinished(() => redis.stop());
    const line = await failureOf({ REDIS_URL: `redis://127.0.0.1:${redis.port}` });
    expect(line).toMatch(/^Redis cannot be used: .*6\.2.*; upgrade it/);
  });

  test("Redis is part of a cluster", async () => {
    const nodes = await startCluster();
    onTestFinished(() => Promise.all(nodes.map((node) => node.stop())).then(() => {}));
    const line = await failureOf({ REDIS_URL: `redis://127.0.0.1:${nodes[0]?.port}` });
    expect(line).toMatch(/^Redis cannot be used: it is part of a Redis Cluster; create the client with createCluster/);
  });

  test("another process has other secrets, or none", async () => {
    const REDIS_URL = await startStorage();
    const [pid = 0] = await startServer({ REDIS_URL, SECRETS: "a".repeat(32) }).serving(1);
    const expected = new RegExp(`^secrets: process ${pid}, .* has other secrets, .*\\. Give all processes the same`);
    expect(await failureOf({ REDIS_URL, SECRETS: "b".repeat(32) })).toMatch(expected);
    expect(await failureOf({ REDIS_URL })).toMatch(expected);
  });

  test("a secret is too short", async () => {
    const REDIS_URL = await startStorage();
    expect(await failureOf({ REDIS_URL, SECRETS: "short" })).toMatch(/secrets: .* at least 32 characters/);
  });

  test("another address than a local one needs a token", async () => {
    const REDIS_URL = await startStorage();
    expect(await failureOf({ REDIS_URL, HOST: "0.0.0.0" })).toMatch(/^host: expected a loopback address/);
  });
});

test("a server beside another version serves, and says so in one line", async () => {
  const REDIS_URL = await startStorage();
  const [pid = 0] = await startServer({ REDIS_URL }).serving(1);
  const newer = startServer({ REDIS_URL, VERSION: "1.1.0" });
  await newer.serving(1);
  const [line = "", ...others] = newer.output.split("\n").filter((text) => text.startsWith("{"));
  expect(others).toEqual([]);
  const { message } = JSON.parse(line);
  expect(message).toMatch(
    new RegExp(`version: process ${pid}, .* runs version 1\\.0\\.0 of "deploy", this one 1\\.1\\.0`),
  );
  expect(message).toContain("Start all processes from one version");
});
