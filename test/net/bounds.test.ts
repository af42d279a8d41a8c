import { once } from "node:events";
import { gzipSync } from "node:zlib";
import { createSafeFetch, type FetchPolicy } from "portolan/net";
import { describe, expect, test } from "vitest";
import { errorOf, startServer } from "./kit.ts";

const local: FetchPolicy = { privateHosts: ["localhost"], lookup: async () => ["127.0.0.1"] };

describe("size", () => {
  const safeFetch = createSafeFetch({ ...local, maxBytes: 1_000 });

  test("a response of exactly the limit is accepted, one byte more is not", async () => {
    const server = await startServer(({ path }, response) => {
      response.write("x".repeat(500));
      response.end("x".repeat(Number(path.slice(1)) - 500));
    });
    expect((await (await safeFetch(`${server.url}/1000`)).text()).length).toBe(1_000);
    const error = await errorOf(safeFetch(`${server.url}/1001`));
    expect(error).toMatchObject({ code: "message-too-large" });
    expect(error.message).toContain("maxBytes");
  });

  test("a content-length above the limit fails at once", async () => {
    const server = await startServer((_, response) => {
      response.writeHead(200, { "content-length": "1001" }).flushHeaders();
    });
    expect((await errorOf(safeFetch(server.url))).code).toBe("message-too-large");
  });

  test("an endless body is cut off and its connection closed", async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const server = await startServer((_, response) => {
      closed = once(response, "close");
      const more = () => {
        if (!response.destroyed && response.write("x".repeat(100))) setImmediate(more);
      };
      response.on("drain", more);
      more();
    });
    expect((await errorOf(safeFetch(server.url))).code).toBe("message-too-large");
    await closed;
  });

  test("a wrong content-length is an error, not a shorter response", async () => {
    const server = await startServer((_, response) => {
      response.writeHead(200, { "content-length": "10" });
      response.write("12345", () => response.destroy());
    });
    expect((await errorOf(safeFetch(server.url))).code).toBe("connection-closed");
  });

  test("a compressed response is refused, however small", async () => {
    const server = await startServer((_, response) => {
      response.setHeader("content-encoding", "gzip").end(gzipSync("x".repeat(1_000_000)));
    });
    expect((await errorOf(safeFetch(server.url))).code).toBe("answer-invalid");
  });
});

describe("time limits", () => {
  const hasty = createSafeFetch({ ...local, timeoutMs: 100 });

  test("end a request that is never answered", async () => {
    const server = await startServer(() => {});
    const error = await errorOf(hasty(`${server.url}/slow?SECRET`));
    expect(error).toMatchObject({ name: "PortolanError", code: "timeout" });
    expect(error.message).not.toContain("SECRET");
  });

  test("end a body that arrives byte by byte", async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const server = await startServer((_, response) => {
      const drops = setInterval(() => response.write("x"), 10);
      closed = once(response, "close").finally(() => clearInterval(drops));
    });
    expect((await errorOf(hasty(server.url))).code).toBe("timeout");
    await closed;
  });

  test("a resolver that never answers; nothing is sent when it finally does", async () => {
    const server = await startServer((_, response) => response.end());
    let resolve: (addresses: string[]) => void = () => {};
    const lookup = () => new Promise<string[]>((found) => (resolve = found));
    expect((await errorOf(createSafeFetch({ ...local, lookup, timeoutMs: 20 })(server.url))).code).toBe("timeout");
    resolve(["127.0.0.1"]);
    await createSafeFetch(local)(server.url);
    expect(server.connections.count).toBe(1);
  });

  test("are shared by redirects", async () => {
    const server = await startServer(({ path }, response) => {
      const timer = setTimeout(() => response.writeHead(302, { location: `${path}x` }).end(), 60);
      response.on("close", () => clearTimeout(timer));
    });
    expect((await errorOf(hasty(`${server.url}/`))).code).toBe("timeout");
  });
});

describe("the caller's signal", () => {
  test("ends the request with its reason, and closes the connection", async () => {
    const leaving = new AbortController();
    const reason = new Error("enough");
    let closed: Promise<unknown> = Promise.resolve();
    const server = await startServer((_, response) => {
      closed = once(response, "close");
      response.write("begun");
      leaving.abort(reason);
    });
    expect(await errorOf(createSafeFetch(local)(server.url, { signal: leaving.signal }))).toBe(reason);
    await closed;
  });

  test("that is aborted before sends nothing", async () => {
    const server = await startServer((_, response) => response.end());
    const reason = new Error("never");
    const signal = AbortSignal.abort(reason);
    expect(await errorOf(createSafeFetch(local)(server.url, { signal }))).toBe(reason);
    expect(server.connections.count).toBe(0);
  });
});
