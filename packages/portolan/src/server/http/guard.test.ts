import { describe, expect, test } from "vitest";
import { anonymous } from "../call/exchange.ts";
import type { HttpRequest } from "./adapter.ts";
import { isOrdinary } from "./endpoint.ts";
import { createGuard, readAccept } from "./guard.ts";
import { unsafeBinding } from "./node/check-listen.ts";
import { isSafeBinding, type ServeHttpOptions } from "./options.ts";
import { preflightHeaders } from "./preflight.ts";

interface RequestFields {
  readonly method?: string;
  readonly [header: string]: string | undefined;
}

/** Returns an acceptable request of a client that is not a browser, with some headers changed; `undefined` removes one. */
function requestOf({ method = "POST", remoteAddress, ...changes }: RequestFields = {}): HttpRequest {
  const headers: RequestFields = { host: "localhost:3000", "content-type": "application/json", ...changes };
  return {
    method,
    path: "/mcp",
    header: (name) => headers[name],
    headersUnder: () => [],
    body: () => Promise.reject(new Error("a guard does not read bodies")),
    remoteAddress,
  };
}

const verify = () => anonymous;
const app = "https://app.example.com";

function statusOf(options: ServeHttpOptions, fields: RequestFields): number | undefined {
  return createGuard(options).check(requestOf(fields))?.status;
}

describe("the Host header", () => {
  test.each(["localhost", "localhost:3000", "LocalHost:3000", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:65535"])(
    "%s is a loopback name and passes",
    (host) => {
      expect(statusOf({}, { host })).toBeUndefined();
    },
  );

  test.each([
    undefined,
    "",
    " ",
    "evil.com",
    "evil.com:3000",
    "localhost.evil.com",
    "localhost.",
    "evil.localhost",
    "127.0.0.1.evil.com",
    "127.0.0.1.nip.io:3000",
    "127.0.0.2",
    "127.1",
    "0x7f000001",
    "2130706433",
    "0.0.0.0",
    "::1",
    "[::1",
    "[::1].evil.com",
    "[::ffff:127.0.0.1]",
    "localhost:",
    "localhost:x",
    "localhost:3000:3000",
    "localhost:123456",
    "localhost, evil.com",
    "evil.com, localhost",
    "localhost,localhost",
    "user@localhost",
    "localhost@evil.com",
    "localhost:3000@evil.com",
    "localhost/evil.com",
    "localhost?",
    "localhost#",
    "localhost\\evil.com",
    "http://localhost",
    "localhost\t",
    "localhost\u0000",
    "loc%61lhost",
    "ⓛocalhost",
    "xlocalhost",
  ])("%j is refused where only loopback names are allowed", (host) => {
    expect(statusOf({}, { host })).toBe(403);
  });

  test("is checked for every method", () => {
    for (const method of ["GET", "POST", "DELETE", "OPTIONS", "HEAD", "BREW"]) {
      expect(statusOf({}, { method, host: "evil.com" })).toBe(403);
    }
  });

  test.each([
    ["mcp.example.com", "mcp.example.com", true],
    ["mcp.example.com", "MCP.example.COM:443", true],
    ["mcp.example.com", "mcp.example.com:80", true],
    ["mcp.example.com:443", "mcp.example.com", true],
    ["mcp.example.com", "mcp.example.com:3000", false],
    ["mcp.example.com:3000", "mcp.example.com:3000", true],
    ["mcp.example.com:3000", "mcp.example.com", false],
    ["mcp.example.com", "evil.mcp.example.com", false],
    ["mcp.example.com", "localhost", false],
    ["[2001:db8::1]:8080", "[2001:DB8::1]:8080", true],
  ])("allowedHosts %s with %s: %s", (allowed, host, passes) => {
    expect(statusOf({ allowedHosts: [allowed] }, { host })).toBe(passes ? undefined : 403);
  });

  test("is not checked behind a verifier unless hosts are listed", () => {
    expect(statusOf({ verify }, { host: "10.1.2.3:8080" })).toBeUndefined();
    expect(statusOf({ verify }, { host: undefined })).toBeUndefined();
    expect(statusOf({ verify, allowedHosts: ["mcp.example.com"] }, { host: "10.1.2.3:8080" })).toBe(403);
  });

  test("is checked again after another host has passed", () => {
    const guard = createGuard({});
    expect(guard.check(requestOf())).toBeUndefined();
    expect(guard.check(requestOf({ host: "evil.com" }))?.status).toBe(403);
    expect(guard.check(requestOf({ host: undefined }))?.status).toBe(403);
    expect(guard.check(requestOf())).toBeUndefined();
  });

  test("is named in the refusal together with the option", () => {
    expect(createGuard({}).check(requestOf({ host: "evil.com" }))?.why).toBe(
      'Host "evil.com" is not allowed by this server (allowedHosts)',
    );
    expect(createGuard({}).check(requestOf({ host: "x".repeat(5000) }))?.why).toContain("a string of 5000 characters");
  });
});

describe("the Origin header", () => {
  const allowedOrigins = [app, "http://localhost:5173", "vscode-webview://panel-1", "https://bücher.example"];

  test.each([
    app,
    "https://app.example.com:443",
    "HTTPS://APP.example.com",
    "http://localhost:5173",
    "vscode-webview://panel-1",
    "https://xn--bcher-kva.example",
    undefined,
  ])("%s passes", (origin) => {
    expect(statusOf({ allowedOrigins }, { origin })).toBeUndefined();
  });

  test.each([
    "",
    "null",
    "*",
    "https://evil.com",
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://app.example.com.evil.com",
    "https://evil-app.example.com",
    "https://app.example.com@evil.com",
    "https://evil.com@app.example.com",
    "https://app.example.com/",
    "https://app.example.com/path",
    "https://app.example.com#",
    "https://app.example.com, https://evil.com",
    "https://app.example.com https://evil.com",
    "https:app.example.com",
    "https:\\\\app.example.com",
    "//app.example.com",
    "app.example.com",
    "http://localhost:51730",
    "vscode-webview://panel-2",
    "VSCODE-WEBVIEW://panel-1",
    "vscode-webview://panel-1/",
    "file://",
    "chrome-extension://abc",
    "http://",
    "http://[",
    "http://localhost:5173\t",
  ])("%j is refused", (origin) => {
    expect(statusOf({ allowedOrigins }, { origin })).toBe(403);
  });

  test("may be null only if null is listed", () => {
    expect(statusOf({ allowedOrigins: ["null"] }, { origin: "null" })).toBeUndefined();
    expect(statusOf({}, { origin: "null" })).toBe(403);
  });

  test.each([
    ["localhost:3000", "http://localhost:3000", true],
    ["localhost:3000", "https://localhost:3000", true],
    ["localhost", "http://localhost", true],
    ["localhost:80", "http://localhost", true],
    ["[::1]:3000", "http://[::1]:3000", true],
    ["localhost:3000", "http://localhost:5173", false],
    ["localhost:3000", "http://127.0.0.1:3000", false],
    ["localhost:443", "http://localhost", false],
    ["localhost", "http://localhost:3000", false],
  ])("a page at %s shows the origin %s, which passes: %s", (host, origin, passes) => {
    expect(statusOf({}, { host, origin })).toBe(passes ? undefined : 403);
  });

  test("is refused for a foreign name that resolves to this machine, also with a verifier", () => {
    expect(statusOf({ verify }, { host: "evil.com:3000", origin: "http://evil.com:3000" })).toBe(403);
    expect(statusOf({ allowedHosts: ["a.com"] }, { host: "localhost", origin: "http://localhost" })).toBe(403);
  });
});

describe("a cross-site request", () => {
  test("is refused without an Origin header for every method", () => {
    for (const method of ["GET", "POST", "DELETE"]) {
      expect(statusOf({}, { method, "sec-fetch-site": "cross-site" })).toBe(403);
      expect(statusOf({}, { method, "sec-fetch-site": "Cross-Site" })).toBe(403);
    }
  });

  test("passes from an allowed origin", () => {
    expect(statusOf({ allowedOrigins: [app] }, { origin: app, "sec-fetch-site": "cross-site" })).toBeUndefined();
    expect(statusOf({ allowedOrigins: [app] }, { origin: "https://b.com", "sec-fetch-site": "cross-site" })).toBe(403);
  });

  test.each(["same-origin", "same-site", "none"])("is not one if Sec-Fetch-Site is %s", (site) => {
    expect(statusOf({}, { method: "GET", "sec-fetch-site": site })).toBeUndefined();
  });
});

describe("the content type and encoding of a POST", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "APPLICATION/JSON;charset=UTF-8",
    " application/json ",
  ])("may be %j", (type) => {
    expect(statusOf({}, { "content-type": type })).toBeUndefined();
  });

  test.each([
    undefined,
    "",
    "text/plain",
    "text/plain; application/json",
    "text/plain;charset=application/json",
    "application/json, text/plain",
    "text/plain, application/json",
    "application/jsonp",
    "application/json-patch+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=application/json",
    "xapplication/json",
    "application/ json",
  ])("may not be %j", (type) => {
    expect(statusOf({}, { "content-type": type })).toBe(415);
  });

  test("are checked for POST only", () => {
    for (const method of ["GET", "DELETE", "OPTIONS"]) {
      expect(statusOf({}, { method, "content-type": undefined })).toBeUndefined();
    }
  });

  test.each(["gzip", "br", "identity, gzip", "gzip, identity", "deflate", ""])(
    "is not read if packed: %j",
    (packing) => {
      expect(createGuard({}).check(requestOf({ "content-encoding": packing }))).toMatchObject({
        status: 415,
        headers: { "accept-encoding": "identity" },
      });
    },
  );

  test("may be the encoding identity", () => {
    expect(statusOf({}, { "content-encoding": "Identity" })).toBeUndefined();
  });

  test("are checked after the origin, so that a foreign page learns nothing", () => {
    expect(statusOf({}, { origin: "https://evil.com", "content-type": "text/plain" })).toBe(403);
  });
});

describe("CORS", () => {
  const guard = createGuard({ allowedOrigins: [app] });

  test("lets an allowed origin read the response and the headers it needs", () => {
    expect(guard.corsHeaders(requestOf({ origin: app }))).toEqual({
      "access-control-allow-origin": app,
      "access-control-expose-headers": "Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version",
      vary: "Origin",
    });
  });

  test.each([undefined, "null", "https://evil.com", "http://localhost:3000"])(
    "sends no headers to the origin %s",
    (origin) => {
      expect(guard.corsHeaders(requestOf({ origin }))).toEqual({});
      const asked = { method: "OPTIONS", origin, "access-control-request-method": "POST" };
      expect(guard.isPreflight(requestOf(asked))).toBe(false);
    },
  );

  test("answers a preflight with the headers that may be sent", () => {
    const asked = {
      method: "OPTIONS",
      origin: app,
      "access-control-request-method": "POST",
      "access-control-request-headers":
        "Authorization,content-type, MCP-Protocol-Version, mcp-param-Region, mcp-param-a b, cookie, x-evil, mcp-parameter",
    };
    expect(guard.isPreflight(requestOf(asked))).toBe(true);
    expect(preflightHeaders(requestOf(asked))).toEqual({
      "access-control-allow-origin": app,
      "access-control-allow-methods": "POST, GET, DELETE",
      "access-control-allow-headers": "authorization, content-type, mcp-protocol-version, mcp-param-region",
      "access-control-max-age": "7200",
      vary: "Origin, Access-Control-Request-Headers",
    });
  });

  test("answers a preflight without allowed headers with none", () => {
    const asked = { method: "OPTIONS", origin: app, "access-control-request-method": "GET" };
    expect(preflightHeaders(requestOf(asked))).not.toHaveProperty("access-control-allow-headers");
    const hostile = { ...asked, "access-control-request-headers": "*" };
    expect(preflightHeaders(requestOf(hostile))).not.toHaveProperty("access-control-allow-headers");
  });

  test("takes neither OPTIONS without a requested method nor another method for a preflight", () => {
    expect(guard.isPreflight(requestOf({ method: "OPTIONS", origin: app }))).toBe(false);
    expect(guard.isPreflight(requestOf({ origin: app, "access-control-request-method": "POST" }))).toBe(false);
  });
});

describe("an invalid entry throws at once", () => {
  test.each(["*", "", "app.example.com", "https://", "https://a.com/path", "https://user@a.com", "https://*.a.com/"])(
    "allowedOrigins: %j",
    (entry) => {
      expect(() => createGuard({ allowedOrigins: [entry] })).toThrow(/^allowedOrigins: expected an origin such as/);
    },
  );

  test.each(["*", "", "https://mcp.example.com", "mcp.example.com/path", "a b", "*.example.com"])(
    "allowedHosts: %j",
    (entry) => {
      expect(() => createGuard({ allowedHosts: [entry] })).toThrow(/^allowedHosts: expected a host such as/);
    },
  );
});

describe("the address to listen on", () => {
  test.each(["127.0.0.1", "127.9.9.9", "localhost", "LOCALHOST", "::1", "[::1]", "::ffff:127.0.0.1"])(
    "may be %s without a verifier",
    (host) => {
      expect(isSafeBinding(host, {})).toBe(true);
    },
  );

  test.each(["", "0.0.0.0", "::", "[::]", "0", "192.168.1.5", "127.0.0.1.evil.com", "localhost.evil.com", "128.0.0.1"])(
    "may not be %j without a verifier, and the error names the options",
    (host) => {
      expect(isSafeBinding(host, {})).toBe(false);
      expect(isSafeBinding(host, { dangerouslyAllowUnauthenticated: false })).toBe(false);
      expect(isSafeBinding(host, { dangerouslyAllowUnauthenticated: true })).toBe(true);
      expect(isSafeBinding(host, { verify })).toBe(true);
      expect(unsafeBinding(host).message).toMatch(/`verify`.*`dangerouslyAllowUnauthenticated`/);
    },
  );
});

describe("readAccept", () => {
  test.each([
    [undefined, true, true],
    ["", true, true],
    ["application/json, text/event-stream", true, true],
    ["*/*", true, true],
    ["application/json", true, false],
    ["text/event-stream", false, true],
    ["text/html", false, false],
    ["APPLICATION/JSON;charset=utf-8", true, false],
    ["application/json;q=0, */*", false, true],
  ])("reads %s", (header, json, events) => {
    expect(readAccept(header)).toEqual({ json, events });
  });
});

describe("an ordinary request", () => {
  const usual = { remoteAddress: "127.0.0.1", accept: "application/json, text/event-stream" };
  const guard = createGuard({});

  test.each(["localhost", "LocalHost:3000", "127.0.0.1:80", "[::1]", "[::1]:65535"])(
    "to %s passes the guard too, needs no headers for pages, and accepts every answer",
    (host) => {
      const request = requestOf({ ...usual, host });
      expect(isOrdinary(request)).toBe(true);
      expect(guard.check(request)).toBeUndefined();
      expect(guard.corsHeaders(request)).toEqual({});
      expect(guard.isPreflight(request)).toBe(false);
      expect(readAccept(request.header("accept"))).toEqual({ json: true, events: true });
    },
  );

  test.each<RequestFields>([
    { method: "GET" },
    { method: "OPTIONS" },
    { remoteAddress: undefined },
    { remoteAddress: "192.0.2.7" },
    { host: undefined },
    { host: "" },
    { host: "evil.com" },
    { host: "localhost.evil.com" },
    { host: "evil.localhost" },
    { host: "localhost:" },
    { host: "localhost:123456" },
    { host: "localhost\n" },
    { host: "localhost, evil.com" },
    { host: "127.0.0.1.nip.io:3000" },
    { host: "127x0x0x1" },
    { host: "[::1].evil.com" },
    { origin: "http://localhost:3000" },
    { origin: "" },
    { "sec-fetch-site": "cross-site" },
    { "content-encoding": "gzip" },
    { "content-type": undefined },
    { "content-type": "text/plain" },
    { accept: undefined },
    { accept: "text/html" },
  ])("is none with %j", (change) => {
    expect(isOrdinary(requestOf({ ...usual, ...change }))).toBe(false);
  });
});
