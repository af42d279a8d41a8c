import { createServer as createNodeServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "portolan/server";
import { createHealthHandler, type HealthOptions } from "portolan/server/health";
import { serveHttp } from "portolan/server/http";
import { createMemoryStorage } from "portolan/storage";
import { createRedisStorage } from "portolan/storage/redis";
import { createClient } from "redis";
import { describe, expect, onTestFinished, test } from "vitest";
import { startRedis } from "../storage/redis-server.ts";

interface Health {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Headers;
}

async function toHealth(response: Response): Promise<Health> {
  const text = await response.text();
  return { status: response.status, body: text === "" ? "" : JSON.parse(text), headers: response.headers };
}

type Ask = (path: string, init?: RequestInit) => Promise<Health>;

/** Serves the handler in front of another one, and returns a function that asks it. */
async function overNode(options: HealthOptions): Promise<Ask> {
  const health = createHealthHandler(options);
  const server = createNodeServer((request, response) => {
    if (!health.node(request, response)) response.writeHead(404).end('"another handler"');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return async (path, init) => toHealth(await fetch(`http://127.0.0.1:${port}${path}`, init));
}

async function overFetch(options: HealthOptions): Promise<Ask> {
  const health = createHealthHandler(options);
  return async (path, init) => {
    const response = await health.fetch(new Request(`http://localhost${path}`, init));
    return toHealth(response ?? new Response('"another handler"', { status: 404 }));
  };
}

describe.each([
  ["node:http", overNode],
  ["fetch", overFetch],
])("over %s", (_, open) => {
  test("a process that answers is healthy, and ready without any check", async () => {
    const ask = await open({});
    for (const path of ["/healthz", "/readyz", "/readyz?verbose"]) {
      const { status, body, headers } = await ask(path);
      expect([status, body]).toEqual([200, { status: "ok" }]);
      expect(headers.get("content-type")).toBe("application/json");
      expect(headers.get("cache-control")).toBe("no-store");
    }
    expect(await ask("/readyz", { method: "HEAD" })).toMatchObject({ status: 200, body: "" });
    expect(await ask("/readyz", { method: "POST" })).toMatchObject({ status: 405 });
    expect(await ask("/mcp")).toMatchObject({ status: 404, body: "another handler" });
  });

  test("an endpoint that closes is not ready, at once, and stays healthy", async () => {
    const endpoint = serveHttp(createServer({ name: "x", version: "1.0.0" }));
    const ask = await open({ endpoint });
    expect(await ask("/readyz")).toMatchObject({ status: 200 });
    await endpoint.close(0);
    const body = { status: "unavailable", checks: { endpoint: "closing" } };
    expect(await ask("/readyz")).toMatchObject({ status: 503, body });
    expect(await ask("/healthz")).toMatchObject({ status: 200 });
  });

  test("each check that fails is named with its reason, and no error is shown", async () => {
    const errors: unknown[] = [];
    const failure = new Error("redis://user:hunter2@example.com is away");
    const ask = await open({
      checks: {
        holds: () => true,
        nothing: async () => {},
        fails: () => false,
        explains: async () => "the index is being built",
        throws: () => {
          throw failure;
        },
        rejects: () => Promise.reject(failure),
        hangs: () => new Promise(() => {}),
      },
      timeoutMs: 5,
      onError: (error, check) => errors.push([check, error]),
    });
    const { status, body } = await ask("/readyz");
    expect(status).toBe(503);
    expect(body).toEqual({
      status: "unavailable",
      checks: {
        fails: "failed",
        explains: "the index is being built",
        throws: "failed",
        rejects: "failed",
        hangs: "no answer within 5 ms",
      },
    });
    expect(errors).toEqual([
      ["throws", failure],
      ["rejects", failure],
    ]);
  });

  test("many requests run the checks once", async () => {
    let runs = 0;
    let storageReads = 0;
    const { kv } = createMemoryStorage();
    const get = (key: string) => {
      storageReads += 1;
      return kv.get(key);
    };
    const ask = await open({
      storage: { kv: { get } as typeof kv },
      checks: {
        counted: () => {
          runs += 1;
        },
      },
      cacheMs: 60_000,
    });
    await Promise.all(Array.from({ length: 20 }, () => ask("/readyz")));
    expect(await ask("/readyz")).toMatchObject({ status: 200 });
    expect([runs, storageReads]).toEqual([1, 1]);
  });
});

test("a storage that does not answer makes the process unready, until it is back", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const storage = createRedisStorage(createClient({ url: `redis://127.0.0.1:${redis.port}` }));
  onTestFinished(() => storage.close());
  await storage.ready();
  const ask = await overFetch({ storage, cacheMs: 0 });
  expect(await ask("/readyz")).toMatchObject({ status: 200 });
  redis.pause();
  const { status, body } = await ask("/readyz");
  expect(status).toBe(503);
  expect(body).toEqual({ status: "unavailable", checks: { storage: expect.stringMatching(/^failed$|^no answer/) } });
  redis.resume();
  await expect.poll(async () => (await ask("/readyz")).status, { timeout: 30_000 }).toBe(200);
});

test("a handler refuses an option that it does not know", () => {
  expect(() => createHealthHandler({ storages: {} } as HealthOptions)).toThrow("did you mean `storage`?");
});
