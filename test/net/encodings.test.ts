import { once } from "node:events";
import { brotliCompressSync, createGzip, deflateSync, gzipSync } from "node:zlib";
import { createSafeFetch, type FetchPolicy } from "portolan/net";
import { describe, expect, test } from "vitest";
import { errorOf, startServer } from "./kit.ts";

const local: FetchPolicy = { privateHosts: ["localhost"], lookup: async () => ["127.0.0.1"] };
const decoding = createSafeFetch({ ...local, decode: true, maxBytes: 10_000 });

describe("compressed responses, if the policy allows them", () => {
  test.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
  ])("%s is decoded, and the headers describe the decoded body", async (encoding, compress) => {
    const server = await startServer((_, response) => {
      const body = compress("the text ☂");
      response.writeHead(200, { "content-encoding": encoding.toUpperCase(), "content-length": body.length }).end(body);
    });
    const response = await decoding(server.url);
    expect(await response.text()).toBe("the text ☂");
    expect([response.headers.get("content-encoding"), response.headers.get("content-length")]).toEqual([null, null]);
    expect(server.seen[0]?.headers["accept-encoding"]).toBe("gzip, br");
  });

  test("an uncompressed response works, and so does one without a body", async () => {
    const server = await startServer(({ path, method }, response) => {
      if (path === "/plain") response.end("plain");
      else response.writeHead(method === "HEAD" ? 200 : 204, { "content-encoding": "gzip" }).end();
    });
    expect(await (await decoding(`${server.url}/plain`)).text()).toBe("plain");
    expect((await decoding(`${server.url}/none`)).status).toBe(204);
    expect((await decoding(`${server.url}/head`, { method: "HEAD" })).status).toBe(200);
  });

  test("the limit counts decoded bytes exactly", async () => {
    const server = await startServer(({ path }, response) => {
      response.setHeader("content-encoding", "gzip").end(gzipSync("x".repeat(Number(path.slice(1)))));
    });
    expect((await (await decoding(`${server.url}/10000`)).text()).length).toBe(10_000);
    expect((await errorOf(decoding(`${server.url}/10001`))).code).toBe("message-too-large");
  });

  test("an endless bomb is dropped at the limit, and its connection closed", async () => {
    let closed: Promise<unknown> = Promise.resolve();
    let sent = 0;
    const server = await startServer((_, response) => {
      closed = once(response, "close");
      const zip = createGzip();
      response.setHeader("content-encoding", "gzip");
      zip.pipe(response);
      const zeros = Buffer.alloc(1024 * 1024);
      const more = () => {
        while (!response.destroyed && zip.write(zeros)) sent += 1;
        if (!response.destroyed) zip.once("drain", more);
      };
      more();
    });
    expect((await errorOf(decoding(server.url))).code).toBe("message-too-large");
    await closed;
    expect(sent).toBeLessThan(1_000);
  });

  test("a wrong or truncated encoding is an error", async () => {
    const server = await startServer(({ path }, response) => {
      const whole = gzipSync("x".repeat(5_000));
      response.setHeader("content-encoding", "gzip").end(path === "/cut" ? whole.subarray(0, 20) : "no gzip at all");
    });
    for (const path of ["/cut", "/wrong"])
      expect((await errorOf(decoding(server.url + path))).code).toBe("connection-closed");
  });

  test.each(["deflate", "gzip, gzip", "zstd"])("%s was not offered and is refused", async (encoding) => {
    const server = await startServer((_, response) => {
      response.setHeader("content-encoding", encoding).end(deflateSync("x"));
    });
    expect((await errorOf(decoding(server.url))).code).toBe("answer-invalid");
  });
});

test("the response has the URL that answered, after as many redirects as are allowed", async () => {
  const server = await startServer(({ path }, response) => {
    const step = Number(path.slice(1));
    if (step === 0) response.end("here");
    else response.writeHead(302, { location: `/${step - 1}` }).end();
  });
  const patient = createSafeFetch({ ...local, maxRedirects: 5 });
  expect((await patient(`${server.url}/5`)).url).toBe(`${server.url}/0`);
  expect((await errorOf(patient(`${server.url}/6`))).code).toBe("limit-reached");
});

test("allow may be asynchronous", async () => {
  const server = await startServer((_, response) => response.end());
  const allow = async ({ pathname }: URL) => pathname !== "/no";
  const asked = createSafeFetch({ ...local, allow });
  expect((await asked(`${server.url}/yes`)).status).toBe(200);
  expect((await errorOf(asked(`${server.url}/no`))).code).toBe("address-refused");
  expect(server.seen.length).toBe(1);
});
