import { serveHttp } from "portolan/server/http";
import { expect } from "vitest";
import { createFixture } from "../../fixture.ts";
import { type Headers, plainHeaders, send, start, toInitialize } from "../../kit.ts";
import { begin, open, SessionPeer, toHeaders, toMeta } from "../../peer.ts";
import { byUser } from "../../users.ts";
import type { HttpRequirement } from "../requirement.ts";

/** A request that every server answers with 200: its headers and its body as text. */
function simplest(revision: string): { headers: Headers; body: string } {
  if (revision < "2026-07-28") return { headers: plainHeaders, body: JSON.stringify(toInitialize(revision)) };
  const params = { _meta: toMeta() };
  return {
    headers: toHeaders("tools/list"),
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params }),
  };
}

async function statusWith(url: string, revision: string, more: Headers): Promise<number> {
  const { headers, body } = simplest(revision);
  return (await send(url, { headers: { ...headers, ...more }, body })).status;
}

const page = "https://app.example";

export const hostilePages: readonly HttpRequirement[] = [
  {
    row: "T01",
    says: "a host other than loopback is refused for every method, before the body is read",
    async test(revision) {
      const { url, port } = await start(createFixture().server, { limits: { bodyBytes: 4 } });
      for (const host of [
        "evil.example",
        `evil.example:${port}`,
        "127.0.0.1.evil.example",
        "localhost@evil.example",
        "0.0.0.0",
      ]) {
        for (const method of ["POST", "GET", "DELETE", "OPTIONS"]) {
          const { headers, body } = simplest(revision);
          const answer = await send(url, { method, headers: { ...headers, host }, ...(method === "POST" && { body }) });
          expect([host, method, answer.status]).toEqual([host, method, 403]);
          expect((await answer.json()).error?.code).toBe(-32600);
        }
      }
    },
  },
  {
    row: "T01",
    says: "loopback hosts are allowed by default; with allowedHosts only those listed are",
    async test(revision) {
      const { url, port } = await start(createFixture().server);
      for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`, "LOCALHOST"]) {
        expect([host, await statusWith(url, revision, { host })]).toEqual([host, 200]);
      }
      const listed = await start(createFixture().server, { allowedHosts: ["mcp.example"] });
      expect(await statusWith(listed.url, revision, { host: "mcp.example" })).toBe(200);
      expect(await statusWith(listed.url, revision, { host: "localhost" })).toBe(403);
    },
  },
  {
    row: "T01",
    says: "a foreign, invalid or null origin is refused; a missing or own origin is allowed",
    async test(revision) {
      const { url } = await start(createFixture().server);
      for (const origin of [
        page,
        "null",
        "http://localhost.evil.example",
        "http://[",
        "file://",
        "http://localhost:1",
      ]) {
        expect([origin, await statusWith(url, revision, { origin })]).toEqual([origin, 403]);
      }
      expect(await statusWith(url, revision, {})).toBe(200);
      expect(await statusWith(url, revision, { origin: new URL(url).origin })).toBe(200);
    },
  },
  {
    row: "E20",
    says: "a listed origin is allowed, any other is refused with 403",
    async test(revision) {
      const { url } = await start(createFixture().server, { allowedOrigins: [page, "vscode-webview://abc"] });
      for (const origin of [page, "https://APP.example:443", "vscode-webview://abc"]) {
        expect([origin, await statusWith(url, revision, { origin })]).toEqual([origin, 200]);
      }
      for (const origin of [
        "http://app.example",
        `${page}:8443`,
        `${page}.evil.example`,
        "vscode-webview://abcd",
        "",
      ]) {
        expect([origin, await statusWith(url, revision, { origin })]).toEqual([origin, 403]);
      }
    },
  },
  {
    row: "E20",
    says: "the origin is checked on GET and DELETE as well",
    on: ["2025-11-25"],
    async test(revision) {
      const { url } = await start(createFixture().server);
      const peer = (await begin(url, revision)).at(url, { origin: page });
      for (const answer of [peer.get(), peer.delete(), peer.request("ping")]) expect((await answer).status).toBe(403);
    },
  },
  {
    row: "T02",
    says: "content types that need no preflight request are refused with 415",
    async test(revision) {
      const { url } = await start(createFixture().server);
      for (const type of [
        "text/plain",
        "application/x-www-form-urlencoded",
        "text/plain;application/json",
        "application/jsonx",
        undefined,
      ]) {
        expect([type, await statusWith(url, revision, { "content-type": type })]).toEqual([type, 415]);
      }
      for (const type of ["application/json; charset=utf-8", "Application/JSON"]) {
        expect([type, await statusWith(url, revision, { "content-type": type })]).toEqual([type, 200]);
      }
    },
  },
  {
    row: "T02",
    says: "a cross-site request without an origin is refused",
    async test(revision) {
      const { url } = await start(createFixture().server, { allowedOrigins: [page] });
      expect(await statusWith(url, revision, { "sec-fetch-site": "cross-site" })).toBe(403);
      expect(await statusWith(url, revision, { "sec-fetch-site": "cross-site", origin: page })).toBe(200);
    },
  },
  {
    row: "T03",
    says: "answers have no CORS headers for origins that are not listed",
    async test(revision) {
      const { url } = await start(createFixture().server, { allowedOrigins: [page] });
      const { headers, body } = simplest(revision);
      const plain = await send(url, { headers, body });
      const own = await send(url, { headers: { ...headers, origin: new URL(url).origin }, body });
      const evil = await send(url, { headers: { ...headers, origin: "https://evil.example" }, body });
      for (const answer of [plain, own, evil]) {
        expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
      }
    },
  },
  {
    row: "T03",
    says: "a listed origin may read answers, errors and streams, with session id and challenge",
    async test(revision) {
      const { url } = await start(createFixture().server, { allowedOrigins: [page], verify: byUser });
      const options = { headers: { origin: page, authorization: "ada" } };
      const peer = await open(url, revision, options);
      const refused = await send(url, { headers: { ...plainHeaders, origin: page }, body: "{}" });
      expect(refused.status).toBe(401);
      const headers = peer instanceof SessionPeer ? peer.headers : { ...toHeaders("x"), ...options.headers };
      const broken = await send(url, { headers, body: "{" });
      expect(broken.status).toBe(400);
      for (const answer of [await peer.call("echo", { text: "hi" }), await peer.call("progress"), refused, broken]) {
        expect(answer.headers["access-control-allow-origin"]).toBe(page);
        expect(answer.headers["access-control-allow-credentials"]).toBeUndefined();
        expect(answer.headers.vary).toContain("Origin");
        const exposed = String(answer.headers["access-control-expose-headers"]).toLowerCase();
        for (const name of ["mcp-session-id", "www-authenticate"]) expect(exposed).toContain(name);
      }
    },
  },
  {
    row: "T03",
    says: "a preflight request is answered with the allowed headers, without authentication",
    async test() {
      const { url } = await start(createFixture().server, { allowedOrigins: [page], verify: byUser });
      const asked = [
        "authorization",
        "content-type",
        "mcp-session-id",
        "mcp-protocol-version",
        "mcp-method",
        "mcp-name",
      ];
      const wanted = [...asked, "last-event-id", "mcp-param-region"];
      const headers = {
        origin: page,
        "access-control-request-method": "POST",
        "access-control-request-headers": [...wanted, "x-forwarded-for", "cookie"].join(", "),
      };
      const answer = await send(url, { method: "OPTIONS", headers });
      expect([answer.status, await answer.text()]).toEqual([204, ""]);
      expect(answer.headers["access-control-allow-origin"]).toBe(page);
      expect(answer.headers["access-control-allow-methods"]?.split(", ").sort()).toEqual(["DELETE", "GET", "POST"]);
      expect(answer.headers["access-control-allow-headers"]?.split(", ").sort()).toEqual(wanted.sort());
      const evil = await send(url, { method: "OPTIONS", headers: { ...headers, origin: "https://evil.example" } });
      expect([evil.status, evil.headers["access-control-allow-origin"]]).toEqual([403, undefined]);
    },
  },
  {
    row: "T04",
    says: "an address other than loopback needs verify or dangerouslyAllowUnauthenticated",
    async test() {
      const { server } = createFixture();
      for (const host of ["0.0.0.0", "::", "192.0.2.1", "example.com"]) {
        await expect(serveHttp(server).listen(0, host)).rejects.toThrow(/verify.*dangerouslyAllowUnauthenticated/);
      }
      for (const options of [{ verify: byUser }, { dangerouslyAllowUnauthenticated: true }]) {
        const serving = serveHttp(server, options);
        expect((await serving.listen(0, "0.0.0.0")).port).toBeGreaterThan(0);
        await serving.close();
      }
    },
  },
  {
    row: "E21",
    says: "a server listens on loopback by default",
    async test(revision) {
      const { url } = await start(createFixture().server);
      expect(new URL(url).hostname).toBe("127.0.0.1");
      expect(await statusWith(url, revision, {})).toBe(200);
    },
  },
];
