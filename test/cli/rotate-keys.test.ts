// `portolan keys rotate` on a real Redis, a real Redis Cluster, and a folder, with the client library of the project.
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { serveHttp } from "portolan/server/http";
import { rotateKeys, type Storage } from "portolan/storage";
import { createFileStorage } from "portolan/storage/node";
import { createRedisStorage } from "portolan/storage/redis";
import { createClient, createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFixture } from "../http/fixture.ts";
import { StatelessPeer, textOf } from "../http/peer.ts";
import { type RedisServer, startCluster, startRedis } from "../storage/redis-server.ts";
import { makeHome, root } from "./kit.ts";
import { errorOf, runPortolan, showOf } from "./manage-kit.ts";

/** A folder whose project has these packages. */
function projectWith(...names: readonly string[]): string {
  const cwd = makeHome();
  mkdirSync(join(cwd, "node_modules"));
  for (const name of names) symlinkSync(join(root, "node_modules", name), join(cwd, "node_modules", name));
  return cwd;
}

/** Returns the number of keys in a storage. */
const countKeys = async ({ kv }: Storage): Promise<number> => JSON.parse((await kv.get("mcp/keys")) ?? "[]").length;

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

describe.each(["redis", "ioredis"])("in Redis, with %s", (library) => {
  const prefix = `of-${library}`;

  test("replaces the key of running servers, and loses no open question", async () => {
    const cwd = projectWith(library);
    const address = `redis://127.0.0.1:${redis.port}`;
    await using storage = createRedisStorage(createClient({ url: address }), { prefix });
    const endpoint = serveHttp(createFixture().server, { storage });
    const { url } = await endpoint.listen(0);
    const peer = new StatelessPeer(url, { capabilities: { elicitation: {} } });
    const { requestState } = (await (await peer.call("ask")).response()).result as { requestState: string };

    const shown = await showOf(["keys", "rotate", address, "--prefix", prefix], { cwd });
    expect(shown).toEqual({ storage: address, prefix, olderKeys: 1, replacedKeyOpensUntil: expect.any(String) });
    const restMs = Date.parse(String(shown["replacedKeyOpensUntil"])) - Date.now();
    expect(Math.round(restMs / 3_600_000)).toBe(24);
    expect(await countKeys(storage)).toBe(2);

    const inputResponses = { who: { action: "accept", content: { name: "Ada" } } };
    const answered = { name: "ask", arguments: {}, inputResponses, requestState };
    expect(textOf(await (await peer.request("tools/call", answered)).response())).toBe("Hello Ada");
    await endpoint.close(0);
  });

  test("finds the address in REDIS_URL, and never shows its password", async () => {
    const cwd = projectWith(library);
    const env = { REDIS_URL: `redis://ada:se-cret%21word@127.0.0.1:${redis.port}` };
    const refused = await runPortolan(["keys", "rotate"], { cwd, env });
    expect(refused.code).toBe(1);
    expect(errorOf(refused).message).toBe("Redis cannot be used: wrong user name or password in the address");
    expect(`${refused.stdout}${refused.stderr}`).not.toMatch(/se-cret|%21word/);
  });
});

test("in Redis Cluster, replaces the key with --cluster, and asks for it without", async () => {
  const nodes = await startCluster();
  try {
    const [first] = nodes;
    const address = `redis://127.0.0.1:${first?.port}`;
    const client = createCluster({ rootNodes: [{ url: address }] });
    await using storage = createRedisStorage(client);
    await rotateKeys(storage);
    for (const library of ["redis", "ioredis"]) {
      const cwd = projectWith(library);
      expect(await showOf(["keys", "rotate", address, "--cluster"], { cwd })).toMatchObject({ storage: address });
      const refused = errorOf(await runPortolan(["keys", "rotate", address], { cwd }));
      expect(refused.message).toBe("Redis cannot be used: it is part of a Redis Cluster; add --cluster");
    }
    expect(await countKeys(storage)).toBe(3);
  } finally {
    await Promise.all(nodes.map((node) => node.stop()));
  }
});

test("in a folder, replaces the key, and waits for no server that uses it", async () => {
  const cwd = makeHome();
  const folder = join(cwd, "kept");
  const storage = createFileStorage(folder);
  await rotateKeys(storage);
  const busy = errorOf(await runPortolan(["keys", "rotate", "kept"], { cwd }));
  expect(busy.message).toContain(`process ${process.pid}`);
  await storage.close();
  expect(await showOf(["keys", "rotate", "kept"], { cwd })).toMatchObject({ storage: "kept", olderKeys: 1 });
  await using after = createFileStorage(folder);
  expect(await countKeys(after)).toBe(2);
});

test("refuses a storage without a key, and leaves it as it is", async () => {
  const cwd = projectWith("redis");
  const address = `redis://127.0.0.1:${redis.port}`;
  const refused = errorOf(await runPortolan(["keys", "rotate", address, "--prefix", "wrong"], { cwd }));
  expect(refused).toEqual({
    kind: "usage",
    message: `${address} has no key with the prefix "wrong". Servers make one with the first question that they ask`,
    next: "if your servers have another prefix, add --prefix",
  });
  expect(await redis.command("EXISTS portolan:kv:mcp/keys wrong:kv:mcp/keys")).toBe(":0\r\n");
});

test.each([
  [["keys"], "missing <action>; expected: portolan keys <action> [storage]"],
  [["keys", "turn", "x"], 'keys: expected rotate, got "turn"'],
  [["keys", "rotate"], "expected the address of Redis or the folder of a storage; REDIS_URL is not set either"],
  [["keys", "rotate", "nowhere"], "nowhere is no folder with a storage. Redis begins with redis:// or rediss://"],
  [["keys", "rotate", "nowhere", "--cluster"], "--cluster is for Redis, and nowhere is a folder"],
  [
    ["keys", "rotate", "redis://ada:a%zz@127.0.0.1:1"],
    "the address of Redis cannot be read. Write % in its password as %25",
  ],
  [
    ["keys", "rotate", "redis://127.0.0.1:1"],
    "this folder has no Redis client. Run the command in the folder of your server",
  ],
])("%j is refused with the reason", async (args, message) => {
  const refused = await runPortolan(args, { cwd: makeHome() });
  expect(refused.code).toBe(2);
  expect(errorOf(refused).message).toBe(message);
});
