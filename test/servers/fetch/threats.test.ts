import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createGzip } from "node:zlib";
import { connect } from "portolan/client";
import { connectInMemory } from "portolan/testing";
import { createFetch } from "portolan-fetch";
import { describe, expect, onTestFinished, test } from "vitest";
import { otherLoopback, startServer } from "../../net/kit.ts";
import { processWith } from "../files/kit.ts";
import { call, failureOf } from "../kit/tools.ts";
import { article, html, open, startSite } from "./kit.ts";

const script = fileURLToPath(new URL("../../../packages/servers/fetch/dist/main.js", import.meta.url));

/** Returns the ids of the processes that a process has started. */
function childrenOf(parent: string): string[] {
  const parentOf = (pid: string) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1];
    } catch {
      return undefined;
    }
  };
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name) && parentOf(name) === parent);
}

describe("addresses that are not public", () => {
  const hidden = "is not allowed";

  test.each([
    "http://127.0.0.1/",
    "https://127.0.0.1/",
    "https://[::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://10.0.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://0x7f000001/",
    "https://2130706433/",
    "https://metadata.google.internal/",
    "https://printer.local/",
    "https://user:secret@example.com/",
    "https://example.com./",
  ])("%s is refused", async (url) => {
    expect(await failureOf(await open({ privateHosts: [] }), "fetch", { url })).toContain(hidden);
  });

  test.each([
    "file:///etc/passwd",
    "ftp://example.com/",
    "data:text/html,x",
    "javascript:alert(1)",
    "gopher://x",
    "/etc/passwd",
    "",
  ])("%j is not a valid URL", async (url) => {
    expect(await failureOf(await open(), "fetch", { url })).toContain("url");
  });

  test("refuses a name that resolves to a private address, without connecting and without revealing it", async () => {
    const inside = await startServer((_, response) => response.end("secret"));
    const client = await open({ privateHosts: [], lookup: async () => ["127.0.0.1"] });
    const why = await failureOf(client, "fetch", { url: `https://example.com:${inside.port}/` });
    expect(why).toContain(hidden);
    expect(why).not.toContain("127.0.0.1");
    expect(inside.connections.count).toBe(0);
  });

  test("refuses a name with a public and a private address", async () => {
    const client = await open({ privateHosts: [], lookup: async () => ["93.184.216.34", "10.0.0.1"] });
    expect(await failureOf(client, "fetch", { url: "https://example.com/" })).toContain(hidden);
  });

  test("connects to the checked address even if the name resolves differently later", async () => {
    const checked = await startServer((_, response) => response.end("checked"));
    const other = await startServer((_, response) => response.end("secret"), otherLoopback, checked.port);
    let asked = 0;
    const lookup = async () => {
      asked += 1;
      return [asked % 2 === 1 ? "127.0.0.1" : otherLoopback];
    };
    // Only the given lookup knows this name: any other resolver would fail.
    const client = await open({ privateHosts: ["flip.localhost"], lookup, ignoreRobots: true });
    for (let round = 1; round <= 2; round += 1) {
      asked = 0;
      expect((await call(client, "fetch", { url: checked.url.replace("localhost", "flip.localhost") })).text).toBe(
        "checked",
      );
      expect(asked).toBe(1);
    }
    expect(other.connections.count).toBe(0);
  });

  test.each([
    (port: number) => `http://127.0.0.1:${port}/`,
    (port: number) => `https://127.0.0.1:${port}/`,
    (port: number) => `https://inside.example:${port}/`,
    (port: number) => `http://inside.example:${port}/`,
    () => "file:///etc/passwd",
    () => "https://169.254.169.254/",
  ])("does not follow a redirect to a URL that is not allowed (%#)", async (toTarget) => {
    const inside = await startServer((_, response) => response.end("secret"));
    const site = await startSite((_, response) => response.writeHead(302, { location: toTarget(inside.port) }).end());
    expect(await failureOf(await open(), "fetch", { url: site.url })).toContain(hidden);
    expect(inside.connections.count).toBe(0);
  });

  test("checks redirects of robots.txt in the same way", async () => {
    const inside = await startServer((_, response) => response.end("User-agent: *\nAllow: /"));
    const site = await startSite(
      (_, response) => response.end("page"),
      (response) => response.writeHead(302, { location: `http://127.0.0.1:${inside.port}/robots.txt` }).end(),
    );
    expect(await failureOf(await open(), "fetch", { url: site.url })).toContain(hidden);
    expect([inside.connections.count, site.seen.map(({ path }) => path)]).toEqual([0, ["/robots.txt"]]);
  });

  test("never sends http to other machines: changes it to https, or refuses it for an allowed private host", async () => {
    expect(await failureOf(await open({ privateHosts: [] }), "fetch", { url: "http://10.0.0.1/a" })).toContain(
      "https://10.0.0.1/a",
    );
    const inside = await startServer((_, response) => response.end("plain"));
    const client = await open({ privateHosts: ["inside.example"] });
    expect(await failureOf(client, "fetch", { url: `http://inside.example:${inside.port}/` })).toContain(hidden);
    expect(inside.connections.count).toBe(0);
  });
});

describe("robots.txt", () => {
  const page = (_: unknown, response: { end(text: string): unknown }) => response.end("page");

  test.each<[string, number, string, boolean]>([
    ["none", 404, "", true],
    ["status 403", 403, "", true],
    ["one that allows", 200, "User-agent: *\nDisallow: /other", true],
    ["one that forbids", 200, "User-agent: *\nDisallow: /", false],
    ["one that forbids us", 200, "User-agent: portolan-fetch\nDisallow: /page\n\nUser-agent: *\nAllow: /", false],
    ["status 500", 500, "User-agent: *\nAllow: /", false],
    ["status 503", 503, "", false],
    ["status 429", 429, "", false],
    ["one that is too long", 200, `User-agent: *\nAllow: /\n${"#".repeat(600_000)}`, false],
  ])("%s", async (_, status, text, isAllowed) => {
    const site = await startSite(page, (response) => response.writeHead(status).end(text));
    const client = await open();
    const url = `${site.url}/page`;
    if (isAllowed) expect((await call(client, "fetch", { url })).text).toBe("page");
    else expect(await failureOf(client, "fetch", { url })).toContain("robots.txt");
    expect(site.seen.filter(({ path }) => path === "/page").length).toBe(isAllowed ? 1 : 0);
    expect((await call(await open({ ignoreRobots: true }), "fetch", { url })).text).toBe("page");
  });

  test("that breaks off disallows everything", async () => {
    const site = await startSite(page, (response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("User-agent: *", () => response.destroy());
    });
    expect(await failureOf(await open(), "fetch", { url: site.url })).toContain("robots.txt");
  });

  test("of a redirect target is fetched before the page", async () => {
    const forbidding = await startSite(page, (response) => response.end("User-agent: *\nDisallow: /"));
    const site = await startSite((_, response) =>
      response.writeHead(302, { location: `${forbidding.url}/page` }).end(),
    );
    expect(await failureOf(await open(), "fetch", { url: site.url })).toContain("robots.txt");
    expect(forbidding.seen.map(({ path }) => path)).toEqual(["/robots.txt"]);
  });

  test("is fetched once for several pages", async () => {
    const site = await startSite(page);
    const client = await open();
    for (const path of ["/a", "/b"]) await call(client, "fetch", { url: site.url + path });
    expect(site.seen.map(({ path }) => path)).toEqual(["/robots.txt", "/a", "/b"]);
  });
});

describe("a robots.txt that wastes resources", () => {
  const page = (_: unknown, response: { end(text: string): unknown }) => response.end("page");

  test("is fetched once for concurrent pages, also if the first caller leaves", async () => {
    const leaving = new AbortController();
    let requests = 0;
    const site = await startSite(page, async (response) => {
      requests += 1;
      leaving.abort(new Error("enough"));
      await first;
      response.end("User-agent: *\nDisallow: /b");
    });
    const client = await open();
    const first = expect(
      client.callTool("fetch", { url: `${site.url}/a` }, { signal: leaving.signal }),
    ).rejects.toThrow("enough");
    const others = ["/b", "/c", "/d"].map((path) => client.callTool("fetch", { url: site.url + path }));
    const failed = (await Promise.all(others)).map(({ isError }) => isError ?? false);
    expect({ failed, requests }).toEqual({ failed: [true, false, false], requests: 1 });
  });

  test("does not multiply its agents by its rules", async () => {
    const agents = Array.from({ length: 1_450 }, (_, index) => `user-agent:a${index}`);
    const robots = [...agents, "user-agent:*", ...Array.from({ length: 2_500 }, () => "allow:/")].join("\n");
    expect(robots.length).toBeLessThan(44_000);
    const site = await startSite(page, (response) => response.end(robots));
    const args = ["--max-old-space-size=48", script, "--allow-private", "localhost"];
    const client = await connect({ command: process.execPath, args });
    onTestFinished(() => client.close());
    expect((await call(client, "fetch", { url: site.url })).text).toBe("page");
  });

  test("forbids everything if it has too many rules, and the reason is told", async () => {
    const site = await startSite(page, (response) => response.end(`User-agent: *\n${"Allow: /\n".repeat(5_001)}`));
    expect(await failureOf(await open(), "fetch", { url: site.url })).toMatch(/robots\.txt has more than 5000 rules/);
  });

  test("that is answered with an error is named as the reason", async () => {
    const site = await startSite(page, (response) => response.writeHead(503).end());
    expect(await failureOf(await open(), "fetch", { url: site.url })).toContain(
      "robots.txt is answered with status 503",
    );
  });
});

describe("pages that exhaust the converter", () => {
  /** Serves a page under `/hard` and an article elsewhere; returns a client of a server in a process of its own. */
  async function openHard(hard: string) {
    const site = await startSite(({ path }, response) => html(response, path === "/hard" ? hard : article("")));
    // A name that no other process has on its command line.
    const unique = `port-${site.port}.example`;
    const args = [script, "--allow-private", "localhost", "--allow-private", unique];
    const client = await connect({ command: process.execPath, args });
    onTestFinished(() => client.close());
    return { client, url: site.url, pid: await processWith(unique) };
  }

  test.each([
    ["200,000 links", '<p><a href="x">x</a>'.repeat(200_000), "more than 200000 tags"],
    ["a long base URL", `<base href="/${"x".repeat(5_000)}/">${'<a href="y">y</a> '.repeat(2_000)}`, "too long"],
  ])("%s fail alone", async (_, hard, why) => {
    const { client, url } = await openHard(hard);
    const { isError = false, content } = await client.callTool("fetch", { url: `${url}/hard` });
    expect(isError, JSON.stringify(content).slice(0, 500)).toBe(true);
    expect(JSON.stringify(content)).toContain(why);
    expect((await call(client, "fetch", { url })).title).toBe("A page");
  });

  test("many pages of one caller do not keep out another one", async () => {
    const hard = `<ul>${'<li><a href="x">x</a>'.repeat(60_000)}</ul>`;
    const site = await startSite(({ path }, response) => html(response, path === "/hard" ? hard : article("")));
    const server = createFetch({ privateHosts: ["localhost"], lookup: async () => ["127.0.0.1"], convertMs: 3_000 });
    const [hostile, innocent] = await Promise.all(
      ["hostile", "innocent"].map((key) => connectInMemory(server, { serve: { principal: { key } } })),
    );
    onTestFinished(() => Promise.all([hostile!.close(), innocent!.close()]).then(() => undefined));
    const leaving = new AbortController();
    let refused = 0;
    let tried = 0;
    const flood = Array.from({ length: 40 }, async () => {
      const { content } = await hostile!.callTool("fetch", { url: `${site.url}/hard` }, { signal: leaving.signal });
      if (JSON.stringify(content).includes("Too many pages")) refused += 1;
      else tried += 1;
    });
    const ended = Promise.allSettled(flood);
    await expect.poll(() => refused, { timeout: 30_000 }).toBeGreaterThan(0);
    const before = tried;
    expect((await call(innocent!, "fetch", { url: site.url })).title).toBe("A page");
    // At most the two pages that were being converted, and two that came after them.
    expect(tried - before).toBeLessThanOrEqual(4);
    leaving.abort(new Error("enough"));
    await ended;
  });

  test("a table with one long row is not padded to a square", async () => {
    const table = `<table><tr>${"<td>x".repeat(1_500)}${"<tr><td>x<td>y".repeat(1_500)}</table>`;
    const { client, url } = await openHard(table);
    expect((await call(client, "fetch", { url: `${url}/hard` })).total).toBeLessThan(100_000);
  });

  test("a conversion that V8 aborts fails alone", async () => {
    const { client, url, pid } = await openHard(`<ul>${'<li><a href="x">x</a>'.repeat(60_000)}</ul>`);
    const failed = failureOf(client, "fetch", { url: `${url}/hard` });
    await expect.poll(() => childrenOf(pid), { timeout: 20_000 }).toHaveLength(1);
    process.kill(Number(childrenOf(pid)[0]), "SIGABRT");
    expect(await failed).toContain("it needs too much memory");
    expect((await call(client, "fetch", { url })).title).toBe("A page");
  });

  test("a cancelled call ends the process of its conversion", async () => {
    const leaving = new AbortController();
    const { client, url, pid } = await openHard(`<ul>${'<li><a href="x">x</a>'.repeat(60_000)}</ul>`);
    const left = expect(client.callTool("fetch", { url: `${url}/hard` }, { signal: leaving.signal })).rejects.toThrow(
      "enough",
    );
    await expect.poll(() => childrenOf(pid), { timeout: 20_000 }).toHaveLength(1);
    leaving.abort(new Error("enough"));
    await left;
    await expect.poll(() => childrenOf(pid), { timeout: 20_000 }).toEqual([]);
  });
});

describe("sites that waste resources", () => {
  test("stops an endless body at the limit", async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const site = await startSite((_, response) => {
      closed = once(response, "close");
      const more = () => {
        if (!response.destroyed && response.write("x".repeat(10_000))) setImmediate(more);
      };
      response.on("drain", more);
      more();
    });
    expect(await failureOf(await open({ maxBytes: 100_000 }), "fetch", { url: site.url })).toContain(
      "larger than 100000 bytes",
    );
    await closed;
  });

  test("stops a decompression bomb at the limit of the output", async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const site = await startSite((_, response) => {
      closed = once(response, "close");
      const zip = createGzip();
      response.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" });
      zip.pipe(response);
      const zeros = Buffer.alloc(1024 * 1024);
      const more = () => {
        if (!response.destroyed) zip.write(zeros, more);
      };
      more();
    });
    expect(await failureOf(await open({ maxBytes: 1_000_000 }), "fetch", { url: site.url })).toContain("larger than");
    await closed;
  });

  test("stops a slow body after the timeout", async () => {
    const site = await startSite((_, response) => {
      const drops = setInterval(() => response.write("x"), 10);
      response.on("close", () => clearInterval(drops));
    });
    expect(await failureOf(await open({ timeoutMs: 200 }), "fetch", { url: site.url })).toContain(
      "did not answer within 200 ms",
    );
  });

  test("refuses huge headers", async () => {
    const site = await startSite((_, response) => response.setHeader("x-huge", "x".repeat(100_000)).end("page"));
    expect(await failureOf(await open(), "fetch", { url: site.url })).toContain("could not be reached");
  });

  test("stops endless redirects", async () => {
    const site = await startSite(({ path }, response) => response.writeHead(302, { location: `${path}x` }).end());
    expect(await failureOf(await open(), "fetch", { url: site.url })).toContain("has too many redirects");
  });

  test("a page that crashes the converter fails alone, and its source is available", async () => {
    const site = await startSite((_, response) => html(response, "<div>".repeat(200_000)));
    const client = await open({ convertMs: 4_000 });
    expect(await failureOf(client, "fetch", { url: site.url })).toContain('format "raw"');
    expect((await call(client, "fetch", { url: site.url, format: "raw", length: 5 })).text).toBe("<div>");
    const other = await startSite((_, response) => html(response, article("")));
    expect((await call(client, "fetch", { url: other.url })).title).toBe("A page");
  });

  test("stops a conversion after the timeout", async () => {
    const site = await startSite((_, response) => html(response, article("")));
    expect(await failureOf(await open({ convertMs: 1 }), "fetch", { url: site.url })).toContain(
      "could not be converted",
    );
  });

  test("a cancelled call ends at once and closes the connection", async () => {
    const leaving = new AbortController();
    let closed: Promise<unknown> = Promise.resolve();
    const site = await startSite((_, response) => {
      closed = once(response, "close");
      response.write("begun");
      leaving.abort(new Error("enough"));
    });
    const client = await open();
    await expect(client.callTool("fetch", { url: site.url }, { signal: leaving.signal })).rejects.toThrow("enough");
    await closed;
  });
});
