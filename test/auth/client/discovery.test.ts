import { oauth } from "portolan/auth/client";
import { describe, expect, test } from "vitest";
import { TestAuthority } from "./kit/authority.ts";
import { reasonOf, Site } from "./kit/site.ts";
import { startWorld, type World } from "./kit/world.ts";

const wellKnown = (asked: readonly { readonly path: string }[]) =>
  asked.map(({ path }) => path).filter((path) => path.startsWith("/.well-known/") || path.includes("/.well-known/"));
const prm = "/.well-known/oauth-protected-resource";

/** Removes the metadata URL from every challenge. */
function nameNoMetadata({ server }: World): void {
  const { serve } = server.site;
  server.site.serve = (asked, request, response) => {
    if (asked.path === "/mcp" && asked.headers.authorization === undefined) {
      response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    } else serve(asked, request, response);
  };
}

describe("the metadata of the server", () => {
  test("is read from the URL in the challenge, and nowhere else", async () => {
    const world = await startWorld();
    await world.connect();
    expect(wellKnown(world.server.site.asked)).toEqual([`${prm}/mcp`]);
  });

  test("is requested with the newest protocol version, and so is that of the authorization server", async () => {
    const world = await startWorld();
    await world.connect();
    for (const { asked } of [world.server.site, world.authority.site]) {
      const first = asked.find(({ path }) => path.includes("/.well-known/"));
      expect(first?.headers["mcp-protocol-version"]).toBe("2026-07-28");
    }
  });

  test("is requested without a version from a server that refuses the newest one", async () => {
    const world = await startWorld();
    const { site, metadataPath } = world.server;
    const versions: unknown[] = [];
    site.instead.set(metadataPath, ({ headers }) => {
      const version = headers["mcp-protocol-version"];
      versions.push(version);
      return version === undefined ? undefined : { status: 400, body: { error: "Unsupported protocol version" } };
    });
    await world.connect();
    expect(versions).toEqual(["2026-07-28", undefined]);
  });

  test("is looked up below the path of the server and then at the root, if the challenge has no URL", async () => {
    const world = await startWorld();
    nameNoMetadata(world);
    const { site, resource } = world.server;
    site.instead.set(`${prm}/mcp`, () => ({ status: 404 }));
    site.instead.set(prm, () => ({ body: { resource, authorization_servers: [world.authority.issuer] } }));
    await world.connect();
    expect(wellKnown(site.asked)).toEqual([`${prm}/mcp`, prm]);
  });

  test("may be at another path of the same server", async () => {
    const world = await startWorld();
    const { site, resource, origin } = world.server;
    const body = { resource, authorization_servers: [world.authority.issuer] };
    site.instead.set("/elsewhere", () => ({ body }));
    site.instead.set("/mcp", ({ headers }) =>
      headers.authorization
        ? undefined
        : { status: 401, headers: { "www-authenticate": `Bearer resource_metadata="${origin}/elsewhere"` } },
    );
    await world.connect();
    expect(wellKnown(site.asked)).toEqual([]);
    await oauth({ redirect: world.person }).login(world.server.url);
    expect(wellKnown(site.asked)).toEqual([]);
  });

  test.each<[string, (origin: string) => unknown]>([
    ["of another origin", () => "https://other.example.com/mcp"],
    ["of another path", (origin) => `${origin}/other`],
    ["whose path has only the same beginning", (origin) => `${origin}/mc`],
    ["of a part of the server", (origin) => `${origin}/mcp/part`],
    ["that names nothing", () => undefined],
    ["that names no URL", () => "mcp"],
    ["with a fragment", (origin) => `${origin}/mcp#part`],
  ])("T46: is refused when it is that %s", async (_, resourceOf) => {
    const { authority, server, person, connect } = await startWorld();
    const resource = resourceOf(server.origin);
    server.site.instead.set(server.metadataPath, () => ({
      body: { resource, authorization_servers: [authority.issuer] },
    }));
    const reason = await reasonOf(connect());
    expect([reason.code, reason.message]).toEqual([
      "unauthorized",
      expect.stringContaining("expected the metadata of"),
    ]);
    expect(authority.site.asked).toEqual([]);
    expect(person.visits).toEqual([]);
  });

  test("may be that of the whole origin, which is then the resource", async () => {
    const { authority, server, connect } = await startWorld();
    const resource = server.origin;
    server.protect({ resource });
    server.site.instead.set(prm, () => ({ body: { resource, authorization_servers: [authority.issuer] } }));
    await connect();
    expect(authority.asked("authorize")[0]?.query.get("resource")).toBe(server.origin);
  });

  test("T40: is read from another origin over https only", async () => {
    const elsewhere = await Site.start();
    const pointTo = ({ server }: World, place: string) =>
      server.site.instead.set("/mcp", ({ headers }) =>
        headers.authorization
          ? undefined
          : { status: 401, headers: { "www-authenticate": `Bearer resource_metadata="${place}"` } },
      );
    const refused = await startWorld();
    pointTo(refused, `${elsewhere.origin}/prm`);
    const reason = await reasonOf(refused.connect());
    expect([reason.code, reason.message]).toEqual(["address-refused", expect.stringContaining("nor https")]);
    expect(elsewhere.asked).toEqual([]);

    // Like a proxy: requests to https arrive at the server that has the certificate.
    const proxied: typeof fetch = (input, init) =>
      fetch(String(input).replace("https://metadata.example", elsewhere.origin), init);
    const allowed = await startWorld({ oauth: { policy: { fetch: proxied } } });
    pointTo(allowed, "https://metadata.example/prm");
    const { resource } = allowed.server;
    elsewhere.instead.set("/prm", () => ({ body: { resource, authorization_servers: [allowed.authority.issuer] } }));
    await allowed.connect();
    expect(elsewhere.asked).toHaveLength(1);
  });

  test("T40: may redirect within its origin, but not to another one", async () => {
    const world = await startWorld();
    const { site, metadataPath, resource } = world.server;
    const body = { resource, authorization_servers: [world.authority.issuer] };
    const elsewhere = await Site.start();
    elsewhere.instead.set("/prm", () => ({ body }));
    let location = `${elsewhere.origin}/prm`;
    site.instead.set(metadataPath, () => ({ status: 302, headers: { location } }));
    site.instead.set("/moved", () => ({ body }));
    expect((await reasonOf(world.connect())).code).toBe("address-refused");
    expect(elsewhere.asked).toEqual([]);
    location = "/moved";
    await world.connect();
  });
});

describe("the metadata of the authorization server", () => {
  const oauthPath = "/.well-known/oauth-authorization-server";
  const openidPath = "/.well-known/openid-configuration";

  test.each<[string, string, string[]]>([
    ["", oauthPath, [oauthPath]],
    ["", openidPath, [oauthPath, openidPath]],
    ["/tenant", `${oauthPath}/tenant`, [`${oauthPath}/tenant`]],
    ["/tenant", `${openidPath}/tenant`, [`${oauthPath}/tenant`, `${openidPath}/tenant`]],
    [
      "/tenant/one",
      `/tenant/one${openidPath}`,
      [`${oauthPath}/tenant/one`, `${openidPath}/tenant/one`, `/tenant/one${openidPath}`],
    ],
  ])("of the issuer with path %j is found at %s, after these requests in order", async (tenant, place, order) => {
    const { authority, server, connect } = await startWorld({ tenant });
    authority.metadataPaths.clear();
    authority.metadataPaths.add(place);
    server.protect({ issuers: [{ issuer: authority.issuer, jwksUri: `${authority.issuer}/keys` }] });
    await connect();
    expect(wellKnown(authority.site.asked)).toEqual(order);
  });

  test.each<[string, (issuer: string) => string]>([
    ["another issuer", () => "https://evil.example.com"],
    ["the issuer with a slash", (issuer) => `${issuer}/`],
    ["the issuer in capitals", (issuer) => issuer.replace("http:", "HTTP:")],
    ["the issuer by another name of this machine", (issuer) => issuer.replace("127.0.0.1", "localhost")],
  ])("T43: is refused when it says %s", async (_, change) => {
    const { authority, person, connect } = await startWorld();
    authority.metadata["issuer"] = change(authority.issuer);
    const reason = await reasonOf(connect());
    expect(reason.message).toContain(`its metadata is that of ${authority.metadata["issuer"]}`);
    expect([person.visits, authority.asked("register"), authority.asked("token")]).toEqual([[], [], []]);
  });

  test("T43: is read from the next URL if the first one has another issuer", async () => {
    const { authority, connect } = await startWorld();
    authority.site.instead.set(oauthPath, () => ({
      body: { ...authority.metadata, issuer: "https://evil.example.com" },
    }));
    authority.metadataPaths.add(openidPath);
    await connect();
    expect(wellKnown(authority.site.asked)).toEqual(expect.arrayContaining([oauthPath, openidPath]));
  });

  test("T40: is not read after a redirect to another origin", async () => {
    const { authority, connect } = await startWorld();
    const elsewhere = await TestAuthority.start();
    elsewhere.metadata["issuer"] = authority.issuer;
    authority.site.instead.set(oauthPath, () => ({
      status: 302,
      headers: { location: elsewhere.site.origin + oauthPath },
    }));
    expect((await reasonOf(connect())).code).toBe("address-refused");
    expect(elsewhere.site.asked).toEqual([]);
  });

  test("that does not exist fails the login after three requests at most", async () => {
    const { authority, connect } = await startWorld({ tenant: "/tenant" });
    authority.metadataPaths.clear();
    expect((await reasonOf(connect())).message).toContain("cannot be used: it has no metadata");
    expect(authority.site.asked).toHaveLength(3);
  });
});

describe("a server that names no authorization server", () => {
  test("is its own authorization server, with default endpoints if it has no metadata", async () => {
    const world = await startWorld();
    const { server, authority, person } = world;
    nameNoMetadata(world);
    server.site.instead.set(server.metadataPath, () => ({ status: 404 }));
    // The default endpoints at the root of the server's own origin.
    for (const endpoint of ["register", "token"]) {
      server.site.instead.set(`/${endpoint}`, async ({ headers }) => ({
        ...(endpoint === "register"
          ? { status: 201, body: { client_id: "client-of-custom" } }
          : { body: { access_token: await tokenFor(world), token_type: "Bearer" } }),
        headers: { "x-seen": headers["content-type"] ?? "" },
      }));
    }
    person.does = async (page) => new URL(`${person.redirectUri}?code=x&state=${page.searchParams.get("state")}`);
    await world.connect();
    expect(person.visits[0]?.href).toContain(`${server.origin}/authorize?`);
    expect(person.visits[0]?.searchParams.get("code_challenge_method")).toBe("S256");
    expect(authority.asked("authorize")).toEqual([]);
  });
});

test("a server with default endpoints and no registration gets a client from a person", async () => {
  const asked: unknown[] = [];
  const askClient = async (issuer: string, about: object) => {
    asked.push(issuer, about);
    return { clientId: "by-hand" };
  };
  const world = await startWorld({ oauth: { askClient } });
  const { server, person } = world;
  nameNoMetadata(world);
  server.site.instead.set(server.metadataPath, () => ({ status: 404 }));
  server.site.instead.set("/register", () => ({ status: 404 }));
  const body = async () => ({ access_token: await tokenFor(world), token_type: "Bearer" });
  server.site.instead.set("/token", async () => ({ body: await body() }));
  person.does = async (page) => new URL(`${person.redirectUri}?code=x&state=${page.searchParams.get("state")}`);
  await world.connect();
  expect(asked).toEqual([server.origin, { isGuessed: true }]);
  expect(person.visits[0]?.href).toContain(`${server.origin}/authorize?`);
  expect(person.visits[0]?.searchParams.get("client_id")).toBe("by-hand");
});

/** A token of the authority, issued without a login. */
async function tokenFor({ authority, server }: World): Promise<string> {
  authority.clients.set("machine", { redirectUris: [], method: "none" });
  const body = new URLSearchParams({
    grant_type: "client_credentials",
    client_id: "machine",
    resource: server.resource,
  });
  const response = await fetch(`${authority.issuer}/token`, { method: "POST", body });
  return ((await response.json()) as { access_token: string }).access_token;
}
