import { createSafeFetch, type FetchPolicy } from "portolan/net";
import { describe, expect, test } from "vitest";
import { errorOf, hasIpv6, otherLoopback, startServer } from "./kit.ts";

const lookup = async () => ["127.0.0.1"];
const local: FetchPolicy = { privateHosts: ["localhost"], lookup };

describe("an allowed URL", () => {
  test("returns a complete standard response", async () => {
    const server = await startServer((seen, response) => {
      response.writeHead(201, { "x-kind": "test", "set-cookie": ["a=1", "b=2"] }).end(`${seen.method} ${seen.body} ☂`);
    });
    const safeFetch = createSafeFetch(local);
    const init = { method: "post", headers: { authorization: "Bearer x" }, body: "a=1" };
    const response = await safeFetch(`${server.url}/a?b=c`, init);
    expect(response).toBeInstanceOf(Response);
    expect([response.status, response.ok, response.headers.get("x-kind")]).toEqual([201, true, "test"]);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await response.text()).toBe("POST a=1 ☂");
    expect(server.seen[0]).toMatchObject({ path: "/a?b=c", headers: { authorization: "Bearer x" } });
  });

  test("gets a body of bytes as they are", async () => {
    const server = await startServer(({ headers }, response) => response.end(headers["content-length"]));
    const body = new Uint8Array([0, 0xc3, 0x28, 0xff]);
    const response = await createSafeFetch(local)(server.url, { method: "POST", body });
    expect(await response.text()).toBe("4");
    // A test server reads a text; bytes that are none become the replacement character.
    expect(server.seen[0]?.body).toBe(new TextDecoder().decode(body));
  });

  test("may return no body, or an error status", async () => {
    const server = await startServer((seen, response) => {
      response.writeHead(Number(seen.path.slice(1))).end(seen.path === "/404" ? "none" : undefined);
    });
    const safeFetch = createSafeFetch(local);
    for (const status of [204, 205, 304]) expect((await safeFetch(`${server.url}/${status}`)).body).toBe(null);
    expect(await (await safeFetch(`${server.url}/404`)).text()).toBe("none");
    const head = await safeFetch(`${server.url}/404`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([404, ""]);
    expect((await errorOf(safeFetch(`${server.url}/999`))).code).toBe("http-status");
  });

  test("gets the Host header of its URL, whatever the caller sets, and keeps no connection", async () => {
    const server = await startServer((_, response) => response.end("{}"));
    const headers = { Host: "evil.example", "Accept-Encoding": "gzip", Connection: "keep-alive" };
    await createSafeFetch(local)(server.url, { headers });
    expect(server.seen[0]?.headers).toMatchObject({
      ...{ host: `localhost:${server.port}`, "accept-encoding": "identity", connection: "close" },
    });
  });

  test.skipIf(!hasIpv6)("is reached over IPv6, too (needs IPv6)", async () => {
    const server = await startServer((_, response) => response.end("six"), "::1");
    const literal = createSafeFetch({ privateHosts: ["::1"] });
    expect(await (await literal(`http://[::1]:${server.port}/`)).text()).toBe("six");
    expect(server.seen[0]?.headers.host).toBe(`[::1]:${server.port}`);
    const named = createSafeFetch({ ...local, lookup: async () => ["::1"] });
    expect(await (await named(server.url)).text()).toBe("six");
  });

  test("is reached at its second address when nothing listens at the first", async () => {
    const server = await startServer((_, response) => response.end("second"), otherLoopback);
    const safeFetch = createSafeFetch({ ...local, lookup: async () => ["127.0.0.1", otherLoopback] });
    expect(await (await safeFetch(server.url)).text()).toBe("second");
  });

  test("is resolved by the system by default", async () => {
    const server = await startServer((_, response) => response.end("found"));
    expect(await (await createSafeFetch({ privateHosts: ["localhost"] })(server.url)).text()).toBe("found");
  });
});

describe("a refused URL", () => {
  test("gets no connection, whether for itself or for its addresses", async () => {
    const server = await startServer((_, response) => response.end());
    const safeFetch = createSafeFetch({ lookup });
    for (const host of ["localhost", "127.0.0.1", "2130706433", "[::ffff:127.0.0.1]", "public.example"]) {
      const error = await errorOf(safeFetch(`https://${host}:${server.port}/a?SECRET`));
      expect(error).toMatchObject({ name: "PortolanError", code: "address-refused" });
      expect(error.message).toContain("privateHosts");
      expect(error.message).not.toContain("SECRET");
    }
    expect(server.connections.count).toBe(0);
  });

  test("is refused for one private address among public ones", async () => {
    const safeFetch = createSafeFetch({ lookup: async () => ["8.8.8.8", "64:ff9b::10.0.0.1"] });
    expect((await errorOf(safeFetch("https://public.example"))).message).toContain("64:ff9b::10.0.0.1");
  });

  test("is refused when `allow` returns false, which gets the addresses", async () => {
    const server = await startServer((_, response) => response.end("yes"));
    const asked: unknown[] = [];
    const allow = (url: URL, addresses: readonly string[]) => {
      asked.push([url.pathname, ...addresses]);
      return url.pathname === "/yes";
    };
    const safeFetch = createSafeFetch({ ...local, allow });
    expect(await (await safeFetch(`${server.url}/yes`)).text()).toBe("yes");
    expect((await errorOf(safeFetch(`${server.url}/no`))).code).toBe("address-refused");
    expect(asked).toEqual([
      ["/yes", "127.0.0.1"],
      ["/no", "127.0.0.1"],
    ]);
    expect(server.seen.length).toBe(1);
  });

  test("throws for an invalid policy when the fetch is created", () => {
    expect(() => createSafeFetch({ privateHosts: ["localhost:80"] })).toThrow("privateHosts");
  });
});

test("DNS rebinding: a second answer of the resolver changes nothing", async () => {
  const checked = await startServer((_, response) => response.end("checked"), "127.0.0.1");
  const other = await startServer((_, response) => response.end("other"), otherLoopback, checked.port);
  let asked = 0;
  const flipping = async () => {
    asked += 1;
    return [asked === 1 ? "127.0.0.1" : otherLoopback];
  };
  const response = await createSafeFetch({ ...local, lookup: flipping })(checked.url);
  expect(await response.text()).toBe("checked");
  expect([asked, other.connections.count]).toEqual([1, 0]);
});

test("an error says what failed and why, without the query", async () => {
  const server = await startServer((_, response) => response.destroy());
  const error = await errorOf(createSafeFetch(local)(`${server.url}/token?code=SECRET`, { method: "POST" }));
  expect(error).toMatchObject({ name: "PortolanError", code: "connection-closed" });
  expect(error.message).toContain(`POST ${server.url}/token failed`);
  expect(error.message).not.toContain("SECRET");
  const nobody = createSafeFetch({ ...local, lookup: async () => ["127.0.0.1", otherLoopback] });
  expect((await errorOf(nobody("http://localhost:9/"))).message).toMatch(/failed: .*ECONNREFUSED/);
  const broken = await errorOf(createSafeFetch(local)(server.url, { headers: { authorization: "SECRET\r\nx: y" } }));
  expect([broken.code, broken.cause]).toEqual(["invalid-argument", undefined]);
  expect(broken.message).not.toContain("SECRET");
});

describe("with a custom fetch", () => {
  test("the URL itself is checked, and so is each redirect", async () => {
    const sent: [string, RequestInit | undefined][] = [];
    const fetch: typeof globalThis.fetch = async (input, init) => {
      sent.push([String(input), init]);
      if (String(input).endsWith("/a")) return new Response(null, { status: 302, headers: { location: "/b" } });
      if (String(input).endsWith("/b")) return new Response("proxied", { headers: { "content-encoding": "gzip" } });
      return new Response(null, { status: 302, headers: { location: "https://10.0.0.1/" } });
    };
    const neverAsked = () => Promise.reject(new Error("The proxy resolves"));
    const safeFetch = createSafeFetch({ fetch, redirects: "anywhere", lookup: neverAsked });
    expect(await (await safeFetch("https://public.example/a")).text()).toBe("proxied");
    expect(sent.map(([url]) => url)).toEqual(["https://public.example/a", "https://public.example/b"]);
    expect(sent[0]?.[1]).toMatchObject({ redirect: "manual", credentials: "omit" });
    for (const url of ["https://10.0.0.1/", "https://public.example/c", "https://metadata.google.internal/"]) {
      expect((await errorOf(safeFetch(url))).code).toBe("address-refused");
    }
    expect(sent.length).toBe(3);
  });

  test("size and time are limited, too", async () => {
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1000)) });
    const large = createSafeFetch({ fetch: async () => new Response(endless), maxBytes: 5_000 });
    expect((await errorOf(large("https://public.example"))).code).toBe("message-too-large");
    const deaf = createSafeFetch({ fetch: () => new Promise(() => {}), timeoutMs: 20 });
    expect((await errorOf(deaf("https://public.example"))).code).toBe("timeout");
  });
});

describe("a URL with a fetch from `via`", () => {
  const other: typeof globalThis.fetch = async (input) => new Response(`by another way: ${input}`);

  test("is not resolved here, and all others are", async () => {
    const looked: string[] = [];
    const safeFetch = createSafeFetch({
      via: ({ hostname }) => (hostname === "far.example" ? other : undefined),
      lookup: async (host) => {
        looked.push(host);
        return ["127.0.0.1"];
      },
    });
    expect(await (await safeFetch("https://far.example/x")).text()).toBe("by another way: https://far.example/x");
    expect(looked).toEqual([]);
    expect(await errorOf(safeFetch("https://near.example/x"))).toMatchObject({ code: "address-refused" });
    expect(looked).toEqual(["near.example"]);
  });

  test("is still refused for the URL itself", async () => {
    const safeFetch = createSafeFetch({ via: () => other });
    for (const address of ["https://10.0.0.1/", "https://x.internal/", "http://far.example/"]) {
      expect(await errorOf(safeFetch(address))).toMatchObject({ code: "address-refused" });
    }
  });
});
