import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { networkInterfaces } from "node:os";
import { type LoopbackOptions, loopback, type RedirectAttempt } from "portolan/auth/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { patient } from "./kit.ts";
import { ask } from "./login.ts";

const authorization = new URL("https://idp.example/authorize?state=s");
const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === "::1");
const never = new AbortController().signal;

async function begin(options: LoopbackOptions = {}, registered?: string): Promise<RedirectAttempt> {
  const attempt = await loopback({ open: () => {}, ...options }).begin(registered);
  onTestFinished(() => attempt.close());
  return attempt;
}

/** A port of this machine where another server listens. */
async function takePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

describe("the redirect URI", () => {
  test("has a random port and an unguessable path of 127.0.0.1, new each time", async () => {
    const places = [await begin(), await begin()].map(({ redirectUri }) => redirectUri);
    for (const place of places) expect(place).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback\/[\w-]{22}$/);
    const [first, second] = places.map((place) => new URL(place));
    expect(first!.port).not.toBe(second!.port);
    expect(first!.pathname).not.toBe(second!.pathname);
  });

  test("is reachable from this machine only", async () => {
    const { redirectUri } = await begin({ host: "localhost" });
    const outer = Object.values(networkInterfaces())
      .flat()
      .filter((one) => one && !one.internal && one.family === "IPv4");
    for (const { address } of outer as { address: string }[]) {
      await expect(ask(redirectUri, { address })).rejects.toMatchObject({ code: "ECONNREFUSED" });
    }
    expect((await ask(redirectUri)).status).toBe(400);
  });

  test("is the registered one, if it can be used", async () => {
    const first = await begin();
    await first.close();
    expect((await begin({}, first.redirectUri)).redirectUri).toBe(first.redirectUri);
    const local = await begin({ host: "localhost" });
    await local.close();
    expect((await begin({}, local.redirectUri)).redirectUri).toBe(local.redirectUri);
  });

  test("keeps the registered path when its port is taken", async () => {
    const port = await takePort("127.0.0.1");
    const { redirectUri } = await begin({}, `http://127.0.0.1:${port}/cb`);
    expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/cb$/);
    expect(new URL(redirectUri).port).not.toBe(String(port));
  });

  test.each([
    ...["https://app.example/cb", "http://app.example:8080/cb", "https://127.0.0.1:8080/cb", "http://127.0.0.1/cb"],
    ...["http://user@127.0.0.1:8080/cb", "http://127.0.0.1:8080/cb?a=b", "http://[::1]:8080/cb", "app:/cb", "nonsense"],
  ])("is not the registered one if loopback could not have listened on it: %s", async (registered) => {
    expect((await begin({}, registered)).redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback\/[\w-]{22}$/);
  });

  test("follows the options rather than the registration", async () => {
    const registered = "http://127.0.0.1:48080/cb";
    expect((await begin({ host: "localhost" }, registered)).redirectUri).toMatch(/^http:\/\/localhost:\d+\/callback/);
    expect((await begin({ path: "/other" }, registered)).redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/other$/);
  });

  test("fails with the reason when the requested port is taken", async () => {
    const port = await takePort("127.0.0.1");
    await expect(begin({ port })).rejects.toMatchObject({ code: "invalid-argument" });
    await expect(begin({ port })).rejects.toThrow(`port ${port}`);
  });

  test.each(["callback", "//evil.example/cb", "/a?b", "/a#b", "/a b", "/a/../b", "http://evil.example/"])(
    "refuses an invalid path: %s",
    async (path) => await expect(begin({ path })).rejects.toThrow("path: expected"),
  );

  test.skipIf(!hasIpv6)("with localhost is reachable by IPv4 and IPv6 (needs IPv6)", async () => {
    const { redirectUri } = await begin({ host: "localhost" });
    for (const address of ["127.0.0.1", "::1"]) expect((await ask(redirectUri, { address })).status).toBe(400);
  });

  test.skipIf(!hasIpv6)("with localhost is not shared with a server on its other address (needs IPv6)", async () => {
    const port = await takePort("::1");
    await expect(begin({ host: "localhost", port })).rejects.toThrow(`port ${port}`);
    expect((await begin({ port })).redirectUri).toContain(`http://127.0.0.1:${port}/`);
  });
});

describe("the callback", () => {
  test("is the URL that the person came back to, unchecked", async () => {
    for (const query of [
      "code=a%20b&state=s&iss=https%3A%2F%2Fidp.example",
      "error=access_denied&state=s",
      "state=s",
    ]) {
      const opened: string[] = [];
      const attempt = await begin({ open: (url) => void opened.push(url.href) });
      const back = attempt.visit(authorization, never);
      expect((await ask(`${attempt.redirectUri}?${query}`)).status).toBe(200);
      expect((await back).href).toBe(`${attempt.redirectUri}?${query}`);
      expect(opened).toEqual([authorization.href]);
    }
  });

  test("may arrive before the browser command has ended", async () => {
    const attempt = await begin({ open: () => new Promise(() => {}) });
    const back = attempt.visit(authorization, never);
    await ask(`${attempt.redirectUri}?code=a&state=s`);
    expect((await back).search).toBe("?code=a&state=s");
  });

  test("ends nothing if it has another state than the login, twice its state, or none", async () => {
    const attempt = await begin();
    const statuses: number[] = [];
    const request = async (query: string) => {
      statuses.push(Number((await ask(`${attempt.redirectUri}?${query}`)).status));
    };
    await request("code=early&state=s");
    const back = attempt.visit(authorization, never);
    for (const query of ["code=forged&state=other", "error=access_denied&state=other", "code=forged", "error=x"]) {
      await request(query);
    }
    for (const query of ["code=forged&state=", "code=forged&state=s&state=other", "code=forged&STATE=s", "state=S"]) {
      await request(query);
    }
    expect(statuses).toEqual(Array.from({ length: 9 }, () => 400));
    await request("code=own&state=s");
    expect((await back).search).toBe("?code=own&state=s");
    expect(statuses.at(-1)).toBe(200);
  });

  test("is accepted once; a second one gets 410", async () => {
    const attempt = await begin();
    const back = attempt.visit(authorization, never);
    expect((await ask(`${attempt.redirectUri}?code=first&state=s`)).status).toBe(200);
    expect((await ask(`${attempt.redirectUri}?code=second&state=s`)).status).toBe(410);
    expect((await back).search).toBe("?code=first&state=s");
  });

  test("is not accepted from other requests", async () => {
    const attempt = await begin();
    const back = attempt.visit(authorization, never);
    const { port, pathname } = new URL(attempt.redirectUri);
    const callback = `${attempt.redirectUri}?code=stolen&state=s`;
    const statusOf = async (...args: Parameters<typeof ask>) => (await ask(...args)).status;
    for (const host of [`evil.example:${port}`, `localhost:${port}`, "127.0.0.1", `127.0.0.1:${port}.evil.example`]) {
      expect(await statusOf(callback, { host })).toBe(403);
    }
    for (const method of ["POST", "HEAD", "OPTIONS", "PUT"]) expect(await statusOf(callback, { method })).toBe(405);
    const elsewhere = [
      "/",
      "/favicon.ico",
      `${pathname}/`,
      `${pathname.slice(0, -1)}`,
      `/${pathname}`,
      `${pathname}%00`,
    ];
    for (const path of [
      ...elsewhere,
      `/x/..${pathname}`,
      `http://127.0.0.1:${port}${pathname}`,
      pathname.toUpperCase(),
    ]) {
      expect(await statusOf(callback, { target: `${path}?code=stolen&state=s` })).toBe(404);
    }
    for (const query of ["", "?", "?foo=bar", "?codes=1", "?code=1"])
      expect(await statusOf(`${attempt.redirectUri}${query}`)).toBe(400);
    await ask(`${attempt.redirectUri}?code=own&state=s`);
    expect((await back).search).toBe("?code=own&state=s");
  });
});

describe("the callback page", () => {
  test("never contains parts of the request", async () => {
    const script = encodeURIComponent("\"><script>alert('SECRET')</script>");
    const bodies: string[] = [];
    for (const query of [
      `code=${script}&state=SECRET`,
      `error=${script}&error_description=SECRET&state=SECRET`,
      "code=1&state=SECRET",
    ]) {
      const attempt = await begin();
      attempt.visit(new URL("https://idp.example/authorize?state=SECRET"), never).catch(() => {});
      bodies.push((await ask(`${attempt.redirectUri}?${query}`)).body);
      for (const again of [query, script]) {
        const { body, headers } = await ask(`${attempt.redirectUri}?${again}`);
        expect(`${body}${JSON.stringify(headers)}`).not.toMatch(/SECRET|<script/);
      }
    }
    const [received, refused, again] = bodies;
    expect(again).toBe(received);
    for (const body of bodies) expect(body).not.toMatch(/SECRET|<script/);
    expect(refused).toMatch(/Not signed in[\s\S]*The sign-in was refused/);
    expect(bodies[0]).toContain("Sign-in received");
    expect(bodies[0]).toContain("You can close this window");
  });

  test("loads and runs nothing, is not cached and sends no referrer", async () => {
    const attempt = await begin();
    const { redirectUri } = attempt;
    attempt.visit(authorization, never).catch(() => {});
    const pages = [
      await ask(`${redirectUri}?code=1`),
      await ask(`${redirectUri}?code=1&state=s`),
      await ask(`${redirectUri}?code=1&state=s`),
      await ask(`${redirectUri}x`),
    ];
    expect(pages.map(({ status }) => status)).toEqual([400, 200, 410, 404]);
    for (const { headers, body } of pages) {
      const style = createHash("sha256")
        .update(body.match(/<style>([\s\S]*)<\/style>/)![1]!)
        .digest("base64");
      expect(headers).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": `default-src 'none'; style-src 'sha256-${style}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
        "cache-control": "no-store",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        connection: "close",
      });
    }
  });
});

describe("waiting ends", () => {
  test("after the timeout", async () => {
    const attempt = await begin({ timeoutMs: 20 });
    await expect(attempt.visit(authorization, never)).rejects.toMatchObject({ code: "timeout" });
  });

  test("when the signal is aborted, with its reason", async () => {
    const [leaving, reason] = [new AbortController(), new Error("enough")];
    const attempt = await begin({ open: () => leaving.abort(reason) });
    await expect(attempt.visit(authorization, leaving.signal)).rejects.toBe(reason);
    const opened: URL[] = [];
    const late = await begin({ open: (url) => void opened.push(url) });
    await expect(late.visit(authorization, leaving.signal)).rejects.toBe(reason);
    expect(opened).toEqual([]);
  });

  test("when the attempt is closed, also repeatedly", async () => {
    const attempt = await begin({ open: () => void attempt.close() });
    await expect(attempt.visit(authorization, never)).rejects.toMatchObject({ code: "cancelled" });
    await attempt.close();
  });
});

test("close() ends all connections, even those without a request", async () => {
  const attempt = await begin();
  const { port } = new URL(attempt.redirectUri);
  const idle = connect(Number(port), "127.0.0.1");
  await once(idle, "connect");
  const busy = connect(Number(port), "127.0.0.1");
  busy.write("GET /half-a-request HTTP/1.1\r\nHost:");
  await once(busy, "connect");
  const ended = [idle, busy].map((socket) => {
    return new Promise((resolve) =>
      socket
        .on("error", () => {})
        .on("close", resolve)
        .resume(),
    );
  });
  await attempt.close();
  await Promise.all(ended);
  await expect(ask(attempt.redirectUri)).rejects.toMatchObject({ code: "ECONNREFUSED" });
});

test.each([
  ...[
    "javascript:alert(1)",
    "file:///etc/passwd",
    "data:text/html,hi",
    "http://idp.example/",
    "ms-settings:",
    "cmd:calc",
  ],
  ...["http://127.0.0.1.evil.example/", "http://10.0.0.1/", "vscode://a", "ftp://idp.example/"],
])("no browser is sent to %s, by any redirect", async (address) => {
  const visited: URL[] = [];
  const attempt = await begin({ open: (url) => void visited.push(url), show: (url) => void visited.push(url) });
  await expect(attempt.visit(new URL(address), never)).rejects.toMatchObject({ code: "address-refused" });
  expect(visited).toEqual([]);
});

test("the URL is shown when no browser could be opened", async () => {
  const shown: string[] = [];
  const open = () => Promise.reject(new Error("No browser"));
  const attempt = await begin({ open, show: (url) => void shown.push(url.href) });
  const back = attempt.visit(new URL("http://localhost:3000/authorize"), never);
  await expect.poll(() => shown, patient).toEqual(["http://localhost:3000/authorize"]);
  await ask(`${attempt.redirectUri}?code=1`);
  expect((await back).search).toBe("?code=1");
});
