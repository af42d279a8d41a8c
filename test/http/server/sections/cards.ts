import { connect } from "portolan/client";
import { createServer } from "portolan/server";
import { type ServeHttpOptions, type ServerCardOptions, serveHttp } from "portolan/server/http";
import { expect, onTestFinished } from "vitest";
import { OfficialSchema } from "../../../kit/official-schema.ts";
import { openListener } from "../../adapters.ts";
import { type Answer, type Headers, send, start } from "../../kit.ts";
import type { HttpRequirement } from "../requirement.ts";

const info = {
  name: "weather",
  title: "The weather",
  version: "1.2.0",
  description: "Tells the weather",
  icons: [{ src: "https://example.com/icon.png", mimeType: "image/png" }],
  websiteUrl: "https://example.com/weather",
};
const secret = "a-secret-of-the-server-that-seals-its-states";
const server = createServer(info, { secrets: [secret] }).tool("forecast", { run: () => "sun" });
const name = "com.example/weather";
const schemaAddress = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
const cardType = "application/mcp-server-card+json";

const refused = { status: 401, why: "Send a valid bearer token" } as const;
const get = (url: string, headers: Headers = {}): Promise<Answer> => send(url, { method: "GET", headers });

const open = (card: ServerCardOptions = { name }, options: ServeHttpOptions = {}) =>
  start(server, { card, ...options });

async function readCard(url: string) {
  const answer = await get(`${url}/server-card`);
  expect([answer.status, answer.headers["content-type"]]).toEqual([200, cardType]);
  return JSON.parse(await answer.text());
}

/** Returns why an endpoint with such a card does not listen. */
async function problemOf(card: ServerCardOptions, from = server, options: ServeHttpOptions = {}): Promise<string> {
  const endpoint = serveHttp(from, { card, ...options });
  onTestFinished(() => endpoint.close(0));
  const reason = await endpoint.listen(0).catch((thrown: unknown) => thrown);
  expect(reason).toMatchObject({ name: "PortolanError", code: "invalid-argument" });
  return (reason as Error).message;
}

/** Requirements on server cards. */
export const cards: readonly HttpRequirement[] = [
  {
    row: "X130",
    says: "the card has what the server says of itself, and its versions are those that it serves",
    async test(revision) {
      const remotes = [{ url: "https://weather.example.com/mcp" }];
      const repository = { url: "https://github.com/example/weather", source: "github" };
      const { url } = await open({ name, remotes, repository, meta: { "com.example/team": "sky" } });
      const card = await readCard(url);
      expect(new OfficialSchema("ext/server-card").problems("ServerCard", card)).toEqual([]);
      const { supportedProtocolVersions: versions, ...remote } = card.remotes[0];
      expect(remote).toEqual({ type: "streamable-http", ...remotes[0] });
      expect({ ...card, remotes }).toEqual({
        ...{ $schema: schemaAddress, ...info, name, remotes, repository, _meta: { "com.example/team": "sky" } },
      });
      expect(versions).toContain(revision);
      const client = await connect(url, { era: revision });
      onTestFinished(() => client.close());
      expect(client.server?.info).toMatchObject({ version: card.version });
      expect((await get(url)).headers["content-type"]).not.toBe(cardType);
    },
  },
  {
    row: "X130",
    says: "an endpoint without sessions lists stateless versions alone, and one of another path has its card there",
    on: ["2026-07-28"],
    adapter: "node",
    async test(revision) {
      const remotes = [{ url: "https://weather.example.com/weather" }];
      const { url } = await open({ name, remotes }, { sessions: false, path: "/weather" });
      expect(url).toMatch(/\/weather$/);
      expect((await readCard(url)).remotes[0].supportedProtocolVersions).toEqual([revision]);
      for (const other of ["/server-card", "/mcp/server-card", "/weather/other/server-card"]) {
        expect((await get(new URL(other, url).href)).status).toBe(404);
      }
    },
  },
  {
    row: "X130",
    says: "a card that the specification does not allow is refused before anyone can read it",
    on: ["2026-07-28"],
    async test() {
      const text = (length: number) => "x".repeat(length);
      expect(await problemOf({ name: "weather" })).toContain("serveHttp: card: name: expected a reversed domain");
      expect(await problemOf({ name, description: text(101) })).toContain("a text of at most 100 characters");
      expect(await problemOf({ name, title: "" })).toContain("card: title: expected a text");
      expect(await problemOf({ name, version: "^1.2.0" })).toContain("one version such as 1.0.2");
      expect(await problemOf({ name, websiteUrl: "example.com" })).toContain(
        "card: websiteUrl: expected a whole address",
      );
      expect(await problemOf({ name, meta: { "com.example/x": text(70_000) } })).toContain("at most 65536 bytes");
      const bare = createServer({ name: "bare", version: "1.0.0" }).tool("x", { run: () => "x" });
      expect(await problemOf({ name }, bare)).toContain("card: description: expected a text");
      const remotes = (remote: object) => ({ name, remotes: [{ url: "https://a.example/mcp", ...remote }] });
      expect(await problemOf(remotes({ type: "sse" }))).toContain('expected "streamable-http", or `httpSse`');
      expect(await problemOf(remotes({ urls: "x" }))).toContain(
        "remotes[0]: unknown option `urls`; did you mean `url`?",
      );
      expect(await problemOf(remotes({ headers: [{ name: "A", secret: true }] }))).toContain("unknown option `secret`");
      expect(await problemOf({ name, remote: [] } as never)).toContain("did you mean `remotes`?");
    },
  },
  {
    row: "X131",
    says: "the card needs no token, no known host and no allowed origin, and changes nothing for the endpoint",
    async test() {
      const { url } = await open({ name }, { verify: () => refused });
      const answer = await get(`${url}/server-card`, {
        ...{ origin: "https://app.example", host: "weather.example.com", "sec-fetch-site": "cross-site" },
      });
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({
        "access-control-allow-origin": "*",
        "cache-control": "public, max-age=3600",
        etag: expect.stringMatching(/^"[0-9a-f]{32}"$/),
      });
      expect(answer.headers["set-cookie"]).toBeUndefined();
      const preflight = await send(`${url}/server-card`, {
        method: "OPTIONS",
        headers: { origin: "https://app.example", "access-control-request-method": "GET" },
      });
      expect([preflight.status, preflight.headers["access-control-allow-methods"]]).toEqual([204, "GET"]);
      for (const method of ["GET", "DELETE"]) expect((await send(url, { method, headers: {} })).status).toBe(401);
    },
  },
  {
    row: "X131",
    says: "a client that has the card is told so, and only GET and HEAD read it",
    async test() {
      const { url } = await open();
      const first = await get(`${url}/server-card`);
      const etag = String(first.headers.etag);
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
        const again = await get(`${url}/server-card`, { "if-none-match": known });
        expect([again.status, again.headers.etag, await again.text()]).toEqual([304, etag, ""]);
        expect(again.headers["access-control-allow-origin"]).toBe("*");
      }
      expect((await get(`${url}/server-card`, { "if-none-match": '"other"' })).status).toBe(200);
      const head = await send(`${url}/server-card`, { method: "HEAD", headers: {} });
      expect([head.status, head.headers.etag, await head.text()]).toEqual([200, etag, ""]);
      const put = await send(`${url}/server-card`, { method: "PUT", headers: {}, body: "{}" });
      expect([put.status, put.headers["allow"]]).toEqual([405, "GET, HEAD, OPTIONS"]);
      const changed = await open({ name, title: "Another" });
      expect((await get(`${changed.url}/server-card`)).headers.etag).not.toBe(etag);
    },
  },
  {
    row: "X131",
    says: "a card with a secret, or with an address without https, is refused, and the refusal does not repeat it",
    on: ["2026-07-28"],
    async test() {
      const at = (url: string, more: object = {}) => ({ name, remotes: [{ url, ...more }] });
      const withUser = await problemOf(at("https://ada:hunter22@a.example/mcp"));
      expect(withUser).toContain("remotes[0]: url: expected an address without user and password");
      expect(withUser).not.toContain("hunter22");
      expect(await problemOf(at("http://weather.example.com/mcp"))).toContain("expected https outside this machine");
      const header = { name: "X-Key", isSecret: true, value: "hunter22" };
      const withValue = await problemOf(at("https://a.example/mcp", { headers: [header] }));
      expect(withValue).toContain("no value and no default of a secret");
      expect(withValue).not.toContain("hunter22");
      const variables = { key: { isSecret: true, default: "hunter22" } };
      expect(await problemOf(at("https://a.example/{key}", { variables }))).toContain("no default of a secret");
      const sealed = await problemOf({ name, meta: { "com.example/x": secret } });
      expect(sealed).toContain("no secret of the server");
      expect(sealed).not.toContain(secret);
      // What a client asks its user for is no secret of ours.
      const asked = { headers: [{ name: "X-Key", isSecret: true, value: "Bearer {key}", variables: { key: {} } }] };
      const wrong = await problemOf(at("https://a.example/mcp", asked));
      expect(wrong).toContain("no value");
      const fine = { headers: [{ name: "X-Key", isSecret: true, isRequired: true }] };
      const { url } = await open(at("http://127.0.0.1:1/mcp", fine));
      expect((await readCard(url)).remotes[0].headers).toEqual(fine.headers);
    },
  },
  {
    row: "X131",
    says: "a framework hands the requests for the card over; a card that is invalid there is reported, and calls go on",
    on: ["2026-07-28"],
    adapter: "node",
    async test(era) {
      const fine = serveHttp(server, { card: { name } });
      const port = await openListener(fine.node);
      await readCard(`http://127.0.0.1:${port}/api/mcp`);
      const errors: unknown[] = [];
      const reporting = createServer(info, { onError: (error) => errors.push(error) }).tool("x", { run: () => "x" });
      const broken = serveHttp(reporting, { card: { name: "weather" } });
      const url = `http://127.0.0.1:${await openListener(broken.node)}/mcp`;
      onTestFinished(async () => void (await Promise.all([fine.close(0), broken.close(0)])));
      expect((await get(`${url}/server-card`)).status).toBe(500);
      expect(String(errors[0])).toContain("card: name: expected a reversed domain");
      const client = await connect(url, { era });
      onTestFinished(() => client.close());
      expect((await client.callTool("x")).content).toEqual([{ type: "text", text: "x" }]);
    },
  },
  {
    row: "X132",
    says: "the catalog names the public address of the card, or has the card, and is there only if it is wanted",
    adapter: "node",
    async test() {
      const catalogOf = async (url: string) => get(`${new URL(url).origin}/.well-known/ai-catalog.json`);
      const remotes = [{ url: "https://weather.example.com/mcp" }];
      const named = await catalogOf((await open({ name, remotes, catalog: true })).url);
      expect(named.headers).toMatchObject({
        "content-type": "application/ai-catalog+json",
        "access-control-allow-origin": "*",
      });
      const entry = { identifier: "urn:air:example.com:mcp:weather", displayName: "The weather", type: cardType };
      const address = "https://weather.example.com/mcp/server-card";
      expect(await named.json()).toEqual({ specVersion: "1.0", entries: [{ ...entry, url: address }] });
      const { url } = await open({ name, catalog: true });
      const whole = { specVersion: "1.0", entries: [{ ...entry, data: await readCard(url) }] };
      expect(await (await catalogOf(url)).json()).toEqual(whole);
      expect((await catalogOf((await open()).url)).status).toBe(404);
    },
  },
];
