import { createSafeFetch, type FetchPolicy } from "portolan/net";
import { describe, expect, test } from "vitest";
import { errorOf, startServer } from "./kit.ts";

const local: FetchPolicy = { privateHosts: ["localhost", "127.0.0.1"], lookup: async () => ["127.0.0.1"] };
const statuses = [301, 302, 303, 307, 308];

/** A server that redirects `/to?<URL>` there, and counts `/down/<n>` down to zero. */
function startRedirector(status = 302) {
  return startServer(({ path }, response) => {
    const [, rest] = path.match(/^\/down\/([1-9])$/) ?? [];
    const location = rest
      ? `/down/${Number(rest) - 1}`
      : path.startsWith("/to?")
        ? decodeURIComponent(path.slice(4))
        : "";
    if (location === "") response.end(path);
    else response.writeHead(status, { location }).end("moved");
  });
}

describe("on the same origin", () => {
  test.each(statuses)("a GET and a HEAD follow %i", async (status) => {
    const server = await startRedirector(status);
    const safeFetch = createSafeFetch(local);
    expect(await (await safeFetch(`${server.url}/to?/there`)).text()).toBe("/there");
    expect((await safeFetch(`${server.url}/to?/there`, { method: "HEAD" })).status).toBe(200);
    expect(server.seen.map(({ method }) => method)).toEqual(["GET", "GET", "HEAD", "HEAD"]);
  });

  test.each(statuses)("a POST fails at %i and is not sent again", async (status) => {
    const server = await startRedirector(status);
    const safeFetch = createSafeFetch({ ...local, redirects: "anywhere" });
    const error = await errorOf(safeFetch(`${server.url}/to?/there`, { method: "POST", body: "code=SECRET" }));
    expect(error).toMatchObject({ code: "http-status" });
    expect(error.message).toContain(`${server.url}/there`);
    expect(server.seen.length).toBe(1);
  });

  test("headers are kept, since the server is the same", async () => {
    const server = await startRedirector();
    await createSafeFetch(local)(`${server.url}/to?/there`, { headers: { authorization: "Bearer x" } });
    expect(server.seen[1]?.headers.authorization).toBe("Bearer x");
  });

  test("three redirects are followed and a fourth is not", async () => {
    const server = await startRedirector();
    const safeFetch = createSafeFetch(local);
    expect(await (await safeFetch(`${server.url}/down/3`)).text()).toBe("/down/0");
    expect((await errorOf(safeFetch(`${server.url}/down/4`))).code).toBe("limit-reached");
    expect(server.seen.map(({ path }) => path).slice(4)).toEqual(["/down/4", "/down/3", "/down/2", "/down/1"]);
  });

  test("none is followed when the policy says never", async () => {
    const server = await startRedirector();
    const error = await errorOf(createSafeFetch({ ...local, redirects: "never" })(`${server.url}/to?/there`));
    expect(error).toMatchObject({ code: "address-refused" });
    expect(server.seen.length).toBe(1);
  });

  test("the host is resolved and checked again at each step", async () => {
    const server = await startRedirector();
    const answers = [["127.0.0.1"], ["10.0.0.1"]];
    const lookup = async () => answers.shift() ?? [];
    expect((await errorOf(createSafeFetch({ ...local, lookup })(`${server.url}/to?/there`))).message).toContain(
      "10.0.0.1",
    );
    expect(server.seen.length).toBe(1);
  });

  test("a response that only looks like a redirect is a response", async () => {
    const server = await startServer((_, response) => response.writeHead(302).end("where to?"));
    expect((await createSafeFetch(local)(server.url)).status).toBe(302);
  });
});

test("credentials in the target are refused, even on the same origin", async () => {
  const server = await startRedirector();
  const target = `http://user:pass@localhost:${server.port}/there`;
  expect((await errorOf(createSafeFetch(local)(`${server.url}/to?${target}`))).code).toBe("address-refused");
  expect(server.seen.length).toBe(1);
});

describe("to another origin", () => {
  test("none is followed by default, and the error names the target without its query", async () => {
    const [from, to] = [await startRedirector(), await startRedirector()];
    const error = await errorOf(createSafeFetch(local)(`${from.url}/to?${to.url}/there?SECRET`));
    expect(error).toMatchObject({ code: "address-refused" });
    expect(error.message).toContain(`${to.url}/there is refused`);
    expect(error.message).toContain("`redirects`");
    expect(error.message).not.toContain("SECRET");
    expect(to.connections.count).toBe(0);
  });

  test("another host with the same port is another origin", async () => {
    const server = await startRedirector();
    const target = `http://127.0.0.1:${server.port}/there`;
    expect((await errorOf(createSafeFetch(local)(`${server.url}/to?${target}`))).code).toBe("address-refused");
  });

  test("headers that may be credentials are removed, also after a redirect back", async () => {
    const [home, away] = [await startRedirector(), await startRedirector()];
    const back = `${home.url}/home`;
    const headers = { authorization: "SECRET", cookie: "SECRET", dpop: "SECRET", "x-api-key": "SECRET", accept: "a/b" };
    const safeFetch = createSafeFetch({ ...local, redirects: "anywhere" });
    const there = `${away.url}/to?${encodeURIComponent(back)}`;
    expect(await (await safeFetch(`${home.url}/to?${encodeURIComponent(there)}`, { headers })).text()).toBe("/home");
    expect(home.seen[0]?.headers).toMatchObject(headers);
    for (const seen of [away.seen[0], home.seen[1]]) {
      expect(seen?.headers.accept).toBe("a/b");
      expect(JSON.stringify(seen?.headers)).not.toContain("SECRET");
    }
  });

  test.each([
    ...["https://169.254.169.254/latest", "http://169.254.169.254/latest", "https://private.example/", "//10.0.0.1/"],
    ...["file:///etc/passwd", "data:text/plain,hi", "https://user@public.example/", "http://[", "http://localhost:1/"],
  ])("%s is never followed", async (target) => {
    const server = await startRedirector();
    const policy: FetchPolicy = {
      privateHosts: ["127.0.0.1"],
      lookup: async () => ["127.0.0.1"],
      redirects: "anywhere",
    };
    const error = await errorOf(
      createSafeFetch(policy)(`http://127.0.0.1:${server.port}/to?${encodeURIComponent(target)}`),
    );
    expect(error).toMatchObject({ name: "PortolanError", code: "address-refused" });
    expect(server.connections.count).toBe(1);
  });
});
